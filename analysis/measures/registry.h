/* SPDX-License-Identifier: MIT */
/* The measures, each with its row in registry.c. */
#ifndef MGK_ANALYSIS_MEASURE_REGISTRY_H
#define MGK_ANALYSIS_MEASURE_REGISTRY_H

#include "analysis/measures/measure.h"

/* spectrum.c */
extern const mgk_measure mgk_measure_rank, mgk_measure_effective_rank, mgk_measure_stable_rank,
    mgk_measure_participation_ratio, mgk_measure_components_90, mgk_measure_components_95,
    mgk_measure_components_99, mgk_measure_sigma_ratio;
/* entropy.c, confidence.c, distance.c, positions.c, sink.c, concentration.c */
extern const mgk_measure mgk_measure_entropy, mgk_measure_normalized_entropy,
    mgk_measure_confidence, mgk_measure_distance, mgk_measure_diagonal, mgk_measure_previous,
    mgk_measure_next, mgk_measure_first, mgk_measure_sink, mgk_measure_gini, mgk_measure_top_8_mass;
/* roles.c, high_frequency.c */
extern const mgk_measure mgk_measure_duplicate_token, mgk_measure_induction,
    mgk_measure_previous_token, mgk_measure_high_frequency;
/* mixture.c */
extern const mgk_measure mgk_measure_key_use, mgk_measure_key_separation,
    mgk_measure_key_weight_cosine;
/* importance.c */
extern const mgk_measure mgk_measure_importance_ablation, mgk_measure_importance_gradient,
    mgk_measure_importance_divergence, mgk_measure_importance_hidden;
/* pairs.c, outputs.c */
extern const mgk_measure mgk_measure_js, mgk_measure_hellinger, mgk_measure_affinity,
    mgk_measure_cosine, mgk_measure_cka_output, mgk_measure_cka_output_debiased,
    mgk_measure_position_overlap, mgk_measure_output_cosine, mgk_measure_value_cosine;
/* projections.c */
extern const mgk_measure mgk_measure_projection_query, mgk_measure_projection_key,
    mgk_measure_projection_value, mgk_measure_projection_output;
/* layers.c, layer_output.c, depth.c */
extern const mgk_measure mgk_measure_effective_heads, mgk_measure_disagreement_position,
    mgk_measure_disagreement_output, mgk_measure_disagreement_value, mgk_measure_mean_js,
    mgk_measure_rank_collapse, mgk_measure_token_cosine, mgk_measure_cross_layer_cosine,
    mgk_measure_rollout_rank, mgk_measure_rollout_entropy;

/* All measures: heads, then pairs, then layers. A measure comes after the one it is made `of`. */
extern const mgk_measure *const mgk_measures[];
extern const size_t mgk_measure_count;

/* The measure of this name; NULL: none. */
const mgk_measure *mgk_measure_find(const char *name);

/* The mean of values [H, H] over the pairs h < g; NaN if one of them is, or there is none. */
double mgk_mean_of_pairs(size_t heads, const double *values);

/* Whether a measure is of weights alone: its values are the same on each sample. */
bool mgk_measure_is_of_weights(const mgk_measure *measure);

#endif
