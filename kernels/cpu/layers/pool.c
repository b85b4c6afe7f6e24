/* SPDX-License-Identifier: MIT */
/* Mean or sum over the valid tokens of each sample. */
#include <string.h>

#include "kernels/cpu/columns.h"
#include "kernels/cpu/operations.h"

mgk_status MGK_CPU(pool)(mgk_device *device, size_t samples, size_t tokens, size_t cols,
                         const int32_t *lengths, size_t divisor, const void *x, void *y)
{
    const real *input = x;
    real *output = y;
#pragma omp parallel for schedule(static) \
    num_threads(device->threads) if (samples * tokens * cols >= MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t b = 0; b < samples; b++) {
        real *mean = output + b * cols;
        memset(mean, 0, cols * sizeof *mean);
        if (lengths[b] <= 0)
            continue;
        mgk_cpu_add_columns((size_t)lengths[b], cols, cols, input + b * tokens * cols, mean);
        const real scale = 1 / (divisor ? (real)divisor : (real)lengths[b]);
#pragma omp simd
        for (size_t c = 0; c < cols; c++)
            mean[c] *= scale;
    }
    return STATUS_OK;
}

mgk_status MGK_CPU(pool_backward)(mgk_device *device, size_t samples, size_t tokens, size_t cols,
                                  const int32_t *lengths, size_t divisor, const void *dy, void *dx)
{
    const real *dmean = dy;
    real *dinput = dx;
#pragma omp parallel for collapse(2) schedule(static) \
    num_threads(device->threads) if (samples * tokens * cols >= MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t b = 0; b < samples; b++)
        for (size_t t = 0; t < tokens; t++) {
            bool valid = (int64_t)t < lengths[b];
            const real scale = valid ? 1 / (divisor ? (real)divisor : (real)lengths[b]) : 0;
            const real *source = dmean + b * cols;
            real *row = dinput + (b * tokens + t) * cols;
#pragma omp simd
            for (size_t c = 0; c < cols; c++)
                row[c] = scale * source[c];
        }
    return STATUS_OK;
}
