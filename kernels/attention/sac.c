/* SPDX-License-Identifier: MIT */
/*
 * Sparse adaptive connection (Li et al. 2020): a softmax over the keys that have an edge from the
 * query. Its authors let an LSTM that is trained by reinforcement choose the edges; here they are a
 * given matrix of the model, drawn from the seed, in whose place anybody may put another:
 *     A = softmax(q_i·k_j / √D + e_ij),   e_ij = 0 for an edge and MGK_NO_EDGE for none.
 * All pairs are computed.
 */
#include "kernels/attention/kinds.h"
#include "kernels/attention/primitives.h"

static mgk_mixture scores(const mgk_attention_view *view, const mgk_attention_layer *layer)
{
    mgk_mixture out = mgk_dot_products(view);
    out.terms.full = layer->parameters[0];
    out.terms.full_row_stride = (size_t)layer->size.length;
    return out;
}

static int parameters(const mgk_attention_size *size, mgk_kind_parameter out[MGK_KIND_PARAMETERS])
{
    out[0] = (mgk_kind_parameter){.name = "edges",
                                  .axes = 2,
                                  .shape = {(size_t)size->length, (size_t)size->length},
                                  .initial = MGK_INITIAL_EDGES,
                                  .value = size->settings->random,
                                  .drawn = true};
    return 1;
}

static double flops(const mgk_attention_kind *kind, const mgk_attention_size *size)
{
    (void)kind;
    return size->heads *
           (mgk_attention_pairs(size) * (4.0 * size->dim + 6) + (double)size->tokens * size->dim);
}

const mgk_attention_kind mgk_attention_sac = {
    .name = "sac",
    .score = "exp(q_i.k_j / sqrt(D) + e_ij), e given: 0 for an edge, -1e9 for none",
    .rank_bound = "N",
    .defaults = {.random = 32},
    .methods = &mgk_tile_methods,
    .tile = scores,
    .parameters = parameters,
    .flops = flops,
};
