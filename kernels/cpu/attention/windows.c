/* SPDX-License-Identifier: MIT */
/* Gaussian windows that queries place by themselves, on the logits of explicit matrices. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "kernels/cpu/attention/dense.h"

/* The window of one query, in double: its place grows with the number of keys. */
typedef struct window {
    double centre, width;             /* p, 2 σ */
    double centre_slope, width_slope; /* by the logits of their sigmoids; of the width, of its
                                         logarithm */
} window;

static double sigmoid(double z)
{
    return 1 / (1 + exp(-z));
}

/* hidden [D] = tanh x. */
static window window_at(size_t dim, const real *x, const real *centre, const real *width,
                        size_t keys, double *hidden)
{
    double place = 0, spread = 0;
    for (size_t d = 0; d < dim; d++) {
        hidden[d] = tanh((double)x[d]);
        place += (double)centre[d] * hidden[d];
        spread += (double)width[d] * hidden[d];
    }
    const double n = (double)keys;
    return (window){.centre = n * sigmoid(place),
                    .width = n * sigmoid(spread),
                    .centre_slope = n * sigmoid(place) * sigmoid(-place),
                    .width_slope = sigmoid(-spread)};
}

mgk_status MGK_CPU(subtract_windows)(mgk_device *device, const mgk_head_maps *maps,
                                     const mgk_head_tokens *shape, const void *x,
                                     const void *centre, const void *width, void *scores)
{
    const size_t heads = maps->heads, rows = maps->samples * heads, dim = shape->dim;
    double *room;
    TRY(mgk_alloc(rows * dim, sizeof *room, &room));
#pragma omp parallel for schedule(dynamic, 1) \
    num_threads(device->threads) if (rows * maps->rows * maps->cols >= MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t r = 0; r < rows; r++) {
        const size_t b = r / heads, h = r % heads;
        for (size_t i = 0; i < maps->rows; i++) {
            const size_t keys = mgk_cpu_row_width(maps, b, i);
            real *row = (real *)scores + (r * maps->rows + i) * maps->cols;
            if (keys == 0)
                continue;
            const window w =
                window_at(dim, (const real *)x + mgk_cpu_token_at(shape, shape->stride, b, i, h),
                          (const real *)centre + h * dim, (const real *)width + h * dim, keys,
                          room + r * dim);
            for (size_t j = 0; j < keys; j++) {
                const double away = ((double)j - w.centre) / w.width;
                row[j] -= (real)(2 * away * away);
            }
        }
    }
    mgk_free(room);
    return STATUS_OK;
}

/* One query: dx, and dcentre and dwidth [D] +=. */
static void query_backward(size_t dim, const window *w, size_t keys, const real *dscores,
                           const real *centre, const real *width, const double *hidden, real *dx,
                           double *dcentre, double *dwidth)
{
    double place = 0, spread = 0;
    for (size_t j = 0; j < keys; j++) {
        const double away = ((double)j - w->centre) / w->width;
        place += (double)dscores[j] * 4 * away / w->width;
        spread += (double)dscores[j] * 4 * away * away;
    }
    place *= w->centre_slope;
    spread *= w->width_slope;
    for (size_t d = 0; d < dim; d++) {
        const double through = place * (double)centre[d] + spread * (double)width[d];
        dx[d] = (real)(through * (1 - hidden[d] * hidden[d]));
        dcentre[d] += place * hidden[d];
        dwidth[d] += spread * hidden[d];
    }
}

/* All queries of a head, one after the other; `room` [3 D] becomes the sums of its parameters. */
static void head_backward(const mgk_head_maps *maps, const mgk_head_tokens *shape, size_t h,
                          const real *x, const real *centre, const real *width, const real *dscores,
                          real *dx, double *room)
{
    const size_t dim = shape->dim;
    double *hidden = room, *dcentre = room + dim, *dwidth = room + 2 * dim;
    for (size_t b = 0; b < maps->samples; b++)
        for (size_t i = 0; i < maps->rows; i++) {
            const size_t keys = mgk_cpu_row_width(maps, b, i);
            const size_t token = mgk_cpu_token_at(shape, shape->stride, b, i, h);
            if (keys == 0) {
                memset(dx + token, 0, dim * sizeof *dx);
                continue;
            }
            const window w = window_at(dim, x + token, centre, width, keys, hidden);
            query_backward(dim, &w, keys,
                           dscores + ((b * maps->heads + h) * maps->rows + i) * maps->cols, centre,
                           width, hidden, dx + token, dcentre, dwidth);
        }
}

mgk_status MGK_CPU(subtract_windows_backward)(mgk_device *device, const mgk_head_maps *maps,
                                              const mgk_head_tokens *shape, const void *x,
                                              const void *centre, const void *width,
                                              const void *dscores, void *dx, void *dcentre,
                                              void *dwidth)
{
    const size_t heads = maps->heads, dim = shape->dim;
    double *room;
    TRY(mgk_alloc(heads * 3 * dim, sizeof *room, &room));
#pragma omp parallel for schedule(static)                                               \
    num_threads(device->threads) if (maps->samples * heads * maps->rows * maps->cols >= \
                                     MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t h = 0; h < heads; h++) {
        double *own = room + h * 3 * dim;
        head_backward(maps, shape, h, x, (const real *)centre + h * dim,
                      (const real *)width + h * dim, dscores, dx, own);
        for (size_t d = 0; d < dim; d++) {
            ((real *)dcentre)[h * dim + d] += (real)own[dim + d];
            ((real *)dwidth)[h * dim + d] += (real)own[2 * dim + d];
        }
    }
    mgk_free(room);
    return STATUS_OK;
}
