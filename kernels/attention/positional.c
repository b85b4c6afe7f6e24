/* SPDX-License-Identifier: MIT */
/*
 * Attention that positions alone determine: the average of what came before, Gaussians around a
 * neighbour, a learned matrix. It is the same for all samples of a length.
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

/* R [H, length, length]. */
static int random_parameters(const mgk_attention_size *size,
                             mgk_kind_parameter out[MGK_KIND_PARAMETERS])
{
    const size_t length = (size_t)size->length;
    out[0] = (mgk_kind_parameter){.name = "score",
                                  .axes = 3,
                                  .shape = {(size_t)size->heads, length, length},
                                  .initial = MGK_INITIAL_NORMAL,
                                  .value = 1};
    return 1;
}

static mgk_mixture random_scores(const mgk_attention_view *view, const mgk_attention_layer *layer)
{
    const size_t length = (size_t)layer->size.length;
    (void)view;
    return (mgk_mixture){.scale = {1},
                         .terms = {.full = layer->parameters[0],
                                   .full_head_stride = length * length,
                                   .full_row_stride = length}};
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
    .methods = &mgk_distance_methods,
    .tile = density,
    .distance = log_density,
    .flops = flops,
};

const mgk_attention_kind mgk_attention_synthesizer_random = {
    .name = "synthesizer-random",
    .score = "exp(R_ij)",
    .rank_bound = "N",
    .positional = true,
    .methods = &mgk_tile_methods,
    .tile = random_scores,
    .parameters = random_parameters,
    .flops = flops,
};
