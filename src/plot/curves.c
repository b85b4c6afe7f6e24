/* SPDX-License-Identifier: MIT */
/* Draws training curves from the logs of mgk-train; measures against the step are in steps.c. */
#include "plots/charts/curves.h"

#include <stdio.h>

#include "base/names.h"
#include "plot/runs.h"
#include "run/recognise.h"

static mgk_curve curve_of(const mgk_log_points *points, size_t series)
{
    return (mgk_curve){.x = points->x, .y = points->y, .count = points->count, .series = series};
}

/* The standard deviation around the curve of a group of several. */
static void add_band(const mgk_runs *p, const mgk_log_points *points, mgk_curve *curve)
{
    if (!p->names || points->count == 0)
        return;
    curve->lower = points->lower;
    curve->upper = points->upper;
}

/* Losses in bits per byte where all logs have them; returns whether they are. */
static bool use_bits(mgk_runs *p)
{
    for (size_t g = 0; g < p->groups; g++)
        if (!(p->means[g].bits > 0))
            return false;
    for (size_t g = 0; g < p->groups; g++)
        mgk_log_losses_in_bits(&p->means[g]);
    return true;
}

/* The curves of all groups, [2 groups]: training, which accuracies do not have, and held out. */
static void make_curves(mgk_runs *p, bool accuracy, mgk_curve *curves)
{
    static const mgk_log_points none;
    for (size_t g = 0; g < p->groups; g++) {
        const mgk_log_points *train = accuracy ? &none : &p->means[g].train;
        const mgk_log_points *held_out = accuracy ? &p->means[g].accuracy : &p->means[g].held_out;
        mgk_curve *below = &curves[g], *above = &curves[p->groups + g];
        /* Training is noisy, so it is drawn first, below the other curves. */
        *below = curve_of(train, g);
        below->faint = true;
        *above = curve_of(held_out, g);
        above->label = mgk_runs_title(p, g);
        above->markers = true;
        add_band(p, held_out->count > 0 ? held_out : train, held_out->count > 0 ? above : below);
    }
}

static mgk_status draw_runs(mgk_runs *p, bool accuracy, mgk_plot *plot)
{
    mgk_curve curves[2 * MGK_GROUPS_MAX];
    const bool bits = !accuracy && use_bits(p);
    char training[48] = "training";
    if (p->options->smooth > 1)
        snprintf(training, sizeof(training), "training, means of %d points", p->options->smooth);
    make_curves(p, accuracy, curves);
    const mgk_legend_entry keys[] = {
        {p->names ? "held out, with the standard deviation of seeds" : "held out", mgk_key_color,
         KEY_LINE},
        {training, mgk_key_color, KEY_FAINT}};
    const mgk_curves drawing = {.curves = curves,
                                .count = 2 * p->groups,
                                .keys = keys,
                                .key_count = accuracy ? 1 : 2,
                                .x_label = "training step",
                                .y_label = accuracy ? "accuracy"
                                           : bits   ? "loss (bits per byte)"
                                                    : "loss (nats)"};
    mgk_status status = mgk_draw_curves(&drawing, &plot->picture, p->options->output);
    return status == STATUS_NUMERIC ? mgk_fail_prefix(status, p->options->inputs[0]) : status;
}

static mgk_status choose_column(const mgk_plot_options *o, bool *accuracy)
{
    static const char *const columns[] = {"loss", "accuracy"};
    int column = 0;
    if (o->measure)
        TRY(mgk_names_choose("measure", o->measure, columns, 2, &column));
    *accuracy = column == 1;
    return STATUS_OK;
}

static mgk_status check_accuracies(const mgk_runs *p)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->logs[i].accuracy.count == 0)
            return mgk_fail(STATUS_SHAPE, "%s: no accuracy of held-out data",
                            p->options->inputs[i]);
    return STATUS_OK;
}

/* Bands join the logs of seeds. */
static mgk_status draw_logs(mgk_plot *plot)
{
    mgk_status status;
    const mgk_plot_options *o = plot->options;
    mgk_runs runs = {0};
    bool accuracy;
    CHECK(choose_column(o, &accuracy));
    CHECK(mgk_runs_read(o, o->bands, &runs));
    if (o->bands && runs.groups == runs.count)
        CHECK(mgk_fail(STATUS_USAGE,
                       "`bands`: no two logs have names that differ in a seed alone, as "
                       "run-seed0.csv and run-seed1.csv do"));
    if (accuracy)
        CHECK(check_accuracies(&runs));
    CHECK(draw_runs(&runs, accuracy, plot));
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

/* What chooses layers and heads says nothing of a log. */
static mgk_status check_logs(const mgk_plot_options *o)
{
    const char *name = o->layer_count  ? "`layers`"
                       : o->head_count ? "`heads`"
                       : o->from_one   ? "`from_one`"
                                       : NULL;
    return name ? mgk_fail(STATUS_USAGE,
                           "%s: not an option of curves of training logs, but of measures", name)
                : STATUS_OK;
}

mgk_status mgk_plot_curves(mgk_plot *plot)
{
    bool measures;
    TRY(find_content(plot->options, &measures));
    if (measures && (plot->options->bands || plot->options->smooth))
        return mgk_fail(STATUS_USAGE,
                        "%s: not an option of curves of measures, but of training logs",
                        plot->options->bands ? "`bands`" : "`smooth`");
    if (measures)
        return mgk_plot_steps(plot);
    TRY(check_logs(plot->options));
    return draw_logs(plot);
}
