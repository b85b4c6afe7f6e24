/* SPDX-License-Identifier: MIT */
/* Draws the costs of models against the length of their input. */
#include <stdio.h>

#include "base/memory.h"
#include "model/core/cost.h"
#include "plot/plot.h"
#include "plots/charts/curves.h"
#include "run/job.h"

enum { LENGTHS_MAX = 32, SHORTEST = 16 };

/* One model's curves over N: the whole model and its attention layers. */
typedef struct cost_curve {
    double length[LENGTHS_MAX], whole[LENGTHS_MAX], attention[LENGTHS_MAX];
    size_t count;
    mgk_plot_title title;
    char model[MGK_PLOT_TITLE], place[MGK_PLOT_TITLE]; /* names that tell equal titles apart */
} cost_curve;

static mgk_status read_config(mgk_plot *plot, const char *path, mgk_config *out)
{
    mgk_model_view file;
    TRY(mgk_model_view_outline(path, &plot->options->job, &file));
    *out = file.model->config;
    mgk_plot_add_hash(plot, file.sha256);
    mgk_model_view_close(&file);
    return STATUS_OK;
}

/* Measures at powers of two, and at the model's own length. */
static mgk_status measure(const mgk_config *config, cost_curve *out)
{
    int length = config->length < SHORTEST ? config->length : SHORTEST;
    for (;;) {
        mgk_cost cost;
        TRY(mgk_cost_of(config, length, &cost));
        out->length[out->count] = length;
        out->whole[out->count] = mgk_cost_sum(cost.flops);
        out->attention[out->count++] = config->layers * cost.layer_flops;
        if (length == config->length)
            return STATUS_OK;
        length = 2 * length < config->length ? 2 * length : config->length;
    }
}

static void name(const mgk_config *config, const char *path, cost_curve *out)
{
    mgk_plot_kind_title(config->attention, config->heads, out->title);
    mgk_plot_model_title(path, out->model);
    mgk_plot_path_end(path, out->place);
}

mgk_status mgk_plot_cost(mgk_plot *plot)
{
    mgk_status status;
    const mgk_plot_options *o = plot->options;
    cost_curve *costs = NULL;
    mgk_curve curves[2 * MGK_GROUPS_MAX];
    size_t count = o->input_count;
    CHECK(mgk_plot_check_names(o, count));
    CHECK(mgk_alloc(count, sizeof(*costs), &costs));
    for (size_t i = 0; i < count; i++) {
        mgk_config config;
        cost_curve *cost = &costs[i];
        CHECK(read_config(plot, o->inputs[i], &config));
        CHECK(measure(&config, cost));
        name(&config, o->inputs[i], cost);
        curves[i] = (mgk_curve){.label = mgk_plot_name(o, i, cost->title),
                                .x = cost->length,
                                .y = cost->whole,
                                .count = cost->count,
                                .series = i,
                                .markers = true};
        curves[count + i] = (mgk_curve){.x = cost->length,
                                        .y = cost->attention,
                                        .count = cost->count,
                                        .series = i,
                                        .faint = true};
    }
    mgk_plot_tell_apart(costs->title, sizeof(costs->title), costs->model, sizeof(*costs), count);
    mgk_plot_tell_apart(costs->title, sizeof(costs->title), costs->place, sizeof(*costs), count);
    const mgk_legend_entry keys[] = {{"whole model", mgk_key_color, KEY_LINE},
                                     {"attention layers", mgk_key_color, KEY_FAINT}};
    const mgk_curves picture = {.curves = curves,
                                .count = 2 * count,
                                .keys = keys,
                                .key_count = 2,
                                .x_label = "tokens of a sequence",
                                .y_label = "operations of a forward pass",
                                .log_x = true,
                                .log_y = true};
    CHECK(mgk_draw_curves(&picture, &plot->picture, o->output));
out:
    mgk_free(costs);
    return status;
}
