/* SPDX-License-Identifier: MIT */
/*
 * Counts without singular values, one large matrix at a time. The inertia of
 *     K = P - x I - scale b bᵀ = L D Lᵀ
 * is the number of eigenvalues of P - scale b bᵀ above x. There is no pivoting; the growth of the
 * factors is reported, and bounds the error of K.
 *
 * leaf_rows columns at a time are factored by the definition, in registers and shared memory, and a
 * matrix product updates the rest of K. Every entry is a sum in some order and one division, as the
 * definition says; cuBLAS' triangular solver may multiply by inverses instead, which would need a
 * separate error analysis. It is used where the factors serve to find vectors, whose errors are
 * measured.
 */
#include <math.h>

#include "kernels/cuda/operations.h"
#include "kernels/cuda/spectral/collatz.h"

static const size_t leaf_rows = 32;
static const size_t together = MGK_CUDA_BLOCK / leaf_rows; /* threads that share a row of a leaf */
enum { PANEL_BLOCK = 128 };                                /* rows of a panel per block */

/* The matrix to factor, in device memory. */
struct factor {
    size_t n;
    double *k;     /* [n, n]; its lower triangle becomes D, and L below it */
    double *panel; /* [n, leaf_rows], columns of L D below a leaf */
    size_t *positive;
};

/* The whole of K: entries above the diagonal are updated too, but never used. */
__global__ void subtract_shift(factor f, const double *product, const double *b, double x,
                               double scale)
{
    for (size_t e = mgk_cuda_first(); e < f.n * f.n; e += mgk_cuda_step()) {
        const size_t i = e / f.n, j = e % f.n;
        double entry = product[e];
        if (b)
            entry -= scale * b[i] * b[j];
        f.k[e] = i == j ? entry - x : entry;
    }
}

/* One block: the leaf_rows rows and columns from `first` on, fewer at the end. */
__global__ void factor_leaf(factor f, size_t first)
{
    __shared__ double a[leaf_rows][leaf_rows + 1];
    const size_t size = f.n - first < leaf_rows ? f.n - first : leaf_rows;
    const size_t i = threadIdx.x / together, turn = threadIdx.x % together;
    double *row = f.k + (first + i) * f.n + first;
    for (size_t t = turn; i < size && t <= i; t += together)
        a[i][t] = row[t];
    __syncthreads();
    for (size_t j = 0; j < size; j++) {
        const bool below = i > j && i < size;
        const double l = below ? a[i][j] / a[j][j] : 0;
        for (size_t t = j + 1 + turn; below && t <= i; t += together)
            a[i][t] -= l * a[t][j];
        __syncthreads(); /* from here on no thread reads column j */
        if (below && turn == 0)
            a[i][j] = l;
    }
    __syncthreads();
    for (size_t t = turn; i < size && t <= i; t += together)
        row[t] = a[i][t];
}

/* One thread per row below the leaf, which is full: X Lᵀ = the row, X = its L D. */
__global__ void __launch_bounds__(PANEL_BLOCK) solve_panel(factor f, size_t first)
{
    __shared__ double l[leaf_rows][leaf_rows];
    const double *leaf = f.k + first * f.n + first;
    for (size_t e = threadIdx.x; e < leaf_rows * leaf_rows; e += PANEL_BLOCK)
        l[e / leaf_rows][e % leaf_rows] = leaf[e / leaf_rows * f.n + e % leaf_rows];
    __syncthreads();
    const size_t below = (size_t)blockIdx.x * PANEL_BLOCK + threadIdx.x;
    if (first + leaf_rows + below >= f.n)
        return;
    double *row = f.k + (first + leaf_rows + below) * f.n + first, x[leaf_rows];
#pragma unroll
    for (size_t j = 0; j < leaf_rows; j++)
        x[j] = row[j];
#pragma unroll
    for (size_t j = 0; j < leaf_rows; j++) {
#pragma unroll
        for (size_t t = j + 1; t < leaf_rows; t++)
            x[t] -= x[j] * l[t][j];
    }
#pragma unroll
    for (size_t j = 0; j < leaf_rows; j++) {
        f.panel[below * leaf_rows + j] = x[j];
        row[j] = x[j] / l[j][j];
    }
}

