/* SPDX-License-Identifier: MIT */
/*
 * Linear attention (Katharopoulos et al. 2020), a_ij = φ(q_i)·φ(k_j) with φ = elu + 1, and its
 * mixtures (paper, Eqn. 14), a_ij = φ(q_i)·Σ_r π_jr φ(k_jr), with M projections (mlk) or M shifts
 * (smlk).
 */
#include "kernels/attention/kinds.h"
#include "kernels/attention/primitives.h"

static mgk_linear features(const mgk_attention_view *view, const mgk_attention_layer *layer)
{
    (void)view;
    return (mgk_linear){.normalizer_epsilon = layer->normalizer_epsilon,
                        .fixed_normalizer = layer->fixed_normalizer,
                        .mix_keys = layer->mix_keys,
                        .unit_features = layer->unit_features,
                        .prior = layer->prior};
}

/* The features of the query and of M keys, two operations per element, and their weighted sum. */
static double flops(const mgk_attention_kind *kind, const mgk_attention_size *size)
{
    (void)kind;
    double dim = size->dim, mixtures = size->mixtures;
    double mapped = 2 * dim * (1 + mixtures) + (mixtures > 1 ? 2 * dim * mixtures : 0);
    return mgk_feature_flops(size, dim, mapped);
}

const mgk_attention_kind mgk_attention_linear = {
    .name = "linear",
    .score = "phi(q_i).phi(k_j), phi = elu + 1",
    .rank_bound = "D + 1",
    .keys = MGK_KEYS_PROJECTED,
    .masks = true,
    .on_cuda = true,
    .methods = &mgk_feature_methods,
    .features = features,
    .flops = flops,
};

const mgk_attention_kind mgk_attention_mlk = {
    .name = "mlk",
    .score = "phi(q_i).sum_r pi_jr phi(k_jr), k_jr = W_Kr x_j",
    .rank_bound = "D + 1",
    .keys = MGK_KEYS_PROJECTED,
    .mixture = true,
    .masks = true,
    .on_cuda = true,
    .methods = &mgk_feature_mixture_methods,
    .features = features,
    .flops = flops,
};

const mgk_attention_kind mgk_attention_smlk = {
    .name = "smlk",
    .score = "phi(q_i).sum_r pi_jr phi(k_jr), k_jr = W_K x_j + b_r",
    .rank_bound = "D + 1",
    .keys = MGK_KEYS_SHIFTED,
    .mixture = true,
    .masks = true,
    .on_cuda = true,
    .methods = &mgk_feature_mixture_methods,
    .features = features,
    .flops = flops,
};
