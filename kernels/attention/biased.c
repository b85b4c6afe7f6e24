/* SPDX-License-Identifier: MIT */
/* Softmax attention with a bias by distance of which each head learns a few numbers. */
#include <math.h>
#include <stdlib.h>

#include "kernels/attention/kinds.h"
#include "kernels/attention/primitives.h"

/* A parameter [H]. */
static mgk_kind_parameter of_heads(const char *name, const mgk_attention_size *size, double value)
{
    return (mgk_kind_parameter){.name = name,
                                .axes = 1,
                                .shape = {(size_t)size->heads},
                                .initial = MGK_INITIAL_CONSTANT,
                                .value = value};
}

/* A dot product with its scale, a bias, and a softmax per pair. */
static double biased_flops(const mgk_attention_size *size)
{
    return size->heads *
           (mgk_attention_pairs(size) * (4.0 * size->dim + 6) + (double)size->tokens * size->dim);
}

/*
 * Gaussian Transformer (Guo et al. 2019): w is the inverse variance, b < 0 lets a token see itself
 * less. They begin as in a prior of variance 16 that is largest for the next but one token.
 */
static int gaussian_parameters(const mgk_attention_size *size,
                               mgk_kind_parameter out[MGK_KIND_PARAMETERS])
{
    out[0] = of_heads("distance.weight", size, 1.0 / 32);
    out[1] = of_heads("distance.bias", size, -1.0 / 8);
    return 2;
}

static double gaussian_bias(const mgk_attention_size *size, int head, int distance,
                            const double *own, double *slopes)
{
    const double square = (double)distance * distance, inner = own[0] * square + own[1];
    const double sign = inner > 0 ? 1 : inner < 0 ? -1 : 0;
    (void)size, (void)head;
    slopes[0] = -sign * square;
    slopes[1] = -sign;
    return -fabs(inner);
}

static double gaussian_flops(const mgk_attention_kind *kind, const mgk_attention_size *size)
{
    (void)kind;
    return biased_flops(size);
}

/* Adaptive span (Sukhbaatar et al. 2019). */
enum { SPAN_RAMP = 32 };

static int span_parameters(const mgk_attention_size *size,
                           mgk_kind_parameter out[MGK_KIND_PARAMETERS])
{
    out[0] = of_heads("span", size, 0.5);
    return 1;
}

static double span_bias(const mgk_attention_size *size, int head, int distance, const double *own,
                        double *slopes)
{
    const double most = size->settings->window, ramp = fmin(SPAN_RAMP, most);
    const double share = fmin(fmax(own[0], 0), 1);
    const double left = ramp + share * most - abs(distance);
    const bool sloping = left > 0 && left < ramp;
    (void)head;
    slopes[0] = sloping && own[0] > 0 && own[0] < 1 ? most / left : 0;
    return left >= ramp ? 0 : sloping ? log(left / ramp) : -INFINITY;
}

static mgk_mixture span_scores(const mgk_attention_view *view, const mgk_attention_layer *layer)
{
    mgk_mixture mixture = mgk_tile_scores(view, layer);
    mixture.terms.window = layer->size.settings->window + 1;
    return mixture;
}

static double span_flops(const mgk_attention_kind *kind, const mgk_attention_size *size)
{
    mgk_attention_size within = *size;
    within.terms.window = size->settings->window + 1;
    (void)kind;
    return biased_flops(&within);
}

const mgk_attention_kind mgk_attention_gaussian = {
    .name = "gaussian",
    .score = "exp(q_i.k_j / sqrt(D) - |w_h (i - j)^2 + b_h|)",
    .rank_bound = "N",
    .methods = &mgk_distance_methods,
    .tile = mgk_tile_scores,
    .distance = gaussian_bias,
    .parameters = gaussian_parameters,
    .flops = gaussian_flops,
};

const mgk_attention_kind mgk_attention_adaptive_span = {
    .name = "adaptive-span",
    .score = "clamp((R + z_h window - |i - j|) / R, 0, 1) exp(q_i.k_j / sqrt(D)), R = 32 or window",
    .rank_bound = "N",
    .defaults = {.window = 128},
    .methods = &mgk_distance_methods,
    .tile = span_scores,
    .distance = span_bias,
    .parameters = span_parameters,
    .flops = span_flops,
};
