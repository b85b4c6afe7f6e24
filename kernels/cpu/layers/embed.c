/* SPDX-License-Identifier: MIT */
/* Token and position embedding. */
#include <string.h>

#include "kernels/cpu/operations.h"

mgk_status MGK_CPU(embed)(mgk_device *device, size_t samples, size_t tokens, size_t cols,
                          const int32_t *ids, const int32_t *lengths, double scale,
                          const void *table, const void *position, void *y)
{
    const size_t rows = samples * tokens;
#pragma omp parallel for schedule(static) \
    num_threads(device->threads) if (rows * cols >= MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t i = 0; i < rows; i++) {
        const real factor = (real)scale;
        const int64_t t = (int64_t)(i % tokens);
        const int64_t p = lengths ? lengths[i / tokens] - 1 - t : t;
        real *row = (real *)y + i * cols;
        if (ids[i] < 0 || p < 0) {
            memset(row, 0, cols * sizeof *row);
            continue;
        }
        const real *word = (const real *)table + (size_t)ids[i] * cols;
        if (position) {
            const real *place = (const real *)position + (size_t)p * cols;
#pragma omp simd
            for (size_t c = 0; c < cols; c++)
                row[c] = factor * word[c] + place[c];
        } else {
#pragma omp simd
            for (size_t c = 0; c < cols; c++)
                row[c] = factor * word[c];
        }
    }
    return STATUS_OK;
}

mgk_status MGK_CPU(add_rows)(mgk_device *device, size_t rows, size_t cols, const int32_t *index,
                             const void *table, void *y)
{
#pragma omp parallel for schedule(static) \
    num_threads(device->threads) if (rows * cols >= MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t i = 0; i < rows; i++) {
        if (index[i] < 0)
            continue;
        const real *added = (const real *)table + (size_t)index[i] * cols;
        real *row = (real *)y + i * cols;
#pragma omp simd
        for (size_t c = 0; c < cols; c++)
            row[c] += added[c];
    }
    return STATUS_OK;
}

/* Threads divide the columns: a token may occur anywhere, but its sum stays in token order. */
static void add_words(mgk_device *device, size_t rows, size_t cols, const int32_t *ids, real scale,
                      const real *dy, real *dtable)
{
    const size_t width = (cols + (size_t)device->threads - 1) / (size_t)device->threads;
#pragma omp parallel for schedule(static) \
    num_threads(device->threads) if (rows * cols >= MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t begin = 0; begin < cols; begin += mgk_cpu_padded(width)) {
        size_t end = begin + mgk_cpu_padded(width) < cols ? begin + mgk_cpu_padded(width) : cols;
        for (size_t i = 0; i < rows; i++) {
            if (ids[i] < 0)
                continue;
            const real *source = dy + i * cols;
            real *sum = dtable + (size_t)ids[i] * cols;
#pragma omp simd
            for (size_t c = begin; c < end; c++)
                sum[c] += scale * source[c];
        }
    }
}

static void add_positions(mgk_device *device, size_t samples, size_t tokens, size_t cols,
                          const int32_t *ids, const real *dy, real *dposition)
{
#pragma omp parallel for schedule(static) \
    num_threads(device->threads) if (samples * tokens * cols >= MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t t = 0; t < tokens; t++)
        for (size_t i = t; i < samples * tokens; i += tokens) {
            if (ids[i] < 0)
                continue;
            const real *source = dy + i * cols;
            real *sum = dposition + t * cols;
#pragma omp simd
            for (size_t c = 0; c < cols; c++)
                sum[c] += source[c];
        }
}

mgk_status MGK_CPU(embed_backward)(mgk_device *device, size_t samples, size_t tokens, size_t cols,
                                   const int32_t *ids, double scale, const void *dy, void *dtable,
                                   void *dposition)
{
    add_words(device, samples * tokens, cols, ids, (real)scale, dy, dtable);
    if (dposition)
        add_positions(device, samples, tokens, cols, ids, dy, dposition);
    return STATUS_OK;
}
