/* SPDX-License-Identifier: MIT */
/* Sums over heads of maps, a block of columns of all heads at a time. */
#include <omp.h>
#include <string.h>

#include "kernels/cpu/attention/dense.h"

/* Columns of a block, which stays in the first-level cache if there are not many heads. */
enum { BLOCK = 512 };

/* Columns of one sample, `count` of each head; the heads of x and y are `stride` apart. `block`
 * [H, BLOCK] is memory: a copy of x, whose heads would share the same few lines of the cache. */
static void mix_block(size_t heads, const real *mix, bool transpose, size_t count, size_t stride,
                      const real *x, real *y, real *block)
{
    for (size_t h = 0; h < heads; h++)
        memcpy(block + h * BLOCK, x + h * stride, count * sizeof *block);
    for (size_t g = 0; g < heads; g++) {
        real *sum = y + g * stride;
        memcpy(sum, block + g * BLOCK, count * sizeof *sum);
        for (size_t h = 0; h < heads; h++)
            mgk_cpu_add_row(count, mix[transpose ? h * heads + g : g * heads + h],
                            block + h * BLOCK, sum);
    }
}

mgk_status MGK_CPU(mix_heads)(mgk_device *device, const mgk_head_maps *maps, const void *mix,
                              bool transpose, const void *x, void *y)
{
    const size_t heads = maps->heads, map = maps->rows * maps->cols;
    const size_t blocks = (map + BLOCK - 1) / BLOCK;
    TRY(mgk_cpu_reserve_scratch(device, heads * BLOCK * sizeof(real)));
#pragma omp parallel for collapse(2) schedule(static) \
    num_threads(device->threads) if (maps->samples * heads * map >= MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t b = 0; b < maps->samples; b++)
        for (size_t n = 0; n < blocks; n++) {
            const size_t first = n * BLOCK, left = map - first, at = b * heads * map + first;
            mix_block(heads, mix, transpose, left < BLOCK ? left : BLOCK, map, (const real *)x + at,
                      (real *)y + at, mgk_cpu_scratch(device, omp_get_thread_num()));
        }
    return STATUS_OK;
}
