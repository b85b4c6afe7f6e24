/* SPDX-License-Identifier: MIT */
/* Copies the valid block of a padded matrix, packed, in float64. */
#include "kernels/cuda/operations.h"

template <typename real>
__global__ void widen(size_t n, size_t stride, const real *matrix, double *block)
{
    for (size_t e = mgk_cuda_first(); e < n * n; e += mgk_cuda_step())
        block[e] = (double)matrix[e / n * stride + e % n];
}

template <typename real>
mgk_status mgk_cuda_take_block(mgk_device *device, size_t n, size_t stride, const void *matrix,
                               double *block)
{
    return mgk_cuda_launch(device, widen<real>, mgk_cuda_blocks(n * n), MGK_CUDA_BLOCK, 0, n,
                           stride, (const real *)matrix, block);
}

MGK_CUDA_OPERATION(mgk_cuda_take_block);
