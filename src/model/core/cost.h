/* SPDX-License-Identifier: MIT */
/*
 * The cost of a model: floating-point operations and parameters by part, the quantities of the
 * paper's Figures 3, 7, 13 and 14 (their ratios are quotients of these).
 *
 * A multiply-add counts as two, an exponential or error function as one; dropout and the loss are
 * not counted. Forward is from token ids to logits of one sample: a sequence, or a pair of
 * documents.
 *
 * Of a mixture of experts the parameters of all count, and the operations of those that a token
 * uses; comparisons that find these are not counted.
 *
 * An adaptive softmax computes its head for every token, and the logits of a cluster only for the
 * words of that cluster. Their number depends on the text; it is estimated by Zipf's law for a
 * vocabulary sorted by frequency, p(word r) ~ 1 / r: words a + 1 ... b are the fraction
 * ln(b / a) / (1 + ln V) of a text. The tables that a divisor makes narrower are multiplied once a
 * pass, here of one sample, by their maps.
 *
 * Training is forward and backward. Backward counts as twice forward: a product y = x Wᵀ has two
 * products of its size in reverse, dx = dy W and dW = dyᵀ x, and so have the two products of
 * attention (scores, and weighted values); scores that are recomputed to save memory are not
 * counted. Other operations count the same way. The optimizer, once per step for any batch, is not
 * included.
 */
#ifndef MGK_MODEL_COST_H
#define MGK_MODEL_COST_H

#include "model/core/config.h"

typedef enum mgk_cost_part {
    MGK_COST_EMBEDDING,    /* token or patch, and position embeddings */
    MGK_COST_PROJECTIONS,  /* query, key, value and output projections; capsules */
    MGK_COST_ATTENTION,    /* from queries, keys and values to their output; shifts and priors */
    MGK_COST_FEED_FORWARD, /* both maps and the activation; the router of experts */
    MGK_COST_NORMS,        /* layer norms and residual sums */
    MGK_COST_OUTPUT,       /* output layer, or pooling and classifier */
    MGK_COST_PARTS
} mgk_cost_part;

/* Training in units of forward passes, see above. */
enum { MGK_COST_TRAINING = 3 };

typedef struct mgk_cost {
    double flops[MGK_COST_PARTS];      /* of one forward pass, all layers */
    double parameters[MGK_COST_PARTS]; /* of the model */
    double layer_flops;                /* of a layer's attention: projections and attention; the
                                          mean if windows differ */
    double layer_parameters;           /* the same, parameters */
} mgk_cost;

/* "embedding", "projections", ... */
const char *mgk_cost_part_name(mgk_cost_part part);

/*
 * The cost of a resolved configuration for sequences of `tokens` tokens, and of a decoder for an
 * encoder's output of as many tokens, whose own cost is not included. STATUS_SHAPE: tokens is
 * not from 1 to the number of positions; STATUS_UNSUPPORTED: no such attention kind.
 */
mgk_status mgk_cost_of(const mgk_config *config, int tokens, mgk_cost *out);

/* Sum over the parts. */
double mgk_cost_sum(const double parts[MGK_COST_PARTS]);

#endif
