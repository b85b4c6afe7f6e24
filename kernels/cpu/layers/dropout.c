/* SPDX-License-Identifier: MIT */
/* Dropout, fused with the residual sum. */
#include <math.h>

#include "base/random.h"
#include "kernels/cpu/operations.h"

/* Elements per draw of random words: fits the stack and the L1 cache. */
enum { CHUNK = 1024 };

/* words[i] = word i % 4 of random block (first + i) / 4; first is a multiple of CHUNK. */
static void draw_words(uint64_t seed, uint64_t stream, uint64_t first, uint32_t words[CHUNK])
{
#pragma omp simd
    for (uint64_t j = 0; j < CHUNK / 4; j++) {
        mgk_random4 block = mgk_random_block(seed, stream, first / 4 + j);
        words[4 * j] = block.word[0];
        words[4 * j + 1] = block.word[1];
        words[4 * j + 2] = block.word[2];
        words[4 * j + 3] = block.word[3];
    }
}

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
    /* At rate 1 the threshold would be 2^32: the greatest word is kept, times 0. */
    const uint32_t threshold = (uint32_t)fmin(ceil(rate * 0x1p32), UINT32_MAX);
    const real scale = rate < 1 ? (real)(1 / (1 - rate)) : 0;
    const uint64_t seed = draw->seed, stream = draw->stream + site;

#pragma omp parallel for schedule(static) \
    num_threads(device->threads) if (count >= MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t first = 0; first < count; first += CHUNK) {
        uint32_t words[CHUNK];
        draw_words(seed, stream, first, words);
        size_t width = count - first < CHUNK ? count - first : CHUNK;
#pragma omp simd
        for (size_t i = 0; i < width; i++) {
            real scaled = input[first + i] * scale;
            real kept = words[i] >= threshold ? scaled : 0;
            output[first + i] = (sum ? sum[first + i] : 0) + kept;
        }
    }
    return STATUS_OK;
}
