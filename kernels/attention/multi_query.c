/* SPDX-License-Identifier: MIT */
/*
 * Multi-query attention (Shazeer 2019): all heads share the keys and values of head 0. What the
 * layer projects for other heads is not read, and has no gradient.
 */
#include <math.h>

#include "kernels/attention/kinds.h"
#include "kernels/attention/primitives.h"

static size_t vectors(const mgk_attention_size *size, int samples)
{
    return mgk_tile_statistics(size, samples) * (size_t)size->dim;
}

/* Kept: keys and values for every head, and the statistics. Scratch: a token of zeros, and the
 * gradients of both. */
static mgk_kind_memory memory(const mgk_attention_size *size, int samples, bool training)
{
    const size_t count = vectors(size, samples);
    return (mgk_kind_memory){.kept = 2 * count + mgk_tile_statistics(size, samples),
                             .scratch =
                                 (size_t)(size->heads * size->dim) + (training ? 2 * count : 0)};
}

static mgk_attention_view replaced(const mgk_device *device, const mgk_attention_view *view,
                                   const mgk_attention_layer *layer)
{
    mgk_attention_view out = *view;
    out.key = layer->kept;
    out.value = mgk_at(device, layer->kept, vectors(&layer->size, view->samples));
    out.key_stride = out.value_stride = (size_t)(view->heads * view->dim);
    return out;
}

/* The shifts of shifted keys, which are 0 here, and where their gradients are dropped. */
static mgk_status zero_shifts(mgk_device *device, const mgk_attention_layer *layer)
{
    const size_t width = (size_t)(layer->size.heads * layer->size.dim);
    return device->op->zero(device, layer->scratch, width * device->real_size);
}

static mgk_status prepare(mgk_device *device, const mgk_attention_view *view,
                          const mgk_attention_layer *layer)
{
    const mgk_attention_view own = replaced(device, view, layer);
    const size_t rows = (size_t)(view->samples * view->tokens);
    const size_t heads = (size_t)view->heads, dim = (size_t)view->dim;
    TRY(zero_shifts(device, layer));
    TRY(device->op->shift_keys(device, rows, heads, dim, view->key, view->key_stride,
                               layer->scratch, (void *)(uintptr_t)own.key));
    return device->op->shift_keys(device, rows, heads, dim, view->value, view->value_stride,
                                  layer->scratch, (void *)(uintptr_t)own.value);
}

/* Head 0 receives the sum over heads of gradients [B, N, H, D], the others 0. */
static mgk_status add_heads(mgk_device *device, const mgk_attention_view *view,
                            const mgk_attention_layer *layer, const void *from, size_t stride,
                            void *to)
{
    const size_t rows = (size_t)(view->samples * view->tokens);
    const size_t heads = (size_t)view->heads, dim = (size_t)view->dim;
    TRY(mgk_zero_rows(device, rows, heads * dim, stride, to));
    TRY(zero_shifts(device, layer));
    return device->op->shift_keys_backward(device, rows, heads, dim, from, to, stride,
                                           layer->scratch);
}

static mgk_status backward(mgk_device *device, const mgk_attention_view *view,
                           const mgk_attention_layer *layer, const void *output,
                           const void *doutput, size_t output_stride,
                           const mgk_layer_gradient *gradient)
{
    const size_t count = vectors(&layer->size, view->samples);
    mgk_layer_gradient inner = *gradient;
    inner.view.key = mgk_at(device, layer->scratch, (size_t)(view->heads * view->dim));
    inner.view.value = mgk_at(device, inner.view.key, count);
    TRY(mgk_tile_backward(device, view, layer, output, doutput, output_stride, &inner));
    TRY(add_heads(device, view, layer, inner.view.key, view->key_stride, gradient->view.key));
    return add_heads(device, view, layer, inner.view.value, view->value_stride,
                     gradient->view.value);
}

/* As softmax attention. */
static double flops(const mgk_attention_kind *kind, const mgk_attention_size *size)
{
    (void)kind;
    return size->heads *
           (mgk_attention_pairs(size) * (4.0 * size->dim + 5) + (double)size->tokens * size->dim);
}

static const mgk_attention_methods methods = {MGK_TILE, .memory = memory, .prepare = prepare,
                                              .backward = backward};

const mgk_attention_kind mgk_attention_multi_query = {
    .name = "multi-query",
    .score = "exp(q_i.k_j / sqrt(D)), k_j and v_j of head 0",
    .rank_bound = "N",
    .own_values = true,
    .methods = &methods,
    .tile = mgk_tile_scores,
    .replaced = replaced,
    .flops = flops,
};
