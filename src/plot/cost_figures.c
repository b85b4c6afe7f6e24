/* SPDX-License-Identifier: MIT */
/*
 * Draws the published figures of costs: operations and parameters of models with mixtures of keys
 * and of their baselines, against the number of heads. The configurations are that of one model
 * with other kinds of attention and other numbers of heads.
 */
#include <string.h>

#include "model/core/cost.h"
#include "plot/plot.h"
#include "plots/charts/curve_grid.h"
#include "run/job.h"

enum { HEADS = 4, DESIGNS_MOST = 5, QUANTITIES = 2, BASELINE = 0 };

/* Heads of the baseline: those of the paper's tables, and twice as many. */
static const double baseline_heads[HEADS] = {2, 4, 8, 16};

/* A line: a kind of attention, with hard-E or without, with all heads or half of them. */
typedef struct design {
    const char *attention, *label;
    bool hard, all;
} figure_design;

/* A figure; its first design is the baseline. */
typedef struct figure_row {
    int number;
    bool ratio; /* quotients by the baseline, which is not drawn */
    size_t count;
    figure_design designs[DESIGNS_MOST];
} figure_row;

static const figure_row figures[] = {
    {3,
     false,
     3,
     {{"softmax", "softmax", false, true},
      {"mgk", "MGK, half the heads", false, false},
      {"smgk", "sMGK, half the heads", false, false}}},
    {7,
     false,
     3,
     {{"linear", "linear", false, true},
      {"mlk", "MLK, half the heads", false, false},
      {"smlk", "sMLK, half the heads", false, false}}},
    {13,
     true,
     5,
     {{"softmax", NULL, false, true},
      {"mgk", "MGK", false, false},
      {"mgk", "MGK, hard-E", true, false},
      {"smgk", "sMGK", false, false},
      {"smgk", "sMGK, hard-E", true, false}}},
    {14,
     true,
     3,
     {{"linear", NULL, false, true}, {"mlk", "MLK", false, false}, {"smlk", "sMLK", false, false}}},
};

/* Operations and parameters of each design. */
typedef struct costs {
    double values[QUANTITIES][DESIGNS_MOST][HEADS];
} figure_costs;

static mgk_status read_config(mgk_plot *plot, mgk_config *out)
{
    const mgk_plot_options *o = plot->options;
    static const char *const kinds[] = {"softmax", "mgk", "smgk", "linear", "mlk", "smlk"};
    mgk_model_view file;
    if (o->input_count != 1)
        return mgk_fail(STATUS_USAGE, "figure %d: %zu inputs, expected one model", o->figure,
                        o->input_count);
    TRY(mgk_model_view_outline(o->inputs[0], &o->job, &file));
    *out = file.model->config;
    mgk_plot_add_hash(plot, file.sha256);
    mgk_model_view_close(&file);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
        if (strcmp(out->attention, kinds[i]) == 0)
            return STATUS_OK;
    return mgk_fail(STATUS_UNSUPPORTED,
                    "%s: attention \"%s\", expected softmax, mgk, smgk, linear, mlk or smlk",
                    o->inputs[0], out->attention);
}

/* The model's configuration with another kind of attention and other heads. */
static mgk_status measure(const mgk_config *model, const figure_design *design, int heads,
                          mgk_cost *out)
{
    mgk_config config = *model;
    strcpy(config.attention, design->attention);
    config.heads = config.key_heads = heads;
    config.prior = design->hard ? MGK_PRIOR_HARD : MGK_PRIOR_LEARNED;
    config.mixtures = 1;
    if (mgk_config_kind(&config, 0)->mixture)
        config.mixtures = model->mixtures > 1 ? model->mixtures : 2;
    memset(config.variance, 0, sizeof(config.variance));
    TRY(mgk_config_resolve(&config));
    return mgk_cost_of(&config, config.length, out);
}

static mgk_status measure_all(const mgk_config *model, const figure_row *figure, figure_costs *out)
{
    for (size_t d = 0; d < figure->count; d++)
        for (size_t h = 0; h < HEADS; h++) {
            const figure_design *design = &figure->designs[d];
            const int heads = (int)baseline_heads[h] / (design->all ? 1 : 2);
            mgk_cost cost;
            TRY(measure(model, design, heads, &cost));
            out->values[0][d][h] = mgk_cost_sum(cost.flops);
            out->values[1][d][h] = mgk_cost_sum(cost.parameters);
        }
    for (size_t q = 0; figure->ratio && q < QUANTITIES; q++)
        for (size_t d = figure->count; d-- > 0;)
            for (size_t h = 0; h < HEADS; h++)
                out->values[q][d][h] /= out->values[q][BASELINE][h];
    return STATUS_OK;
}

static mgk_status draw(mgk_plot *plot, const figure_row *figure, const figure_costs *costs)
{
    static const char *const labels[][QUANTITIES] = {
        {"operations of a forward pass", "parameters"},
        {"share of operations", "share of parameters"}};
    static const char *const notes[] = {"", ""};
    const size_t first = figure->ratio ? BASELINE + 1 : BASELINE, lines = figure->count - first;
    const char *title = figure->ratio ? strcmp(figure->designs->attention, "softmax") == 0
                                            ? "with half the heads, as a share of softmax"
                                            : "with half the heads, as a share of linear"
                                      : "";
    mgk_curve curves[QUANTITIES][DESIGNS_MOST];
    mgk_curves plots[QUANTITIES];
    mgk_legend_entry legend[DESIGNS_MOST];
    TRY(mgk_plot_check_names(plot->options, lines));
    for (size_t q = 0; q < QUANTITIES; q++) {
        for (size_t i = 0; i < lines; i++) {
            curves[q][i] = (mgk_curve){.x = baseline_heads,
                                       .y = costs->values[q][first + i],
                                       .count = HEADS,
                                       .series = i,
                                       .markers = true};
            legend[i] = (mgk_legend_entry){
                mgk_plot_name(plot->options, i, figure->designs[first + i].label),
                mgk_series_color(i), (mgk_legend_key)(KEY_MARKER + i)};
        }
        plots[q] = (mgk_curves){.curves = curves[q],
                                .count = lines,
                                .x_label = "heads of the baseline",
                                .y_label = labels[figure->ratio][q],
                                .log_x = true,
                                .named_x = true};
    }
    const mgk_curve_grid grid = {.plots = plots,
                                 .rows = QUANTITIES,
                                 .columns = 1,
                                 .row_notes = notes,
                                 .column_titles = &title};
    return mgk_draw_curve_grids(&grid, 1, legend, lines, &plot->picture, plot->options->output);
}

mgk_status mgk_plot_cost_figure(mgk_plot *plot)
{
    const figure_row *figure = figures;
    mgk_config config;
    figure_costs costs;
    while (figure->number != plot->options->figure)
        figure++;
    TRY(read_config(plot, &config));
    TRY(measure_all(&config, figure, &costs));
    return draw(plot, figure, &costs);
}
