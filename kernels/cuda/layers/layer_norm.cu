/* SPDX-License-Identifier: MIT */
/*
 * Layer normalisation (Ba, Kiros & Hinton 2016) and RMS normalisation (Zhang & Sennrich 2019), one
 * warp per row.
 */
#include "kernels/cuda/operations.h"
#include "kernels/cuda/sums.h"

template <typename real>
__global__ void layer_norm(size_t rows, size_t cols, real epsilon, const real *x, const real *gamma,
                           const real *beta, real *y, real *mean, real *deviation)
{
    size_t lane = threadIdx.x % MGK_WARP;
    for (size_t i = mgk_cuda_first() / MGK_WARP; i < rows; i += mgk_cuda_step() / MGK_WARP) {
        const real *row = x + i * cols;
        real sum = 0, squares = 0;
        for (size_t c = lane; c < cols; c += MGK_WARP)
            sum += row[c];
        real centre = mgk_lanes_sum(sum, MGK_WARP) / (real)cols;
        for (size_t c = lane; c < cols; c += MGK_WARP)
            squares += (row[c] - centre) * (row[c] - centre);
        real scale = 1 / sqrt(mgk_lanes_sum(squares, MGK_WARP) / (real)cols + epsilon);
        for (size_t c = lane; c < cols; c += MGK_WARP)
            y[i * cols + c] = gamma[c] * ((row[c] - centre) * scale) + beta[c];
        if (lane == 0) {
            mean[i] = centre;
            deviation[i] = scale;
        }
    }
}

template <typename real>
mgk_status mgk_cuda_layer_norm(mgk_device *device, size_t rows, size_t cols, double epsilon,
                               const void *x, const void *gamma, const void *beta, void *y,
                               void *mean, void *deviation)
{
    return mgk_cuda_launch(device, layer_norm<real>, mgk_cuda_blocks(rows * MGK_WARP),
                           MGK_CUDA_BLOCK, 0, rows, cols, (real)epsilon, (const real *)x,
                           (const real *)gamma, (const real *)beta, (real *)y, (real *)mean,
                           (real *)deviation);
}

template <typename real>
__global__ void rms_norm(size_t rows, size_t cols, real epsilon, const real *x, const real *gamma,
                         real *y)
{
    size_t lane = threadIdx.x % MGK_WARP;
    for (size_t i = mgk_cuda_first() / MGK_WARP; i < rows; i += mgk_cuda_step() / MGK_WARP) {
        const real *row = x + i * cols;
        real squares = 0;
        for (size_t c = lane; c < cols; c += MGK_WARP)
            squares += row[c] * row[c];
        real scale = 1 / sqrt(mgk_lanes_sum(squares, MGK_WARP) / (real)cols + epsilon);
        for (size_t c = lane; c < cols; c += MGK_WARP)
            y[i * cols + c] = gamma[c] * (row[c] * scale);
    }
}

template <typename real>
mgk_status mgk_cuda_rms_norm(mgk_device *device, size_t rows, size_t cols, double epsilon,
                             const void *x, const void *gamma, void *y)
{
    return mgk_cuda_launch(device, rms_norm<real>, mgk_cuda_blocks(rows * MGK_WARP), MGK_CUDA_BLOCK,
                           0, rows, cols, (real)epsilon, (const real *)x, (const real *)gamma,
                           (real *)y);
}

/* dx = deviation (g − mean(g) − z mean(g z)), z = (x − mean) deviation, g = gamma dy. */
template <typename real>
__global__ void input_gradient(size_t rows, size_t cols, const real *x, const real *gamma,
                               const real *mean, const real *deviation, const real *dy,
                               const real *residual, real *dx)
{
    size_t lane = threadIdx.x % MGK_WARP;
    for (size_t i = mgk_cuda_first() / MGK_WARP; i < rows; i += mgk_cuda_step() / MGK_WARP) {
        real sum = 0, product = 0;
        for (size_t c = lane; c < cols; c += MGK_WARP) {
            real z = (x[i * cols + c] - mean[i]) * deviation[i], g = gamma[c] * dy[i * cols + c];
            sum += g;
            product += g * z;
        }
        sum = mgk_lanes_sum(sum, MGK_WARP) / (real)cols;
        product = mgk_lanes_sum(product, MGK_WARP) / (real)cols;
        for (size_t c = lane; c < cols; c += MGK_WARP) {
            size_t at = i * cols + c;
            real z = (x[at] - mean[i]) * deviation[i], g = gamma[c] * dy[at];
            dx[at] = (residual ? residual[at] : 0) + deviation[i] * (g - sum - z * product);
        }
    }
}

/* The terms of dgamma, a sum over columns. */
template <typename real> struct gain_term {
    const real *x, *mean, *deviation, *dy;
    size_t cols;
    __device__ real operator()(size_t row, size_t col) const
    {
        size_t at = row * cols + col;
        return dy[at] * (x[at] - mean[row]) * deviation[row];
    }
};

template <typename real>
mgk_status mgk_cuda_layer_norm_backward(mgk_device *device, size_t rows, size_t cols, const void *x,
                                        const void *gamma, const void *mean, const void *deviation,
                                        const void *dy, const void *residual, void *dx,
                                        void *dgamma, void *dbeta)
{
    gain_term<real> gain = {(const real *)x, (const real *)mean, (const real *)deviation,
                            (const real *)dy, cols};
    /* Before dx, which may overwrite dy. */
    TRY(mgk_sum_columns(device, rows, cols, gain, (real *)dgamma));
    TRY(mgk_cuda_column_sums<real>(device, rows, cols, dy, dbeta));
    return mgk_cuda_launch(device, input_gradient<real>, mgk_cuda_blocks(rows * MGK_WARP),
                           MGK_CUDA_BLOCK, 0, rows, cols, (const real *)x, (const real *)gamma,
                           (const real *)mean, (const real *)deviation, (const real *)dy,
                           (const real *)residual, (real *)dx);
}

MGK_CUDA_OPERATION(mgk_cuda_layer_norm);
MGK_CUDA_OPERATION(mgk_cuda_layer_norm_backward);
MGK_CUDA_OPERATION(mgk_cuda_rms_norm);
