/* The optimizer, and the norm that clips its gradients. */
#include <math.h>

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
    TRY(mgk_cuda_scratch(device, (most + 1) * sizeof(*parts), &parts));
    TRY(mgk_cuda_launch(device, square_parts<real>, blocks, MGK_CUDA_BLOCK, 0, count,
                        (const real *)x, parts));
    TRY(mgk_cuda_launch(device, add_parts, 1, MGK_CUDA_BLOCK, 0, blocks, parts, parts + most));
    return mgk_cuda_download(device, out, parts + most, sizeof(*out));
}

/* What a step multiplies by, the same for every weight; the CPU's names. */
template <typename real> struct step_factors {
    real beta1, rest1, beta2, rest2, rate, correction, epsilon, scale, keep;
};

template <typename real>
__global__ void adamw(step_factors<real> f, size_t count, const real *gradient, real *weight,
                      real *first, real *second)
{
    for (size_t i = mgk_cuda_first(); i < count; i += mgk_cuda_step()) {
        real slope = f.scale * gradient[i];
        first[i] = f.beta1 * first[i] + f.rest1 * slope;
        second[i] = f.beta2 * second[i] + f.rest2 * slope * slope;
        weight[i] =
            f.keep * weight[i] - f.rate * first[i] / (sqrt(second[i]) * f.correction + f.epsilon);
    }
}

template <typename real>
mgk_status mgk_cuda_adamw(mgk_device *device, const mgk_adamw *step, size_t count,
                          const void *gradient, void *weight, void *m, void *v)
{
    const double steps = (double)step->step;
    step_factors<real> f;
    f.beta1 = (real)step->beta1;
    f.rest1 = (real)(1 - step->beta1);
    f.beta2 = (real)step->beta2;
    f.rest2 = (real)(1 - step->beta2);
    f.rate = (real)(step->rate / (1 - pow(step->beta1, steps)));
    f.correction = (real)(1 / sqrt(1 - pow(step->beta2, steps)));
    f.epsilon = (real)step->epsilon;
    f.scale = (real)step->gradient_scale;
    f.keep = (real)(1 - step->rate * step->decay);
    return mgk_cuda_launch(device, adamw<real>, mgk_cuda_blocks(count), MGK_CUDA_BLOCK, 0, f, count,
                           (const real *)gradient, (real *)weight, (real *)m, (real *)v);
}

MGK_CUDA_OPERATION(mgk_cuda_sum_squares);
MGK_CUDA_OPERATION(mgk_cuda_adamw);
