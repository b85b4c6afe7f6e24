/* SPDX-License-Identifier: MIT */
/*
 * Localness (Yang et al. 2018): each query places a Gaussian window over the keys,
 *     s_ij = q_i·k_j / √D − (j − p_i)² / (2 σ_i²),   t_i = tanh(W q_i),
 *     p_i = n_i sigmoid(u_p·t_i),   2 σ_i = n_i sigmoid(u_d·t_i).
 * W, u_p and u_d are those of a head. n_i is the number of keys that the query sees: the sample's
 * tokens, or i + 1 in causal models, where nothing may depend on what follows. The layer keeps S.
 */
#include <math.h>

#include "kernels/attention/kinds.h"
#include "kernels/attention/scores.h"

enum { WEIGHT, CENTRE, WIDTH, PARAMETERS };

static int parameters(const mgk_attention_size *size, mgk_kind_parameter out[MGK_KIND_PARAMETERS])
{
    const size_t heads = (size_t)size->heads, dim = (size_t)size->dim;
    const mgk_kind_parameter vector = {.axes = 2,
                                       .shape = {heads, dim},
                                       .initial = MGK_INITIAL_NORMAL,
                                       .value = 1 / sqrt((double)dim)};
    out[CENTRE] = out[WIDTH] = vector;
    out[CENTRE].name = "window.centre";
    out[WIDTH].name = "window.width";
    out[WEIGHT] = vector;
    out[WEIGHT].name = "window.weight";
    out[WEIGHT].axes = 3;
    out[WEIGHT].shape[2] = dim;
    return PARAMETERS;
}

static size_t hidden_count(const mgk_attention_size *size, int samples)
{
    return (size_t)samples * (size_t)size->tokens * (size_t)(size->heads * size->dim);
}

/* Scratch: W q, then its gradient and that of S. */
static mgk_kind_memory memory(const mgk_attention_size *size, int samples, bool training)
{
    const size_t hidden = hidden_count(size, samples);
    return (mgk_kind_memory){.kept = mgk_scores_kept(size, samples),
                             .scratch =
                                 hidden + (training ? hidden + mgk_scores_size(size, samples) : 0)};
}

/* W q and its gradient are tokens without gaps. */
static mgk_head_tokens hidden_tokens(const mgk_attention_view *view)
{
    return mgk_view_tokens(view, (size_t)(view->heads * view->dim));
}

/* W q_i, a product for each head. */
static mgk_batched_product map_queries(const mgk_attention_view *view)
{
    const mgk_head_tokens query = mgk_view_tokens(view, view->query_stride);
    const mgk_head_tokens hidden = hidden_tokens(view);
    const size_t dim = query.dim;
    return (mgk_batched_product){.samples = query.samples,
                                 .heads = query.heads,
                                 .m = query.tokens,
                                 .n = dim,
                                 .k = dim,
                                 .transpose_b = true,
                                 .alpha = 1,
                                 .a = mgk_token_strides(&query),
                                 .b = {.head = dim * dim, .row = dim},
                                 .c = mgk_token_strides(&hidden)};
}

static mgk_status map(mgk_device *device, const mgk_attention_view *view,
                      const mgk_attention_layer *layer, void *hidden)
{
    const mgk_batched_product product = map_queries(view);
    return device->op->dense->batched_multiply(device, &product, view->query,
                                               layer->parameters[WEIGHT], hidden);
}

static mgk_status prepare(mgk_device *device, const mgk_attention_view *view,
                          const mgk_attention_layer *layer)
{
    const mgk_head_maps maps = mgk_scores_maps(view);
    const mgk_head_tokens hidden = hidden_tokens(view);
    TRY(mgk_scores_multiply(device, view, 0, layer->kept));
    TRY(map(device, view, layer, layer->scratch));
    return device->op->dense->subtract_windows(device, &maps, &hidden, layer->scratch,
                                               layer->parameters[CENTRE], layer->parameters[WIDTH],
                                               layer->kept);
}

/* From the gradient of W q: that of W, and of the queries, += . */
static mgk_status map_backward(mgk_device *device, const mgk_attention_view *view,
                               const mgk_attention_layer *layer, const void *dhidden, void *dquery,
                               void *dweight)
{
    const mgk_batched_product forward = map_queries(view);
    mgk_batched_product product = forward;
    product.transpose_b = false;
    product.beta = 1;
    product.a = forward.c;
    product.c = forward.a;
    TRY(device->op->dense->batched_multiply(device, &product, dhidden, layer->parameters[WEIGHT],
                                            dquery));
    product.samples = 1;
    product.transpose_a = true;
    product.m = forward.k;
    product.k = forward.m;
    product.b = forward.a;
    product.c = forward.b;
    for (size_t b = 0; b < forward.samples; b++)
        TRY(device->op->dense->batched_multiply(
            device, &product, mgk_at(device, dhidden, b * forward.c.sample),
            mgk_at(device, view->query, b * forward.a.sample), dweight));
    return STATUS_OK;
}

static mgk_status backward(mgk_device *device, const mgk_attention_view *view,
                           const mgk_attention_layer *layer, const void *output,
                           const void *doutput, size_t output_stride,
                           const mgk_layer_gradient *gradient)
{
    const mgk_head_maps maps = mgk_scores_maps(view);
    const mgk_head_tokens tokens = hidden_tokens(view);
    const size_t count = hidden_count(&layer->size, view->samples);
    void *hidden = layer->scratch, *dhidden = mgk_at(device, hidden, count);
    void *dscores = mgk_at(device, dhidden, count), *const *into = gradient->parameters;
    TRY(mgk_scores_backward(device, view, layer, output, doutput, output_stride, gradient,
                            dscores));
    TRY(map(device, view, layer, hidden));
    TRY(device->op->dense->subtract_windows_backward(
        device, &maps, &tokens, hidden, layer->parameters[CENTRE], layer->parameters[WIDTH],
        dscores, dhidden, into[CENTRE], into[WIDTH]));
    TRY(mgk_scores_multiply_backward(device, view, dscores, &gradient->view));
    return map_backward(device, view, layer, dhidden, gradient->view.query, into[WEIGHT]);
}

/* Besides softmax: W q, its tanh, two products and sigmoids a query; five a pair. */
static double flops(const mgk_attention_kind *kind, const mgk_attention_size *size)
{
    const double dim = size->dim;
    return mgk_scores_flops(kind, size) +
           size->heads *
               (size->tokens * (2 * dim * dim + 5 * dim + 8) + 5 * mgk_attention_pairs(size));
}

static const mgk_attention_methods methods = {MGK_SCORES_METHODS, .memory = memory,
                                              .prepare = prepare, .backward = backward};

const mgk_attention_kind mgk_attention_localness = {
    .name = "localness",
    .score = "exp(q_i.k_j / sqrt(D) - (j - p_i)^2 / (2 s_i^2)), "
             "p_i = n sigmoid(u.t_i), 2 s_i = n sigmoid(v.t_i), t_i = tanh(W q_i)",
    .rank_bound = "N",
    .methods = &methods,
    .parameters = parameters,
    .flops = flops,
};
