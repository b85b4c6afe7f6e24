/* SPDX-License-Identifier: MIT */
/*
 * Collaborative attention (Cordonnier et al. 2020): all heads share queries and keys of H D
 * numbers, which each weighs in its own way, and have a bias of content:
 *     A_h = softmax((q_i ∘ m_h)·k_j / √D + x_j·b_h / √D).
 * The maps b_h of x are the kind's `extra` numbers. `kept` is S, and a statistic of each row.
 */
#include <math.h>

#include "kernels/attention/kinds.h"
#include "kernels/attention/scores.h"

static int parameters(const mgk_attention_size *size, mgk_kind_parameter out[MGK_KIND_PARAMETERS])
{
    const size_t heads = (size_t)size->heads;
    /* Logits of a new model are as large as those of softmax attention. */
    out[0] = (mgk_kind_parameter){.name = "mixing",
                                  .axes = 2,
                                  .shape = {heads, heads * (size_t)size->dim},
                                  .initial = MGK_INITIAL_NORMAL,
                                  .value = 1 / sqrt(size->heads)};
    return 1;
}

static int extra(const mgk_attention_size *size)
{
    return size->heads;
}

/* Numbers of the queries of a head. */
static size_t query_width(const mgk_attention_view *view)
{
    return (size_t)view->heads * (size_t)view->dim;
}

/* Of q ∘ m_h of all tokens and heads, Y [B, N, H, H D]. */
static size_t expanded_size(const mgk_attention_size *size, int samples)
{
    const size_t heads = (size_t)size->heads;
    return (size_t)samples * (size_t)size->tokens * heads * heads * (size_t)size->dim;
}

/* Scratch is Y, N ones, and dS. */
static mgk_kind_memory memory(const mgk_attention_size *size, int samples, bool training)
{
    return (mgk_kind_memory){.kept = mgk_scores_kept(size, samples),
                             .scratch = expanded_size(size, samples) + (size_t)size->tokens +
                                        (training ? mgk_scores_size(size, samples) : 0)};
}

/* Y and ones, in `scratch`. */
typedef struct expanded {
    void *queries, *ones, *rest;
} expanded;

static expanded places(const mgk_device *device, const mgk_attention_view *view,
                       const mgk_attention_layer *layer)
{
    const size_t rows = (size_t)view->samples * (size_t)view->tokens * (size_t)view->heads;
    expanded out = {.queries = layer->scratch};
    out.ones = mgk_at(device, out.queries, rows * query_width(view));
    out.rest = mgk_at(device, out.ones, (size_t)view->tokens);
    return out;
}

/* The softmax of a single number is 1. */
static mgk_status expand(mgk_device *device, const mgk_attention_view *view,
                         const mgk_attention_layer *layer, const expanded *to)
{
    const size_t tokens = (size_t)view->tokens;
    const mgk_head_maps column = {.samples = 1, .heads = 1, .rows = tokens, .cols = 1};
    TRY(device->op->zero(device, to->ones, tokens * device->real_size));
    TRY(device->op->dense->softmax_rows(device, &column, to->ones));
    return device->op->dense->expand_heads(device, (size_t)view->samples * tokens,
                                           (size_t)view->heads, query_width(view), view->query,
                                           view->query_stride, layer->parameters[0], to->queries);
}

/* Y as matrices of heads; keys, the same for all heads; the biases of a head, a column. */
static mgk_head_strides query_strides(const mgk_attention_view *view)
{
    const size_t width = query_width(view), row = (size_t)view->heads * width;
    return (mgk_head_strides){(size_t)view->tokens * row, width, row};
}

static mgk_head_strides key_strides(const mgk_attention_view *view)
{
    return (mgk_head_strides){(size_t)view->tokens * view->key_stride, 0, view->key_stride};
}

static mgk_head_strides bias_strides(const mgk_attention_view *view)
{
    return (mgk_head_strides){(size_t)view->tokens * view->extra_stride, 1, view->extra_stride};
}

