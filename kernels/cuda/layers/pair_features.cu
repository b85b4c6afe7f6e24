/* SPDX-License-Identifier: MIT */
/* Features of document pairs for the classifier: [a, b, a·b, a−b]. */
#include "kernels/cuda/operations.h"

template <typename real>
__global__ void pair_features(size_t pairs, size_t cols, const real *x, real *y)
{
    for (size_t i = mgk_cuda_first(); i < pairs * cols; i += mgk_cuda_step()) {
        size_t p = i / cols, c = i % cols;
        real a = x[2 * p * cols + c], b = x[(2 * p + 1) * cols + c];
        real *features = y + 4 * p * cols + c;
        features[0] = a;
        features[cols] = b;
        features[2 * cols] = a * b;
        features[3 * cols] = a - b;
    }
}

template <typename real>
mgk_status mgk_cuda_pair_features(mgk_device *device, size_t pairs, size_t cols, const void *x,
                                  void *y)
{
    return mgk_cuda_launch(device, pair_features<real>, mgk_cuda_blocks(pairs * cols),
                           MGK_CUDA_BLOCK, 0, pairs, cols, (const real *)x, (real *)y);
}

template <typename real>
__global__ void pair_features_backward(size_t pairs, size_t cols, const real *x, const real *dy,
                                       real *dx)
{
    for (size_t i = mgk_cuda_first(); i < pairs * cols; i += mgk_cuda_step()) {
        size_t p = i / cols, c = i % cols, first = 2 * p * cols + c, second = first + cols;
        const real *d = dy + 4 * p * cols + c;
        real a = x[first], b = x[second];
        dx[first] = d[0] + d[2 * cols] * b + d[3 * cols];
        dx[second] = d[cols] + d[2 * cols] * a - d[3 * cols];
    }
}

template <typename real>
mgk_status mgk_cuda_pair_features_backward(mgk_device *device, size_t pairs, size_t cols,
                                           const void *x, const void *dy, void *dx)
{
    return mgk_cuda_launch(device, pair_features_backward<real>, mgk_cuda_blocks(pairs * cols),
                           MGK_CUDA_BLOCK, 0, pairs, cols, (const real *)x, (const real *)dy,
                           (real *)dx);
}

MGK_CUDA_OPERATION(mgk_cuda_pair_features);
MGK_CUDA_OPERATION(mgk_cuda_pair_features_backward);
