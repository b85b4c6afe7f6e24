/* SPDX-License-Identifier: MIT */
#include "plot/logs.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/memory.h"
#include "train/read_log.h"

static void free_points(mgk_log_points *points)
{
    mgk_free(points->x);
    mgk_free(points->y);
    mgk_free(points->lower);
    mgk_free(points->upper);
}

void mgk_log_losses_free(mgk_log_losses *losses)
{
    free_points(&losses->train);
    free_points(&losses->held_out);
    free_points(&losses->accuracy);
    free_points(&losses->perplexity);
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

/* The points of a log, and the columns of their values. */
static const struct {
    size_t offset;
    int column;
} all_points[] = {{offsetof(mgk_log_losses, train), MGK_LOG_TRAIN_LOSS},
                  {offsetof(mgk_log_losses, held_out), MGK_LOG_EVAL_LOSS},
                  {offsetof(mgk_log_losses, accuracy), MGK_LOG_EVAL_ACCURACY},
                  {offsetof(mgk_log_losses, perplexity), MGK_LOG_PERPLEXITY}};

enum { ALL_POINTS = sizeof(all_points) / sizeof(all_points[0]) };

static mgk_log_points *points_of(mgk_log_losses *losses, size_t i)
{
    return (mgk_log_points *)((char *)losses + all_points[i].offset);
}

static const mgk_log_points *read_points(const mgk_log_losses *losses, size_t i)
{
    return (const mgk_log_points *)((const char *)losses + all_points[i].offset);
}

static mgk_status take(void *context, const double cells[MGK_LOG_COLUMNS])
{
    mgk_log_losses *log = context;
    if (cells[MGK_LOG_BITS_PER_BYTE] > 0 && cells[MGK_LOG_EVAL_LOSS] > 0)
        log->bits = cells[MGK_LOG_BITS_PER_BYTE] / cells[MGK_LOG_EVAL_LOSS];
    for (size_t i = 0; i < ALL_POINTS; i++) {
        const double value = cells[all_points[i].column];
        if (!isnan(value))
            TRY(add_point(points_of(log, i), cells[MGK_LOG_STEP], value, 0));
    }
    return STATUS_OK;
}

mgk_status mgk_log_losses_read(const char *path, mgk_log_losses *out)
{
    return mgk_log_read(path, take, out);
}

static void scale(mgk_log_points *points, double factor)
{
    for (size_t i = 0; i < points->count; i++) {
        points->y[i] *= factor;
        points->lower[i] *= factor;
        points->upper[i] *= factor;
    }
}

void mgk_log_losses_in_bits(mgk_log_losses *losses)
{
    scale(&losses->train, losses->bits);
    scale(&losses->held_out, losses->bits);
}

/* Each mean is a sum of its own: differences of running sums would lose what follows a large loss.
 * copy [count] receives the numbers as they were. */
static void smooth(double *values, size_t count, size_t window, double *copy)
{
    const size_t before = (window - 1) / 2, after = window / 2;
    memcpy(copy, values, count * sizeof(*copy));
    for (size_t i = 0; i < count; i++) {
        const size_t first = i > before ? i - before : 0;
        const size_t end = after < count - i ? i + after + 1 : count;
        double sum = 0;
        for (size_t k = first; k < end; k++)
            sum += copy[k];
        values[i] = sum / (double)(end - first);
    }
}

mgk_status mgk_log_losses_smooth(mgk_log_losses *losses, size_t window)
{
    mgk_log_points *points = &losses->train;
    double *copy;
    if (window == 1 || points->count == 0)
        return STATUS_OK;
    TRY(mgk_alloc(points->count, sizeof(*copy), &copy));
    smooth(points->y, points->count, window, copy);
    smooth(points->lower, points->count, window, copy);
    smooth(points->upper, points->count, window, copy);
    mgk_free(copy);
    return STATUS_OK;
}

/* What both have but for digits of logs; 0: they differ. */
static double common_bits(double a, double b)
{
    return fabs(a - b) <= 1e-6 * a ? a : 0;
}

/* The loss at a step, from point *at on; NaN: there is none. Steps ascend. */
static double loss_at(const mgk_log_points *points, double step, size_t *at)
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
        values[r] = loss_at(runs[r], step, &places[r]);
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

/* The mean of one quantity of those logs whose group is `chosen`; adds its points, and theirs. */
static mgk_status add_quantity(const mgk_log_losses *logs, const size_t *group, size_t count,
                               size_t chosen, size_t quantity, mgk_log_losses *out,
                               size_t points[2])
{
    const mgk_log_points **runs = NULL;
    size_t used = 0;
    mgk_status status;
    CHECK(mgk_alloc(count, sizeof(*runs), &runs));
    for (size_t i = 0; i < count; i++)
        if (group[i] == chosen) {
            runs[used] = read_points(&logs[i], quantity);
            points[0] += runs[used++]->count;
        }
    CHECK(mean_of(runs, used, points_of(out, quantity)));
    points[1] += points_of(out, quantity)->count;
out:
    mgk_free(runs);
    return status;
}

mgk_status mgk_log_losses_mean(const mgk_log_losses *logs, const size_t *group, size_t count,
                               size_t chosen, mgk_log_losses *out)
{
    size_t points[2] = {0, 0}, runs = 0;
    for (size_t i = 0; i < count; i++)
        if (group[i] == chosen)
            out->bits = runs++ == 0 ? logs[i].bits : common_bits(out->bits, logs[i].bits);
    for (size_t i = 0; i < ALL_POINTS; i++)
        TRY(add_quantity(logs, group, count, chosen, i, out, points));
    if (points[0] > 0 && points[1] == 0)
        return mgk_fail(STATUS_SHAPE, "its %zu logs have no step in common", runs);
    return STATUS_OK;
}
