/* SPDX-License-Identifier: MIT */
/*
 * Products of tiles by tensor cores. A tile is an array of vectors in shared memory. A warp
 * multiplies 16 of its rows by all rows of another tile (mgk_dots), or adds up the rows of a tile
 * with 16 rows of weights (mgk_weigh).
 *
 * Sums are in registers, in blocks of 16 rows by 8 columns. Lane 4 g + t of the warp holds rows g
 * and g + 8 and columns 2 t and 2 t + 1 of each: sum[n][2 i + e] is row g + 8 i, column 8 n + 2 t +
 * e. The sums of mgk_dots are the weights of mgk_weigh without a move: the order of the terms of a
 * sum is free, so term t of eight is column 2 t, and term t + 4 is column 2 t + 1.
 *
 * Float has two ways. The accurate one splits each factor into the nearest TF32 number and a rest,
 * and adds three products: rest by number, number by rest, number by number. The error of a product
 * is at most 2^-21 of it: the product of the rests, and the last bit of each rest. The other way
 * takes the nearest numbers alone. The instruction ignores the low 13 bits of its factors. Double
 * has instructions of its own.
 */
#ifndef MGK_KERNELS_CUDA_FRAGMENTS_H
#define MGK_KERNELS_CUDA_FRAGMENTS_H

#include <cuda_pipeline.h>

#include "kernels/cuda/sums.h"

enum {
    MGK_FRAGMENT_ROWS = 16,
    MGK_FRAGMENT_LANES = 4, /* neighbouring lanes that hold the same rows */
    MGK_BESIDE = 4          /* reals that follow each vector of a tile */
};

/* Neighbouring numbers, read and written at once. */
template <typename real, int COUNT>
struct alignas(COUNT * sizeof(real) < 16 ? COUNT * sizeof(real) : 16) mgk_neighbours {
    real at[COUNT];
};

/*
 * The sizes of a kernel that keeps OWN tiles of `rows` vectors, and copies tiles of `columns`
 * vectors. Room for two of these is within 99 KiB of shared memory, which a block can use on every
 * architecture since 8.0, but for float64 vectors of more than 128 numbers.
 */
template <typename real, int DEPTH, int OWN> struct mgk_tiles {
    static const int words = DEPTH * (int)sizeof(real) / 4; /* of a vector */
    static const int most_rows = 16384 / OWN / words;
    static const int rows = most_rows < 64 ? most_rows : 64;
    static const int room = 2048 / words, most_columns = 128 / (int)sizeof(real);
    static const int share = room < most_columns ? room : most_columns;
    static const int columns = share < MGK_FRAGMENT_ROWS ? MGK_FRAGMENT_ROWS : share;
    static const int blocks = columns / 8; /* of sums */
    static const int threads = rows / MGK_FRAGMENT_ROWS * MGK_WARP;
    static const int resident = sizeof(real) == 4 && words <= 64 ? 3 : 1; /* a multiprocessor */
    static const int pitch = DEPTH + MGK_BESIDE;
    static constexpr size_t bytes(int column_tiles)
    {
        return (size_t)(OWN * rows + column_tiles * columns) * (size_t)pitch * sizeof(real);
    }
};

/*
 * The row of a tile that is row or column n of block `block` of the sums, 0 <= n < 8. Rows are
 * numbered so that a warp reads without bank conflicts: of four reals at a time, 8 lanes read 2
 * rows of mgk_dots or 4 rows of mgk_weigh, and the pitch is an odd number of them.
 */
__device__ static inline int mgk_fragment_row(int block, int n)
{
    return block / 2 * 16 + block % 2 + (n % 2 ? 8 + (n + 3) % 8 : n);
}

__device__ static inline int mgk_lane(void)
{
    return (int)(threadIdx.x % MGK_WARP);
}

/* The thread's row i (0 or 1) in the block's tile of rows; a warp has 16 of them. */
__device__ static inline int mgk_own_row(int i)
{
    return (int)(threadIdx.x / MGK_WARP) * MGK_FRAGMENT_ROWS +
           mgk_fragment_row(i, mgk_lane() / MGK_FRAGMENT_LANES);
}

/* The row of the other tile that is column e of the thread's block n of sums. */
__device__ static inline int mgk_own_column(int n, int e)
{
    return mgk_fragment_row(n, 2 * (mgk_lane() % MGK_FRAGMENT_LANES) + e);
}

