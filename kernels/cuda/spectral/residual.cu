/* SPDX-License-Identifier: MIT */
/*
 * The error of a factorisation, applied to vectors (kernels/spectral/residual.h):
 *     E w = L D Lᵀ w - CᵀC w + factor b bᵀ w + x w.
 * This is a difference of numbers that agree in nearly all their digits, so every number has two
 * parts, high + low. Products and sums of high parts leave their rounding errors exactly (Dekker
 * 1971, Knuth), and only sums of low parts are rounded (Ogita, Rump & Oishi 2005).
 *
 * If the magnitudes of n products add up to B, their n errors and those of n partial sums are at
 * most u each of at most B, u = 2^-53, together less than (n + 2) u B. Adding them, 3 n additions,
 * errs by at most 3 n u of that: 3 n (n + 2) u² B, less than the 4 (n + 2)² u² B of
 * mgk_residual_noise.
 */
#include <math.h>

#include "kernels/cuda/operations.h"
#include "kernels/cuda/sums.h"

enum {
    VECTORS = 3, /* that read a matrix together */
    ROWS = 2,    /* per warp, which halves the reads of the vectors */
    PART = 128   /* rows summed by one thread of a product with the transposed matrix */
};

struct alignas(16) twofold {
    double high, low;
};

__device__ static twofold two_sum(double a, double b)
{
    const double sum = a + b, part = sum - a;
    return {sum, (a - (sum - part)) + (b - part)};
}

/* The compiler must not fuse the product with a sum. */
__device__ static twofold two_product(double a, double b)
{
    const double product = __dmul_rn(a, b);
    return {product, fma(a, b, -product)};
}

__device__ static twofold add(twofold a, twofold b)
{
    const twofold sum = two_sum(a.high, b.high);
    return {sum.high, sum.low + (a.low + b.low)};
}

/* sum + a x */
__device__ static twofold add_product(twofold sum, double a, twofold x)
{
    const twofold product = two_product(a, x.high);
    return add(sum, {product.high, fma(a, x.low, product.low)});
}

/* The same number, with a high part that is its rounding. */
__device__ static twofold normal(twofold x)
{
    return two_sum(x.high, x.low);
}

__device__ static twofold multiply(double a, twofold x)
{
    return normal(add_product({0, 0}, a, x));
}

__device__ static twofold lanes_sum(twofold x)
{
    for (int distance = MGK_WARP / 2; distance > 0; distance /= 2)
        x = add(x, {__shfl_xor_sync(MGK_ALL_LANES, x.high, distance),
                    __shfl_xor_sync(MGK_ALL_LANES, x.low, distance)});
    return x;
}

/* Row i has entries in its first i + reach columns, at most `columns`. */
struct matrix {
    const double *a;
    size_t rows, columns, stride, reach;

    __device__ size_t width(size_t row) const
    {
        return row + reach < columns ? row + reach : columns;
    }

    /* The first row with an entry in this column. */
    __device__ size_t first_row(size_t column) const
    {
        return column + 1 > reach ? column + 1 - reach : 0;
    }
};

/* y [VECTORS, rows] = A x, x [VECTORS, columns]; one warp per ROWS rows. */
__global__ void multiply_rows(matrix m, const twofold *x, twofold *y)
{
    const size_t lane = threadIdx.x % MGK_WARP, warps = MGK_CUDA_BLOCK / MGK_WARP;
    const size_t first = (blockIdx.x * warps + threadIdx.x / MGK_WARP) * ROWS;
    if (first >= m.rows) /* the whole warp */
        return;
    const double *a[ROWS];
    size_t width[ROWS];
    twofold sums[ROWS][VECTORS] = {};
#pragma unroll
    for (size_t r = 0; r < ROWS; r++) {
        const size_t row = first + r < m.rows ? first + r : m.rows - 1;
        a[r] = m.a + row * m.stride;
        width[r] = m.width(row);
    }
    for (size_t j = lane; j < width[ROWS - 1]; j += MGK_WARP) {
        double entry[ROWS];
#pragma unroll
        for (size_t r = 0; r < ROWS; r++)
            entry[r] = j < width[r] ? a[r][j] : 0;
#pragma unroll
        for (size_t v = 0; v < VECTORS; v++) {
            const twofold factor = x[v * m.columns + j];
#pragma unroll
            for (size_t r = 0; r < ROWS; r++)
                sums[r][v] = add_product(sums[r][v], entry[r], factor);
        }
    }
#pragma unroll
    for (size_t r = 0; r < ROWS; r++)
#pragma unroll
        for (size_t v = 0; v < VECTORS; v++) {
            const twofold sum = lanes_sum(sums[r][v]);
            if (lane == 0 && first + r < m.rows)
                y[v * m.rows + first + r] = normal(sum);
        }
}

