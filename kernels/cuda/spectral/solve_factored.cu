/* SPDX-License-Identifier: MIT */
/*
 * Solves with the factors L D Lᵀ (inertia.cu) for few vectors. Substitution takes BLOCK rows at a
 * time, as two products: with the inverse of L's block on the diagonal, and with the blocks beside
 * it, which updates the rest. A solver without inverses would have n dependent steps of little
 * work. The caller measures the errors of the vectors that it finds.
 */
#include "kernels/cuda/operations.h"

enum {
    BLOCK = 256,
    LEAF = 64 /* rows of a block that are inverted by substitution, one thread per column */
};

/* Arrays of the device; rows are row-major. */
struct solver {
    size_t n, blocks, count;
    const double *k; /* [n, n], the factors */
    double *inverse; /* [blocks, BLOCK, BLOCK], of L's blocks on the diagonal; identity beyond n */
    double *between; /* [blocks, BLOCK / 2, BLOCK / 2] */
    double *solved;  /* [count, n] */
};

__global__ void copy_blocks(solver s)
{
    for (size_t e = mgk_cuda_first(); e < s.blocks * BLOCK * BLOCK; e += mgk_cuda_step()) {
        const size_t i = e / BLOCK, j = e / (BLOCK * BLOCK) * BLOCK + e % BLOCK;
        s.inverse[e] = j < i && i < s.n ? s.k[i * s.n + j] : i == j;
    }
}

/* Inverts the leaf that begins at each LEAF rows of the blocks' diagonals: L x = a unit vector. */
__global__ void __launch_bounds__(LEAF) invert_leaves(solver s)
{
    __shared__ double l[LEAF][LEAF];
    const size_t row = (size_t)blockIdx.x * LEAF, column = threadIdx.x;
    double *leaf = s.inverse + row * BLOCK + row % BLOCK, x[LEAF];
    for (size_t i = 0; i < LEAF; i++)
        l[i][column] = leaf[i * BLOCK + column];
    __syncthreads();
#pragma unroll
    for (size_t i = 0; i < LEAF; i++) {
        x[i] = i == column;
#pragma unroll
        for (size_t t = 0; t < i; t++)
            x[i] -= l[i][t] * x[t];
    }
#pragma unroll
    for (size_t i = 0; i < LEAF; i++)
        leaf[i * BLOCK + column] = x[i];
}

__global__ void divide_by_pivots(solver s)
{
    for (size_t e = mgk_cuda_first(); e < s.count * s.n; e += mgk_cuda_step())
        s.solved[e] /= s.k[e % s.n * (s.n + 1)];
}

/*
 * c [order, order] = factor a b in all blocks, each part of an array [pitch, pitch]. cuBLAS is
 * column-major and multiplies the transposed arrays.
 */
static mgk_status multiply_blocks(mgk_device *device, const solver &s, size_t order, double factor,
                                  const double *a, size_t a_pitch, const double *b, size_t b_pitch,
                                  double *c, size_t c_pitch)
{
    const double zero = 0;
    const int n = (int)order;
    const auto apart = [](size_t pitch) { return (long long)(pitch * pitch); };
    return mgk_cuda_check_blas(
        cublasDgemmStridedBatched(mgk_cuda_of(device)->blas, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n,
                                  &factor, b, (int)b_pitch, apart(b_pitch), a, (int)a_pitch,
                                  apart(a_pitch), &zero, c, (int)c_pitch, apart(c_pitch),
                                  (int)s.blocks),
        "cublasDgemmStridedBatched");
}

/* From the inverses of leaves: [[A, 0], [B, C]]⁻¹ = [[A⁻¹, 0], [-C⁻¹ B A⁻¹, C⁻¹]]. */
static mgk_status join_leaves(mgk_device *device, const solver &s)
{
    const size_t half = BLOCK / 2;
    for (size_t order = LEAF; order < BLOCK; order *= 2)
        for (size_t first = 0; first < BLOCK; first += 2 * order) {
            double *a = s.inverse + first * (BLOCK + 1);
            double *b = a + order * BLOCK, *c = b + order;
            TRY(multiply_blocks(device, s, order, 1, b, BLOCK, a, BLOCK, s.between, half));
            TRY(multiply_blocks(device, s, order, -1, c, BLOCK, s.between, half, b, BLOCK));
        }
    return STATUS_OK;
}

/* out [count, columns] = factor x op(a) + keep out, x [count, terms]; rows of a `pitch` apart. */
static mgk_status multiply(mgk_device *device, const solver &s, bool transposed, size_t columns,
                           size_t terms, double factor, const double *x, const double *a,
                           size_t pitch, double keep, double *out)
{
    return mgk_cuda_multiply<double>(device, false, transposed, s.count, columns, terms, factor, x,
                                     s.n, a, pitch, keep, out, s.n);
}

/* out ← L⁻¹ of each row, which is overwritten. */
static mgk_status solve_forward(mgk_device *device, const solver &s, double *rows, double *out)
{
    for (size_t first = 0; first < s.n; first += BLOCK) {
        const size_t last = first + BLOCK < s.n ? first + BLOCK : s.n, size = last - first;
        TRY(multiply(device, s, true, size, size, 1, rows + first, s.inverse + first * BLOCK, BLOCK,
                     0, out + first));
        TRY(multiply(device, s, true, s.n - last, size, -1, out + first, s.k + last * s.n + first,
                     s.n, 1, rows + last));
    }
    return STATUS_OK;
}

/* out ← L⁻ᵀ of each row, which is overwritten. */
static mgk_status solve_backward(mgk_device *device, const solver &s, double *rows, double *out)
{
    for (size_t block = s.blocks; block-- > 0;) {
        const size_t first = block * BLOCK, last = first + BLOCK < s.n ? first + BLOCK : s.n;
        const size_t size = last - first;
        TRY(multiply(device, s, false, size, size, 1, rows + first, s.inverse + first * BLOCK,
                     BLOCK, 0, out + first));
        TRY(multiply(device, s, false, first, size, -1, out + first, s.k + first * s.n, s.n, 1,
                     rows));
    }
    return STATUS_OK;
}

mgk_status mgk_cuda_solve_factored(mgk_device *device, size_t n, const double *work, size_t count,
                                   double *rows)
{
    solver s = {};
    void *memory;
    const auto place = [&](uintptr_t end) {
        s.n = n;
        s.blocks = (n + BLOCK - 1) / BLOCK;
        s.count = count;
        s.k = work;
        s.inverse = (double *)mgk_cuda_take(&end, s.blocks * BLOCK * BLOCK * sizeof(double));
        s.between = (double *)mgk_cuda_take(&end, s.blocks * BLOCK * BLOCK / 4 * sizeof(double));
        s.solved = (double *)mgk_cuda_take(&end, count * n * sizeof(double));
        return end;
    };
    if (n == 0 || count == 0)
        return STATUS_OK;
    TRY(mgk_cuda_scratch(device, place(0), &memory));
    place((uintptr_t)memory);
    TRY(mgk_cuda_launch(device, copy_blocks, mgk_cuda_blocks(s.blocks * BLOCK * BLOCK),
                        MGK_CUDA_BLOCK, 0, s));
    TRY(mgk_cuda_launch(device, invert_leaves, s.blocks * (BLOCK / LEAF), LEAF, 0, s));
    TRY(join_leaves(device, s));
    TRY(solve_forward(device, s, rows, s.solved));
    TRY(mgk_cuda_launch(device, divide_by_pivots, mgk_cuda_blocks(count * n), MGK_CUDA_BLOCK, 0,
                        s));
    return solve_backward(device, s, s.solved, rows);
}