/* Calls body(n, k) for each of the thread's four sums of each block. */
template <int BLOCKS, typename Body> __device__ void mgk_for_sums(const Body &body)
{
#pragma unroll
    for (int n = 0; n < BLOCKS; n++)
#pragma unroll
        for (int k = 0; k < 4; k++)
            body(n, k);
}

/*
 * sum += a b, by all lanes of a warp: a is 16 x 8, b is 8 x 8. Lane 4 g + t has a[2 h + i] of row g
 * + 8 i and term t + 4 h, and b[h] of term t + 4 h and column g.
 */
#ifndef MGK_CUDA_EMULATED
__device__ static inline void mgk_multiply_tf32(float (&sum)[4], const float (&a)[4],
                                                const float (&b)[2])
{
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])),
                   "r"(__float_as_uint(a[2])), "r"(__float_as_uint(a[3])),
                   "r"(__float_as_uint(b[0])), "r"(__float_as_uint(b[1])));
}

/* 8 x 4 by 4 x 8: one row, one term and two columns of the above. */
__device__ static inline void mgk_multiply_double(double &sum0, double &sum1, double a, double b)
{
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+d"(sum0), "+d"(sum1)
                 : "d"(a), "d"(b));
}
#endif

/* The nearest TF32 number, but for the low 13 bits, which the instruction ignores. */
__device__ static inline float mgk_nearest_tf32(float x)
{
    return isnan(x) ? x : __uint_as_float(__float_as_uint(x) + 0x1000u);
}

/* x = high + low, high the nearest TF32 number. If x is NaN, low is. */
__device__ static inline void mgk_split(float x, float &high, float &low)
{
    high = __uint_as_float((__float_as_uint(x) + 0x1000u) & 0xffffe000u);
    low = x - high;
}

/*
 * sum[n] += a b[n], 16 terms: two times 8. The accurate way adds small products first, and then the
 * result to the sum, because tensor cores round towards zero.
 */
template <bool TF32, int N>
__device__ void mgk_multiply(float (*sum)[4], const float (&a)[2][4], const float (&b)[2][N][2])
{
    if constexpr (TF32) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            float left[4];
#pragma unroll
            for (int k = 0; k < 4; k++)
                left[k] = mgk_nearest_tf32(a[half][k]);
#pragma unroll
            for (int n = 0; n < N; n++) {
                const float right[2] = {mgk_nearest_tf32(b[half][n][0]),
                                        mgk_nearest_tf32(b[half][n][1])};
                mgk_multiply_tf32(sum[n], left, right);
            }
        }
    } else {
        float a_high[2][4], b_high[2][N][2], part[N][4];
        mgk_for_sums<N>([&](int n, int k) { part[n][k] = 0; });
        /* Products of one sum wait for each other; those of other sums are between them. */
#pragma unroll
        for (int half = 0; half < 2; half++) {
            float a_low[4], b_low[N][2];
#pragma unroll
            for (int k = 0; k < 4; k++)
                mgk_split(a[half][k], a_high[half][k], a_low[k]);
#pragma unroll
            for (int n = 0; n < N; n++)
#pragma unroll
                for (int k = 0; k < 2; k++)
                    mgk_split(b[half][n][k], b_high[half][n][k], b_low[n][k]);
#pragma unroll
            for (int n = 0; n < N; n++)
                mgk_multiply_tf32(part[n], a_low, b_high[half][n]);
#pragma unroll
            for (int n = 0; n < N; n++)
                mgk_multiply_tf32(part[n], a_high[half], b_low[n]);
        }
#pragma unroll
        for (int half = 0; half < 2; half++)
#pragma unroll
            for (int n = 0; n < N; n++)
                mgk_multiply_tf32(part[n], a_high[half], b_high[half][n]);
        mgk_for_sums<N>([&](int n, int k) { sum[n][k] += part[n][k]; });
    }
}

template <bool, int N>
__device__ void mgk_multiply(double (*sum)[4], const double (&a)[2][4], const double (&b)[2][N][2])
{
#pragma unroll
    for (int half = 0; half < 2; half++)
#pragma unroll
        for (int h = 0; h < 2; h++)
#pragma unroll
            for (int n = 0; n < N; n++)
#pragma unroll
                for (int i = 0; i < 2; i++)
                    mgk_multiply_double(sum[n][2 * i], sum[n][2 * i + 1], a[half][2 * h + i],
                                        b[half][n][h]);
}

