/* SPDX-License-Identifier: MIT */
/* The largest scores of rows. */
#include <math.h>

#include "kernels/cpu/attention/dense.h"

/* Whether position a comes before b: by scores, NaN last, then by position. */
static bool is_before(const real *scores, int32_t a, int32_t b)
{
    const real x = scores[a], y = scores[b];
    if (x > y || x < y)
        return x > y;
    return !isnan(x) == !isnan(y) ? a < b : isnan(y);
}

/* Restores a heap, in which no position comes before those below it, from one that may. */
static void sift(const real *scores, size_t count, size_t at, int32_t *heap)
{
    const int32_t moved = heap[at];
    for (size_t below; (below = 2 * at + 1) < count; at = below) {
        if (below + 1 < count && is_before(scores, heap[below], heap[below + 1]))
            below++;
        if (!is_before(scores, moved, heap[below]))
            break;
        heap[at] = heap[below];
    }
    heap[at] = moved;
}

/* A heap of the largest so far, the last of them on top, is then sorted: O(n log u). */
static void choose(size_t n, size_t u, const real *scores, int32_t *index)
{
    const size_t count = n < u ? n : u;
    for (size_t j = 0; j < u; j++)
        index[j] = j < count ? (int32_t)j : -1;
    for (size_t at = count / 2; at > 0; at--)
        sift(scores, count, at - 1, index);
    for (size_t j = count; count > 0 && j < n; j++)
        if (is_before(scores, (int32_t)j, index[0])) {
            index[0] = (int32_t)j;
            sift(scores, count, 0, index);
        }
    for (size_t end = count; end > 1; end--) {
        const int32_t last = index[0];
        index[0] = index[end - 1];
        index[end - 1] = last;
        sift(scores, end - 1, 0, index);
    }
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
