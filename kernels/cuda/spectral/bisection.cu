/* SPDX-License-Identifier: MIT */
/*
 * Singular values of bidiagonal matrices, and with them of all matrices. The singular values of a
 * bidiagonal matrix with diagonal d and superdiagonal e are the positive eigenvalues of the
 * tridiagonal matrix with zero diagonal and off-diagonal d_0, e_0, d_1, e_1, … (Golub & Kahan
 * 1965). A Sturm sequence counts the eigenvalues below x, and every thread halves the interval of
 * one value until no double lies between its ends.
 *
 * The sequence is that of the leading minors of the shifted matrix,
 *     p_i = -x p_i-1 - b² p_i-2,   b² = d_0², e_0², d_1², …,
 * without divisions. p_i and p_i-1 have the same sign as often as there are values above x. With
 * p_i = fma(-x, p_i-1, -fl(b² p_i-2)) every rounding is a factor of a whole minor or of a b², so a
 * count is exact for entries with relative errors of 1.5 · 2^-53, and the error of bisection is at
 * most 3 n 2^-53 σ, and 2^-60 of the largest value. The bidiagonal form adds the error of any
 * solver by reflections.
 *
 * Entries are at most 2^10, since the largest of the matrix is near 1, and b is at least 2^-90,
 * whose effect is below 2^-60 of the largest value. So a step changes the larger magnitude of two
 * minors by a factor between b² / (1 + x) > 2^-193 and b² + x < 2^22. After CHUNK steps both are
 * multiplied by a power of two, so neither overflow nor underflow matters.
 */
#include <math.h>

#include "kernels/cuda/spectral/bidiagonal.h"
#include "kernels/cuda/spectral/chunks.h"
#include "kernels/cuda/sums.h"

enum {
    CHUNK = 4, /* steps between two multiplications by powers of two */
    THREADS = 128
};

static const double least_square = 0x1p-180;

/* The squares of a bidiagonal matrix of this order, with the fillers of the last chunk. */
__host__ __device__ static int count_squares(int order)
{
    return (2 * order - 1 + CHUNK - 1) / CHUNK * CHUNK;
}

/*
 * The power of two that brings the larger magnitude of two numbers to [1, 2). Its exponent is
 * certainly that of a normal number.
 */
__device__ static double normaliser(double a, double b)
{
    const int larger = __double2hiint(fmax(fabs(a), fabs(b))), exponent = larger & 0x7ff00000;
    return __hiloint2double(0x7fe00000 - exponent, 0);
}

/* 1 if the signs of two numbers differ, otherwise 0. */
__device__ static unsigned signs_differ(double a, double b)
{
    return (unsigned)(__double2hiint(a) ^ __double2hiint(b)) >> 31;
}

/*
 * The number of singular values above x > 0, which is far above 2^-90; squares holds count b², of
 * which fillers add only values near 0.
 */
__device__ static int count_above(const double *squares, int count, double x)
{
    double last = 1, minor = -x;
    unsigned below = 0;
    for (int first = 0; first < count; first += CHUNK) {
#pragma unroll
        for (int i = 0; i < CHUNK; i++) {
            const double next = fma(-x, minor, -(squares[first + i] * last));
            below += signs_differ(next, minor);
            last = minor;
            minor = next;
        }
        const double scale = normaliser(last, minor);
        last *= scale;
        minor *= scale;
    }
    return count - (int)below;
}

/* σ_k. Values in the same direction halve the same intervals, so results are ordered. */
__device__ static double bisect(const double *squares, int count, int k, double largest_square)
{
    double low = 0, high = 2 * sqrt(largest_square) * (1 + 0x1p-50);
    const double negligible = high * 0x1p-61;
    if (!isfinite(high))
        return NAN;
    while (high - low > fmax(negligible, high * 0x1p-53)) {
        const double middle = low + (high - low) / 2;
        if (middle <= low || middle >= high)
            break;
        if (count_above(squares, count, middle) > k)
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
    const int order = (int)batch.orders[matrix], count = count_squares(order);
    const double *band = batch.bands + matrix * 2 * batch.n;
    double *squares = (double *)mgk_cuda_shared(), largest = 0;
    for (int i = (int)threadIdx.x; i < count; i += (int)blockDim.x)
        squares[i] = i < 2 * order - 1 ? band[i] * band[i] : 0;
    __syncthreads();
    for (int i = 0; i < count; i++)
        largest = mgk_larger(largest, squares[i]);
    __syncthreads();
    for (int i = (int)threadIdx.x; i < count; i += (int)blockDim.x)
        squares[i] = fmax(squares[i], least_square);
    __syncthreads();
    for (size_t k = threadIdx.x; k < columns; k += blockDim.x)
        sigma[matrix * columns + k] =
            k < (size_t)order
                ? scalbn(bisect(squares, count, (int)k, largest), batch.exponents[matrix])
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
    const size_t shared = (size_t)count_squares((int)b->n) * sizeof(double);
    TRY(mgk_cuda_upload(device, b->orders, orders, b->count * sizeof(*orders)));
    TRY(mgk_cuda_bidiagonalise(device, b));
    TRY(mgk_cuda_launch(device, find_values, b->count, THREADS, shared, *b, columns, values));
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
