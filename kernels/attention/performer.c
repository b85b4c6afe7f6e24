/* SPDX-License-Identifier: MIT */
/*
 * Kinds with random features, a_ij = φ(q_i)·φ(k_j), and rows w_r that are drawn, not trained.
 *
 * Performers (Choromanski et al. 2021), with x' = x / D^¼:
 *     positive       φ_r = exp(w_r·x' − ‖x'‖²/2) / √R, whose mean product is exp(q·k / √D);
 *     trigonometric  φ = exp(‖x'‖²/2) [sin w_r·x', cos w_r·x'] / √(R/2), with the same mean;
 *     other maps f   φ_r = f(w_r·x') + 10⁻³ (generalised attention);
 *     positive-offset, as code of the authors and of others: φ_r = [exp(w_r·x' − ‖x'‖²/2) +
 *                    10⁻⁴ exp(m)] / √R, m the largest w_r·x' of the query, or of all keys of the
 *                    head, also of later ones where attention is causal; the epsilon of the
 *                    normaliser is added to each sum of features / exp(m).
 *
 * Random feature attention (Peng et al. 2021), without its gate (rfa_gate.c) and with σ = 1:
 *     φ = [sin w_r·u, cos w_r·u] / √(R/2), u = x / (‖x‖ + 10⁻³),
 * whose mean product is exp(−‖u_q − u_k‖²/2). Sums of rows, which may be small or negative, are at
 * least 200 / R: the authors' program has features of size 1/10, sums of at least 1, and the 10⁻³.
 */
#include <math.h>

#include "kernels/attention/kinds.h"
#include "kernels/attention/primitives.h"

static const double kernel_epsilon = 1e-3, sphere_epsilon = 1e-3, positive_epsilon = 1e-4;

/* Random vectors of a head; waves have two features each. */
static size_t random_rows(const mgk_attention_size *size, bool waves)
{
    return (size_t)size->settings->features / (waves ? 2 : 1);
}

static int draw_omega(const mgk_attention_size *size, bool waves, mgk_kind_parameter *out)
{
    *out = (mgk_kind_parameter){
        .name = "omega",
        .axes = 3,
        .shape = {(size_t)size->heads, random_rows(size, waves), (size_t)size->dim},
        .initial = size->settings->feature_draw == MGK_DRAW_IID ? MGK_INITIAL_NORMAL
                                                                : MGK_INITIAL_ORTHOGONAL,
        .value = 1,
        .drawn = true};
    return 1;
}

/* The features of a map with omega, the kind's only parameter. */
static mgk_features random_features(const mgk_attention_layer *layer, bool waves)
{
    const size_t rows = random_rows(&layer->size, waves), dim = (size_t)layer->size.dim;
    return (mgk_features){.omega = layer->parameters[0],
                          .omega_rows = rows,
                          .omega_stride = dim,
                          .omega_head_stride = rows * dim};
}

static mgk_status check_even(const char *what, int features)
{
    if (features % 2 == 0)
        return STATUS_OK;
    return mgk_fail(STATUS_USAGE, "`features` is %d, expected an even number: %s", features, what);
}

/* Per vector: its products with the rows and three operations for each feature. */
static double random_flops(const mgk_attention_size *size, bool waves)
{
    const double features = size->settings->features;
    const double map = 2.0 * (double)random_rows(size, waves) * size->dim + 3 * features;
    return mgk_feature_flops(size, features, 2 * map);
}

static bool is_trigonometric(const mgk_attention_size *size)
{
    return size->settings->feature_map == MGK_CHOICE_TRIGONOMETRIC;
}

static mgk_linear performer(const mgk_attention_view *view, const mgk_attention_layer *layer)
{
    _Static_assert(MGK_CHOICE_IDENTITY - MGK_CHOICE_RELU == MGK_FEATURE_IDENTITY,
                   "words of `feature_map` have the order of mgk_feature_function");
    const int choice = layer->size.settings->feature_map;
    const bool offset = choice == MGK_CHOICE_POSITIVE_OFFSET;
    mgk_linear linear = {.normalizer_epsilon = offset ? 0 : layer->normalizer_epsilon,
                         .feature_sum_epsilon = offset ? layer->normalizer_epsilon : 0,
                         .features = random_features(layer, is_trigonometric(&layer->size))};
    linear.features.input_scale = 1 / sqrt(sqrt((double)view->dim));
    linear.features.epsilon = offset ? positive_epsilon : 0;
    if (choice == MGK_CHOICE_TRIGONOMETRIC)
        linear.features.map = MGK_FEATURES_TRIGONOMETRIC;
    else if (choice < MGK_CHOICE_RELU)
        linear.features.map = MGK_FEATURES_POSITIVE;
    else {
        linear.features.map = MGK_FEATURES_KERNEL;
        linear.features.function = (mgk_feature_function)(choice - MGK_CHOICE_RELU);
        linear.features.epsilon = kernel_epsilon;
    }
    return linear;
}

static int performer_parameters(const mgk_attention_size *size,
                                mgk_kind_parameter out[MGK_KIND_PARAMETERS])
{
    return draw_omega(size, is_trigonometric(size), out);
}

static mgk_status performer_check(const mgk_attention_size *size)
{
    return is_trigonometric(size)
               ? check_even("trigonometric features are pairs", size->settings->features)
               : STATUS_OK;
}

static double performer_flops(const mgk_attention_kind *kind, const mgk_attention_size *size)
{
    (void)kind;
    return random_flops(size, is_trigonometric(size));
}

static mgk_linear rfa(const mgk_attention_view *view, const mgk_attention_layer *layer)
{
    (void)view;
    mgk_linear linear = {.least_sum = 200.0 / layer->size.settings->features,
                         .features = random_features(layer, true)};
    linear.features.map = MGK_FEATURES_SPHERE;
    linear.features.epsilon = sphere_epsilon;
    return linear;
}

static int rfa_parameters(const mgk_attention_size *size,
                          mgk_kind_parameter out[MGK_KIND_PARAMETERS])
{
    return draw_omega(size, true, out);
}

static mgk_status rfa_check(const mgk_attention_size *size)
{
    return check_even("random features of rfa are pairs", size->settings->features);
}

static double rfa_flops(const mgk_attention_kind *kind, const mgk_attention_size *size)
{
    (void)kind;
    return random_flops(size, true) + 2.0 * size->heads * size->tokens * 3 * size->dim;
}

const mgk_attention_kind mgk_attention_performer = {
    .name = "performer",
    .score = "phi(q_i).phi(k_j), phi_r = exp(w_r.x - |x|^2/2), or of another map; x / D^(1/4)",
    .rank_bound = "features + 1",
    .defaults = {.features = 256,
                 .feature_map = MGK_CHOICE_POSITIVE,
                 .feature_draw = MGK_DRAW_ORTHOGONAL},
    /* Some maps have negative features. */
    .signed_entries = true,
    .may_be_blank = true,
    .methods = &mgk_feature_methods,
    .features = performer,
    .parameters = performer_parameters,
    .check = performer_check,
    .flops = performer_flops,
};

const mgk_attention_kind mgk_attention_rfa = {
    .name = "rfa",
    .score = "phi(q_i).phi(k_j), phi = [sin w_r.u, cos w_r.u], u = x / |x|",
    .rank_bound = "features",
    .defaults = {.features = 256, .feature_draw = MGK_DRAW_IID},
    .unnormalized = true,
    .signed_entries = true,
    .plain_sums = true,
    .methods = &mgk_feature_methods,
    .features = rfa,
    .parameters = rfa_parameters,
    .check = rfa_check,
    .flops = rfa_flops,
};
