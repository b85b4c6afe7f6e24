/* Biases and activations. */
#include "kernels/cuda/operations.h"
#include "kernels/cuda/sums.h"

template <typename real> __device__ static real logistic(real x)
{
    return 1 / (1 + exp(-x));
}

/* 2 √(2/π) (x + 0.044715 x³). */
template <typename real> __device__ static real twice_u(real x)
{
    return (real)1.5957691216057308 * (x + (real)0.044715 * (x * x * x));
}

/* normcdf is Φ, the normal distribution function. */
template <typename real> __device__ static real activate(mgk_activation function, real x)
{
    switch (function) {
    case MGK_ACTIVATION_RELU:
        return x < 0 ? 0 : x; /* NaN stays */
    case MGK_ACTIVATION_GELU:
        return x * normcdf(x);
    case MGK_ACTIVATION_GELU_TANH:
        return x * logistic(twice_u(x));
    case MGK_ACTIVATION_SILU:
        return x * logistic(x);
    default:
        return x;
    }
}

template <typename real> __device__ static real slope(mgk_activation function, real x)
{
    const real inverse_sqrt_2pi = (real)0.39894228040143267794;
    switch (function) {
    case MGK_ACTIVATION_RELU:
        return x > 0 ? 1 : 0;
    case MGK_ACTIVATION_GELU:
        return normcdf(x) + x * inverse_sqrt_2pi * exp((real)-0.5 * x * x);
    case MGK_ACTIVATION_GELU_TANH: {
        real s = logistic(twice_u(x));
        real u = (real)1.5957691216057308 * (1 + (real)(3 * 0.044715) * (x * x));
        return s + x * s * (1 - s) * u;
    }
    case MGK_ACTIVATION_SILU: {
        real s = logistic(x);
        return s + x * s * (1 - s);
    }
    default:
        return 1;
    }
}

template <typename real>
__global__ void bias_activation(mgk_activation function, size_t rows, size_t cols, const real *bias,
                                real *x, real *y)
{
    for (size_t i = mgk_cuda_first(); i < rows * cols; i += mgk_cuda_step()) {
        real sum = x[i] + (bias ? bias[i % cols] : 0);
        x[i] = sum;
        if (y)
            y[i] = activate(function, sum);
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
        dx[i] = dy[i] * slope(function, x[i]);
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
        y[i] = activate(function, pair[0]) * pair[cols];
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
