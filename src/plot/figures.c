/* SPDX-License-Identifier: MIT */
/* Draws the published figures from their inputs. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "plot/plot.h"
#include "plots/figures/figures.h"
#include "run/job.h"
#include "run/recognise.h"

/* The published figures show attention of a sequence to itself. */
static mgk_status check_square(const mgk_plot_matrices *matrices, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (matrices[i].cross)
            return mgk_fail(STATUS_UNSUPPORTED,
                            "%s: attention of one sequence to another, which the published figures "
                            "do not show (mgk-plot attention draws it)",
                            matrices[i].path);
    return STATUS_OK;
}

/* Reads and draws figures that consist of matrices only. */
static mgk_status draw_matrices(mgk_plot *plot)
{
    mgk_status status;
    const mgk_plot_options *o = plot->options;
    size_t count = o->input_count;
    mgk_plot_matrices matrices[MGK_GROUPS_MAX] = {{.values = NULL}};
    mgk_panels groups[MGK_GROUPS_MAX];
    if (o->figure == 11)
        CHECK(mgk_plot_read_weights(o, o->inputs, count, matrices));
    else
        CHECK(mgk_plot_read_stores(o, o->inputs, count,
                                   o->figure == 12 ? STORE_KEYS : STORE_ATTENTION, matrices));
    CHECK(check_square(matrices, count));
    mgk_plot_groups(plot, matrices, count, groups);
    if (o->figure == 5 || o->figure == 8)
        status = mgk_figure5(&(mgk_figure5_input){groups, count}, &plot->picture, o->output);
    else if (o->figure == 11)
        status = mgk_figure11(&(mgk_figure11_input){groups, count}, &plot->picture, o->output);
    else
        status = mgk_figure12(&(mgk_figure12_input){groups, count, mgk_plot_tokens(o)},
                              &plot->picture, o->output);
out:
    mgk_plot_matrices_free(matrices, MGK_GROUPS_MAX);
    return status;
}

static mgk_status draw_ranks(mgk_plot *plot)
{
    mgk_status status;
    const mgk_plot_options *o = plot->options;
    mgk_plot_ranks ranks[MGK_GROUPS_MAX] = {{.values = NULL}};
    mgk_model_ranks models[MGK_GROUPS_MAX];
    mgk_figure6_input figure = {.ranks = models};
    char about[64] = "ranks as shares of N";
    size_t *rows = NULL, least, most;
    CHECK(mgk_plot_read_ranks(o, o->inputs, o->input_count, ranks, &figure.model_count));
    CHECK(mgk_plot_check_names(o, figure.model_count));
    figure.shares = mgk_plot_share_ranks(o, ranks, figure.model_count, &least, &most);
    mgk_append_sizes(least, most, sizeof(about), about);
    if (figure.shares)
        mgk_plot_set_title(plot, "", about);
    for (size_t i = 0; i < figure.model_count; i++)
        models[i] = mgk_plot_ranks_of(plot, &ranks[i], mgk_plot_name(o, i, ranks[i].title));
    if (o->layers) {
        /* Only the chosen layers were read. */
        figure.layer_count = ranks[0].layer_count;
        CHECK(mgk_alloc(figure.layer_count, sizeof(*rows), &rows));
        for (size_t l = 0; l < figure.layer_count; l++)
            rows[l] = l;
        figure.layers = rows;
    }
    CHECK(mgk_figure6(&figure, &plot->picture, o->output));
out:
    mgk_free(rows);
    mgk_plot_ranks_free(ranks, MGK_GROUPS_MAX);
    return status;
}

/* The inputs of figure 2, sorted by kind. */
typedef struct sorted_inputs {
    const char *stores[MGK_GROUPS_MAX], *ranks[MGK_GROUPS_MAX];
    size_t store_count, rank_count;
} sorted_inputs;

static mgk_status sort_inputs(const mgk_plot_options *o, sorted_inputs *out)
{
    if (o->input_count > 2 * MGK_GROUPS_MAX)
        return mgk_fail(STATUS_USAGE, "%zu inputs: expected at most %d", o->input_count,
                        2 * MGK_GROUPS_MAX);
    for (size_t i = 0; i < o->input_count; i++) {
        const char *path = o->inputs[i];
        mgk_file_kind kind;
        TRY(mgk_recognise(path, &kind));
        if (kind == MGK_FILE_OTHER)
            return mgk_fail(STATUS_FORMAT, "%s: neither an attention store nor rank results", path);
        bool store = kind == MGK_FILE_ARRAYS;
        size_t *count = store ? &out->store_count : &out->rank_count;
        if (*count == MGK_GROUPS_MAX)
            return mgk_fail(STATUS_USAGE, "%s: too many models, expected at most %d", path,
                            MGK_GROUPS_MAX);
        (store ? out->stores : out->ranks)[(*count)++] = path;
    }
    return STATUS_OK;
}

