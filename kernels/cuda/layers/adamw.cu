/* SPDX-License-Identifier: MIT */
/* The optimizer, and the norm that clips its gradients. */
#include <math.h>

extern "C" {
#include "kernels/adamw.h"
}
#include "kernels/cuda/operations.h"
#include "kernels/cuda/sums.h"

template <typename real> __global__ void square_parts(size_t count, const real *x, double *parts)
{
    double sum = 0;
    for (size_t i = mgk_cuda_first(); i < count; i += mgk_cuda_step())
        sum += (double)x[i] * (double)x[i];
    sum = mgk_block_sum(sum);
    if (threadIdx.x == 0)
        parts[blockIdx.x] = sum;
}

__global__ void add_parts(size_t count, const double *parts, double *out)
{
    double sum = 0;
    for (size_t i = threadIdx.x; i < count; i += blockDim.x)
        sum += parts[i];
    sum = mgk_block_sum(sum);
    if (threadIdx.x == 0)
        *out = sum;
}

template <typename real>
mgk_status mgk_cuda_sum_squares(mgk_device *device, size_t count, const void *x, double *out)
{
    const size_t most = 1024;
    size_t blocks = mgk_cuda_blocks(count) < most ? mgk_cuda_blocks(count) : most;
    double *parts;
    TRY(mgk_cuda_scratch(device, most * sizeof(*parts), &parts));
    TRY(mgk_cuda_launch(device, square_parts<real>, blocks, MGK_CUDA_BLOCK, 0, count,
                        (const real *)x, parts));
    return mgk_cuda_launch(device, add_parts, 1, MGK_CUDA_BLOCK, 0, blocks, parts, out);
}

/* Names as on the CPU. One thread of a block computes the factors, in float64, for all. */
template <typename real>
__global__ void adamw(mgk_adamw settings, const mgk_adamw_step *step, size_t count,
                      const real *gradient, real *weight, real *first, real *second)
{
    __shared__ mgk_adamw_factors factors;
    if (!isfinite(step->squares))
        return;
    if (threadIdx.x == 0)
        factors = mgk_adamw_factors_of(&settings, step);
    __syncthreads();
    const real beta1 = (real)settings.beta1, rest1 = (real)(1 - settings.beta1);
    const real beta2 = (real)settings.beta2, rest2 = (real)(1 - settings.beta2);
    const real rate = (real)factors.rate, correction = (real)factors.correction;
    const real epsilon = (real)settings.epsilon, scale = (real)factors.scale;
    const real keep = (real)factors.keep;
    for (size_t i = mgk_cuda_first(); i < count; i += mgk_cuda_step()) {
        real slope = scale * gradient[i];
        first[i] = beta1 * first[i] + rest1 * slope;
        second[i] = beta2 * second[i] + rest2 * slope * slope;
        weight[i] = keep * weight[i] - rate * first[i] / (sqrt(second[i]) * correction + epsilon);
    }
}

template <typename real>
mgk_status mgk_cuda_adamw(mgk_device *device, const mgk_adamw *settings, const mgk_adamw_step *step,
                          size_t count, const void *gradient, void *weight, void *m, void *v)
{
    return mgk_cuda_launch(device, adamw<real>, mgk_cuda_blocks(count), MGK_CUDA_BLOCK, 0,
                           *settings, step, count, (const real *)gradient, (real *)weight,
                           (real *)m, (real *)v);
}

MGK_CUDA_OPERATION(mgk_cuda_sum_squares);
MGK_CUDA_OPERATION(mgk_cuda_adamw);