static mgk_status prepare(mgk_device *device, const mgk_attention_view *view,
                          const mgk_attention_layer *layer)
{
    const mgk_head_maps maps = mgk_scores_maps(view);
    const expanded at = places(device, view, layer);
    const mgk_batched_product scores = {.samples = maps.samples,
                                        .heads = maps.heads,
                                        .m = maps.rows,
                                        .n = maps.cols,
                                        .k = query_width(view),
                                        .transpose_b = true,
                                        .alpha = 1 / sqrt(view->dim),
                                        .a = query_strides(view),
                                        .b = key_strides(view),
                                        .c = mgk_map_strides(&maps)};
    mgk_batched_product bias = scores; /* of every row: ones times a row */
    bias.k = 1;
    bias.beta = 1;
    bias.a = (mgk_head_strides){0, 0, 1};
    bias.b = bias_strides(view);
    TRY(expand(device, view, layer, &at));
    TRY(device->op->dense->batched_multiply(device, &scores, at.queries, view->key, layer->kept));
    return device->op->dense->batched_multiply(device, &bias, at.ones, view->extra, layer->kept);
}

/* dk += dS_hᵀ Y_h, one head after the other. */
static mgk_status add_key_gradient(mgk_device *device, const mgk_attention_view *view,
                                   const void *dscores, const void *queries, void *dkey)
{
    const mgk_head_maps maps = mgk_scores_maps(view);
    const mgk_head_strides map = mgk_map_strides(&maps), query = query_strides(view);
    const mgk_batched_product product = {.samples = maps.samples,
                                         .heads = 1,
                                         .m = maps.cols,
                                         .n = query_width(view),
                                         .k = maps.rows,
                                         .transpose_a = true,
                                         .alpha = 1 / sqrt(view->dim),
                                         .beta = 1,
                                         .a = map,
                                         .b = query,
                                         .c = key_strides(view)};
    for (size_t h = 0; h < maps.heads; h++)
        TRY(device->op->dense->batched_multiply(device, &product,
                                                mgk_at(device, dscores, h * map.head),
                                                mgk_at(device, queries, h * query.head), dkey));
    return STATUS_OK;
}

static mgk_status backward(mgk_device *device, const mgk_attention_view *view,
                           const mgk_attention_layer *layer, const void *output,
                           const void *doutput, size_t output_stride,
                           const mgk_layer_gradient *gradient)
{
    const mgk_head_maps maps = mgk_scores_maps(view);
    const expanded at = places(device, view, layer);
    void *dscores = at.rest;
    const mgk_batched_product to_queries = {.samples = maps.samples,
                                            .heads = maps.heads,
                                            .m = maps.rows,
                                            .n = query_width(view),
                                            .k = maps.cols,
                                            .alpha = 1 / sqrt(view->dim),
                                            .a = mgk_map_strides(&maps),
                                            .b = key_strides(view),
                                            .c = query_strides(view)};
    mgk_batched_product to_bias = to_queries; /* the sums of columns */
    to_bias.n = 1;
    to_bias.transpose_a = true;
    to_bias.b = (mgk_head_strides){0, 0, 1};
    to_bias.c = bias_strides(view);
    TRY(mgk_scores_backward(device, view, layer, output, doutput, output_stride, gradient,
                            dscores));
    TRY(expand(device, view, layer, &at));
    TRY(mgk_scores_multiply_backward(device, view, NULL, &gradient->view)); /* zeros */
    TRY(add_key_gradient(device, view, dscores, at.queries, gradient->view.key));
    TRY(device->op->dense->batched_multiply(device, &to_bias, dscores, at.ones,
                                            gradient->view.extra));
    TRY(device->op->dense->batched_multiply(device, &to_queries, dscores, view->key, at.queries));
    return device->op->dense->expand_heads_backward(
        device, maps.samples * maps.rows, maps.heads, query_width(view), view->query,
        view->query_stride, layer->parameters[0], at.queries, gradient->view.query,
        gradient->parameters[0]);
}

/* Softmax with products of H D numbers instead of D, q ∘ m_h, and the bias of each pair. */
static double flops(const mgk_attention_kind *kind, const mgk_attention_size *size)
{
    const double tokens = size->tokens, width = (double)size->heads * size->dim;
    return mgk_scores_flops(kind, size) +
           size->heads * (tokens * tokens * (2 * (width - size->dim) + 2) + tokens * width);
}

static const mgk_attention_methods methods = {MGK_SCORES_METHODS, .memory = memory,
                                              .prepare = prepare, .backward = backward};

const mgk_attention_kind mgk_attention_collaborative = {
    .name = "collaborative",
    .score = "exp(((q_i * m_h).k_j + x_j.b_h) / sqrt(D)), q_i and k_j of all heads together",
    .rank_bound = "N",
    .keys = MGK_KEYS_PROJECTED,
    .methods = &methods,
    .parameters = parameters,
    .extra = extra,
    .flops = flops,
};
