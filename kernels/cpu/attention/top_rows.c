/* SPDX-License-Identifier: MIT */
/* The largest scores of rows. */
#include <math.h>

#include "kernels/cpu/attention/dense.h"

/* A score of a later position goes before `other`. */
static bool is_above(real score, real other)
{
    return score > other || (isnan(other) && !isnan(score));
}

/* Inserts one position after another into a sorted list; most are below its last. */
static void choose(size_t n, size_t u, const real *scores, int32_t *index)
{
    size_t count = 0;
    for (size_t j = 0; j < n && u > 0; j++) {
        if (count == u && !is_above(scores[j], scores[index[u - 1]]))
            continue;
        size_t at = count < u ? count++ : u - 1;
        for (; at > 0 && is_above(scores[j], scores[index[at - 1]]); at--)
            index[at] = index[at - 1];
        index[at] = (int32_t)j;
    }
    for (; count < u; count++)
        index[count] = -1;
}

mgk_status MGK_CPU(top_rows)(mgk_device *device, size_t samples, size_t rows, size_t n,
                             const int32_t *lengths, size_t u, const void *scores, int32_t *index)
{
#pragma omp parallel for schedule(static) \
    num_threads(device->threads) if (samples * rows * n >= MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t r = 0; r < samples * rows; r++)
        choose(mgk_cpu_length(lengths, r / rows, n), u, (const real *)scores + r * n,
               index + r * u);
    return STATUS_OK;
}
