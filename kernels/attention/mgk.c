/* SPDX-License-Identifier: MIT */
/*
 * Mixtures of Gaussian keys (paper, section 2.2):
 *     a_ij = Σ_r π_jr exp(−‖q_i − k_jr‖² / 2σ_r²), or only the largest term (hard-E).
 * mgk has M projections, k_jr = W_Kr x_j (design A); smgk has one projection and M learned shifts,
 * k_jr = W_K x_j + b_r (design B).
 */
#include "kernels/attention/kinds.h"
#include "kernels/attention/primitives.h"

static mgk_mixture tile(const mgk_attention_view *view, const mgk_attention_layer *layer)
{
    mgk_mixture mixture = {
        .gaussian = true, .hard = layer->prior_mode == MGK_PRIOR_HARD, .prior = layer->prior};
    for (int r = 0; r < view->mixtures; r++)
        mixture.scale[r] = 1 / layer->variance[r];
    return mixture;
}

/*
 * Softmax with M dot products per pair (each with its bias, maximum, difference, exponential and
 * sum) and the squared norm of each key; the value is weighted once. With hard-E the maximum of the
 * M scores of a pair is also that of the row, only it has an exponential, and keys have no prior.
 */
static double flops(const mgk_attention_kind *kind, const mgk_attention_size *size)
{
    (void)kind;
    double mixtures = size->mixtures, dim = size->dim;
    double scores = size->hard ? mixtures * (2 * dim + 3) + 3 : mixtures * (2 * dim + 6);
    double biases = mixtures * (2 * dim + (size->hard ? 1 : 2));
    return size->heads *
           (mgk_attention_pairs(size) * (scores + 2 * dim) + size->tokens * (biases + dim));
}

const mgk_attention_kind mgk_attention_mgk = {
    .name = "mgk",
    .score = "sum_r pi_jr exp(-|q_i - k_jr|^2 / (2 sigma_r^2)), k_jr = W_Kr x_j",
    .rank_bound = "N",
    .keys = MGK_KEYS_PROJECTED,
    .mixture = true,
    .gaussian = true,
    .masks = true,
    .on_cuda = true,
    .methods = &mgk_mixture_methods,
    .tile = tile,
    .flops = flops,
};

const mgk_attention_kind mgk_attention_smgk = {
    .name = "smgk",
    .score = "sum_r pi_jr exp(-|q_i - k_jr|^2 / (2 sigma_r^2)), k_jr = W_K x_j + b_r",
    .rank_bound = "N",
    .keys = MGK_KEYS_SHIFTED,
    .mixture = true,
    .gaussian = true,
    .masks = true,
    .on_cuda = true,
    .methods = &mgk_mixture_methods,
    .tile = tile,
    .flops = flops,
};
