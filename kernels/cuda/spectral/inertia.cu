/* SPDX-License-Identifier: MIT */
/*
 * Counts without singular values, one large matrix at a time. The inertia of
 *     K = P - x I - scale b bᵀ
 * is the number of eigenvalues of P - scale b bᵀ above x. There is no pivoting; the growth of the
 * factors is reported, and bounds the error of K.
 *
 * LEAF columns at a time are factored by the definition, in shared memory and registers. Matrix
 * products update the other columns of an outer panel after each leaf, and the rest of the lower
 * triangle after each panel, so that few products read all of K. Every entry is a sum in some order
 * and one division, as the definition says; multiplying by inverses instead would need a separate
 * error analysis. Only solve_factored.cu does so, where the factors serve to find vectors, whose
 * errors are measured.
 */
#include <math.h>

#include "kernels/cuda/operations.h"
#include "kernels/cuda/spectral/collatz.h"

enum {
    LEAF = 32,        /* columns that are factored together */
    PANEL = 8 * LEAF, /* columns that update the rest of K together */
    STRIP = 512,      /* rows per product of that update: fewer reach further beyond the diagonal */
    SOLVE_BLOCK = 128,            /* rows below a leaf per block */
    TOGETHER = SOLVE_BLOCK / LEAF /* threads that share a row of a leaf */
};

__host__ __device__ static inline size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The matrix to factor, in device memory. */
struct factor {
    size_t n;
    double *k;      /* [n, n]; its lower triangle becomes D, and L below it */
    double *scaled; /* [n, PANEL], columns of L D below the leaves of a panel */
    double *leaves; /* [n, LEAF], the factors of the leaves until they are put into K */
    double *roots;  /* [n], |D|^½ */
    size_t *positive;
};

/* The lower triangle of K; entries above it are undefined, and only change each other. */
__global__ void subtract_shift(factor f, const double *product, const double *b, double x,
                               double scale)
{
    for (size_t i = blockIdx.x; i < f.n; i += gridDim.x)
        for (size_t j = threadIdx.x; j <= i; j += blockDim.x) {
            double entry = product[i * f.n + j];
            if (b)
                entry -= scale * b[i] * b[j];
            f.k[i * f.n + j] = i == j ? entry - x : entry;
        }
}

/* a = L D Lᵀ [size, size], lower triangle in shared memory, by the whole block. */
__device__ static void factor_leaf(size_t size, double (*a)[LEAF + 1])
{
    const size_t i = threadIdx.x / TOGETHER, turn = threadIdx.x % TOGETHER;
    for (size_t j = 0; j < size; j++) {
        const bool below = i > j && i < size;
        const double l = below ? a[i][j] / a[j][j] : 0;
        for (size_t t = j + 1 + turn; below && t <= i; t += TOGETHER)
            a[i][t] -= l * a[t][j];
        __syncthreads(); /* from here on no thread reads column j */
        if (below && turn == 0)
            a[i][j] = l;
    }
    __syncthreads();
}

/* X Lᵀ = the row, X = its L D; the leaf is full. */
__device__ static void solve_row(const double (*leaf)[LEAF + 1], double *row)
{
    double x[LEAF];
#pragma unroll
    for (size_t j = 0; j < LEAF; j++)
        x[j] = row[j];
#pragma unroll
    for (size_t j = 0; j < LEAF; j++) {
#pragma unroll
        for (size_t t = j + 1; t < LEAF; t++)
            x[t] -= x[j] * leaf[t][j];
    }
#pragma unroll
    for (size_t j = 0; j < LEAF; j++)
        row[j] = x[j];
}

/*
 * Columns [first, first + LEAF), fewer at the end: the leaf at the diagonal, and SOLVE_BLOCK rows
 * below it per block. Every block factors the leaf for itself, which costs less than one more
 * launch. Others may still read it, so its factors go to f.leaves.
 */
__global__ void __launch_bounds__(SOLVE_BLOCK) factor_columns(factor f, size_t first)
{
    __shared__ double leaf[LEAF][LEAF + 1], rows[SOLVE_BLOCK][LEAF + 1];
    const size_t size = smaller(f.n - first, LEAF);
    const size_t begin = smaller(first + LEAF + (size_t)blockIdx.x * SOLVE_BLOCK, f.n);
    const size_t count = smaller(f.n - begin, SOLVE_BLOCK);
    for (size_t e = threadIdx.x; e < size * LEAF; e += SOLVE_BLOCK)
        if (e % LEAF <= e / LEAF)
            leaf[e / LEAF][e % LEAF] = f.k[(first + e / LEAF) * f.n + first + e % LEAF];
    for (size_t e = threadIdx.x; e < count * LEAF; e += SOLVE_BLOCK)
        rows[e / LEAF][e % LEAF] = f.k[(begin + e / LEAF) * f.n + first + e % LEAF];
    __syncthreads();
    factor_leaf(size, leaf);
    for (size_t e = threadIdx.x; blockIdx.x == 0 && e < size * LEAF; e += SOLVE_BLOCK)
        if (e % LEAF <= e / LEAF)
            f.leaves[first * LEAF + e] = leaf[e / LEAF][e % LEAF];
    if (threadIdx.x < count)
        solve_row(leaf, rows[threadIdx.x]);
    __syncthreads();
    for (size_t e = threadIdx.x; e < count * LEAF; e += SOLVE_BLOCK) {
        const size_t i = e / LEAF, j = e % LEAF;
        f.scaled[(begin + i) * PANEL + first % PANEL + j] = rows[i][j];
        f.k[(begin + i) * f.n + first + j] = rows[i][j] / leaf[j][j];
    }
}

