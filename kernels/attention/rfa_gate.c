/* SPDX-License-Identifier: MIT */
/*
 * Random feature attention with its gate (Peng et al. 2021, section 3.2), causal: what a head keeps
 * decays by g_t = sigmoid(e_t + b) at every token, where e_t is a further number of it,
 *     S_t = g_t S_{t−1} + (1 − g_t) φ(k_t) v_tᵀ,   z_t = g_t z_{t−1} + (1 − g_t) φ(k_t),
 *     o_t = S_tᵀ φ(q_t) / (φ(q_t)·z_t).
 * A new model has b = 5 and keeps tokens for about a hundred others. The least sum of a row is that
 * of rfa times 1 − sigmoid(5), so that both kinds agree where g does not change. Layers keep g.
 */
#include <math.h>

#include "kernels/attention/kinds.h"
#include "kernels/attention/primitives.h"

enum { BIAS = 1, PARAMETERS }; /* after those of rfa */

static const double initial_bias = 5;

/* Per token and head. */
static size_t gates(const mgk_attention_size *size, int samples)
{
    return mgk_tile_statistics(size, samples);
}

/* Scratch: e + b, the gradient of g, and that of e + b. */
static mgk_kind_memory memory(const mgk_attention_size *size, int samples, bool training)
{
    const size_t count = gates(size, samples);
    return (mgk_kind_memory){.kept = count, .scratch = training ? 3 * count : count};
}

static const mgk_features sigmoid = {.map = MGK_FEATURES_KERNEL, .function = MGK_FEATURE_SIGMOID};

/* e + b to scratch memory. */
static mgk_status add_bias(mgk_device *device, const mgk_attention_view *view,
                           const mgk_attention_layer *layer)
{
    return device->op->shift_keys(device, (size_t)view->samples * (size_t)view->tokens, 1,
                                  (size_t)view->heads, view->extra, view->extra_stride,
                                  layer->parameters[BIAS], layer->scratch);
}

static mgk_status prepare(mgk_device *device, const mgk_attention_view *view,
                          const mgk_attention_layer *layer)
{
    const size_t heads = (size_t)view->heads;
    TRY(add_bias(device, view, layer));
    return device->op->feature_map(device, &sigmoid, (size_t)view->samples, (size_t)view->tokens, 1,
                                   heads, layer->scratch, heads, layer->kept, heads);
}

static mgk_linear features(const mgk_attention_view *view, const mgk_attention_layer *layer)
{
    mgk_linear linear = mgk_attention_rfa.features(view, layer);
    linear.gate = layer->kept;
    linear.gate_stride = (size_t)view->heads;
    linear.least_sum *= 1 / (1 + exp(initial_bias));
    return linear;
}

static mgk_status backward(mgk_device *device, const mgk_attention_view *view,
                           const mgk_attention_layer *layer, const void *output,
                           const void *doutput, size_t output_stride,
                           const mgk_layer_gradient *gradient)
{
    const size_t count = gates(&layer->size, view->samples), heads = (size_t)view->heads;
    const size_t samples = (size_t)view->samples, tokens = (size_t)view->tokens;
    void *dgate = mgk_at(device, layer->scratch, count), *dlogit = mgk_at(device, dgate, count);
    mgk_layer_gradient inner = *gradient;
    inner.view.gate = dgate;
    TRY(mgk_feature_backward(device, view, layer, output, doutput, output_stride, &inner));
    TRY(add_bias(device, view, layer));
    TRY(device->op->feature_map_backward(device, &sigmoid, samples, tokens, 1, heads,
                                         layer->scratch, heads, dgate, heads, dlogit));
    return device->op->shift_keys_backward(device, samples * tokens, 1, heads, dlogit,
                                           gradient->view.extra, view->extra_stride,
                                           gradient->parameters[BIAS]);
}

static int parameters(const mgk_attention_size *size, mgk_kind_parameter out[MGK_KIND_PARAMETERS])
{
    mgk_attention_rfa.parameters(size, out);
    out[BIAS] = (mgk_kind_parameter){.name = "gate.bias",
                                     .axes = 1,
                                     .shape = {(size_t)size->heads},
                                     .initial = MGK_INITIAL_CONSTANT,
                                     .value = initial_bias};
    return PARAMETERS;
}

static int extra(const mgk_attention_size *size)
{
    return size->heads;
}

static mgk_status check(const mgk_attention_size *size)
{
    return mgk_attention_rfa.check(size);
}

/* The sigmoid, and the decay of the two sums. */
static double flops(const mgk_attention_kind *kind, const mgk_attention_size *size)
{
    return mgk_attention_rfa.flops(kind, size) +
           (double)size->heads * size->tokens *
               (4 + (double)size->settings->features * (size->dim + 2));
}

static const mgk_attention_methods methods = {.primitives = "features",
                                              .memory = memory,
                                              .prepare = prepare,
                                              .forward = mgk_feature_forward,
                                              .backward = backward,
                                              .matrix = mgk_feature_matrix};

const mgk_attention_kind mgk_attention_rfa_gate = {
    .name = "rfa-gate",
    .score = "(1 - g_j) g_j+1 ... g_i phi(q_i).phi(k_j), phi of rfa, g_t = sigmoid(w.x_t + b)",
    .rank_bound = "N",
    .defaults = {.features = 256, .feature_draw = MGK_DRAW_IID},
    .causal_only = true,
    .unnormalized = true,
    .signed_entries = true,
    .plain_sums = true,
    .methods = &methods,
    .features = features,
    .parameters = parameters,
    .extra = extra,
    .check = check,
    .flops = flops,
};
