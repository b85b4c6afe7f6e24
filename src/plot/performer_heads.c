/* SPDX-License-Identifier: MIT */
/* Draws figures 10 and 11 of the Performers' paper: attention matrices of the first layers, and two
 * heads in detail. */
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "plot/plot.h"

/* ---- 10: the first layers -------------------------------------------------------------------- */

enum { FIRST_LAYERS = 4 };

/* The first layers that a store has. */
static mgk_status list_layers(const mgk_plot_options *o, int layers[FIRST_LAYERS], size_t *count)
{
    mgk_store_reader *reader;
    TRY(mgk_store_open_as(o->inputs[0], o->dataset, o->axes, &reader));
    const mgk_store_description *d = mgk_store_describe(reader);
    for (*count = 0; *count < FIRST_LAYERS && *count < (size_t)d->layers; ++*count)
        layers[*count] = d->layer_index[*count];
    mgk_store_close(reader);
    return STATUS_OK;
}

/* The only model; of several each group has a title. */
static void set_title(mgk_plot *plot, const mgk_plot_matrices *m, size_t count)
{
    char sample[32];
    bool same = true;
    for (size_t i = 1; i < count; i++)
        same = same && m[i].sample == m[0].sample;
    snprintf(sample, sizeof(sample), "sample %d", m->sample);
    mgk_plot_set_title(plot, count == 1 ? m->model : "", same ? sample : "");
}

mgk_status mgk_performer_layers(mgk_plot *plot)
{
    mgk_status status;
    mgk_plot_options o = *plot->options;
    int layers[FIRST_LAYERS];
    mgk_plot_matrices matrices[MGK_GROUPS_MAX] = {{.values = NULL}};
    mgk_panels groups[MGK_GROUPS_MAX];
    if (!o.layers) {
        CHECK(list_layers(&o, layers, &o.layer_count));
        o.layers = layers;
    }
    CHECK(mgk_plot_read_stores(&o, o.inputs, o.input_count, STORE_ATTENTION, matrices));
    mgk_plot_groups(plot, matrices, o.input_count, groups);
    set_title(plot, matrices, o.input_count);
    const mgk_heatmap_grid grid = {.groups = groups,
                                   .group_count = o.input_count,
                                   .letters = o.input_count > 1,
                                   .panel = 200,
                                   .value_name = "attention",
                                   .row_name = "query",
                                   .col_name = "key"};
    CHECK(mgk_draw_heatmap_grid(&grid, &plot->picture, o.output));
out:
    mgk_plot_matrices_free(matrices, MGK_GROUPS_MAX);
    return status;
}

/* ---- 11: two heads --------------------------------------------------------------------------- */

/* The mean distance of what a query attends to, in shares of N, over the sum of the matrix; NaN if
 * that is 0. */
static double distance_of(const mgk_drawn_matrix *view)
{
    double weighted = 0, sum = 0;
    for (size_t i = 0; i < view->rows; i++)
        for (size_t j = 0; j < view->cols; j++) {
            const double a = fabs(mgk_view_at(view, i, j));
            weighted += a * fabs((double)i - (double)j);
            sum += a;
        }
    return weighted / sum / (double)view->cols;
}

/* The attention to the key that gets most, as a share of all; NaN if that is 0. */
static double share_of(const mgk_drawn_matrix *view)
{
    double most = 0, all = 0;
    for (size_t j = 0; j < view->cols; j++) {
        double sum = 0;
        for (size_t i = 0; i < view->rows; i++)
            sum += fabs(mgk_view_at(view, i, j));
        most = fmax(most, sum);
        all += sum;
    }
    return most / all;
}

/* The most diagonal and the most vertical matrix; *vertical is another one if there are several. */
static void find_heads(const mgk_panels *panels, size_t *diagonal, size_t *vertical)
{
    const size_t count = panels->layers * panels->heads;
    double least = INFINITY, most = -INFINITY;
    *diagonal = *vertical = 0;
    for (size_t m = 0; m < count; m++) {
        const mgk_drawn_matrix view = mgk_panel_view(panels, 0, 0, m);
        const double distance = distance_of(&view);
        if (distance < least) {
            least = distance;
            *diagonal = m;
        }
    }
    for (size_t m = 0; m < count; m++) {
        const mgk_drawn_matrix view = mgk_panel_view(panels, 0, 0, m);
        const double share = share_of(&view);
        if (share > most && (m != *diagonal || count == 1)) {
            most = share;
            *vertical = m;
        }
    }
}

/* Panels of one matrix of others. */
static mgk_panels one_of(const mgk_panels *panels, size_t m, const char *title)
{
    mgk_panels one = *panels;
    one.f32 = mgk_panel_view(panels, 0, 0, m).f32;
    one.layers = one.heads = 1;
    one.layer_numbers += m / panels->heads;
    one.head_numbers += m % panels->heads;
    one.title = title;
    return one;
}

mgk_status mgk_performer_heads(mgk_plot *plot)
{
    mgk_status status;
    const mgk_plot_options *o = plot->options;
    mgk_plot_matrices matrices = {.values = NULL};
    mgk_panels all, two[2];
    size_t diagonal, vertical;
    if (o->input_count != 1)
        return mgk_fail(STATUS_USAGE, "performer 11: %zu inputs, expected one store",
                        o->input_count);
    CHECK(mgk_plot_read_stores(o, o->inputs, 1, STORE_ATTENTION, &matrices));
    if (matrices.cross)
        CHECK(mgk_fail(STATUS_UNSUPPORTED,
                       "%s: attention of one sequence to another, which has no diagonal",
                       o->inputs[0]));
    mgk_plot_groups(plot, &matrices, 1, &all);
    find_heads(&all, &diagonal, &vertical);
    two[0] = one_of(&all, diagonal, "most diagonal: nearest keys");
    two[1] = one_of(&all, vertical, "most vertical: most on one key");
    mgk_plot_title_model(plot, &matrices);
    const mgk_heatmap_grid grid = {.groups = two,
                                   .group_count = 2,
                                   .letters = true,
                                   .panel = 640,
                                   .value_name = "attention",
                                   .row_name = "query",
                                   .col_name = "key"};
    CHECK(mgk_draw_heatmap_grid(&grid, &plot->picture, o->output));
out:
    mgk_plot_matrices_free(&matrices, 1);
    return status;
}
