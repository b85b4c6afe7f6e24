/* SPDX-License-Identifier: MIT */
/* Dropout, fused with the residual sum. */
#include "kernels/dropout.h"
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

/*
 * Words of a stream's elements `before` and later: chunks begin with a random block, and the first
 * one skips the words of elements before.
 */
mgk_status MGK_CPU(dropout_add)(mgk_device *device, size_t rows, size_t cols, double rate,
                                const mgk_draw *draw, uint64_t site, const void *x,
                                const void *residual, void *y)
{
    const real *input = x, *sum = residual;
    real *output = y;
    const size_t count = rows * cols;
    if (rate <= 0) {
        add(device, count, input, sum, output);
        return STATUS_OK;
    }
    const uint32_t threshold = mgk_drop_threshold(rate);
    const real scale = (real)mgk_drop_scale(rate);
    const uint64_t seed = draw->seed, stream = draw->stream + site;
    const uint64_t before = draw->rows * cols;
    const size_t skipped = before % 4;

#pragma omp parallel for schedule(static) \
    num_threads(device->threads) if (count >= MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t place = 0; place < skipped + count; place += MGK_DRAWN_WORDS) {
        uint32_t words[MGK_DRAWN_WORDS];
        const size_t first = place > 0 ? place - skipped : 0;
        const size_t unused = place > 0 ? 0 : skipped;
        const size_t most = MGK_DRAWN_WORDS - unused;
        const size_t width = count - first < most ? count - first : most;
        mgk_cpu_draw_words(seed, stream, before / 4 + place / 4, MGK_DRAWN_WORDS / 4, words);
#pragma omp simd
        for (size_t i = 0; i < width; i++) {
            real scaled = input[first + i] * scale;
            real kept = words[unused + i] >= threshold ? scaled : 0;
            output[first + i] = (sum ? sum[first + i] : 0) + kept;
        }
    }
    return STATUS_OK;
}
