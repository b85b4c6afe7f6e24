/* SPDX-License-Identifier: MIT */
/* Token and position embedding. */
#include "kernels/cuda/operations.h"
#include "kernels/cuda/sums.h"

template <typename real>
__global__ void embed(size_t rows, size_t tokens, size_t cols, const int32_t *ids,
                      const int32_t *lengths, real scale, const real *table, const real *position,
                      real *y)
{
    for (size_t i = mgk_cuda_first(); i < rows * cols; i += mgk_cuda_step()) {
        size_t row = i / cols, c = i % cols;
        int64_t t = (int64_t)(row % tokens), p = lengths ? lengths[row / tokens] - 1 - t : t;
        int32_t id = ids[row];
        real place = position && p >= 0 ? position[(size_t)p * cols + c] : 0;
        y[i] = id < 0 || p < 0 ? 0 : scale * table[(size_t)id * cols + c] + place;
    }
}

template <typename real>
mgk_status mgk_cuda_embed(mgk_device *device, size_t samples, size_t tokens, size_t cols,
                          const int32_t *ids, const int32_t *lengths, double scale,
                          const void *table, const void *position, void *y)
{
    return mgk_cuda_launch(device, embed<real>, mgk_cuda_blocks(samples * tokens * cols),
                           MGK_CUDA_BLOCK, 0, samples * tokens, tokens, cols, ids, lengths,
                           (real)scale, (const real *)table, (const real *)position, (real *)y);
}

/*
 * dtable += scale dy. A warp owns the first position in the batch of each id. It adds the id's
 * positions in order if there are at most 32; a lane remembers one. Otherwise it appends its own
 * position to `frequent` (the count, then positions; their order does not matter).
 */
template <typename real>
__global__ void add_words(size_t rows, size_t cols, const int32_t *ids, real scale, const real *dy,
                          real *dtable, int *frequent)
{
    const size_t lane = threadIdx.x % MGK_WARP;
    for (size_t row = mgk_cuda_first() / MGK_WARP; row < rows; row += mgk_cuda_step() / MGK_WARP) {
        const int32_t id = ids[row];
        int earlier = id < 0, count = 0;
        for (size_t other = lane; other < row && !earlier; other += MGK_WARP)
            earlier = ids[other] == id;
        if (mgk_lanes_max(earlier, MGK_WARP))
            continue;
        size_t own = row;
        for (size_t first = row; first < rows && count <= MGK_WARP; first += MGK_WARP) {
            const bool same = first + lane < rows && ids[first + lane] == id;
            unsigned found = __ballot_sync(MGK_ALL_LANES, same);
            for (; found; found &= found - 1, count++)
                if (count == (int)lane)
                    own = first + (size_t)__ffs((int)found) - 1;
        }
        if (count > MGK_WARP) {
            if (lane == 0)
                frequent[1 + atomicAdd(frequent, 1)] = (int)row;
            continue;
        }
        for (size_t first = 0; first < cols; first += MGK_WARP) {
            const size_t column = first + lane;
            real sum = 0;
            for (int k = 0; k < count; k++) {
                const size_t position = __shfl_sync(MGK_ALL_LANES, own, k);
                sum += column < cols ? dy[position * cols + column] : 0;
            }
            if (column < cols)
                dtable[(size_t)id * cols + column] += scale * sum;
        }
    }
}

/*
 * The same for the ids that add_words has put aside. A block adds 32 columns of an id; each of its
 * warps takes every eighth group of 32 positions.
 */
template <typename real>
__global__ void add_frequent_words(size_t rows, size_t cols, const int32_t *ids, real scale,
                                   const real *dy, real *dtable, const int *frequent)
{
    __shared__ real parts[MGK_CUDA_BLOCK];
    const size_t lane = threadIdx.x % MGK_WARP, warp = threadIdx.x / MGK_WARP;
    const size_t tiles = (cols + MGK_WARP - 1) / MGK_WARP;
    const size_t column = blockIdx.x % tiles * MGK_WARP + lane;
    for (size_t k = blockIdx.x / tiles; k < (size_t)frequent[0]; k += gridDim.x / tiles) {
        const int32_t id = ids[frequent[1 + k]];
        real sum = 0;
        for (size_t first = warp * MGK_WARP; first < rows; first += MGK_CUDA_BLOCK) {
            const bool same = first + lane < rows && ids[first + lane] == id;
            const unsigned found = __ballot_sync(MGK_ALL_LANES, same);
#pragma unroll 8 /* so many loads at a time */
            for (unsigned i = 0; found && i < MGK_WARP; i++)
                sum += found >> i & 1 && column < cols ? dy[(first + i) * cols + column] : 0;
        }
        parts[threadIdx.x] = sum;
        __syncthreads();
        if (warp == 0 && column < cols) {
            for (size_t part = 1; part < MGK_CUDA_BLOCK / MGK_WARP; part++)
                sum += parts[part * MGK_WARP + lane];
            dtable[(size_t)id * cols + column] += scale * sum;
        }
        __syncthreads();
    }
}

template <typename real>
__global__ void add_positions(size_t samples, size_t tokens, size_t cols, const int32_t *ids,
                              const real *dy, real *dposition)
{
    for (size_t i = mgk_cuda_first(); i < tokens * cols; i += mgk_cuda_step()) {
        real sum = 0;
        for (size_t b = 0; b < samples; b++)
            if (ids[b * tokens + i / cols] >= 0)
                sum += dy[b * tokens * cols + i];
        dposition[i] += sum;
    }
}

template <typename real>
mgk_status mgk_cuda_embed_backward(mgk_device *device, size_t samples, size_t tokens, size_t cols,
                                   const int32_t *ids, double scale, const void *dy, void *dtable,
                                   void *dposition)
{
    const size_t rows = samples * tokens, most = rows / (MGK_WARP + 1); /* frequent ids */
    const size_t tiles = (cols + MGK_WARP - 1) / MGK_WARP, together = 128;
    int *frequent;
    TRY(mgk_cuda_scratch(device, (1 + most) * sizeof(*frequent), &frequent));
    TRY(device->op->zero(device, frequent, sizeof(*frequent)));
    TRY(mgk_cuda_launch(device, add_words<real>, mgk_cuda_blocks(rows * MGK_WARP), MGK_CUDA_BLOCK,
                        0, rows, cols, ids, (real)scale, (const real *)dy, (real *)dtable,
                        frequent));
    TRY(mgk_cuda_launch(device, add_frequent_words<real>,
                        tiles * (most < together ? most : together), MGK_CUDA_BLOCK, 0, rows, cols,
                        ids, (real)scale, (const real *)dy, (real *)dtable, frequent));
    if (!dposition)
        return STATUS_OK;
    return mgk_cuda_launch(device, add_positions<real>, mgk_cuda_blocks(tokens * cols),
                           MGK_CUDA_BLOCK, 0, samples, tokens, cols, ids, (const real *)dy,
                           (real *)dposition);
}

MGK_CUDA_OPERATION(mgk_cuda_embed);
MGK_CUDA_OPERATION(mgk_cuda_embed_backward);
