/* SPDX-License-Identifier: MIT */
/* Mean or sum over the valid tokens of each sample. */
#include "kernels/cuda/operations.h"
#include "kernels/cuda/sums.h"

/* One block per number of y. */
template <typename real>
__global__ void pool(size_t tokens, size_t cols, const int32_t *lengths, size_t divisor,
                     const real *x, real *y)
{
    size_t b = blockIdx.x / cols, c = blockIdx.x % cols;
    real sum = 0;
    for (int32_t t = (int32_t)threadIdx.x; t < lengths[b]; t += (int32_t)blockDim.x)
        sum += x[(b * tokens + (size_t)t) * cols + c];
    sum = mgk_block_sum(sum);
    if (threadIdx.x == 0)
        y[blockIdx.x] = lengths[b] > 0 ? sum / (divisor ? (real)divisor : (real)lengths[b]) : 0;
}

template <typename real>
mgk_status mgk_cuda_pool(mgk_device *device, size_t samples, size_t tokens, size_t cols,
                         const int32_t *lengths, size_t divisor, const void *x, void *y)
{
    return mgk_cuda_launch(device, pool<real>, samples * cols, MGK_CUDA_BLOCK, 0, tokens, cols,
                           lengths, divisor, (const real *)x, (real *)y);
}

template <typename real>
__global__ void pool_backward(size_t samples, size_t tokens, size_t cols, const int32_t *lengths,
                              size_t divisor, const real *dy, real *dx)
{
    for (size_t i = mgk_cuda_first(); i < samples * tokens * cols; i += mgk_cuda_step()) {
        size_t b = i / (tokens * cols);
        int32_t t = (int32_t)(i / cols % tokens);
        dx[i] = t < lengths[b]
                    ? dy[b * cols + i % cols] / (divisor ? (real)divisor : (real)lengths[b])
                    : 0;
    }
}

template <typename real>
mgk_status mgk_cuda_pool_backward(mgk_device *device, size_t samples, size_t tokens, size_t cols,
                                  const int32_t *lengths, size_t divisor, const void *dy, void *dx)
{
    return mgk_cuda_launch(device, pool_backward<real>, mgk_cuda_blocks(samples * tokens * cols),
                           MGK_CUDA_BLOCK, 0, samples, tokens, cols, lengths, divisor,
                           (const real *)dy, (real *)dx);
}

MGK_CUDA_OPERATION(mgk_cuda_pool);
MGK_CUDA_OPERATION(mgk_cuda_pool_backward);
