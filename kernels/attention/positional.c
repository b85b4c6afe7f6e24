/* SPDX-License-Identifier: MIT */
/*
 * Attention that positions alone determine: the average of what came before, and Gaussians
 * around a neighbour. It is the same for all samples of a length.
 */
#include "kernels/attention/kinds.h"
#include "kernels/attention/primitives.h"

static mgk_mixture average(const mgk_attention_view *view, const mgk_attention_layer *layer)
{
    (void)view, (void)layer;
    return (mgk_mixture){.scale = {1}};
}

static mgk_mixture density(const mgk_attention_view *view, const mgk_attention_layer *layer)
{
    (void)view, (void)layer;
    return (mgk_mixture){.scale = {1}, .unnormalized = true};
}

/* The logarithm of a normal density with variance 1 around the token before, and in every other
 * head around the one after it, or of a causal model around the query itself. */
static double log_density(const mgk_attention_size *size, int head, int distance, const double *own,
                          double *slopes)
{
    static const double log_root_2_pi = 0.918938533204672741780;
    const int offset = head % 2 == 0 ? -1 : size->causal ? 0 : 1;
    (void)own, (void)slopes;
    return -0.5 * (distance - offset) * (distance - offset) - log_root_2_pi;
}

/* A weighted value for each pair, and what a softmax has besides. */
static double flops(const mgk_attention_kind *kind, const mgk_attention_size *size)
{
    const double pairs = mgk_attention_pairs(size);
    const double row = kind->unnormalized ? 0 : (double)size->tokens * size->dim;
    return size->heads * (pairs * (2.0 * size->dim + (kind->unnormalized ? 1 : 5)) + row);
}

const mgk_attention_kind mgk_attention_average = {
    .name = "average",
    .score = "1 where j <= i",
    .rank_bound = "N",
    .causal_only = true,
    .positional = true,
    .methods = &mgk_tile_methods,
    .tile = average,
    .flops = flops,
};

const mgk_attention_kind mgk_attention_hard_coded = {
    .name = "hard-coded",
    .score = "exp(-(j - i - o_h)^2 / 2) / sqrt(2 pi)",
    .rank_bound = "N",
    .unnormalized = true,
    .positional = true,
    .plain_sums = true,
    .methods = &mgk_distance_methods,
    .tile = density,
    .distance = log_density,
    .flops = flops,
};
