/* SPDX-License-Identifier: MIT */
/*
 * Proofs of full rank. With L the Cholesky factor of M = AᵀA - x I, the residual S = M - L Lᵀ is
 * sufficient: L Lᵀ has no negative eigenvalue for any L, so
 *     σ² >= x - ‖S‖ for every singular value of A.
 * The accuracy of L does not matter. The two products are only assumed to add their terms in some
 * order with at most one rounding each, as conventional products do:
 *     ‖fl(AᵀA) - AᵀA‖ <= γ ‖|A|ᵀ|A|‖,   ‖fl(M - L Lᵀ) - S‖ <= γ (‖|M|‖ + ‖|L||Lᵀ|‖)
 * with γ = (n + 8) 2^-53 / (1 - (n + 8) 2^-53). x exceeds the squared level by so much that most
 * matrices of full rank pass; the measured residual decides.
 *
 * Smaller matrices are extended by a diagonal entry that is not a singular value below σ_1.
 */
#include <math.h>

#include "kernels/cuda/operations.h"
#include "kernels/cuda/spectral/chunks.h"
#include "kernels/cuda/spectral/solver.h"
#include "kernels/cuda/sums.h"
#include "kernels/spectral/rounding.h"

/* Exceeds all effects of underflow in products. */
static const double underflow = 0x1p-900;

/* Matrices that are tested together; all arrays except `given` are the device's scratch memory. */
struct proofs {
    size_t n;     /* rows of the largest matrix */
    size_t pitch; /* distance of two matrices in `given` */
    size_t count;
    size_t *orders;      /* [count] */
    double *levels;      /* [count] */
    const double *given; /* [count, pitch], matrix i packed at its start */
    double *matrices;    /* [count, n, n], smaller ones extended */
    double *products;    /* [count, n, n] M, then S */
    double *factors;     /* [count, n, n] L; row j holds column j */
    double **places;     /* [count] addresses of the factors */
    double *sizes;       /* [count] upper bounds of ‖|A|ᵀ|A|‖ */
    double *vectors;     /* [count, 2, n] */
    int *info;           /* [count] status of the factorisation, unused: the residual decides */
    int *proven;         /* [count] */
};

/* y = |A| x, one warp per row. */
__device__ static void multiply_rows(size_t order, const double *a, const double *x, double *y)
{
    const size_t lane = threadIdx.x % MGK_WARP, warps = MGK_CUDA_BLOCK / MGK_WARP;
    for (size_t i = threadIdx.x / MGK_WARP; i < order; i += warps) {
        double sum = 0;
        for (size_t j = lane; j < order; j += MGK_WARP)
            sum += fabs(a[i * order + j]) * x[j];
        sum = mgk_lanes_sum(sum, MGK_WARP);
        if (lane == 0)
            y[i] = sum;
    }
    __syncthreads();
}

/* x ← |A|ᵀ y; returns the largest growth factor of an entry of x. */
__device__ static double multiply_columns(size_t order, const double *a, const double *y, double *x)
{
    double largest = 0;
    for (size_t j = threadIdx.x; j < order; j += MGK_CUDA_BLOCK) {
        double sum = 0;
        for (size_t i = 0; i < order; i++)
            sum += fabs(a[i * order + j]) * y[i];
        largest = mgk_larger(x[j] == 0 ? sum : sum / x[j], largest); /* NaN is kept */
        x[j] = sum;
    }
    return mgk_block_max(largest); /* synchronises x */
}

/*
 * An upper bound of ‖|A|ᵀ|A|‖₂ by Collatz' bound; not finite if an entry is not. Where an entry of
 * x is 0 after the first step, its row and column are 0.
 */
__device__ static double bound_size(size_t order, const double *a, double *x, double *y)
{
    double largest = 0;
    for (size_t j = threadIdx.x; j < order; j += MGK_CUDA_BLOCK)
        x[j] = 1;
    __syncthreads();
    for (int step = 0; step < 2; step++) {
        multiply_rows(order, a, x, y);
        largest = multiply_columns(order, a, y, x);
    }
    return mgk_collatz_bound(largest, order);
}

