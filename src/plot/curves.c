/* SPDX-License-Identifier: MIT */
/* Draws training curves from the logs of mgk-train; measures against the step are in steps.c. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "plot/plot.h"
#include "plots/charts/curves.h"
#include "run/recognise.h"
#include "train/read_log.h"

/* Points (step, loss). */
typedef struct points {
    double *x, *y; /* [count] */
    size_t count, x_capacity, y_capacity;
} points;

typedef struct training_log {
    points train, held_out;
    bool language_model; /* the log has bits per byte */
    char title[MGK_PLOT_TITLE];
} training_log;

static void log_free(training_log *log)
{
    mgk_free(log->train.x);
    mgk_free(log->train.y);
    mgk_free(log->held_out.x);
    mgk_free(log->held_out.y);
}

/* Adds a point, unless y is not known. */
static mgk_status add_point(points *out, double x, double y)
{
    if (isnan(y))
        return STATUS_OK;
    TRY(mgk_grow(out->count, sizeof(double), &out->x_capacity, &out->x));
    TRY(mgk_grow(out->count, sizeof(double), &out->y_capacity, &out->y));
    out->x[out->count] = x;
    out->y[out->count++] = y;
    return STATUS_OK;
}

static mgk_status take(void *context, const double cells[MGK_LOG_COLUMNS])
{
    training_log *log = context;
    log->language_model |= !isnan(cells[MGK_LOG_BITS_PER_BYTE]);
    TRY(add_point(&log->train, cells[MGK_LOG_STEP], cells[MGK_LOG_TRAIN_LOSS]));
    return add_point(&log->held_out, cells[MGK_LOG_STEP], cells[MGK_LOG_EVAL_LOSS]);
}

/* The curve of a run, in bits or nats. */
static mgk_curve curve_of(points *loss, bool bits, size_t series)
{
    for (size_t i = 0; bits && i < loss->count; i++)
        loss->y[i] /= log(2);
    return (mgk_curve){.x = loss->x, .y = loss->y, .count = loss->count, .series = series};
}

static mgk_status draw_logs(mgk_plot *plot)
{
    mgk_status status;
    const mgk_plot_options *o = plot->options;
    training_log logs[MGK_GROUPS_MAX] = {{.language_model = false}};
    mgk_curve curves[2 * MGK_GROUPS_MAX];
    size_t count = o->input_count;
    bool bits = true;
    CHECK(mgk_plot_check_names(o, count));
    for (size_t i = 0; i < count; i++) {
        CHECK(mgk_log_read(o->inputs[i], take, &logs[i]));
        mgk_plot_file_title(o->inputs[i], logs[i].title);
        bits = bits && logs[i].language_model;
    }
    for (size_t i = 0; i < count; i++) {
        /* Training is noisy, so it is drawn first, below the other curves. */
        curves[i] = curve_of(&logs[i].train, bits, i);
        curves[i].faint = true;
        curves[count + i] = curve_of(&logs[i].held_out, bits, i);
        curves[count + i].label = mgk_plot_name(o, i, logs[i].title);
        curves[count + i].markers = true;
    }
    const mgk_legend_entry keys[] = {{"held out", mgk_key_color, KEY_LINE},
                                     {"training", mgk_key_color, KEY_FAINT}};
    const mgk_curves picture = {.curves = curves,
                                .count = 2 * count,
                                .keys = keys,
                                .key_count = 2,
                                .x_label = "training step",
                                .y_label = bits ? "loss (bits per byte)" : "loss (nats)"};
    status = mgk_draw_curves(&picture, &plot->picture, o->output);
    if (status == STATUS_NUMERIC)
        mgk_fail_prefix(status, o->inputs[0]);
out:
    for (size_t i = 0; i < MGK_GROUPS_MAX; i++)
        log_free(&logs[i]);
    return status;
}

/* Whether the inputs are files of mgk-diversity; otherwise they are logs. */
static mgk_status find_content(const mgk_plot_options *o, bool *measures)
{
    const char *table = NULL, *other = NULL;
    for (size_t i = 0; i < o->input_count; i++) {
        mgk_file_kind kind;
        TRY(mgk_recognise(o->inputs[i], &kind));
        *(mgk_file_is_diversity(kind) ? &table : &other) = o->inputs[i];
    }
    *measures = table != NULL;
    return !table || !other
               ? STATUS_OK
               : mgk_fail(STATUS_USAGE,
                          "%s holds measures of diversity and %s does not: expected logs of "
                          "mgk-train alone, or files of mgk-diversity alone",
                          table, other);
}

/* What chooses among measures says nothing of a log. */
static mgk_status check_logs(const mgk_plot_options *o)
{
    const char *name = o->measure       ? "`measure`"
                       : o->layer_count ? "`layers`"
                       : o->head_count  ? "`heads`"
                       : o->from_one    ? "`from_one`"
                                        : NULL;
    return name ? mgk_fail(STATUS_USAGE,
                           "%s: not an option of curves of training logs, but of measures", name)
                : STATUS_OK;
}

mgk_status mgk_plot_curves(mgk_plot *plot)
{
    bool measures;
    TRY(find_content(plot->options, &measures));
    if (measures)
        return mgk_plot_steps(plot);
    TRY(check_logs(plot->options));
    return draw_logs(plot);
}