/* partial [parts, VECTORS, columns] = Aᵀ x, x [VECTORS, rows], of PART rows each. */
__global__ void multiply_columns(matrix m, const twofold *x, twofold *partial)
{
    __shared__ twofold factors[VECTORS][PART];
    const size_t blocks = (m.columns + MGK_CUDA_BLOCK - 1) / MGK_CUDA_BLOCK;
    const size_t part = blockIdx.x / blocks;
    const size_t column = blockIdx.x % blocks * MGK_CUDA_BLOCK + threadIdx.x;
    const size_t top = part * PART, bottom = top + PART < m.rows ? top + PART : m.rows;
    for (size_t e = threadIdx.x; e < VECTORS * PART; e += MGK_CUDA_BLOCK)
        if (top + e % PART < bottom)
            factors[e / PART][e % PART] = x[e / PART * m.rows + top + e % PART];
    __syncthreads();
    if (column >= m.columns)
        return;
    twofold sums[VECTORS] = {};
    const size_t first = m.first_row(column);
#pragma unroll 4
    for (size_t i = first > top ? first : top; i < bottom; i++) {
        const double entry = m.a[i * m.stride + column];
#pragma unroll
        for (size_t v = 0; v < VECTORS; v++)
            sums[v] = add_product(sums[v], entry, factors[v][i - top]);
    }
#pragma unroll
    for (size_t v = 0; v < VECTORS; v++)
        partial[(part * VECTORS + v) * m.columns + column] = sums[v];
}

__global__ void join_parts(size_t parts, size_t size, const twofold *partial, twofold *y)
{
    for (size_t e = mgk_cuda_first(); e < size; e += mgk_cuda_step()) {
        twofold sum = {0, 0};
        for (size_t part = 0; part < parts; part++)
            sum = add(sum, partial[part * size + e]);
        y[e] = normal(sum);
    }
}

/* All arrays are scratch memory of the device. */
struct images {
    size_t n;
    twofold *w;       /* [VECTORS, n] */
    twofold *between; /* C w */
    twofold *square;  /* CᵀC w */
    twofold *split;   /* [VECTORS] bᵀ w */
    twofold *middle;  /* D Lᵀ w */
    twofold *product; /* L D Lᵀ w without L's diagonal */
    twofold *partial; /* [parts, VECTORS, n] */
};

static size_t parts_of(size_t n)
{
    return (n + PART - 1) / PART;
}

static mgk_status place(mgk_device *device, size_t n, images *out)
{
    const auto arrays = [&](uintptr_t end) {
        const size_t bytes = VECTORS * n * sizeof(twofold);
        out->n = n;
        out->w = (twofold *)mgk_cuda_take(&end, bytes);
        out->between = (twofold *)mgk_cuda_take(&end, bytes);
        out->square = (twofold *)mgk_cuda_take(&end, bytes);
        out->split = (twofold *)mgk_cuda_take(&end, VECTORS * sizeof(twofold));
        out->middle = (twofold *)mgk_cuda_take(&end, bytes);
        out->product = (twofold *)mgk_cuda_take(&end, bytes);
        out->partial = (twofold *)mgk_cuda_take(&end, parts_of(n) * bytes);
        return end;
    };
    void *memory;
    TRY(mgk_cuda_scratch(device, arrays(0), &memory));
    arrays((uintptr_t)memory);
    return STATUS_OK;
}

/* w = the first `count` of VECTORS rows, followed by zeros. */
__global__ void begin(images s, size_t count, const double *rows)
{
    for (size_t e = mgk_cuda_first(); e < VECTORS * s.n; e += mgk_cuda_step())
        s.w[e] = {e < count * s.n ? rows[e] : 0, 0};
}

/* middle ← D (middle + w): the diagonal of L is 1. */
__global__ void multiply_pivots(images s, const double *k, size_t stride)
{
    for (size_t e = mgk_cuda_first(); e < VECTORS * s.n; e += mgk_cuda_step())
        s.middle[e] = multiply(k[e % s.n * (stride + 1)], normal(add(s.middle[e], s.w[e])));
}

