/*
 * Proofs of full rank. With L the Cholesky factor of M = AᵀA - x I the residual S = M - L Lᵀ says
 * all: L Lᵀ has no negative eigenvalue whatever L is, so
 *     σ² >= x - ‖S‖ for every singular value of A.
 * How the factor was made, and how well, does not matter; only the two products are trusted to add
 * up their terms in some order, each with at most one rounding, as conventional products do:
 *     ‖fl(AᵀA) - AᵀA‖ <= γ ‖|A|ᵀ|A|‖,   ‖fl(M - L Lᵀ) - S‖ <= γ (‖|M|‖ + ‖|L||Lᵀ|‖)
 * with γ = (n + 8) 2^-53 / (1 - (n + 8) 2^-53). x is chosen so far above the square of the level
 * that most matrices of full rank pass; whether one has is decided by what was measured.
 *
 * Smaller matrices go on with a number on their diagonal that is no singular value below σ_1.
 */
#include <math.h>

#include "kernels/cuda/operations.h"
#include "kernels/cuda/spectral/chunks.h"
#include "kernels/cuda/spectral/solver.h"
#include "kernels/cuda/sums.h"
#include "kernels/spectral/rounding.h"

/* More than all that underflow can do to products. */
static const double underflow = 0x1p-900;

/* Matrices that are tried together; the arrays but `given` lie in the device's scratch memory. */
struct proofs {
    size_t n;     /* rows of the largest matrix */
    size_t pitch; /* entries from one of `given` to the next */
    size_t count;
    size_t *orders;      /* [count] */
    double *levels;      /* [count] */
    const double *given; /* [count, pitch], matrix i packed at the beginning */
    double *matrices;    /* [count, n, n], with the smaller ones filled up */
    double *products;    /* [count, n, n] M, then S */
    double *factors;     /* [count, n, n] L, of which row j holds column j */
    double **places;     /* [count] of the factors */
    double *sizes;       /* [count] at least ‖|A|ᵀ|A|‖ */
    double *vectors;     /* [count, 2, n] */
    int *info;           /* [count] what the factorisation says; the residual says more */
    int *proven;         /* [count] */
};

/* y = |A| x, a warp for each row. */
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

/* x ← |A|ᵀ y; returns the largest of what an entry of x has grown by. */
__device__ static double multiply_columns(size_t order, const double *a, const double *y, double *x)
{
    double largest = 0;
    for (size_t j = threadIdx.x; j < order; j += MGK_CUDA_BLOCK) {
        double sum = 0;
        for (size_t i = 0; i < order; i++)
            sum += fabs(a[i * order + j]) * y[i];
        largest = x[j] > 0 ? mgk_larger(largest, sum / x[j]) : largest;
        x[j] = sum;
    }
    return mgk_block_max(largest); /* which waits for x */
}

/*
 * At least ‖|A|ᵀ|A|‖₂, by Collatz' bound; NaN or infinite if an entry is. Where the first x = 1
 * loses an entry, its row and column are 0 anyway.
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

/* A block for each matrix. */
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

/* The square of the level, and x so far above it that the bounds leave room. */
struct shift {
    double from, x;

    __device__ shift(const proofs &p, size_t matrix)
    {
        from = p.levels[matrix] * p.levels[matrix] * (1 + 4 * 0x1p-53);
        x = from + 4 * mgk_gamma((double)(p.n + 8)) * (p.sizes[matrix] + from);
    }
};

/* M, and a copy that is factored. */
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

/* What the factorisation leaves on the other side of the diagonal is M's. */
__global__ void clear_upper(proofs p)
{
    for (size_t e = mgk_cuda_first(); e < p.count * p.n * p.n; e += mgk_cuda_step())
        if (e % p.n < e / p.n % p.n)
            p.factors[e] = 0;
}

/* A block for each matrix. NaN anywhere proves nothing, for it compares as false. */
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

/* C ← alpha op(B) op(B)ᵀ + beta C for every matrix; what cuBLAS takes for B is its transpose. */
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

/* Lays the arrays of p->count matrices out from the address `memory`; returns the bytes they take.
 */
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

/* As many matrices as the chunk has. */
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
