/* SPDX-License-Identifier: MIT */
/* Feature maps as arrays, and their gradients. */
#include <omp.h>
#include <string.h>

#include "kernels/cpu/attention/features.h"
#include "kernels/cpu/operations.h"
#include "kernels/cpu/transpose.h"

enum { CHUNK = MGK_LINEAR_CHUNK };

/* What both directions are given. */
typedef struct problem {
    const mgk_features *features;
    size_t samples, tokens, heads, dim;
    const real *x;
    size_t x_stride, y_stride;
} problem;

/* One head's map and the features of a chunk of its tokens. */
typedef struct chunk_work {
    mgk_feature_work map;
    size_t count;   /* R */
    real *feature;  /* [R padded to tiles, CHUNK] */
    real *dfeature; /* the same */
    real *dinput;   /* [D padded to tiles, CHUNK] */
} chunk_work;

static size_t work_reals(const problem *p)
{
    const size_t depth = mgk_tile_rows(mgk_feature_count(p->features, p->dim));
    return MGK_CPU(feature_scratch)(p->features, p->dim) +
           (2 * depth + mgk_tile_rows(p->dim)) * CHUNK;
}

static chunk_work begin(const problem *p, size_t head, real *memory)
{
    chunk_work work = {.count = mgk_feature_count(p->features, p->dim)};
    memset(memory, 0, work_reals(p) * sizeof(real));
    MGK_CPU(feature_begin)(p->features, p->dim, head, memory, &work.map);
    work.feature = memory + MGK_CPU(feature_scratch)(p->features, p->dim);
    work.dfeature = work.feature + mgk_tile_rows(work.count) * CHUNK;
    work.dinput = work.dfeature + mgk_tile_rows(work.count) * CHUNK;
    return work;
}

/* The features of `rows` tokens, the first at position `first` and x. */
static void map_chunk(const problem *p, chunk_work *work, size_t first, size_t rows, const real *x)
{
    const real shift[MGK_LINEAR_CHUNK] = {0};
    mgk_transpose(rows, p->dim, x, p->x_stride, work->map.input, CHUNK);
    MGK_CPU(feature_project)(&work->map, first);
    MGK_CPU(feature_finish)(&work->map, shift, work->feature);
}

/* y, or dx from dy. */
static mgk_status run(mgk_device *device, const problem *p, real *y, const real *dy, real *dx)
{
    const size_t tasks = p->samples * p->heads;
    TRY(mgk_cpu_reserve_scratch(device, work_reals(p) * sizeof(real)));
#pragma omp parallel for schedule(dynamic) num_threads(device->threads)
    for (size_t task = 0; task < tasks; task++) {
        const size_t head = task % p->heads;
        chunk_work work = begin(p, head, mgk_cpu_scratch(device, omp_get_thread_num()));
        for (size_t first = 0; first < p->tokens; first += CHUNK) {
            const size_t left = p->tokens - first, rows = left < CHUNK ? left : CHUNK;
            const size_t token = task / p->heads * p->tokens + first;
            const size_t x_at = token * p->x_stride + head * p->dim;
            const size_t y_at = token * p->y_stride + head * work.count;
            map_chunk(p, &work, first, rows, p->x + x_at);
            if (y) {
                mgk_transpose(work.count, rows, work.feature, CHUNK, y + y_at, p->y_stride);
                continue;
            }
            mgk_transpose(rows, work.count, dy + y_at, p->y_stride, work.dfeature, CHUNK);
            MGK_CPU(feature_gradient)(&work.map, work.feature, work.dfeature, work.dinput);
            mgk_transpose(p->dim, rows, work.dinput, CHUNK, dx + x_at, p->x_stride);
        }
    }
    return STATUS_OK;
}

mgk_status MGK_CPU(feature_map)(mgk_device *device, const mgk_features *features, size_t samples,
                                size_t tokens, size_t heads, size_t dim, const void *x,
                                size_t x_stride, void *y, size_t y_stride)
{
    const problem p = {features, samples, tokens, heads, dim, x, x_stride, y_stride};
    return run(device, &p, y, NULL, NULL);
}

mgk_status MGK_CPU(feature_map_backward)(mgk_device *device, const mgk_features *features,
                                         size_t samples, size_t tokens, size_t heads, size_t dim,
                                         const void *x, size_t x_stride, const void *dy,
                                         size_t y_stride, void *dx)
{
    const problem p = {features, samples, tokens, heads, dim, x, x_stride, y_stride};
    return run(device, &p, NULL, dy, dx);
}