__global__ void subtract(images s, mgk_residual r, size_t count, double *rows)
{
    for (size_t e = mgk_cuda_first(); e < count * s.n; e += mgk_cuda_step()) {
        const twofold square = s.square[e];
        twofold sum = add(add(s.product[e], s.middle[e]), {-square.high, -square.low});
        sum = add_product(sum, r.x, s.w[e]);
        if (r.b)
            sum = add_product(sum, r.b[e % s.n], multiply(r.factor, s.split[e / s.n]));
        rows[e] = sum.high + sum.low;
    }
}

__global__ void store_rounded(images s, size_t count, double *rows)
{
    for (size_t e = mgk_cuda_first(); e < count * s.n; e += mgk_cuda_step())
        rows[e] = s.between[e].high;
}

static mgk_status times(mgk_device *device, const matrix &m, const twofold *x, twofold *y)
{
    const size_t rows = MGK_CUDA_BLOCK / MGK_WARP * ROWS;
    return mgk_cuda_launch(device, multiply_rows, (m.rows + rows - 1) / rows, MGK_CUDA_BLOCK, 0, m,
                           x, y);
}

static mgk_status times_transposed(mgk_device *device, const matrix &m, const twofold *x,
                                   const images &s, twofold *y)
{
    const size_t parts = parts_of(m.rows);
    const size_t blocks = (m.columns + MGK_CUDA_BLOCK - 1) / MGK_CUDA_BLOCK;
    TRY(mgk_cuda_launch(device, multiply_columns, parts * blocks, MGK_CUDA_BLOCK, 0, m, x,
                        s.partial));
    return mgk_cuda_launch(device, join_parts, mgk_cuda_blocks(VECTORS * m.columns), MGK_CUDA_BLOCK,
                           0, parts, VECTORS * m.columns, s.partial, y);
}

static matrix matrix_of(const mgk_residual *r)
{
    return {r->c, r->n, r->n, r->stride, r->causal ? 1 : r->n};
}

static mgk_status apply(mgk_device *device, const mgk_residual *r, const images &s, size_t count,
                        double *rows)
{
    const size_t n = r->n, blocks = mgk_cuda_blocks(VECTORS * n);
    const matrix c = matrix_of(r), l = {r->k, n, n, r->k_stride, 0}, b = {r->b, 1, n, n, n};
    TRY(mgk_cuda_launch(device, begin, blocks, MGK_CUDA_BLOCK, 0, s, count, rows));
    TRY(times(device, c, s.w, s.between));
    TRY(times_transposed(device, c, s.between, s, s.square));
    if (r->b)
        TRY(times(device, b, s.w, s.split));
    TRY(times_transposed(device, l, s.w, s, s.middle));
    TRY(mgk_cuda_launch(device, multiply_pivots, blocks, MGK_CUDA_BLOCK, 0, s, r->k, r->k_stride));
    TRY(times(device, l, s.middle, s.product));
    return mgk_cuda_launch(device, subtract, blocks, MGK_CUDA_BLOCK, 0, s, *r, count, rows);
}

static mgk_status multiply_exactly(mgk_device *device, const mgk_residual *r, const images &s,
                                   size_t count, double *rows)
{
    const size_t blocks = mgk_cuda_blocks(VECTORS * r->n);
    TRY(mgk_cuda_launch(device, begin, blocks, MGK_CUDA_BLOCK, 0, s, count, rows));
    TRY(times(device, matrix_of(r), s.w, s.between));
    return mgk_cuda_launch(device, store_rounded, blocks, MGK_CUDA_BLOCK, 0, s, count, rows);
}

typedef mgk_status operation(mgk_device *, const mgk_residual *, const images &, size_t, double *);

/* Calls it with VECTORS of the rows at a time. */
static mgk_status in_groups(mgk_device *device, operation *call, const mgk_residual *r,
                            size_t count, double *rows)
{
    images s;
    if (r->n == 0)
        return STATUS_OK;
    TRY(place(device, r->n, &s));
    for (size_t first = 0; first < count; first += VECTORS) {
        const size_t last = first + VECTORS < count ? first + VECTORS : count;
        TRY(call(device, r, s, last - first, rows + first * r->n));
    }
    return STATUS_OK;
}

mgk_status mgk_cuda_residual_images(mgk_device *device, const mgk_residual *r, size_t count,
                                    double *rows)
{
    return in_groups(device, apply, r, count, rows);
}

mgk_status mgk_cuda_exact_images(mgk_device *device, const mgk_residual *r, size_t count,
                                 double *rows)
{
    return in_groups(device, multiply_exactly, r, count, rows);
}