__global__ void place_leaves(factor f)
{
    for (size_t e = mgk_cuda_first(); e < f.n * LEAF; e += mgk_cuda_step()) {
        const size_t i = e / LEAF, j = e % LEAF;
        if (j <= i % LEAF)
            f.k[i * f.n + i / LEAF * LEAF + j] = f.leaves[e];
    }
}

/*
 * K -= L D Lᵀ with columns [from, to) of L and L D, in rows [top, bottom) and columns
 * [left, right).
 */
static mgk_status update(mgk_device *device, const factor &f, size_t from, size_t to, size_t top,
                         size_t bottom, size_t left, size_t right)
{
    return mgk_cuda_multiply<double>(
        device, false, true, bottom - top, right - left, to - from, -1, f.k + top * f.n + from, f.n,
        f.scaled + left * PANEL + from % PANEL, PANEL, 1, f.k + top * f.n + left, f.n);
}

/* The columns of a panel, all rows. */
static mgk_status factor_panel(mgk_device *device, const factor &f, size_t first, size_t last)
{
    for (size_t leaf = first; leaf < last; leaf += LEAF) {
        const size_t next = smaller(leaf + LEAF, f.n);
        const size_t blocks = (f.n - next + SOLVE_BLOCK - 1) / SOLVE_BLOCK;
        TRY(mgk_cuda_launch(device, factor_columns, blocks > 0 ? blocks : 1, SOLVE_BLOCK, 0, f,
                            leaf));
        if (next < last)
            TRY(update(device, f, leaf, next, next, f.n, next, last));
    }
    return STATUS_OK;
}

static mgk_status factorise(mgk_device *device, const factor &f)
{
    for (size_t first = 0; first < f.n; first += PANEL) {
        const size_t last = smaller(first + PANEL, f.n);
        TRY(factor_panel(device, f, first, last));
        for (size_t top = last; top < f.n; top += STRIP) {
            const size_t bottom = smaller(top + STRIP, f.n);
            TRY(update(device, f, first, last, top, bottom, last, bottom));
        }
    }
    return mgk_cuda_launch(device, place_leaves, mgk_cuda_blocks(f.n * LEAF), MGK_CUDA_BLOCK, 0, f);
}

/* One block. */
__global__ void read_pivots(factor f)
{
    uint64_t count = 0;
    for (size_t i = threadIdx.x; i < f.n; i += MGK_CUDA_BLOCK) {
        const double pivot = f.k[i * f.n + i];
        f.roots[i] = sqrt(fabs(pivot));
        count += pivot > 0;
    }
    count = mgk_block_sum(count);
    if (threadIdx.x == 0)
        *f.positive = count;
}

/* F = |L| |D|^½, where FᵀF has the eigenvalues of |L| |D| |Lᵀ|. */
struct grown {
    size_t n;
    const double *k, *roots;

    __device__ double operator()(size_t i, size_t j) const
    {
        return j < i ? fabs(k[i * n + j]) * roots[j] : j == i ? roots[j] : 0;
    }
};

mgk_status mgk_cuda_shifted_inertia(mgk_device *device, size_t n, const double *product,
                                    const double *b, double x, double scale, double *work,
                                    size_t *positive, double *growth)
{
    factor f = {};
    mgk_collatz c = {};
    void *memory;
    const auto place = [&](uintptr_t end) {
        f.n = n;
        f.k = work;
        f.scaled = (double *)mgk_cuda_take(&end, n * PANEL * sizeof(double));
        f.leaves = (double *)mgk_cuda_take(&end, n * LEAF * sizeof(double));
        f.roots = (double *)mgk_cuda_take(&end, n * sizeof(double));
        f.positive = (size_t *)mgk_cuda_take(&end, sizeof(size_t));
        c = mgk_collatz_place(n, &end);
        return end;
    };
    TRY(mgk_cuda_scratch(device, place(0), &memory));
    place((uintptr_t)memory);
    TRY(mgk_cuda_launch(device, subtract_shift, n, MGK_CUDA_BLOCK, 0, f, product, b, x, scale));
    TRY(factorise(device, f));
    TRY(mgk_cuda_launch(device, read_pivots, 1, MGK_CUDA_BLOCK, 0, f));
    TRY(mgk_collatz_find(device, c, grown{n, f.k, f.roots}));
    TRY(mgk_cuda_download(device, positive, f.positive, sizeof(*positive)));
    return mgk_cuda_download(device, growth, c.bound, sizeof(*growth));
}

struct magnitude {
    size_t stride;
    const double *a;

    __device__ double operator()(size_t i, size_t j) const
    {
        return fabs(a[i * stride + j]);
    }
};

mgk_status mgk_cuda_bound_square(mgk_device *device, size_t n, size_t stride, const double *a,
                                 double *bound)
{
    uintptr_t end = 0;
    void *memory;
    mgk_collatz_place(n, &end);
    TRY(mgk_cuda_scratch(device, end, &memory));
    end = (uintptr_t)memory;
    const mgk_collatz c = mgk_collatz_place(n, &end);
    TRY(mgk_collatz_find(device, c, magnitude{stride, a}));
    return mgk_cuda_download(device, bound, c.bound, sizeof(*bound));
}
