/* SPDX-License-Identifier: MIT */
/* Draws attention matrices, key weights and keys: a grid of panels, or a single matrix. */
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/utf8.h"
#include "plot/plot.h"
#include "plots/charts/matrix.h"

static mgk_status read_matrices(const mgk_plot_options *o, mgk_plot_matrices *out)
{
    if (o->kind == MGK_PLOT_WEIGHTS)
        return mgk_plot_read_weights(o, o->inputs, o->input_count, out);
    mgk_store_object object = o->kind == MGK_PLOT_KEYS ? STORE_KEYS : STORE_ATTENTION;
    return mgk_plot_read_stores(o, o->inputs, o->input_count, object, out);
}

static mgk_status draw_single(const mgk_plot *plot, const mgk_panels *groups, size_t count)
{
    if (count != 1 || groups[0].layers * groups[0].heads * groups[0].keys != 1)
        return mgk_fail(STATUS_USAGE,
                        "expected one matrix, found inputs: %zu, layers: %zu, heads: %zu, keys: "
                        "%zu; choose by `layers` and `heads`",
                        count, groups[0].layers, groups[0].heads, groups[0].keys);
    mgk_drawn_matrix view = mgk_panel_view(&groups[0], 0, 0, 0);
    mgk_status status = mgk_draw_matrix(&view, &plot->picture, plot->options->output);
    return status == STATUS_NUMERIC ? mgk_panel_fail(status, &groups[0], 0) : status;
}

/* Whether the matrices are those of a store before their rows are divided. */
static bool are_scores(const mgk_plot_options *o)
{
    const char *dataset = o->dataset ? o->dataset : "";
    return o->kind == MGK_PLOT_ATTENTION && strcmp(dataset + (*dataset == '/'), "scores") == 0;
}

static mgk_status draw_grid(const mgk_plot *plot, const mgk_panels *groups, size_t count)
{
    static const struct {
        size_t panel;
        const char *value, *row, *col;
    } looks[] = {[MGK_PLOT_ATTENTION] = {256, "attention", "query", "key"},
                 [MGK_PLOT_WEIGHTS] = {384, "key weight", "model dim.", "head dim."},
                 [MGK_PLOT_KEYS] = {400, "key", "token", "head dim."}};
    mgk_plot_kind kind = plot->options->kind;
    const mgk_heatmap_grid grid = {.groups = groups,
                                   .group_count = count,
                                   .letters = count > 1,
                                   .panel = looks[kind].panel,
                                   .value_name =
                                       are_scores(plot->options) ? "scores" : looks[kind].value,
                                   .row_name = looks[kind].row,
                                   .col_name = looks[kind].col};
    return mgk_draw_heatmap_grid(&grid, &plot->picture, plot->options->output);
}

/* The title of one model is its name and the sample; the title of several is the sample, if it is
 * the same, and each has its name. */
static void set_titles(mgk_plot *plot, mgk_plot_matrices *matrices, size_t count)
{
    const char *name = count == 1 ? matrices[0].model : "";
    char sample[32] = "";
    bool same = matrices[0].sample >= 0;
    for (size_t i = 1; i < count; i++)
        same = same && matrices[i].sample == matrices[0].sample;
    for (size_t i = 0; count > 1 && i < count; i++) {
        mgk_plot_matrices *m = &matrices[i];
        char kind[MGK_PLOT_TITLE];
        mgk_utf8_copy(m->title, SIZE_MAX, kind, sizeof(kind));
        if (*m->model)
            snprintf(m->title, sizeof(m->title), "%s: %s", m->model, kind);
    }
    if (same)
        snprintf(sample, sizeof(sample), "sample %d", matrices[0].sample);
    mgk_plot_set_title(plot, name, sample);
}

mgk_status mgk_plot_heatmaps(mgk_plot *plot)
{
    mgk_status status;
    const mgk_plot_options *o = plot->options;
    mgk_plot_matrices matrices[MGK_GROUPS_MAX] = {{.values = NULL}};
    mgk_panels groups[MGK_GROUPS_MAX];
    CHECK(read_matrices(o, matrices));
    set_titles(plot, matrices, o->input_count);
    mgk_plot_groups(plot, matrices, o->input_count, groups);
    CHECK(o->matrix ? draw_single(plot, groups, o->input_count)
                    : draw_grid(plot, groups, o->input_count));
out:
    mgk_plot_matrices_free(matrices, MGK_GROUPS_MAX);
    return status;
}
