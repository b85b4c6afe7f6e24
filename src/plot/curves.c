/* SPDX-License-Identifier: MIT */
/* Draws training curves from the logs of mgk-train; measures against the step are in steps.c. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/names.h"
#include "plot/logs.h"
#include "plot/plot.h"
#include "plot/seeds.h"
#include "plots/charts/curves.h"
#include "run/recognise.h"

/* Logs, and what is drawn of them: each by itself, or the mean of those that differ in their seed.
 */
typedef struct picture {
    const mgk_plot_options *options;
    size_t count;         /* of logs */
    mgk_log_curves *logs; /* [count] */
    size_t *group;        /* [count], the number of each log's group */
    char **names;         /* [count], those of groups are paths without seeds; NULL: their logs' */
    size_t groups;
    mgk_log_curves means[MGK_GROUPS_MAX];
    char titles[MGK_GROUPS_MAX][MGK_PLOT_TITLE + 24];
    bool accuracy, bits; /* in place of the loss; of the loss, per byte */
} picture;

static void free_picture(picture *p)
{
    for (size_t i = 0; p->logs && i < p->count; i++)
        mgk_log_curves_free(&p->logs[i]);
    for (size_t i = 0; p->names && i < p->count; i++)
        mgk_free(p->names[i]);
    for (size_t g = 0; g < MGK_GROUPS_MAX; g++)
        mgk_log_curves_free(&p->means[g]);
    mgk_free(p->logs);
    mgk_free(p->group);
    mgk_free(p->names);
}

/* Bands join the logs of seeds; without them each log is a group. */
static mgk_status group_logs(picture *p)
{
    const mgk_plot_options *o = p->options;
    TRY(mgk_alloc(p->count, sizeof(*p->group), &p->group));
    p->groups = p->count;
    for (size_t i = 0; i < p->count; i++)
        p->group[i] = i;
    if (!o->bands)
        return mgk_plot_check_names(o, p->groups);
    TRY(mgk_alloc(p->count, sizeof(*p->names), &p->names));
    TRY(mgk_seeds_group(o->inputs, p->count, p->group, p->names, &p->groups));
    if (p->groups == p->count)
        return mgk_fail(STATUS_USAGE,
                        "`bands`: no two logs have names that differ in a seed alone, as "
                        "run-seed0.csv and run-seed1.csv do");
    return mgk_plot_check_names(o, p->groups);
}

static mgk_status read_logs(picture *p)
{
    TRY(mgk_alloc(p->count, sizeof(*p->logs), &p->logs));
    p->bits = true;
    for (size_t i = 0; i < p->count; i++) {
        TRY(mgk_log_curves_read(p->options->inputs[i], p->accuracy, &p->logs[i]));
        if (p->accuracy && p->logs[i].held_out.count == 0)
            return mgk_fail(STATUS_SHAPE, "%s: no accuracy of held-out data",
                            p->options->inputs[i]);
        p->bits = p->bits && p->logs[i].bits > 0;
    }
    for (size_t i = 0; p->bits && i < p->count; i++)
        mgk_log_curves_in_bits(&p->logs[i]);
    for (size_t g = 0; g < p->groups; g++) {
        const char *name = p->names ? p->names[g] : p->options->inputs[g];
        mgk_status status = mgk_log_curves_mean(p->logs, p->group, p->count, g, &p->means[g]);
        if (status != STATUS_OK)
            return mgk_fail_prefix(status, name);
    }
    return STATUS_OK;
}

/* The title of a group, with the number of its seeds. */
static const char *title_of(picture *p, size_t g)
{
    char title[MGK_PLOT_TITLE];
    size_t seeds = 0;
    for (size_t i = 0; i < p->count; i++)
        seeds += p->group[i] == g;
    mgk_plot_file_title(p->names ? p->names[g] : p->options->inputs[g], title);
    const char *name = mgk_plot_name(p->options, g, title);
    if (seeds == 1)
        return name == title ? strcpy(p->titles[g], title) : name;
    snprintf(p->titles[g], sizeof(p->titles[g]), "%.60s, %zu seeds", name, seeds);
    return p->titles[g];
}

static mgk_curve curve_of(const mgk_log_points *points, size_t series)
{
    return (mgk_curve){.x = points->x, .y = points->y, .count = points->count, .series = series};
}

/* The standard deviation around the curve of a group of several. */
static void add_band(const picture *p, const mgk_log_points *points, mgk_curve *curve)
{
    if (!p->names || points->count == 0)
        return;
    curve->lower = points->lower;
    curve->upper = points->upper;
}

static mgk_status draw_picture(picture *p, mgk_plot *plot)
{
    mgk_curve curves[2 * MGK_GROUPS_MAX];
    const size_t count = p->groups;
    for (size_t g = 0; g < count; g++) {
        mgk_log_curves *of = &p->means[g];
        /* Training is noisy, so it is drawn first, below the other curves. */
        curves[g] = curve_of(&of->train, g);
        curves[g].faint = true;
        curves[count + g] = curve_of(&of->held_out, g);
        curves[count + g].label = title_of(p, g);
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
                                .key_count = p->accuracy ? 1 : 2,
                                .x_label = "training step",
                                .y_label = p->accuracy ? "accuracy"
                                           : p->bits   ? "loss (bits per byte)"
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

static mgk_status draw_logs(mgk_plot *plot)
{
    mgk_status status;
    picture p = {.options = plot->options, .count = plot->options->input_count};
    TRY(choose_column(plot->options, &p.accuracy));
    CHECK(group_logs(&p));
    CHECK(read_logs(&p));
    CHECK(draw_picture(&p, plot));
out:
    free_picture(&p);
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
    if (measures && plot->options->bands)
        return mgk_fail(STATUS_USAGE, "`bands`: not an option of curves of measures, but of "
                                      "training logs");
    if (measures)
        return mgk_plot_steps(plot);
    TRY(check_logs(plot->options));
    return draw_logs(plot);
}
