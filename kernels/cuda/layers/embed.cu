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
 * A warp owns the first position in the batch of each id, and adds all positions of that id in
 * order: no sum depends on which block runs first.
 */
template <typename real>
__global__ void add_words(size_t rows, size_t cols, const int32_t *ids, real scale, const real *dy,
                          real *dtable)
{
    size_t lane = threadIdx.x % MGK_WARP;
    for (size_t row = mgk_cuda_first() / MGK_WARP; row < rows; row += mgk_cuda_step() / MGK_WARP) {
        int32_t id = ids[row];
        int earlier = id < 0;
        for (size_t other = lane; other < row && !earlier; other += MGK_WARP)
            earlier = ids[other] == id;
        if (mgk_lanes_max(earlier, MGK_WARP))
            continue;
        real *sum = dtable + (size_t)id * cols;
        for (size_t first = row; first < rows; first += MGK_WARP) {
            bool same = first + lane < rows && ids[first + lane] == id;
            unsigned found = __ballot_sync(MGK_ALL_LANES, same);
            for (; found; found &= found - 1) {
                const real *source = dy + (first + (size_t)__ffs((int)found) - 1) * cols;
                for (size_t c = lane; c < cols; c += MGK_WARP)
                    sum[c] += scale * source[c];
            }
        }
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
    size_t rows = samples * tokens;
    TRY(mgk_cuda_launch(device, add_words<real>, mgk_cuda_blocks(rows * MGK_WARP), MGK_CUDA_BLOCK,
                        0, rows, cols, ids, (real)scale, (const real *)dy, (real *)dtable));
    if (!dposition)
        return STATUS_OK;
    return mgk_cuda_launch(device, add_positions<real>, mgk_cuda_blocks(tokens * cols),
                           MGK_CUDA_BLOCK, 0, samples, tokens, cols, ids, (const real *)dy,
                           (real *)dposition);
}

MGK_CUDA_OPERATION(mgk_cuda_embed);
MGK_CUDA_OPERATION(mgk_cuda_embed_backward);
