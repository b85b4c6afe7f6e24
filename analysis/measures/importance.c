/* SPDX-License-Identifier: MIT */
/* What a head is worth to the model: values that the source knows, see importance.h. */
#include "analysis/measures/importance.h"

#include "analysis/measures/registry.h"

const mgk_measure mgk_measure_importance_ablation = {
    .name = "importance_ablation",
    .level = MGK_MEASURE_HEAD,
    .needs = MGK_NEEDS_IMPORTANCE,
    .importance = MGK_IMPORTANCE_ABLATION,
    .unit = "nats",
    .range = "any; below 0: the model is better without the head",
    .formula = "L without the head - L, L the mean cross-entropy of the sample's targets",
    .source = "Michel et al. 2019"};

const mgk_measure mgk_measure_importance_gradient = {
    .name = "importance_gradient",
    .level = MGK_MEASURE_HEAD,
    .needs = MGK_NEEDS_IMPORTANCE,
    .importance = MGK_IMPORTANCE_GRADIENT,
    .unit = "nats",
    .range = "0 or above",
    .formula = "|dL / d xi| at xi = 1, xi a factor of the head's output; not normalised by layer",
    .source = "Michel et al. 2019"};

const mgk_measure mgk_measure_importance_divergence = {
    .name = "importance_divergence",
    .level = MGK_MEASURE_HEAD,
    .needs = MGK_NEEDS_IMPORTANCE,
    .importance = MGK_IMPORTANCE_DIVERGENCE,
    .unit = "nats",
    .range = "0 (the head changes nothing) or above",
    .formula = "mean over tokens of KL(p | q), p and q the model's distributions with and without "
               "the head; of a classifier its one distribution",
    .source = "Kullback & Leibler 1951"};

const mgk_measure mgk_measure_importance_hidden = {
    .name = "importance_hidden",
    .level = MGK_MEASURE_HEAD,
    .needs = MGK_NEEDS_IMPORTANCE,
    .importance = MGK_IMPORTANCE_HIDDEN,
    .unit = "",
    .range = "0 (the head changes nothing) or above",
    .formula = "|Y - X|_F / |X|_F, X and Y the last hidden states with and without the head",
    .source = ""};
