/* SPDX-License-Identifier: MIT */
/* Quartiles, and those of a measure in a layer. */
#include <math.h>

#include "base/memory.h"
#include "base/order.h"
#include "plot/measures.h"

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

void mgk_plot_sort_quartiles(double *values, size_t count, double out[3])
{
    mgk_sort_reals(values, count);
    for (int q = 0; q < 3; q++)
        out[q] = mgk_quantile(values, count, 0.25 * (q + 1));
}

mgk_status mgk_plot_quartiles(const mgk_plot_measured *input, size_t m, size_t layer, double out[3])
{
    const size_t heads = input->head_count, samples = input->values->sample_count;
    double *sorted;
    TRY(mgk_alloc(heads * heads + samples + 1, sizeof(*sorted), &sorted));
    mgk_plot_sort_quartiles(sorted, collect(input, m, layer, sorted), out);
    mgk_free(sorted);
    return STATUS_OK;
}

const char *mgk_plot_spread(const mgk_plot_measures *measures, const mgk_measure *measure)
{
    bool samples = true;
    for (size_t i = 0; i < measures->count; i++)
        samples = samples && measures->inputs[i].values->sample_count > 0;
    return measure->level == MGK_MEASURE_HEAD   ? "median and quartiles over heads"
           : measure->level == MGK_MEASURE_PAIR ? "median and quartiles over pairs of heads"
           : samples                            ? "median and quartiles over samples"
                                                : "";
}