/* One block per matrix. */
__global__ void measure(proofs p)
{
    const size_t matrix = blockIdx.x;
    double *x = p.vectors + matrix * 2 * p.n;
    const double size = bound_size(p.orders[matrix], p.given + matrix * p.pitch, x, x + p.n);
    if (threadIdx.x == 0)
        p.sizes[matrix] = size;
}

__global__ void fill_up(proofs p)
{
    for (size_t e = mgk_cuda_first(); e < p.count * p.n * p.n; e += mgk_cuda_step()) {
        const size_t matrix = e / (p.n * p.n), i = e / p.n % p.n, j = e % p.n;
        const size_t order = p.orders[matrix];
        double entry = i == j ? sqrt(p.sizes[matrix]) : 0;
        if (i < order && j < order)
            entry = p.given[matrix * p.pitch + i * order + j];
        p.matrices[e] = entry;
    }
}

/* `from`, the squared level, and x, which exceeds it by a margin for the bounds. */
struct shift {
    double from, x;

    __device__ shift(const proofs &p, size_t matrix)
    {
        from = p.levels[matrix] * p.levels[matrix] * (1 + 4 * 0x1p-53);
        x = from + 4 * mgk_gamma((double)(p.n + 8)) * (p.sizes[matrix] + from);
    }
};

/* M, and the copy to factor. */
__global__ void subtract_shift(proofs p)
{
    for (size_t e = mgk_cuda_first(); e < p.count * p.n * p.n; e += mgk_cuda_step()) {
        const size_t matrix = e / (p.n * p.n), i = e / p.n % p.n, j = e % p.n;
        if (i == j)
            p.products[e] -= shift(p, matrix).x;
        p.factors[e] = p.products[e];
        if (i == 0 && j == 0)
            p.places[matrix] = p.factors + e;
    }
}

/* The factorisation leaves M's entries on the other side of the diagonal. */
__global__ void clear_upper(proofs p)
{
    for (size_t e = mgk_cuda_first(); e < p.count * p.n * p.n; e += mgk_cuda_step())
        if (e % p.n < e / p.n % p.n)
            p.factors[e] = 0;
}

/* One block per matrix. NaN proves nothing: comparisons with it are false. */
__global__ void judge(proofs p)
{
    const size_t matrix = blockIdx.x, entries = p.n * p.n;
    const double *residual = p.products + matrix * entries, *factor = p.factors + matrix * entries;
    double *x = p.vectors + matrix * 2 * p.n, squares = 0;
    for (size_t e = threadIdx.x; e < entries; e += MGK_CUDA_BLOCK)
        squares += residual[e] * residual[e];
    squares = mgk_block_sum(squares);
    const double growth = bound_size(p.n, factor, x, x + p.n);
    const shift s(p, matrix);
    const double rounded = mgk_gamma((double)(p.n + 8)) * (2 * p.sizes[matrix] + growth + 3 * s.x);
    const double error = 1.001 * (rounded + sqrt(squares)) + underflow;
    if (threadIdx.x == 0)
        p.proven[matrix] = p.orders[matrix] > 0 && isfinite(growth) && error < s.x - s.from;
}

/* C ← alpha op(B) op(B)ᵀ + beta C for every matrix; cuBLAS reads B as its transpose. */
static mgk_status multiply(mgk_device *device, const proofs *p, double alpha, const double *b,
                           double beta, double *c)
{
    const int n = (int)p->n;
    const long long apart = (long long)(p->n * p->n);
    return mgk_cuda_check_blas(cublasDgemmStridedBatched(mgk_cuda_of(device)->blas, CUBLAS_OP_N,
                                                         CUBLAS_OP_T, n, n, n, &alpha, b, n, apart,
                                                         b, n, apart, &beta, c, n, apart,
                                                         (int)p->count),
                               "cublasDgemmStridedBatched");
}