static mgk_status check_pairs(const sorted_inputs *in, size_t rank_models)
{
    if (in->store_count == 0 || in->store_count != rank_models)
        return mgk_fail(STATUS_USAGE,
                        "figure 2 takes a store and rank results of each model, in the same order; "
                        "stores: %zu, models in rank results: %zu",
                        in->store_count, rank_models);
    return STATUS_OK;
}

/* Each store is of the model of its rank results, where both say of which one they are. */
static mgk_status check_models(const sorted_inputs *in, const mgk_plot_matrices *matrices,
                               const mgk_plot_ranks *ranks)
{
    for (size_t i = 0; i < in->store_count; i++) {
        const char *a = matrices[i].sha256, *b = ranks[i].sha256;
        if (*a && *b && strcmp(a, b) != 0)
            return mgk_fail(STATUS_SHAPE,
                            "%s: its model is not that of the rank results \"%s\": stores and rank "
                            "results come in the same order",
                            in->stores[i], ranks[i].title);
    }
    return STATUS_OK;
}

/* Rank results in CSV do not say of which model they are. If their heads are others than those of
 * the store, they may be in another order. */
static void tell_heads(mgk_plot *plot, const sorted_inputs *in, const mgk_plot_matrices *matrices,
                       const mgk_plot_ranks *ranks)
{
    for (size_t i = 0; i < in->store_count; i++) {
        const mgk_plot_matrices *m = &matrices[i];
        size_t last = 0;
        for (size_t h = 0; h < m->panels.heads; h++)
            last = (size_t)m->heads[h] > last ? (size_t)m->heads[h] : last;
        char note[512];
        if ((*m->sha256 && *ranks[i].sha256) || last == ranks[i].last_head)
            continue;
        snprintf(note, sizeof(note),
                 "%s has heads up to %zu and the rank results \"%s\" up to %zu: are they of one "
                 "model? Stores and rank results come in the same order",
                 in->stores[i], last, ranks[i].title, ranks[i].last_head);
        mgk_job_report(&plot->options->job,
                       &(mgk_report){.note = note, .milestone = true, .warning = true});
    }
}

static mgk_status draw_attention_and_ranks(mgk_plot *plot)
{
    mgk_status status;
    const mgk_plot_options *o = plot->options;
    sorted_inputs in = {.store_count = 0};
    mgk_plot_matrices matrices[MGK_GROUPS_MAX] = {{.values = NULL}};
    mgk_plot_ranks ranks[MGK_GROUPS_MAX] = {{.values = NULL}};
    mgk_panels groups[MGK_GROUPS_MAX];
    mgk_model_ranks models[MGK_GROUPS_MAX];
    size_t rank_models = 0, least, most;
    CHECK(sort_inputs(o, &in));
    CHECK(mgk_plot_read_ranks(o, in.ranks, in.rank_count, ranks, &rank_models));
    CHECK(check_pairs(&in, rank_models));
    CHECK(mgk_plot_read_stores(o, in.stores, in.store_count, STORE_ATTENTION, matrices));
    CHECK(check_square(matrices, in.store_count));
    CHECK(check_models(&in, matrices, ranks));
    if (!o->heads)
        tell_heads(plot, &in, matrices, ranks);
    mgk_plot_groups(plot, matrices, in.store_count, groups);
    mgk_plot_share_ranks(o, ranks, rank_models, &least, &most);
    for (size_t i = 0; i < rank_models; i++)
        models[i] = mgk_plot_ranks_of(plot, &ranks[i], groups[i].title);
    const mgk_figure2_input figure = {groups, models, in.store_count, least, most};
    CHECK(mgk_figure2(&figure, &plot->picture, o->output));
out:
    mgk_plot_matrices_free(matrices, MGK_GROUPS_MAX);
    mgk_plot_ranks_free(ranks, MGK_GROUPS_MAX);
    return status;
}

mgk_status mgk_plot_figure(mgk_plot *plot)
{
    switch (plot->options->figure) {
    case 2:
        return draw_attention_and_ranks(plot);
    case 5:
    case 8:
    case 11:
    case 12:
        return draw_matrices(plot);
    case 6:
        return draw_ranks(plot);
    case 3:
    case 7:
    case 13:
    case 14:
        return mgk_plot_cost_figure(plot);
    default:
        return mgk_plot_curve_figure(plot);
    }
}
