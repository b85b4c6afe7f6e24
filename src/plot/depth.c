/* Draws a measure against the layer: a line for each input, with a band of quartiles. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "plot/measures.h"
#include "plots/charts/curves.h"

/* The line of one input over its layers. */
typedef struct depth_line {
    double *x, *lower, *median, *upper; /* [layer_count] */
    double *sorted;                     /* the values of one layer */
} depth_line;

static void free_line(depth_line *line)
{
    mgk_free(line->x);
    mgk_free(line->lower);
    mgk_free(line->median);
    mgk_free(line->upper);
    mgk_free(line->sorted);
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Linear interpolation between order statistics; NaN without values. */
static double quantile(const double *sorted, size_t count, double share)
{
    if (count == 0)
        return NAN;
    const double place = share * (double)(count - 1);
    const size_t below = (size_t)place, above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (place - (double)below) * (sorted[above] - sorted[below]);
}

/* Collects the values of a layer: over heads, over pairs, or over samples if the file holds them.
 */
static size_t collect(const mgk_plot_measured *input, size_t m, size_t layer, double *out)
{
    const mgk_diversity_values *v = input->values;
    const mgk_measure_level level = v->layout.measures[m]->level;
    const double *samples = mgk_diversity_samples(v, m, (size_t)input->layers[layer]);
    const size_t heads = input->head_count;
    size_t count = 0;
    if (level == MGK_MEASURE_LAYER && !samples)
        out[count++] = mgk_plot_mean(input, m, layer, 0, 0);
    else if (level == MGK_MEASURE_LAYER)
        for (size_t s = 0; s < v->sample_count; s++)
            out[count++] = samples[s];
    else
        for (size_t h = 0; h < heads; h++)
            for (size_t g = level == MGK_MEASURE_PAIR ? h + 1 : h;
                 g < (level == MGK_MEASURE_PAIR ? heads : h + 1); g++)
                out[count++] = mgk_plot_mean(input, m, layer, h, g);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (!isnan(out[i]))
            out[kept++] = out[i];
    return kept;
}

static mgk_status make_line(const mgk_plot_measured *input, size_t m, depth_line *out)
{
    const size_t layers = input->layer_count, heads = input->head_count,
                 samples = input->values->sample_count;
    TRY(mgk_alloc(layers, sizeof(double), &out->x));
    TRY(mgk_alloc(layers, sizeof(double), &out->lower));
    TRY(mgk_alloc(layers, sizeof(double), &out->median));
    TRY(mgk_alloc(layers, sizeof(double), &out->upper));
    TRY(mgk_alloc(heads * heads + samples + 1, sizeof(double), &out->sorted));
    for (size_t l = 0; l < layers; l++) {
        const size_t count = collect(input, m, l, out->sorted);
        qsort(out->sorted, count, sizeof(double), ascending);
        out->x[l] = input->layer_numbers[l] + 1;
        out->lower[l] = quantile(out->sorted, count, 0.25);
        out->median[l] = quantile(out->sorted, count, 0.5);
        out->upper[l] = quantile(out->sorted, count, 0.75);
    }
    return STATUS_OK;
}

/* What the band spans. */
static const char *x_label(const mgk_plot_measures *measures, size_t m)
{
    const mgk_measure *measure = measures->inputs[0].values->layout.measures[m];
    bool samples = true;
    for (size_t i = 0; i < measures->count; i++)
        samples = samples && measures->inputs[i].values->sample_count > 0;
    return measure->level == MGK_MEASURE_HEAD   ? "layer (median and quartiles over heads)"
           : measure->level == MGK_MEASURE_PAIR ? "layer (median and quartiles over pairs of heads)"
           : samples                            ? "layer (median and quartiles over samples)"
                                                : "layer";
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
    mgk_plot_measure_label(measures->inputs[0].values->layout.measures[m], label);
    return mgk_draw_curves(&(mgk_curves){.curves = curves,
                                         .count = measures->count,
                                         .x_label = x_label(measures, m),
                                         .y_label = label,
                                         .whole_x = true},
                           &plot->picture, plot->options->output);
}

mgk_status mgk_plot_depth(mgk_plot *plot)
{
    const mgk_plot_options *o = plot->options;
    mgk_plot_measures measures;
    depth_line lines[MGK_GROUPS_MAX] = {{.x = NULL}};
    mgk_status status = mgk_plot_read_measures(o, &measures);
    if (status == STATUS_OK)
        status = draw_lines(plot, &measures, o->measure ? o->measure : "entropy", lines);
    for (size_t i = 0; i < MGK_GROUPS_MAX; i++)
        free_line(&lines[i]);
    mgk_plot_measures_free(&measures);
    return status;
}
