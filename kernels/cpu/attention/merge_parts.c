/* SPDX-License-Identifier: MIT */
/* A softmax that was computed in parts. */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "kernels/cpu/attention/dense.h"

/* The part of row r of one head: its token, −1 for none, and where its statistic is. */
static int32_t part(const mgk_parts *parts, size_t b, size_t h, size_t r, size_t *at)
{
    const size_t group = b * parts->groups + r / parts->rows;
    const int32_t t = parts->index[(b * parts->heads + h) * parts->groups * parts->rows + r];
    *at = (group * parts->heads + h) * parts->rows + r % parts->rows;
    return t >= 0 && (size_t)t < parts->tokens ? t : -1;
}

/* `most` and `sum` [N] are memory. */
static void merge(const mgk_parts *parts, size_t b, size_t h, real *statistic, const real *y,
                  real *out, size_t out_stride, double *most, double *sum)
{
    const size_t rows = parts->groups * parts->rows, dim = parts->dim;
    size_t at;
    for (size_t t = 0; t < parts->tokens; t++) {
        most[t] = -INFINITY;
        sum[t] = 0;
        memset(out + (b * parts->tokens + t) * out_stride + h * dim, 0, dim * sizeof *out);
    }
    for (size_t r = 0; r < rows; r++) {
        const int32_t t = part(parts, b, h, r, &at);
        if (t >= 0 && !((double)statistic[at] <= most[t])) /* NaN stays */
            most[t] = (double)statistic[at];
    }
    for (size_t r = 0; r < rows; r++) {
        const int32_t t = part(parts, b, h, r, &at);
        if (t >= 0 && statistic[at] != (real)-INFINITY)
            sum[t] += exp((double)statistic[at] - most[t]);
    }
    for (size_t r = 0; r < rows; r++) {
        const int32_t t = part(parts, b, h, r, &at);
        if (t < 0 || most[t] == -INFINITY)
            continue;
        mgk_cpu_add_row(dim, (real)(exp((double)statistic[at] - most[t]) / sum[t]),
                        y + ((b * rows + r) * parts->heads + h) * dim,
                        out + (b * parts->tokens + (size_t)t) * out_stride + h * dim);
        statistic[at] = (real)(most[t] + log(sum[t]));
    }
}

mgk_status MGK_CPU(merge_parts)(mgk_device *device, const mgk_parts *parts, void *statistic,
                                const void *y, void *out, size_t out_stride)
{
    TRY(mgk_cpu_reserve_scratch(device, 2 * parts->tokens * sizeof(double)));
#pragma omp parallel for collapse(2) schedule(static) num_threads(device->threads)
    for (size_t b = 0; b < parts->samples; b++)
        for (size_t h = 0; h < parts->heads; h++) {
            double *room = mgk_cpu_scratch(device, omp_get_thread_num());
            merge(parts, b, h, statistic, y, out, out_stride, room, room + parts->tokens);
        }
    return STATUS_OK;
}
