/* SPDX-License-Identifier: MIT */
/*
 * Singular values of bidiagonal matrices, and with them of all matrices. The singular values of a
 * bidiagonal matrix with diagonal d and superdiagonal e are the positive eigenvalues of the
 * tridiagonal matrix with zero diagonal and off-diagonal d_0, e_0, d_1, e_1, … (Golub & Kahan
 * 1965). A Sturm sequence counts the eigenvalues below x, and every thread halves the interval of
 * one value until no double lies between its ends.
 *
 * A count is exact for entries with relative errors of 1.5 · 2^-53, so the error of bisection is at
 * most 3 n 2^-53 σ, and 2^-60 of the largest value. The bidiagonal form adds the error of any
 * solver by reflections.
 */
#include <float.h>
#include <math.h>

#include "kernels/cuda/spectral/bidiagonal.h"
#include "kernels/cuda/spectral/chunks.h"
#include "kernels/cuda/sums.h"

/* The number of singular values >= x > 0; off [2 order - 1] holds squares. */
__device__ static int count_from(const double *off, int order, double x, double smallest_pivot)
{
    double pivot = -fmax(x, smallest_pivot);
    int below = 1;
    for (int i = 0; i < 2 * order - 1; i++) {
        pivot = -x - off[i] / pivot;
        if (fabs(pivot) < smallest_pivot)
            pivot = -smallest_pivot;
        below += pivot < 0;
    }
    return 2 * order - below;
}

/* σ_k. Values in the same direction halve the same intervals, so results are ordered. */
__device__ static double bisect(const double *off, int order, int k, double largest_square)
{
    const double smallest_pivot = DBL_MIN * fmax(largest_square, 1.0);
    double low = 0, high = 2 * sqrt(largest_square) * (1 + 0x1p-50);
    const double negligible = high * 0x1p-60;
    if (!isfinite(high))
        return NAN;
    while (high - low > fmax(negligible, high * 0x1p-53)) {
        const double middle = low + (high - low) / 2;
        if (middle <= low || middle >= high)
            break;
        if (count_from(off, order, middle, smallest_pivot) > k)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* One block per matrix. */
__global__ void find_values(mgk_bidiagonal batch, size_t columns, double *sigma)
{
    const size_t matrix = blockIdx.x;
    const int order = (int)batch.orders[matrix];
    const double *band = batch.bands + matrix * 2 * batch.n;
    double *off = (double *)mgk_cuda_shared(), largest = 0;
    for (int i = (int)threadIdx.x; i < 2 * order - 1; i += (int)blockDim.x)
        off[i] = band[i] * band[i];
    __syncthreads();
    for (int i = 0; i < 2 * order - 1; i++)
        largest = mgk_larger(largest, off[i]);
    for (size_t k = threadIdx.x; k < columns; k += blockDim.x)
        sigma[matrix * columns + k] =
            k < (size_t)order ? scalbn(bisect(off, order, (int)k, largest), batch.exponents[matrix])
                              : 0;
}

/* Places the arrays of b->count matrices from the address `memory` on; returns their bytes. */
static size_t place(mgk_bidiagonal *b, size_t columns, double **sigma, uintptr_t memory)
{
    uintptr_t end = memory;
    b->orders = (size_t *)mgk_cuda_take(&end, b->count * sizeof(*b->orders));
    b->bands = (double *)mgk_cuda_take(&end, b->count * 2 * b->n * sizeof(double));
    b->exponents = (int *)mgk_cuda_take(&end, b->count * sizeof(*b->exponents));
    *sigma = (double *)mgk_cuda_take(&end, b->count * columns * sizeof(double));
    return end - memory;
}

static mgk_status solve_chunk(mgk_device *device, const mgk_bidiagonal *b, size_t columns,
                              double *values, const size_t *orders, double *sigma)
{
    const unsigned threads = 128;
    TRY(mgk_cuda_upload(device, b->orders, orders, b->count * sizeof(*orders)));
    TRY(mgk_cuda_bidiagonalise(device, b));
    TRY(mgk_cuda_launch(device, find_values, b->count, threads, 2 * b->n * sizeof(double), *b,
                        columns, values));
    return mgk_cuda_download(device, sigma, values, b->count * columns * sizeof(double));
}

mgk_status mgk_cuda_bisected_values(mgk_device *device, size_t count, size_t n,
                                    const size_t *orders, double *matrices, double *sigma)
{
    mgk_bidiagonal b = {};
    double *values;
    size_t chunk;
    b.n = 1;
    b.pitch = n * n;
    for (size_t i = 0; i < count; i++)
        b.n = orders[i] > b.n ? orders[i] : b.n;
    if (b.n > MGK_BISECTION_ORDER)
        return mgk_fail(STATUS_UNSUPPORTED, "a matrix of %zu rows, bisection takes up to %d", b.n,
                        MGK_BISECTION_ORDER);
    if (count * n == 0)
        return STATUS_OK;
    const auto arrays = [&](size_t matrices_of_it, uintptr_t memory, size_t *bytes) {
        b.count = matrices_of_it;
        *bytes = place(&b, n, &values, memory);
        return STATUS_OK;
    };
    TRY(mgk_cuda_fit(device, count, mgk_cuda_most_matrices, arrays, &chunk));
    for (size_t i = 0; i < count; i += chunk) {
        b.count = count - i < chunk ? count - i : chunk;
        b.matrices = matrices + i * b.pitch;
        TRY(solve_chunk(device, &b, n, values, orders + i, sigma + i * n));
    }
    return STATUS_OK;
}
