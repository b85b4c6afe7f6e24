/* SPDX-License-Identifier: MIT */
/* Draws what is left of models without some of their heads: the loss against the heads left. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "base/names.h"
#include "base/number.h"
#include "plot/measures.h"
#include "plots/canvas/style.h"
#include "plots/charts/curve_grid.h"

enum { ORDERS = MGK_PRUNINGS, KINDS = 3, BESIDE = 3 };

/* What a curve tells, of those of mgk_pruning_name. */
static const struct {
    mgk_importance which;
    const char *label;
} kinds[KINDS] = {{MGK_IMPORTANCE_ABLATION, "loss (nats)"},
                  {MGK_IMPORTANCE_DIVERGENCE, "divergence from the whole model (nats)"},
                  {MGK_IMPORTANCE_HIDDEN, "relative change of the last hidden states"}};

static const char *const order_labels[ORDERS] = {
    "least important first", "random: mean and sd of 10 orders", "one of the two closest first"};

/* A curve of an input. */
typedef struct line {
    const mgk_plot_measured *input;
    const char *label;
    int order, kind;
    double *x, *y, *lower, *upper; /* [count] */
    size_t count;
} line;

/* All curves of a picture. */
typedef struct lines {
    const mgk_plot_options *options;
    bool compares;                      /* one curve of each of several inputs */
    line list[ORDERS * MGK_GROUPS_MAX]; /* [count] */
    size_t count;
} lines;

/* The order and the kind of a curve by its name; false: the name is not known. */
static bool find_curve(const char *measure, int *order, int *kind)
{
    for (*order = 0; *order < ORDERS; ++*order)
        for (*kind = 0; *kind < KINDS; ++*kind)
            if (strcmp(mgk_pruning_name((mgk_pruning_order)*order, kinds[*kind].which), measure) ==
                0)
                return true;
    return false;
}

static bool is_of(const mgk_curve_point *point, const char *name, const char *measure)
{
    return strcmp(point->name, name) == 0 && strcmp(point->measure, measure) == 0;
}

static mgk_status take_points(const mgk_diversity_set *set, const char *name, const char *measure,
                              line *out)
{
    size_t count = 0;
    for (size_t i = 0; i < set->point_count; i++)
        count += is_of(&set->points[i], name, measure);
    TRY(mgk_alloc(count, sizeof(double), &out->x));
    TRY(mgk_alloc(count, sizeof(double), &out->y));
    TRY(mgk_alloc(count, sizeof(double), &out->lower));
    TRY(mgk_alloc(count, sizeof(double), &out->upper));
    for (size_t i = 0; i < set->point_count; i++) {
        const mgk_curve_point *p = &set->points[i];
        if (!is_of(p, name, measure))
            continue;
        out->x[out->count] = p->left;
        out->y[out->count] = p->point.value;
        out->lower[out->count] = p->point.value - p->point.sd;
        out->upper[out->count++] = p->point.value + p->point.sd;
    }
    return STATUS_OK;
}

/* Adds the curve of an order, if the file has it and the options want it. */
static mgk_status add_line(const mgk_plot_measured *input, int order, lines *out)
{
    const mgk_diversity_set *set = input->set;
    const char *wanted = out->options->measure;
    for (size_t i = 0; i < set->point_count; i++) {
        const mgk_curve_point *p = &set->points[i];
        int of, kind;
        if (strcmp(p->name, input->values->name) != 0 || !find_curve(p->measure, &of, &kind) ||
            of != order || (wanted && strcasecmp(wanted, p->measure) != 0))
            continue;
        line *l = &out->list[out->count++];
        l->input = input;
        l->label = out->compares ? input->title : order_labels[order];
        l->order = order;
        l->kind = kind;
        return take_points(set, input->values->name, p->measure, l);
    }
    return STATUS_OK;
}

/* Lists the curves of an input; returns their number. */
static size_t list_curves(const mgk_diversity_set *set, const char *name, const char **out)
{
    size_t count = 0;
    for (size_t i = 0; i < set->point_count; i++) {
        const mgk_curve_point *p = &set->points[i];
        size_t k = 0;
        while (k < count && strcmp(out[k], p->measure) != 0)
            k++;
        if (k == count && count < MGK_MEASURES_MOST && strcmp(p->name, name) == 0)
            out[count++] = p->measure;
    }
    return count;
}

static mgk_status fail_none(const lines *all, const mgk_plot_measured *input)
{
    const char *names[MGK_MEASURES_MOST];
    char list[256];
    const size_t count = list_curves(input->set, input->values->name, names);
    mgk_names_join(names, count, list, sizeof(list));
    if (all->options->measure && count > 0)
        return mgk_fail(STATUS_FORMAT, "%s: no curve \"%.60s\" of %s; there are %s", input->path,
                        all->options->measure, input->title, list);
    return mgk_fail(STATUS_FORMAT,
                    "%s: %s has no curve of pruning, which mgk-diversity adds with its option "
                    "prune",
                    input->path, input->title);
}

static mgk_status collect(const mgk_plot_measures *measures, lines *out)
{
    out->compares = measures->count > 1 && out->options->measure;
    for (size_t i = 0; i < measures->count; i++) {
        const mgk_plot_measured *input = &measures->inputs[i];
        const size_t first = out->count;
        for (int order = 0; order < ORDERS; order++)
            TRY(add_line(input, order, out));
        if (out->count == first)
            return fail_none(out, input);
    }
    return STATUS_OK;
}

