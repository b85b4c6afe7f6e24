/* SPDX-License-Identifier: MIT */
/* Dropout, fused with the residual sum. */
#include "kernels/cpu/draw.h"
#include "kernels/cpu/operations.h"

static void add(mgk_device *device, size_t count, const real *x, const real *residual, real *y)
{
#pragma omp parallel for simd schedule(static) \
    num_threads(device->threads) if (parallel  \
                                     : count >= MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t i = 0; i < count; i++)
        y[i] = (residual ? residual[i] : 0) + x[i];
}

mgk_status MGK_CPU(dropout_add)(mgk_device *device, size_t count, double rate, const mgk_draw *draw,
                                uint64_t site, const void *x, const void *residual, void *y)
{
    const real *input = x, *sum = residual;
    real *output = y;
    if (rate <= 0) {
        add(device, count, input, sum, output);
        return STATUS_OK;
    }
    const uint32_t threshold = mgk_cpu_drop_threshold(rate);
    const real scale = mgk_cpu_drop_scale(rate);
    const uint64_t seed = draw->seed, stream = draw->stream + site;

#pragma omp parallel for schedule(static) \
    num_threads(device->threads) if (count >= MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t first = 0; first < count; first += MGK_DRAWN_WORDS) {
        uint32_t words[MGK_DRAWN_WORDS];
        mgk_cpu_draw_words(seed, stream, first / 4, MGK_DRAWN_WORDS / 4, words);
        size_t width = count - first < MGK_DRAWN_WORDS ? count - first : MGK_DRAWN_WORDS;
#pragma omp simd
        for (size_t i = 0; i < width; i++) {
            real scaled = input[first + i] * scale;
            real kept = words[i] >= threshold ? scaled : 0;
            output[first + i] = (sum ? sum[first + i] : 0) + kept;
        }
    }
    return STATUS_OK;
}
