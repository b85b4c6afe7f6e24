/* SPDX-License-Identifier: MIT */
/* Sums in an order that depends only on the sizes, so that the same input gives the same bits. */
#ifndef MGK_KERNELS_CUDA_SUMS_H
#define MGK_KERNELS_CUDA_SUMS_H

#include "kernels/cuda/cuda.h"

enum { MGK_WARP = 32 };
#define MGK_ALL_LANES 0xffffffffu

/* The sum over groups of `width` neighbouring lanes (a power of two), for every lane of a group. */
template <typename T> __device__ T mgk_lanes_sum(T x, int width)
{
    for (int distance = width / 2; distance > 0; distance /= 2)
        x += __shfl_xor_sync(MGK_ALL_LANES, x, distance);
    return x;
}

/* The larger; NaN counts as larger than all numbers, so that maxima do not ignore it. */
template <typename T> __device__ T mgk_larger(T a, T b)
{
    return a > b || a != a ? a : b;
}

template <typename T> __device__ T mgk_lanes_max(T x, int width)
{
    for (int distance = width / 2; distance > 0; distance /= 2)
        x = mgk_larger(__shfl_xor_sync(MGK_ALL_LANES, x, distance), x);
    return x;
}

/*
 * Lane l receives the sum of term(first + l % width) over the `width` neighbouring lanes. At each
 * level a lane hands half of its sums to its partner and receives the other half.
 */
template <int width, int first, typename Term> __device__ auto mgk_lanes_sum_parts(const Term &term)
{
    if constexpr (width == 1) {
        return term(first);
    } else {
        const auto low = mgk_lanes_sum_parts<width / 2, first>(term);
        const auto high = mgk_lanes_sum_parts<width / 2, first + width / 2>(term);
        const bool upper = threadIdx.x & (width / 2);
        return (upper ? high : low) + __shfl_xor_sync(MGK_ALL_LANES, upper ? low : high, width / 2);
    }
}

/*
 * Lane l receives the sum of term(l % count) over all lanes, for a power of two of terms: fewer
 * shuffles than `count` sums take. term is called with constants only, so it may choose a register.
 */
template <int count, typename Term> __device__ auto mgk_lanes_sum_each(const Term &term)
{
    auto sum = mgk_lanes_sum_parts<count, 0>(term);
    for (int distance = count; distance < MGK_WARP; distance *= 2)
        sum += __shfl_xor_sync(MGK_ALL_LANES, sum, distance);
    return sum;
}

/* Joins the numbers of a block of MGK_CUDA_BLOCK threads; every thread receives the result. */
template <typename T, typename Join> __device__ T mgk_block_join(T x, Join join)
{
    __shared__ T parts[MGK_CUDA_BLOCK / MGK_WARP];
    for (int distance = MGK_WARP / 2; distance > 0; distance /= 2)
        x = join(__shfl_xor_sync(MGK_ALL_LANES, x, distance), x);
    __syncthreads(); /* parts may still be read from the last call */
    if (threadIdx.x % MGK_WARP == 0)
        parts[threadIdx.x / MGK_WARP] = x;
    __syncthreads();
    T all = parts[0];
    for (int warp = 1; warp < MGK_CUDA_BLOCK / MGK_WARP; warp++)
        all = join(parts[warp], all);
    return all;
}

template <typename T> __device__ T mgk_block_sum(T x)
{
    return mgk_block_join(x, [](T a, T b) { return a + b; });
}

/* See mgk_larger. */
template <typename T> __device__ T mgk_block_max(T x)
{
    return mgk_block_join(x, [](T a, T b) { return mgk_larger(a, b); });
}

__device__ static inline uint64_t mgk_block_or(uint64_t x)
{
    return mgk_block_join(x, [](uint64_t a, uint64_t b) { return a | b; });
}

/* Rows summed by one thread of the first stage. */
enum { MGK_COLUMN_ROWS = 64 };

/* partial [parts, cols]: block p sums rows p R … of term(row, col). */
template <typename real, typename Term>
__global__ void mgk_sum_column_parts(size_t rows, size_t cols, Term term, real *partial)
{
    size_t parts = (rows + MGK_COLUMN_ROWS - 1) / MGK_COLUMN_ROWS;
    for (size_t i = mgk_cuda_first(); i < parts * cols; i += mgk_cuda_step()) {
        size_t part = i / cols, col = i % cols;
        size_t last = (part + 1) * MGK_COLUMN_ROWS;
        real sum = 0;
        for (size_t row = part * MGK_COLUMN_ROWS; row < (last < rows ? last : rows); row++)
            sum += term(row, col);
        partial[i] = sum;
    }
}

template <typename real>
__global__ void mgk_add_column_parts(size_t parts, size_t cols, const real *partial, real *sums)
{
    size_t col = blockIdx.x;
    double sum = 0;
    for (size_t part = threadIdx.x; part < parts; part += blockDim.x)
        sum += (double)partial[part * cols + col];
    sum = mgk_block_sum(sum);
    if (threadIdx.x == 0)
        sums[col] += (real)sum;
}

/* sums [cols] += Σ_row term(row, col); term is a function object that runs on the device. */
template <typename real, typename Term>
mgk_status mgk_sum_columns(mgk_device *device, size_t rows, size_t cols, Term term, real *sums)
{
    size_t parts = (rows + MGK_COLUMN_ROWS - 1) / MGK_COLUMN_ROWS;
    real *partial;
    TRY(mgk_cuda_scratch(device, parts * cols * sizeof(real), &partial));
    TRY(mgk_cuda_launch(device, mgk_sum_column_parts<real, Term>, mgk_cuda_blocks(parts * cols),
                        MGK_CUDA_BLOCK, 0, rows, cols, term, partial));
    return mgk_cuda_launch(device, mgk_add_column_parts<real>, cols, MGK_CUDA_BLOCK, 0, parts, cols,
                           partial, sums);
}

#endif
