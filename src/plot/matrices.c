/* SPDX-License-Identifier: MIT */
/* Functions for matrices from stores and from models. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "plot/plot.h"
#include "run/arguments.h"
#include "run/job.h"

mgk_status mgk_plot_choose(const char *path, const char *what, const int *wanted,
                           size_t wanted_count, const int32_t *index, size_t count,
                           int32_t **positions, int32_t **numbers, size_t *out_count)
{
    *out_count = 0;
    for (size_t i = 0; wanted && i < wanted_count; i++)
        if (!mgk_is_chosen(index, count, wanted[i]))
            return mgk_fail(STATUS_SHAPE, "%s: no %s %d among its %zu, %d to %d", path, what,
                            wanted[i], count, count > 0 ? index[0] : 0,
                            count > 0 ? index[count - 1] : 0);
    TRY(mgk_alloc(count, sizeof(**positions), positions));
    TRY(mgk_alloc(count, sizeof(**numbers), numbers));
    for (size_t i = 0; i < count; i++)
        if (!wanted || mgk_is_chosen(wanted, wanted_count, index[i])) {
            (*positions)[*out_count] = (int32_t)i;
            (*numbers)[(*out_count)++] = index[i];
        }
    return STATUS_OK;
}

mgk_status mgk_plot_expect_alike(const char *path, const char *what, const int32_t layers[2],
                                 const size_t counts[2])
{
    return counts[0] == counts[1]
               ? STATUS_OK
               : mgk_fail(STATUS_SHAPE,
                          "%s: %s of a head: %zu in layer %d, but %zu in layer %d: choose `layers` "
                          "that have the same number, for one picture each",
                          path, what, counts[0], layers[0], counts[1], layers[1]);
}

static size_t count_gaps(const mgk_panels *panels, size_t *entries)
{
    size_t gaps = 0, matrices = panels->layers * panels->heads * panels->keys;
    *entries = 0;
    for (size_t m = 0; m < matrices; m++) {
        size_t head = m / panels->keys, key = m % panels->keys;
        mgk_drawn_matrix view =
            mgk_panel_view(panels, head / panels->heads, head % panels->heads, key);
        *entries += view.rows * view.cols;
        for (size_t i = 0; i < view.rows * view.cols; i++)
            gaps += isfinite(mgk_view_at(&view, i / view.cols, i % view.cols)) ? 0 : 1;
    }
    return gaps;
}

/* Reports entries that are not finite: they have a colour of their own, which spreads when a matrix
 * is drawn small. If all entries are such, drawing fails and reports that. */
static void tell_gaps(const mgk_plot_options *o, const char *path, const mgk_panels *panels)
{
    char remark[128];
    size_t entries, gaps = count_gaps(panels, &entries);
    if (gaps == 0 || gaps == entries)
        return;
    snprintf(remark, sizeof(remark), "%zu of the entries drawn %s not finite, and magenta", gaps,
             MGK_NOUN(gaps, "is", "are"));
    mgk_job_report_remark(&o->job, path, remark);
}

void mgk_plot_title_model(mgk_plot *plot, const mgk_plot_matrices *m)
{
    const char *kind = mgk_plot_name(plot->options, 0, m->title);
    const bool told = !*kind || strcmp(kind, m->model) == 0; /* a file that names no kind */
    char about[4 * MGK_PLOT_TITLE];
    snprintf(about, sizeof(about), "%s%ssample %d", told ? "" : kind, told ? "" : ", ", m->sample);
    mgk_plot_set_title(plot, m->model, about);
}

void mgk_plot_tell_models(mgk_plot_matrices *matrices, size_t count)
{
    const size_t size = sizeof(matrices->title), stride = sizeof(*matrices);
    mgk_plot_tell_apart(matrices->title, size, matrices->model, stride, count);
    mgk_plot_tell_apart(matrices->title, size, matrices->place, stride, count);
}

void mgk_plot_groups(mgk_plot *plot, mgk_plot_matrices *matrices, size_t count, mgk_panels *out)
{
    mgk_plot_tell_models(matrices, count);
    for (size_t i = 0; i < count; i++) {
        out[i] = matrices[i].panels;
        out[i].source = matrices[i].path;
        out[i].title = mgk_plot_name(plot->options, i, matrices[i].title);
        mgk_plot_add_hash(plot, matrices[i].sha256);
        tell_gaps(plot->options, matrices[i].path, &out[i]);
    }
}

void mgk_plot_matrices_free(mgk_plot_matrices *matrices, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        mgk_free(matrices[i].values);
        mgk_free(matrices[i].layers);
        mgk_free(matrices[i].heads);
        mgk_free(matrices[i].texts);
        mgk_free(matrices[i].labels);
        mgk_free(matrices[i].key_texts);
        mgk_free(matrices[i].key_labels);
    }
}