static mgk_status check_kinds(const lines *all)
{
    for (size_t i = 1; i < all->count; i++)
        if (all->list[i].kind != all->list[0].kind)
            return mgk_fail(STATUS_USAGE,
                            "some inputs tell the %s, others the %s: they do not "
                            "compare",
                            kinds[all->list[0].kind].label, kinds[all->list[i].kind].label);
    return STATUS_OK;
}

/* What the whole model has: the point with most heads. */
static const double *whole_of(const line *l)
{
    size_t most = 0;
    for (size_t i = 1; i < l->count; i++)
        most = l->x[i] > l->x[most] ? i : most;
    return &l->y[most];
}

/* The curves of an input, or of all of them (NULL), into curves [ORDERS * MGK_GROUPS_MAX]. A color
 * stands for an order, or for an input if they are compared in one. */
static mgk_curves make_plot(const lines *all, const mgk_plot_measured *input, mgk_curve *curves)
{
    mgk_curves plot = {.curves = curves,
                       .x_label = "heads left",
                       .y_label = kinds[all->list[0].kind].label,
                       .whole_x = true};
    for (size_t i = 0; i < all->count; i++) {
        const line *l = &all->list[i];
        const bool random = l->order == MGK_PRUNE_RANDOM;
        if (input && l->input != input)
            continue;
        curves[plot.count++] = (mgk_curve){.label = l->label,
                                           .x = l->x,
                                           .y = l->y,
                                           .lower = random ? l->lower : NULL,
                                           .upper = random ? l->upper : NULL,
                                           .count = l->count,
                                           .series = all->compares ? i : (size_t)l->order};
        if (!all->compares)
            plot.base = whole_of(l);
    }
    return plot;
}

/* The orders that an input has. */
static size_t make_legend(const lines *all, mgk_legend_entry entries[ORDERS])
{
    size_t count = 0;
    for (int order = 0; order < ORDERS; order++) {
        bool found = false;
        for (size_t i = 0; i < all->count; i++)
            found = found || all->list[i].order == order;
        if (found)
            entries[count++] =
                (mgk_legend_entry){order_labels[order], mgk_series_color((size_t)order), KEY_PATCH};
    }
    return count;
}

/* A plot for each input, three side by side. */
static mgk_status draw_inputs(const mgk_plot *plot, const mgk_plot_measures *measures,
                              const lines *all)
{
    mgk_curve curves[ORDERS * MGK_GROUPS_MAX], *next = curves;
    mgk_curves plots[MGK_GROUPS_MAX];
    mgk_curve_grid grids[MGK_GROUPS_MAX];
    const char *titles[MGK_GROUPS_MAX];
    const char *const no_note = "";
    mgk_legend_entry legend[ORDERS];
    const size_t count = measures->count;
    size_t grid_count = 0;
    for (size_t i = 0; i < count; i++) {
        plots[i] = make_plot(all, &measures->inputs[i], next);
        titles[i] = measures->inputs[i].title;
        next += plots[i].count;
    }
    for (size_t i = 0; i < count; i += BESIDE)
        grids[grid_count++] = (mgk_curve_grid){.plots = plots + i,
                                               .rows = 1,
                                               .columns = count - i < BESIDE ? count - i : BESIDE,
                                               .row_notes = &no_note,
                                               .column_titles = titles + i};
    return mgk_draw_curve_grids(grids, grid_count, legend, make_legend(all, legend), &plot->picture,
                                plot->options->output);
}

static mgk_status draw(const mgk_plot *plot, const mgk_plot_measures *measures, const lines *all)
{
    mgk_curve curves[ORDERS * MGK_GROUPS_MAX];
    TRY(check_kinds(all));
    if (measures->count > 1 && !all->compares)
        return draw_inputs(plot, measures, all);
    const mgk_curves one = make_plot(all, NULL, curves);
    return mgk_draw_curves(&one, &plot->picture, plot->options->output);
}

/* The title of one model is its name; of several that are compared, the order. The samples follow,
 * if all have as many. */
static void set_title(mgk_plot *plot, const mgk_plot_measures *measures, const lines *all)
{
    const mgk_plot_measured *only = measures->count == 1 ? &measures->inputs[0] : NULL;
    char count[32] = "";
    int32_t least = INT32_MAX, samples = 0; /* and the most */
    for (size_t k = 0; k < measures->count; k++)
        for (size_t i = 0; i < measures->inputs[k].set->point_count; i++) {
            const int32_t n = measures->inputs[k].set->points[i].samples;
            least = n < least ? n : least;
            samples = n > samples ? n : samples;
        }
    if (samples > 0 && least == samples)
        snprintf(count, sizeof(count), "%ld %s", (long)samples,
                 MGK_NOUN(samples, "sample", "samples"));
    const char *name = only ? only->title : all->compares ? order_labels[all->list[0].order] : "";
    mgk_plot_set_title(plot, name, count);
}

mgk_status mgk_plot_prune(mgk_plot *plot)
{
    mgk_plot_measures measures;
    lines all = {.options = plot->options};
    mgk_status status = mgk_plot_read_measures(plot, &measures);
    if (status == STATUS_OK)
        status = collect(&measures, &all);
    if (status == STATUS_OK) {
        set_title(plot, &measures, &all);
        status = draw(plot, &measures, &all);
    }
    for (size_t i = 0; i < all.count; i++) {
        mgk_free(all.list[i].x);
        mgk_free(all.list[i].y);
        mgk_free(all.list[i].lower);
        mgk_free(all.list[i].upper);
    }
    mgk_plot_measures_free(&measures);
    return status;
}
