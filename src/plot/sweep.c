/* SPDX-License-Identifier: MIT */
/* Draws ranks against the threshold, from rank files. */
#include <stdio.h>
#include <string.h>

#include "analysis/measures/histogram.h"
#include "base/memory.h"
#include "base/number.h"
#include "plot/plot.h"
#include "plots/charts/sweep.h"

/* Computes medians and quartiles of one model's ranks, [layers, T] each, in one array. A mean could
 * leave the band of quartiles if matrices differ in N. */
static mgk_status summarize(const mgk_plot_ranks *ranks, double **out)
{
    mgk_status status;
    size_t thresholds = ranks->threshold_count, all = thresholds * ranks->layer_count;
    size_t *sorted = NULL;
    CHECK(mgk_alloc(3 * all, sizeof(**out), out));
    CHECK(mgk_alloc(ranks->count, sizeof(*sorted), &sorted));
    for (size_t l = 0; l < ranks->layer_count; l++)
        for (size_t t = 0; t < thresholds; t++) {
            const double *values = ranks->values + (t * ranks->layer_count + l) * ranks->count;
            for (size_t i = 0; i < ranks->count; i++)
                sorted[i] = (size_t)values[i];
            mgk_sort_values(ranks->count, sorted);
            mgk_summary summary = mgk_summarize(ranks->count, sorted);
            double *place = *out + l * thresholds + t;
            place[0] = summary.quartile[1];
            place[all] = summary.quartile[0];
            place[2 * all] = summary.quartile[2];
        }
out:
    mgk_free(sorted);
    return status;
}

/* One axis cannot show both thresholds and multiples of sigma_1. */
static mgk_status check_scale(const mgk_plot_ranks *ranks, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (ranks[i].relative != ranks[0].relative)
            return mgk_fail(STATUS_SHAPE,
                            "%s and %s: only one of them says that its thresholds are relative to "
                            "the largest singular value",
                            ranks[0].title, ranks[i].title);
    return STATUS_OK;
}

/* "Median rank and quartiles, 200 matrices a layer"; the number only if all models have
 * the same. */
static void write_heading(const mgk_plot_ranks *ranks, size_t count, char *out, size_t size)
{
    bool same = true;
    for (size_t i = 1; i < count; i++)
        same = same && ranks[i].count == ranks[0].count;
    snprintf(out, size, "Median rank and quartiles");
    if (same)
        snprintf(out, size, "Median rank and quartiles, %zu %s a layer", ranks[0].count,
                 MGK_NOUN(ranks[0].count, "matrix", "matrices"));
}

mgk_status mgk_plot_sweeps(mgk_plot *plot)
{
    mgk_status status;
    const mgk_plot_options *o = plot->options;
    mgk_plot_ranks ranks[MGK_GROUPS_MAX] = {{.values = NULL}};
    mgk_sweep_model models[MGK_GROUPS_MAX];
    double *summaries[MGK_GROUPS_MAX] = {NULL};
    char heading[80];
    mgk_sweeps sweeps = {
        .models = models, .heading = heading, .count_from = plot->picture.count_from};
    CHECK(mgk_plot_read_ranks(o, o->inputs, o->input_count, ranks, &sweeps.model_count));
    CHECK(mgk_plot_check_names(o, sweeps.model_count));
    CHECK(check_scale(ranks, sweeps.model_count));
    for (size_t i = 0; i < sweeps.model_count; i++) {
        size_t all = ranks[i].threshold_count * ranks[i].layer_count;
        CHECK(summarize(&ranks[i], &summaries[i]));
        models[i] = (mgk_sweep_model){.title = mgk_plot_name(o, i, ranks[i].title),
                                      .thresholds = ranks[i].thresholds,
                                      .count = ranks[i].threshold_count,
                                      .median = summaries[i],
                                      .lower = summaries[i] + all,
                                      .upper = summaries[i] + 2 * all,
                                      .noise = ranks[i].noise};
        mgk_plot_add_hash(plot, ranks[i].sha256);
    }
    write_heading(ranks, sweeps.model_count, heading, sizeof(heading));
    sweeps.layers = ranks[0].layer_count;
    sweeps.layer_numbers = ranks[0].layers;
    sweeps.threshold_name = ranks[0].relative ? "threshold / σ₁" : "threshold";
    CHECK(mgk_draw_sweeps(&sweeps, &plot->picture, o->output));
out:
    for (size_t i = 0; i < MGK_GROUPS_MAX; i++)
        mgk_free(summaries[i]);
    mgk_plot_ranks_free(ranks, MGK_GROUPS_MAX);
    return status;
}
