/* SPDX-License-Identifier: MIT */
/*
 * cosFormer (Qin et al. 2022): a_ij = relu(q_i)·relu(k_j) cos(π (i − j) / 2 M), for a model of M
 * positions, in 2 D features, since cos(a − b) = cos a cos b + sin a sin b. The row of a query that
 * has no positive part in common with a key is 0, as in the authors' code.
 */
#include "kernels/attention/kinds.h"
#include "kernels/attention/primitives.h"

static mgk_linear features(const mgk_attention_view *view, const mgk_attention_layer *layer)
{
    (void)view;
    return (mgk_linear){.normalizer_epsilon = layer->normalizer_epsilon,
                        .features = {.map = MGK_FEATURES_COSINE, .horizon = layer->size.length}};
}

/* Per vector: its positive part, times a cosine and a sine. */
static double flops(const mgk_attention_kind *kind, const mgk_attention_size *size)
{
    (void)kind;
    return mgk_feature_flops(size, 2.0 * size->dim, 2 * 3.0 * size->dim);
}

const mgk_attention_kind mgk_attention_cosformer = {
    .name = "cosformer",
    .score = "relu(q_i).relu(k_j) cos(pi (i - j) / 2 M), M positions of the model",
    .rank_bound = "2 D",
    .may_be_blank = true,
    .methods = &mgk_feature_methods,
    .features = features,
    .flops = flops,
};