/* Blocks of sums that wait for each other's products. */
enum { MGK_GROUP = 4 };

/*
 * sum[n] = the dot products of the warp's 16 rows of the tile `rows` and the rows of the tile
 * `columns`.
 */
template <int DEPTH, bool TF32, int BLOCKS, typename real>
__device__ void mgk_dots(const real *rows, const real *columns, real (&sum)[BLOCKS][4])
{
    const int pitch = DEPTH + MGK_BESIDE, group = BLOCKS < MGK_GROUP ? BLOCKS : MGK_GROUP;
    const int g = mgk_lane() / MGK_FRAGMENT_LANES, t = mgk_lane() % MGK_FRAGMENT_LANES;
    typedef mgk_neighbours<real, 4> four;
    __syncwarp(); /* tensor cores need all lanes at the same place */
    mgk_for_sums<BLOCKS>([&](int n, int k) { sum[n][k] = 0; });
#pragma unroll 2
    for (int depth = 0; depth < DEPTH; depth += 16) {
        real a[2][4];
#pragma unroll
        for (int i = 0; i < 2; i++) {
            const four left = *(const four *)(rows + mgk_own_row(i) * pitch + depth + 4 * t);
#pragma unroll
            for (int k = 0; k < 4; k++)
                a[k / 2][k % 2 * 2 + i] = left.at[k];
        }
#pragma unroll
        for (int first = 0; first < BLOCKS; first += group) {
            real b[2][group][2];
#pragma unroll
            for (int n = 0; n < group; n++) {
                const four right = *(
                    const four *)(columns + mgk_fragment_row(first + n, g) * pitch + depth + 4 * t);
#pragma unroll
                for (int k = 0; k < 4; k++)
                    b[k / 2][n][k % 2] = right.at[k];
            }
            mgk_multiply<TF32, group>(sum + first, a, b);
        }
    }
}

/* Neighbouring columns of a thread's sums of vectors. */
template <int DEPTH> struct mgk_columns {
    static const int group = DEPTH < 32 ? 2 : MGK_GROUP;
};

/*
 * sum += weights · vectors, for the warp's rows of weights; one weight for each row of the tile
 * `vectors`. Column 2 t + e of sum[c + j], c a multiple of mgk_columns::group, is number 8 c +
 * group (2 t + e) + j of the vectors.
 */
template <int DEPTH, bool TF32, int BLOCKS, typename real>
__device__ void mgk_weigh(const real (&weights)[BLOCKS][4], const real *vectors,
                          real (&sum)[DEPTH / 8][4])
{
    const int pitch = DEPTH + MGK_BESIDE, group = mgk_columns<DEPTH>::group;
    const int g = mgk_lane() / MGK_FRAGMENT_LANES;
    typedef mgk_neighbours<real, group> neighbours;
    __syncwarp();
#pragma unroll
    for (int n = 0; n < BLOCKS; n += 2)
#pragma unroll
        for (int c = 0; c < DEPTH / 8; c += group) {
            real a[2][4], b[2][group][2];
#pragma unroll
            for (int half = 0; half < 2; half++)
#pragma unroll
                for (int h = 0; h < 2; h++) {
                    const neighbours right =
                        *(const neighbours *)(vectors + mgk_own_column(n + half, h) * pitch +
                                              8 * c + group * g);
#pragma unroll
                    for (int i = 0; i < 2; i++)
                        a[half][2 * h + i] = weights[n + half][2 * i + h];
#pragma unroll
                    for (int j = 0; j < group; j++)
                        b[half][j][h] = right.at[j];
                }
            mgk_multiply<TF32, group>(sum + c, a, b);
        }
}

/* Calls take(i, d, neighbours) for all neighbours, from number d on, of the thread's row i. */
template <int DEPTH, typename real, typename Take>
__device__ void mgk_for_columns(const real (&sum)[DEPTH / 8][4], const Take &take)
{
    const int group = mgk_columns<DEPTH>::group, t = mgk_lane() % MGK_FRAGMENT_LANES;
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int c = 0; c < DEPTH / 8; c += group)
#pragma unroll
            for (int e = 0; e < 2; e++) {
                mgk_neighbours<real, group> x;
#pragma unroll
                for (int j = 0; j < group; j++)
                    x.at[j] = sum[c + j][2 * i + e];
                take(i, 8 * c + group * (2 * t + e), x);
            }
}

