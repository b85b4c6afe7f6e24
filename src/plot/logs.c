/* SPDX-License-Identifier: MIT */
#include "plot/logs.h"

#include <math.h>

#include "base/memory.h"
#include "train/read_log.h"

static void free_points(mgk_log_points *points)
{
    mgk_free(points->x);
    mgk_free(points->y);
    mgk_free(points->lower);
    mgk_free(points->upper);
}

void mgk_log_curves_free(mgk_log_curves *losses)
{
    free_points(&losses->train);
    free_points(&losses->held_out);
}

static mgk_status add_point(mgk_log_points *out, double x, double mean, double deviation)
{
    const double numbers[] = {x, mean, mean - deviation, mean + deviation};
    double **const arrays[] = {&out->x, &out->y, &out->lower, &out->upper};
    for (int i = 0; i < 4; i++) {
        TRY(mgk_grow(out->count, sizeof(double), &out->rooms[i], arrays[i]));
        (*arrays[i])[out->count] = numbers[i];
    }
    out->count++;
    return STATUS_OK;
}

static mgk_status take_loss(void *context, const double cells[MGK_LOG_COLUMNS])
{
    mgk_log_curves *log = context;
    const double step = cells[MGK_LOG_STEP];
    if (cells[MGK_LOG_BITS_PER_BYTE] > 0 && cells[MGK_LOG_EVAL_LOSS] > 0)
        log->bits = cells[MGK_LOG_BITS_PER_BYTE] / cells[MGK_LOG_EVAL_LOSS];
    if (!isnan(cells[MGK_LOG_TRAIN_LOSS]))
        TRY(add_point(&log->train, step, cells[MGK_LOG_TRAIN_LOSS], 0));
    return isnan(cells[MGK_LOG_EVAL_LOSS])
               ? STATUS_OK
               : add_point(&log->held_out, step, cells[MGK_LOG_EVAL_LOSS], 0);
}

static mgk_status take_accuracy(void *context, const double cells[MGK_LOG_COLUMNS])
{
    mgk_log_curves *log = context;
    return isnan(cells[MGK_LOG_EVAL_ACCURACY])
               ? STATUS_OK
               : add_point(&log->held_out, cells[MGK_LOG_STEP], cells[MGK_LOG_EVAL_ACCURACY], 0);
}

mgk_status mgk_log_curves_read(const char *path, bool accuracy, mgk_log_curves *out)
{
    return mgk_log_read(path, accuracy ? take_accuracy : take_loss, out);
}

static void scale(mgk_log_points *points, double factor)
{
    for (size_t i = 0; i < points->count; i++) {
        points->y[i] *= factor;
        points->lower[i] *= factor;
        points->upper[i] *= factor;
    }
}

void mgk_log_curves_in_bits(mgk_log_curves *losses)
{
    scale(&losses->train, losses->bits);
    scale(&losses->held_out, losses->bits);
}

/* The value at a step, from point *at on; NaN: there is none. Steps ascend. */
static double value_at(const mgk_log_points *points, double step, size_t *at)
{
    while (*at < points->count && points->x[*at] < step)
        ++*at;
    return *at < points->count && points->x[*at] == step ? points->y[*at] : NAN;
}

/* Adds the mean of the runs [count] at a step, unless one lacks it. places, values: [count] */
static mgk_status add_mean(const mgk_log_points *const *runs, size_t count, double step,
                           size_t *places, double *values, mgk_log_points *out)
{
    double sum = 0, squares = 0;
    for (size_t r = 0; r < count; r++) {
        values[r] = value_at(runs[r], step, &places[r]);
        sum += values[r];
    }
    if (isnan(sum))
        return STATUS_OK;
    const double mean = sum / (double)count;
    for (size_t r = 0; r < count; r++)
        squares += (values[r] - mean) * (values[r] - mean);
    return add_point(out, step, mean, count > 1 ? sqrt(squares / (double)(count - 1)) : 0);
}

static mgk_status mean_of(const mgk_log_points *const *runs, size_t count, mgk_log_points *out)
{
    mgk_status status;
    size_t *places = NULL;
    double *values = NULL;
    CHECK(mgk_alloc(count, sizeof(*places), &places));
    CHECK(mgk_alloc(count, sizeof(*values), &values));
    for (size_t i = 0; i < runs[0]->count; i++)
        CHECK(add_mean(runs, count, runs[0]->x[i], places, values, out));
out:
    mgk_free(places);
    mgk_free(values);
    return status;
}

mgk_status mgk_log_curves_mean(const mgk_log_curves *logs, const size_t *group, size_t count,
                               size_t chosen, mgk_log_curves *out)
{
    mgk_status status;
    const mgk_log_points **train = NULL, **held_out = NULL;
    size_t runs = 0;
    bool points = false;
    CHECK(mgk_alloc(count, sizeof(*train), &train));
    CHECK(mgk_alloc(count, sizeof(*held_out), &held_out));
    for (size_t i = 0; i < count; i++) {
        if (group[i] != chosen)
            continue;
        train[runs] = &logs[i].train;
        held_out[runs++] = &logs[i].held_out;
        points = points || logs[i].train.count + logs[i].held_out.count > 0;
    }
    CHECK(mean_of(train, runs, &out->train));
    CHECK(mean_of(held_out, runs, &out->held_out));
    if (points && out->train.count + out->held_out.count == 0)
        CHECK(mgk_fail(STATUS_SHAPE, "its %zu logs have no step in common", runs));
out:
    mgk_free(train);
    mgk_free(held_out);
    return status;
}
