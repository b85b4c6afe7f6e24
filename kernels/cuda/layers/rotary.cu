/* SPDX-License-Identifier: MIT */
/* Rotary position embedding (Su et al. 2021), and key heads shared by several query heads. */
#include "kernels/cuda/operations.h"

template <typename real>
__global__ void rotary_embedding(size_t rows, size_t tokens, size_t heads, size_t key_heads,
                                 size_t dim, const real *angles, const real *x, size_t x_stride,
                                 real *y, size_t y_stride)
{
    const size_t width = heads * dim, half = dim / 2;
    for (size_t at = mgk_cuda_first(); at < rows * width; at += mgk_cuda_step()) {
        size_t i = at / width, h = at % width / dim, d = at % dim;
        const real *source = x + i * x_stride + h * key_heads / heads * dim;
        real *out = y + i * y_stride + h * dim + d;
        if (!angles) {
            *out = source[d];
            continue;
        }
        const real *cosine = angles + i % tokens * dim, *sine = cosine + half;
        if (d < half)
            *out = source[d] * cosine[d] - source[d + half] * sine[d];
        else
            *out = source[d] * cosine[d - half] + source[d - half] * sine[d - half];
    }
}

template <typename real>
mgk_status mgk_cuda_rotary_embedding(mgk_device *device, size_t samples, size_t tokens,
                                     size_t heads, size_t key_heads, size_t dim, const void *angles,
                                     const void *x, size_t x_stride, void *y, size_t y_stride)
{
    const size_t rows = samples * tokens;
    return mgk_cuda_launch(device, rotary_embedding<real>, mgk_cuda_blocks(rows * heads * dim),
                           MGK_CUDA_BLOCK, 0, rows, tokens, heads, key_heads, dim,
                           (const real *)angles, (const real *)x, x_stride, (real *)y, y_stride);
}

MGK_CUDA_OPERATION(mgk_cuda_rotary_embedding);
