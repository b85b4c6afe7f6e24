/* SPDX-License-Identifier: MIT */
/* Measures of a layer among the layers of its model. */
#include <math.h>

#include "analysis/measures/registry.h"

static double cross_layer_cosine(const mgk_depth_view *layer)
{
    double sum = 0;
    for (size_t h = 0; layer->cosines && h < layer->heads; h++)
        sum += layer->cosines[h];
    return layer->cosines ? sum / (double)layer->heads : NAN;
}

static double rollout_rank(const mgk_depth_view *layer)
{
    return (double)layer->spectrum->count->rank;
}

static double rollout_entropy(const mgk_depth_view *layer)
{
    const size_t n = layer->n;
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += layer->kernels->entropy(n, layer->rollout + i * n);
    return sum / (double)n;
}

#define ROLLOUT \
    "rollout: products of B_l, the rows of (mean_h A + I) of layer l divided by their sum"

const mgk_measure mgk_measure_cross_layer_cosine = {
    .name = "cross_layer_cosine",
    .level = MGK_MEASURE_LAYER,
    .needs = MGK_NEEDS_NEXT_LAYER,
    .unit = "",
    .range = "-1 (opposite) to 1 (proportional)",
    .formula = "mean_h cos(vec A_l, vec A_l+1); empty in the last layer",
    .source = "Zhou et al. 2021",
    .depth = cross_layer_cosine};

const mgk_measure mgk_measure_rollout_rank = {
    .name = "rollout_rank",
    .level = MGK_MEASURE_LAYER,
    .needs = MGK_NEEDS_ROLLOUT | MGK_NEEDS_ROLLOUT_SPECTRUM | MGK_NEEDS_POSITIONS,
    .unit = "singular values",
    .range = "0 to N",
    .formula = "rank of the " ROLLOUT,
    .source = "Abnar & Zuidema 2020",
    .depth = rollout_rank};

const mgk_measure mgk_measure_rollout_entropy = {.name = "rollout_entropy",
                                                 .level = MGK_MEASURE_LAYER,
                                                 .needs = MGK_NEEDS_ROLLOUT | MGK_NEEDS_POSITIONS,
                                                 .unit = "nats",
                                                 .range = "0 to ln N",
                                                 .formula = "entropy of the " ROLLOUT,
                                                 .source = "Abnar & Zuidema 2020",
                                                 .depth = rollout_entropy};
