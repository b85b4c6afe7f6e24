/* The optimizer's operations: the gradient's norm and the AdamW step. */
#include <tgmath.h>

#include "kernels/cpu/operations.h"

/* Parts whose sums are added in order: the result does not depend on the number of threads. */
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

mgk_status MGK_CPU(adamw)(mgk_device *device, const mgk_adamw *step, size_t count,
                          const void *gradient, void *weight, void *m, void *v)
{
    const real *g = gradient;
    real *w = weight, *first = m, *second = v;
    const double steps = (double)step->step;
    const real beta1 = (real)step->beta1, beta2 = (real)step->beta2;
    const real rest1 = (real)(1 - step->beta1), rest2 = (real)(1 - step->beta2);
    /* The moments start at 0; these corrections undo that bias. */
    const real rate = (real)(step->rate / (1 - pow(step->beta1, steps)));
    const real correction = (real)(1 / sqrt(1 - pow(step->beta2, steps)));
    const real epsilon = (real)step->epsilon, scale = (real)step->gradient_scale;
    const real keep = (real)(1 - step->rate * step->decay);
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
