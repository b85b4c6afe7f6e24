/* Mixture of linear keys with M projections (paper, Eqn. 14). */
#include "kernels/attention/kinds.h"

const mgk_attention_kind mgk_attention_mlk = {
    .name = "mlk",
    .score = "phi(q_i).sum_r pi_jr phi(k_jr), k_jr = W_Kr x_j",
    .keys = MGK_KEYS_PROJECTED,
    .mixture = true,
    .forward = mgk_feature_forward,
    .backward = mgk_feature_backward,
    .matrix = mgk_feature_matrix,
    .factors = mgk_feature_factors,
    .update_prior = mgk_feature_update_prior,
    .flops = mgk_feature_flops,
};
