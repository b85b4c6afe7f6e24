/* SPDX-License-Identifier: MIT */
/* Biases and activations. */
#include "kernels/activation.h"
#include "kernels/cuda/operations.h"
#include "kernels/cuda/sums.h"

template <typename real>
__global__ void bias_activation(mgk_activation function, size_t rows, size_t cols, const real *bias,
                                real *x, real *y)
{
    for (size_t i = mgk_cuda_first(); i < rows * cols; i += mgk_cuda_step()) {
        real sum = x[i] + (bias ? bias[i % cols] : 0);
        x[i] = sum;
        if (y)
            y[i] = mgk_activate(function, sum);
    }
}

template <typename real>
mgk_status mgk_cuda_bias_activation(mgk_device *device, mgk_activation function, size_t rows,
                                    size_t cols, const void *bias, void *x, void *y)
{
    return mgk_cuda_launch(device, bias_activation<real>, mgk_cuda_blocks(rows * cols),
                           MGK_CUDA_BLOCK, 0, function, rows, cols, (const real *)bias, (real *)x,
                           (real *)y);
}

template <typename real>
__global__ void activation_backward(mgk_activation function, size_t count, const real *x,
                                    const real *dy, real *dx)
{
    for (size_t i = mgk_cuda_first(); i < count; i += mgk_cuda_step())
        dx[i] = mgk_activation_gradient(function, x[i], dy[i]);
}

template <typename real>
mgk_status mgk_cuda_activation_backward(mgk_device *device, mgk_activation function, size_t count,
                                        const void *x, const void *dy, void *dx)
{
    return mgk_cuda_launch(device, activation_backward<real>, mgk_cuda_blocks(count),
                           MGK_CUDA_BLOCK, 0, function, count, (const real *)x, (const real *)dy,
                           (real *)dx);
}

template <typename real>
__global__ void gate(mgk_activation function, size_t rows, size_t cols, const real *x, real *y)
{
    for (size_t i = mgk_cuda_first(); i < rows * cols; i += mgk_cuda_step()) {
        const real *pair = x + i / cols * 2 * cols + i % cols;
        y[i] = mgk_activate(function, pair[0]) * pair[cols];
    }
}

template <typename real>
mgk_status mgk_cuda_gate(mgk_device *device, mgk_activation function, size_t rows, size_t cols,
                         const void *x, void *y)
{
    return mgk_cuda_launch(device, gate<real>, mgk_cuda_blocks(rows * cols), MGK_CUDA_BLOCK, 0,
                           function, rows, cols, (const real *)x, (real *)y);
}

template <typename real> struct element {
    const real *x;
    size_t cols;
    __device__ real operator()(size_t row, size_t col) const
    {
        return x[row * cols + col];
    }
};

template <typename real>
mgk_status mgk_cuda_column_sums(mgk_device *device, size_t rows, size_t cols, const void *x,
                                void *sums)
{
    return mgk_sum_columns(device, rows, cols, element<real>{(const real *)x, cols}, (real *)sums);
}

MGK_CUDA_OPERATION(mgk_cuda_bias_activation);
MGK_CUDA_OPERATION(mgk_cuda_activation_backward);
MGK_CUDA_OPERATION(mgk_cuda_gate);
MGK_CUDA_OPERATION(mgk_cuda_column_sums);
