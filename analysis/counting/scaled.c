/* SPDX-License-Identifier: MIT */
#include "analysis/counting/scaled.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "kernels/blas.h"

static const double least_norm = 1e-60, largest_norm = 1e60; /* their fourth powers fit */

static double largest_of(size_t count, const double *matrix)
{
    double largest = 0;
    for (size_t i = 0; i < count; i++)
        largest = fmax(largest, fabs(matrix[i]));
    return largest;
}

static void scale(size_t count, double *values, int exponent)
{
    for (size_t i = 0; i < count; i++)
        values[i] = ldexp(values[i], exponent);
}

/* Thresholds stay above 0, even if they underflow. */
static void scale_thresholds(const mgk_engine_task *task, int exponent, double *out)
{
    for (size_t t = 0; t < task->threshold_count; t++)
        out[t] = task->relative ? task->thresholds[t]
                                : fmax(ldexp(task->thresholds[t], exponent), DBL_MIN);
}

static mgk_status scale_results(const mgk_engine_task *task, int exponent, mgk_rank_row *row,
                                mgk_rank_count *counts, double *sigma)
{
    row->frobenius = ldexp(row->frobenius, exponent);
    row->noise_floor = ldexp(row->noise_floor, exponent);
    row->sigma_max = ldexp(row->sigma_max, exponent);
    row->sigma_min = ldexp(row->sigma_min, exponent);
    for (size_t t = 0; t < task->threshold_count; t++)
        counts[t].nearest = ldexp(counts[t].nearest, exponent);
    if (!mgk_rank_method_counts(row->method))
        scale(row->n, sigma, exponent);
    if (isinf(row->sigma_max))
        return mgk_fail(STATUS_NUMERIC, "singular values overflow");
    return STATUS_OK;
}

mgk_status mgk_scaled_rank(mgk_engine *engine, const mgk_engine_task *task, mgk_ladder *ladder,
                           double *matrix, mgk_rank_row *row, mgk_rank_count *counts, double *sigma)
{
    const size_t entries = row->n * row->n;
    const bool usual = row->frobenius >= least_norm && row->frobenius <= largest_norm;
    const double largest = usual ? 0 : largest_of(entries, matrix);
    if (largest == 0)
        return mgk_engine_rank(engine, task, ladder, matrix, row, counts, sigma);
    const int exponent = ilogb(largest);
    mgk_engine_task scaled = *task;
    double *thresholds;
    TRY(mgk_alloc(task->threshold_count, sizeof(*thresholds), &thresholds));
    scale_thresholds(task, -exponent, thresholds);
    scaled.thresholds = thresholds;
    scaled.moved = ldexp(task->moved, -exponent);
    if (task->copy) {
        memcpy(task->copy, matrix, entries * sizeof(*matrix));
        matrix = task->copy;
    }
    scale(entries, matrix, -exponent);
    row->frobenius = mgk_blas.dnrm2((blasint)entries, matrix, 1);
    row->noise_floor = mgk_rank_noise_floor(row->n, row->n, row->frobenius, row->format);
    mgk_status status = mgk_engine_rank(engine, &scaled, ladder, matrix, row, counts, sigma);
    if (status == STATUS_OK)
        status = scale_results(task, exponent, row, counts, sigma);
    mgk_free(thresholds);
    return status;
}
