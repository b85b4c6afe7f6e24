/* SPDX-License-Identifier: MIT */
#include "analysis/measures/registry.h"

#include <string.h>

const char *const mgk_measure_level_names[MGK_MEASURE_LEVELS] = {
    [MGK_MEASURE_HEAD] = "head", [MGK_MEASURE_PAIR] = "pair", [MGK_MEASURE_LAYER] = "layer"};

const mgk_measure *const mgk_measures[] = {
    &mgk_measure_rank,
    &mgk_measure_effective_rank,
    &mgk_measure_stable_rank,
    &mgk_measure_participation_ratio,
    &mgk_measure_components_90,
    &mgk_measure_components_95,
    &mgk_measure_components_99,
    &mgk_measure_sigma_ratio,
    &mgk_measure_entropy,
    &mgk_measure_normalized_entropy,
    &mgk_measure_confidence,
    &mgk_measure_distance,
    &mgk_measure_diagonal,
    &mgk_measure_previous,
    &mgk_measure_next,
    &mgk_measure_first,
    &mgk_measure_sink,
    &mgk_measure_gini,
    &mgk_measure_top_8_mass,
    &mgk_measure_duplicate_token,
    &mgk_measure_induction,
    &mgk_measure_previous_token,
    &mgk_measure_high_frequency,
    &mgk_measure_key_use,
    &mgk_measure_key_separation,
    &mgk_measure_key_weight_cosine,
    &mgk_measure_importance_ablation,
    &mgk_measure_importance_gradient,
    &mgk_measure_importance_divergence,
    &mgk_measure_importance_hidden,
    &mgk_measure_js,
    &mgk_measure_hellinger,
    &mgk_measure_affinity,
    &mgk_measure_cosine,
    &mgk_measure_cka_output,
    &mgk_measure_cka_output_debiased,
    &mgk_measure_position_overlap,
    &mgk_measure_output_cosine,
    &mgk_measure_value_cosine,
    &mgk_measure_projection_query,
    &mgk_measure_projection_key,
    &mgk_measure_projection_value,
    &mgk_measure_projection_output,
    &mgk_measure_effective_heads,
    &mgk_measure_disagreement_position,
    &mgk_measure_disagreement_output,
    &mgk_measure_disagreement_value,
    &mgk_measure_mean_js,
    &mgk_measure_rank_collapse,
    &mgk_measure_token_cosine,
    &mgk_measure_cross_layer_cosine,
    &mgk_measure_rollout_rank,
    &mgk_measure_rollout_entropy,
};

const size_t mgk_measure_count = sizeof(mgk_measures) / sizeof(mgk_measures[0]);

const mgk_measure *mgk_measure_find(const char *name)
{
    for (size_t i = 0; i < mgk_measure_count; i++)
        if (strcmp(mgk_measures[i]->name, name) == 0)
            return mgk_measures[i];
    return NULL;
}

bool mgk_measure_is_of_weights(const mgk_measure *measure)
{
    return measure->bases || measure->key_weights;
}
