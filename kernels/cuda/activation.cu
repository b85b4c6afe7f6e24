/* Biases and activations. */
#include "kernels/cuda/operations.h"
#include "kernels/cuda/sums.h"

/* normcdf is Φ, the normal distribution function. */
template <typename real> __device__ static real activate(mgk_activation function, real x)
{
    switch (function) {
    case MGK_ACTIVATION_RELU:
        return x < 0 ? 0 : x; /* NaN stays */
    case MGK_ACTIVATION_GELU:
        return x * normcdf(x);
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
MGK_CUDA_OPERATION(mgk_cuda_column_sums);
