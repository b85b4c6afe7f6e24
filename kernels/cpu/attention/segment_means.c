/* SPDX-License-Identifier: MIT */
/* Landmarks: means of segments of tokens. */
#include <string.h>

#include "kernels/cpu/attention/dense.h"

/* Token with which segment s of c segments of n tokens begins. */
static size_t segment_start(size_t n, size_t c, size_t s)
{
    return n / c * s + n % c * s / c;
}

mgk_status MGK_CPU(segment_means)(mgk_device *device, const mgk_head_tokens *shape, size_t segments,
                                  const void *x, void *y, int32_t *counts)
{
    const size_t cols = shape->heads * shape->dim, total = shape->samples * shape->tokens * cols;
#pragma omp parallel for collapse(2) schedule(static) \
    num_threads(device->threads) if (total >= MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t b = 0; b < shape->samples; b++)
        for (size_t s = 0; s < segments; s++) {
            size_t n = mgk_cpu_length(shape->lengths, b, shape->tokens);
            size_t c = n < segments ? n : segments;
            real *mean = (real *)y + (b * segments + s) * cols;
            memset(mean, 0, cols * sizeof *mean);
            if (s >= c)
                continue;
            size_t first = segment_start(n, c, s), last = segment_start(n, c, s + 1);
            for (size_t t = first; t < last; t++)
                mgk_cpu_add_row(cols, 1 / (real)(last - first),
                                (const real *)x + (b * shape->tokens + t) * shape->stride, mean);
        }
    for (size_t b = 0; b < shape->samples; b++) {
        size_t n = mgk_cpu_length(shape->lengths, b, shape->tokens);
        counts[b] = (int32_t)(n < segments ? n : segments);
    }
    return STATUS_OK;
}

mgk_status MGK_CPU(segment_means_backward)(mgk_device *device, const mgk_head_tokens *shape,
                                           size_t segments, const void *dy, void *dx)
{
    const size_t cols = shape->heads * shape->dim, total = shape->samples * shape->tokens * cols;
#pragma omp parallel for collapse(2) schedule(static) \
    num_threads(device->threads) if (total >= MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t b = 0; b < shape->samples; b++)
        for (size_t s = 0; s < segments; s++) {
            size_t n = mgk_cpu_length(shape->lengths, b, shape->tokens);
            size_t c = n < segments ? n : segments;
            if (s >= c)
                continue;
            size_t first = segment_start(n, c, s), last = segment_start(n, c, s + 1);
            for (size_t t = first; t < last; t++)
                mgk_cpu_add_row(cols, 1 / (real)(last - first),
                                (const real *)dy + (b * segments + s) * cols,
                                (real *)dx + (b * shape->tokens + t) * shape->stride);
        }
    return STATUS_OK;
}
