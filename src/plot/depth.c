/* SPDX-License-Identifier: MIT */
/* Draws a measure against the layer: a line for each input, with a band of quartiles. */

#include "base/memory.h"
#include "plot/measures.h"
#include "plots/charts/curves.h"

/* The line of one input over its layers. */
typedef struct depth_line {
    double *x, *lower, *median, *upper; /* [layer_count] */
} depth_line;

static void free_line(depth_line *line)
{
    mgk_free(line->x);
    mgk_free(line->lower);
    mgk_free(line->median);
    mgk_free(line->upper);
}

static mgk_status make_line(const mgk_plot_measured *input, size_t m, depth_line *out)
{
    const size_t layers = input->layer_count;
    TRY(mgk_alloc(layers, sizeof(double), &out->x));
    TRY(mgk_alloc(layers, sizeof(double), &out->lower));
    TRY(mgk_alloc(layers, sizeof(double), &out->median));
    TRY(mgk_alloc(layers, sizeof(double), &out->upper));
    for (size_t l = 0; l < layers; l++) {
        double quartiles[3];
        TRY(mgk_plot_quartiles(input, m, l, quartiles));
        out->x[l] = input->layer_numbers[l] + input->count_from;
        out->lower[l] = quartiles[0];
        out->median[l] = quartiles[1];
        out->upper[l] = quartiles[2];
    }
    return STATUS_OK;
}

static mgk_status draw_lines(const mgk_plot *plot, const mgk_plot_measures *measures,
                             const char *name, depth_line *lines)
{
    mgk_curve curves[MGK_GROUPS_MAX];
    char label[MGK_PLOT_LABEL];
    size_t m;
    for (size_t i = measures->count; i-- > 0;) {
        const mgk_plot_measured *input = &measures->inputs[i];
        TRY(mgk_plot_find_measure(input, name, &m));
        TRY(make_line(input, m, &lines[i]));
        curves[i] = (mgk_curve){.label = input->title,
                                .x = lines[i].x,
                                .y = lines[i].median,
                                .lower = lines[i].lower,
                                .upper = lines[i].upper,
                                .count = input->layer_count,
                                .series = i,
                                .markers = true};
    }
    const mgk_measure *measure = measures->inputs[0].values->layout.measures[m];
    const char *spread = mgk_plot_spread(measures, measure);
    mgk_plot_measure_label(measure, label);
    const mgk_legend_entry band = {spread, mgk_key_color, KEY_BAND};
    return mgk_draw_curves(&(mgk_curves){.curves = curves,
                                         .count = measures->count,
                                         .keys = &band,
                                         .key_count = *spread ? 1 : 0,
                                         .x_label = "layer",
                                         .y_label = label,
                                         .whole_x = true},
                           &plot->picture, plot->options->output);
}

mgk_status mgk_plot_depth(mgk_plot *plot)
{
    const mgk_plot_options *o = plot->options;
    mgk_plot_measures measures;
    depth_line lines[MGK_GROUPS_MAX] = {{.x = NULL}};
    mgk_status status = mgk_plot_read_measures(plot, &measures);
    if (status == STATUS_OK)
        status = draw_lines(plot, &measures, o->measure ? o->measure : "entropy", lines);
    for (size_t i = 0; i < MGK_GROUPS_MAX; i++)
        free_line(&lines[i]);
    mgk_plot_measures_free(&measures);
    return status;
}