static mgk_status prove_chunk(mgk_device *device, const proofs *p)
{
    const size_t blocks = mgk_cuda_blocks(p->count * p->n * p->n);
    const int n = (int)p->n;
    TRY(mgk_cuda_launch(device, measure, p->count, MGK_CUDA_BLOCK, 0, *p));
    TRY(mgk_cuda_launch(device, fill_up, blocks, MGK_CUDA_BLOCK, 0, *p));
    TRY(multiply(device, p, 1, p->matrices, 0, p->products));
    TRY(mgk_cuda_launch(device, subtract_shift, blocks, MGK_CUDA_BLOCK, 0, *p));
    TRY(mgk_cuda_check_solver(cusolverDnDpotrfBatched(mgk_cuda_of(device)->solver,
                                                      CUBLAS_FILL_MODE_LOWER, n, p->places, n,
                                                      p->info, (int)p->count),
                              "cusolverDnDpotrfBatched"));
    TRY(mgk_cuda_launch(device, clear_upper, blocks, MGK_CUDA_BLOCK, 0, *p));
    TRY(multiply(device, p, -1, p->factors, 1, p->products));
    return mgk_cuda_launch(device, judge, p->count, MGK_CUDA_BLOCK, 0, *p);
}

/* Places the arrays of p->count matrices from the address `memory` on; returns their bytes. */
static size_t place(proofs *p, uintptr_t memory)
{
    const size_t bytes = p->count * p->n * p->n * sizeof(double);
    uintptr_t end = memory;
    p->orders = (size_t *)mgk_cuda_take(&end, p->count * sizeof(*p->orders));
    p->levels = (double *)mgk_cuda_take(&end, p->count * sizeof(double));
    p->matrices = (double *)mgk_cuda_take(&end, bytes);
    p->products = (double *)mgk_cuda_take(&end, bytes);
    p->factors = (double *)mgk_cuda_take(&end, bytes);
    p->places = (double **)mgk_cuda_take(&end, p->count * sizeof(*p->places));
    p->sizes = (double *)mgk_cuda_take(&end, p->count * sizeof(double));
    p->vectors = (double *)mgk_cuda_take(&end, p->count * 2 * p->n * sizeof(double));
    p->info = (int *)mgk_cuda_take(&end, p->count * sizeof(*p->info));
    p->proven = (int *)mgk_cuda_take(&end, p->count * sizeof(*p->proven));
    return end - memory;
}

static mgk_status solve_chunk(mgk_device *device, const proofs *p, const size_t *orders,
                              const double *levels, int *proven)
{
    TRY(mgk_cuda_upload(device, p->orders, orders, p->count * sizeof(*orders)));
    TRY(mgk_cuda_upload(device, p->levels, levels, p->count * sizeof(*levels)));
    TRY(prove_chunk(device, p));
    return mgk_cuda_download(device, proven, p->proven, p->count * sizeof(*proven));
}

mgk_status mgk_cuda_prove_full_rank(mgk_device *device, size_t count, size_t n,
                                    const size_t *orders, const double *matrices,
                                    const double *levels, int *proven)
{
    proofs p = {};
    size_t chunk;
    p.n = 1;
    p.pitch = n * n;
    for (size_t i = 0; i < count; i++) {
        p.n = orders[i] > p.n ? orders[i] : p.n;
        proven[i] = 0;
    }
    if (count * n == 0)
        return STATUS_OK;
    const auto arrays = [&](size_t matrices_of_it, uintptr_t memory, size_t *bytes) {
        p.count = matrices_of_it;
        *bytes = place(&p, memory);
        return STATUS_OK;
    };
    TRY(mgk_cuda_enter(device));
    TRY(mgk_cuda_open_solver(device));
    TRY(mgk_cuda_fit(device, count, mgk_cuda_most_matrices, arrays, &chunk));
    for (size_t i = 0; i < count; i += chunk) {
        p.count = count - i < chunk ? count - i : chunk;
        p.given = matrices + i * p.pitch;
        TRY(solve_chunk(device, &p, orders + i, levels + i, proven + i));
    }
    return STATUS_OK;
}
