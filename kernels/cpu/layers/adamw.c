/* SPDX-License-Identifier: MIT */
/* The optimizer's operations: the gradient's norm and the AdamW step. */
#include <tgmath.h>

#include "kernels/adamw.h"
#include "kernels/cpu/operations.h"

/* Parts are summed in order: the result does not depend on the number of threads. */
enum { PARTS = 256 };

mgk_status MGK_CPU(sum_squares)(mgk_device *device, size_t count, const void *x, double *out)
{
    const real *values = x;
    double sums[PARTS];
    const size_t width = mgk_cpu_padded(count / PARTS + 1);
#pragma omp parallel for schedule(static) \
    num_threads(device->threads) if (count >= MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t p = 0; p < PARTS; p++) {
        size_t begin = p * width < count ? p * width : count;
        size_t end = count - begin < width ? count : begin + width;
        double sum = 0;
#pragma omp simd reduction(+ : sum)
        for (size_t i = begin; i < end; i++)
            sum += (double)values[i] * (double)values[i];
        sums[p] = sum;
    }
    *out = 0;
    for (size_t p = 0; p < PARTS; p++)
        *out += sums[p];
    return STATUS_OK;
}

mgk_status MGK_CPU(adamw)(mgk_device *device, const mgk_adamw *settings, const mgk_adamw_step *step,
                          size_t count, const void *gradient, void *weight, void *m, void *v)
{
    const real *g = gradient;
    real *w = weight, *first = m, *second = v;
    const mgk_adamw_factors factors = mgk_adamw_factors_of(settings, step);
    const real beta1 = (real)settings->beta1, rest1 = (real)(1 - settings->beta1);
    const real beta2 = (real)settings->beta2, rest2 = (real)(1 - settings->beta2);
    const real rate = (real)factors.rate, correction = (real)factors.correction;
    const real epsilon = (real)settings->epsilon, scale = (real)factors.scale;
    const real keep = (real)factors.keep;
    if (!isfinite(step->squares))
        return STATUS_OK;
#pragma omp parallel for simd schedule(static) \
    num_threads(device->threads) if (parallel  \
                                     : count >= MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t i = 0; i < count; i++) {
        real slope = scale * g[i];
        first[i] = beta1 * first[i] + rest1 * slope;
        second[i] = beta2 * second[i] + rest2 * slope * slope;
        w[i] = keep * w[i] - rate * first[i] / (sqrt(second[i]) * correction + epsilon);
    }
    return STATUS_OK;
}