/* row[d …] = x, up to number dim − 1. */
template <typename real, int COUNT>
__device__ void mgk_store_neighbours(real *row, int d, int dim,
                                     const mgk_neighbours<real, COUNT> &x)
{
    typedef mgk_neighbours<real, COUNT> neighbours;
    if (d + COUNT <= dim && (uintptr_t)(row + d) % alignof(neighbours) == 0) {
        *(neighbours *)(row + d) = x;
        return;
    }
#pragma unroll
    for (int j = 0; j < COUNT; j++)
        if (d + j < dim)
            row[d + j] = x.at[j];
}

/* The copy of mgk_copy_vectors, WIDTH numbers at a time. Each thread begins its share. */
template <int ROWS, int DEPTH, int WIDTH, int THREADS, typename real>
__device__ void mgk_copy_vectors_by(real *tile, const real *source, size_t stride, int first,
                                    int valid, int dim)
{
    const int across = DEPTH / WIDTH < THREADS ? DEPTH / WIDTH : THREADS, down = THREADS / across;
    const int begin = (int)(threadIdx.x % (unsigned)across) * WIDTH;
    const real *from = source + threadIdx.x / (unsigned)across * stride;
    real *to = tile + threadIdx.x / (unsigned)across * (DEPTH + MGK_BESIDE);
#pragma unroll 1
    for (int row = (int)(threadIdx.x / (unsigned)across); row < ROWS; row += down) {
#pragma unroll
        for (int d = begin; d < DEPTH; d += across * WIDTH)
            if (first + row < valid && d < dim)
                __pipeline_memcpy_async(to + d, from + d, WIDTH * sizeof(real));
            else
                *(mgk_neighbours<real, WIDTH> *)(to + d) = mgk_neighbours<real, WIDTH>{};
        from += (size_t)down * stride;
        to += down * (DEPTH + MGK_BESIDE);
    }
}

/*
 * Begins to copy the vectors of tokens first … of an array to a tile, `source` being the vector of
 * token `first`; 0 beyond `valid` and beyond D. 16 bytes at a time, if all vectors allow that.
 */
template <int ROWS, int DEPTH, int THREADS, typename real>
__device__ void mgk_copy_vectors(real *tile, const real *source, size_t stride, int first,
                                 int valid, int dim)
{
    const int width = 16 / (int)sizeof(real);
    if (dim % width == 0 && stride % width == 0 && (uintptr_t)source % 16 == 0)
        mgk_copy_vectors_by<ROWS, DEPTH, width, THREADS>(tile, source, stride, first, valid, dim);
    else
        mgk_copy_vectors_by<ROWS, DEPTH, 1, THREADS>(tile, source, stride, first, valid, dim);
}

/*
 * Begins to copy source[first …] to the places beside the vectors of tokens first …; `other` beyond
 * `valid`. The block has at least ROWS threads.
 */
template <int ROWS, int DEPTH, typename real, int COUNT>
__device__ void mgk_copy_beside(real *tile, const mgk_neighbours<real, COUNT> *source, int first,
                                int valid, const mgk_neighbours<real, COUNT> &other)
{
    const size_t bytes = sizeof(other) < 16 ? sizeof(other) : 16;
    const int row = (int)threadIdx.x;
    if (row >= ROWS)
        return;
    void *to = tile + row * (DEPTH + MGK_BESIDE) + DEPTH;
    if (first + row >= valid) {
        *(mgk_neighbours<real, COUNT> *)to = other;
        return;
    }
#pragma unroll
    for (size_t at = 0; at < sizeof(other); at += bytes)
        __pipeline_memcpy_async((char *)to + at, (const char *)(source + first + row) + at, bytes);
}

template <typename T> __device__ void mgk_swap(T &a, T &b)
{
    const T copy = a;
    a = b;
    b = copy;
}

/* Waits for the copies of all threads of the block. */
__device__ static inline void mgk_wait_copies(void)
{
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
}

#endif
