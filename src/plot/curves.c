/* SPDX-License-Identifier: MIT */
/* Draws training curves from the logs of mgk-train; measures against the step are in steps.c. */
#include <math.h>

#include "plot/runs.h"
#include "plots/charts/curves.h"
#include "run/recognise.h"

/* The curve of a group, in bits or nats. */
static mgk_curve curve_of(bool bits, mgk_log_points *loss, size_t series)
{
    double *const arrays[] = {loss->y, loss->lower, loss->upper};
    for (int a = 0; a < 3; a++)
        for (size_t i = 0; bits && i < loss->count; i++)
            arrays[a][i] /= log(2);
    return (mgk_curve){.x = loss->x, .y = loss->y, .count = loss->count, .series = series};
}

/* The standard deviation around the curve of a group of several. */
static void add_band(const mgk_runs *p, const mgk_log_points *loss, mgk_curve *curve)
{
    if (!p->names || loss->count == 0)
        return;
    curve->lower = loss->lower;
    curve->upper = loss->upper;
}

static mgk_status draw_runs(mgk_runs *p, mgk_plot *plot)
{
    bool bits = true;
    mgk_curve curves[2 * MGK_GROUPS_MAX];
    const size_t count = p->groups;
    for (size_t g = 0; g < count; g++)
        bits = bits && p->means[g].language_model;
    for (size_t g = 0; g < count; g++) {
        mgk_log_losses *of = &p->means[g];
        /* Training is noisy, so it is drawn first, below the other curves. */
        curves[g] = curve_of(bits, &of->train, g);
        curves[g].faint = true;
        curves[count + g] = curve_of(bits, &of->held_out, g);
        curves[count + g].label = mgk_runs_title(p, g);
        curves[count + g].markers = true;
        if (of->held_out.count > 0)
            add_band(p, &of->held_out, &curves[count + g]);
        else
            add_band(p, &of->train, &curves[g]);
    }
    const mgk_legend_entry keys[] = {
        {p->names ? "held out, with the standard deviation of seeds" : "held out", mgk_key_color,
         KEY_LINE},
        {"training", mgk_key_color, KEY_FAINT}};
    const mgk_curves drawing = {.curves = curves,
                                .count = 2 * count,
                                .keys = keys,
                                .key_count = 2,
                                .x_label = "training step",
                                .y_label = bits ? "loss (bits per byte)" : "loss (nats)"};
    mgk_status status = mgk_draw_curves(&drawing, &plot->picture, p->options->output);
    return status == STATUS_NUMERIC ? mgk_fail_prefix(status, p->options->inputs[0]) : status;
}

/* Bands join the logs of seeds. */
static mgk_status draw_logs(mgk_plot *plot)
{
    mgk_status status;
    const mgk_plot_options *o = plot->options;
    mgk_runs runs;
    CHECK(mgk_runs_read(o, o->bands, &runs));
    if (o->bands && runs.groups == runs.count)
        CHECK(mgk_fail(STATUS_USAGE,
                       "`bands`: no two logs have names that differ in a seed alone, as "
                       "run-seed0.csv and run-seed1.csv do"));
    CHECK(draw_runs(&runs, plot));
out:
    mgk_runs_free(&runs);
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
    if (measures && plot->options->bands)
        return mgk_fail(STATUS_USAGE, "`bands`: not an option of curves of measures, but of "
                                      "training logs");
    if (measures)
        return mgk_plot_steps(plot);
    TRY(check_logs(plot->options));
    return draw_logs(plot);
}
