/* SPDX-License-Identifier: MIT */
/*
 * Scaled dot-product attention (Vaswani et al. 2017): a_ij = exp(q_i·k_j / √D). Models of other
 * software may have another scale, and further terms (mgk_score_terms).
 */
#include <math.h>

#include "kernels/attention/kinds.h"
#include "kernels/attention/primitives.h"

static mgk_mixture tile(const mgk_attention_view *view, const mgk_attention_layer *layer)
{
    return (mgk_mixture){.scale = {layer->scale > 0 ? layer->scale : 1 / sqrt(view->dim)},
                         .terms = layer->terms};
}

/*
 * Per pair: a dot product, its scale, maximum, difference, exponential and sum, and a weighted
 * value. A bias is one more sum; a cap is two scales and a tanh, of an exponential, two sums and a
 * division.
 */
static double flops(const mgk_attention_kind *kind, const mgk_attention_size *size)
{
    (void)kind;
    double terms = (size->terms.bias ? 1 : 0) + (size->terms.cap > 0 ? 6 : 0);
    return size->heads * (mgk_attention_pairs(size) * (4.0 * size->dim + 5 + terms) +
                          (double)size->tokens * size->dim);
}

const mgk_attention_kind mgk_attention_softmax = {
    .name = "softmax",
    .score = "exp(q_i.k_j / sqrt(D))",
    .rank_bound = "N",
    .keys = MGK_KEYS_PROJECTED,
    .terms = true,
    .masks = true,
    .on_cuda = true,
    .methods = &mgk_tile_methods,
    .tile = tile,
    .flops = flops,
};