static mgk_status factorise(mgk_device *device, const factor &f)
{
    for (size_t first = 0; first < f.n; first += leaf_rows) {
        TRY(mgk_cuda_launch(device, factor_leaf, 1, MGK_CUDA_BLOCK, 0, f, first));
        if (first + leaf_rows >= f.n)
            return STATUS_OK;
        const size_t rows = f.n - first - leaf_rows;
        double *below = f.k + (first + leaf_rows) * f.n + first;
        TRY(mgk_cuda_launch(device, solve_panel, (rows + PANEL_BLOCK - 1) / PANEL_BLOCK,
                            PANEL_BLOCK, 0, f, first));
        TRY(mgk_cuda_multiply<double>(device, false, true, rows, rows, leaf_rows, -1, below, f.n,
                                      f.panel, leaf_rows, 1, below + leaf_rows, f.n));
    }
    return STATUS_OK;
}

/* One block. */
__global__ void count_positive(factor f)
{
    uint64_t count = 0;
    for (size_t i = threadIdx.x; i < f.n; i += MGK_CUDA_BLOCK)
        count += f.k[i * f.n + i] > 0;
    count = mgk_block_sum(count);
    if (threadIdx.x == 0)
        *f.positive = count;
}

/* F = |L| |D|^½, where FᵀF has the eigenvalues of |L| |D| |Lᵀ|. */
struct grown {
    size_t n;
    const double *k;

    __device__ double operator()(size_t i, size_t j) const
    {
        const double root = j <= i ? sqrt(fabs(k[j * n + j])) : 0;
        return j < i ? fabs(k[i * n + j]) * root : root;
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
        f.panel = (double *)mgk_cuda_take(&end, n * leaf_rows * sizeof(double));
        f.positive = (size_t *)mgk_cuda_take(&end, sizeof(size_t));
        c = mgk_collatz_place(n, &end);
        return end;
    };
    TRY(mgk_cuda_scratch(device, place(0), &memory));
    place((uintptr_t)memory);
    TRY(mgk_cuda_launch(device, subtract_shift, mgk_cuda_blocks(n * n), MGK_CUDA_BLOCK, 0, f,
                        product, b, x, scale));
    TRY(factorise(device, f));
    TRY(mgk_cuda_launch(device, count_positive, 1, MGK_CUDA_BLOCK, 0, f));
    TRY(mgk_collatz_find(device, c, grown{n, f.k}));
    TRY(mgk_cuda_download(device, positive, f.positive, sizeof(*positive)));
    return mgk_cuda_download(device, growth, c.bound, sizeof(*growth));
}

__global__ void divide_by_pivots(size_t n, const double *work, size_t count, double *rows)
{
    for (size_t e = mgk_cuda_first(); e < count * n; e += mgk_cuda_step())
        rows[e] /= work[e % n * (n + 1)];
}

/* rows ← L⁻¹ of each row, or L⁻ᵀ. cuBLAS is column-major: it finds Lᵀ above the diagonal. */
static mgk_status solve_triangle(mgk_device *device, cublasOperation_t op, size_t n,
                                 const double *work, size_t count, double *rows)
{
    const double one = 1;
    return mgk_cuda_check_blas(cublasDtrsm(mgk_cuda_of(device)->blas, CUBLAS_SIDE_LEFT,
                                           CUBLAS_FILL_MODE_UPPER, op, CUBLAS_DIAG_UNIT, (int)n,
                                           (int)count, &one, work, (int)n, rows, (int)n),
                               "cublasDtrsm");
}

mgk_status mgk_cuda_solve_factored(mgk_device *device, size_t n, const double *work, size_t count,
                                   double *rows)
{
    TRY(mgk_cuda_enter(device));
    TRY(solve_triangle(device, CUBLAS_OP_T, n, work, count, rows));
    TRY(mgk_cuda_launch(device, divide_by_pivots, mgk_cuda_blocks(count * n), MGK_CUDA_BLOCK, 0, n,
                        work, count, rows));
    return solve_triangle(device, CUBLAS_OP_N, n, work, count, rows);
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
