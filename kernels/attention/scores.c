/* SPDX-License-Identifier: MIT */
#include "kernels/attention/scores.h"

#include <math.h>

mgk_head_maps mgk_scores_maps(const mgk_attention_view *view)
{
    return (mgk_head_maps){.samples = (size_t)view->samples,
                           .heads = (size_t)view->heads,
                           .rows = (size_t)view->tokens,
                           .cols = (size_t)view->tokens,
                           .row_lengths = view->lengths,
                           .col_lengths = view->lengths,
                           .causal = view->causal};
}

size_t mgk_scores_count(const mgk_attention_view *view)
{
    const size_t tokens = (size_t)view->tokens;
    return (size_t)view->samples * (size_t)view->heads * tokens * tokens;
}

size_t mgk_scores_size(const mgk_attention_size *size, int samples)
{
    const size_t tokens = (size_t)size->tokens;
    return (size_t)samples * (size_t)size->heads * tokens * tokens;
}

size_t mgk_scores_kept(const mgk_attention_size *size, int samples)
{
    return mgk_scores_size(size, samples) +
           (size_t)samples * (size_t)size->heads * (size_t)size->tokens;
}

/* Queries, keys or values as matrices of heads. */
static mgk_head_strides strides(const mgk_attention_view *view, size_t stride)
{
    return (mgk_head_strides){(size_t)view->tokens * stride, (size_t)view->dim, stride};
}

mgk_status mgk_scores_multiply(mgk_device *device, const mgk_attention_view *view, double beta,
                               void *scores)
{
    const mgk_head_maps maps = mgk_scores_maps(view);
    const mgk_batched_product product = {.samples = maps.samples,
                                         .heads = maps.heads,
                                         .m = maps.rows,
                                         .n = maps.cols,
                                         .k = (size_t)view->dim,
                                         .transpose_b = true,
                                         .alpha = 1 / sqrt(view->dim),
                                         .beta = beta,
                                         .a = strides(view, view->query_stride),
                                         .b = strides(view, view->key_stride),
                                         .c = mgk_map_strides(&maps)};
    return device->op->dense->batched_multiply(device, &product, view->query, view->key, scores);
}

mgk_status mgk_scores_multiply_backward(mgk_device *device, const mgk_attention_view *view,
                                        const void *dscores, const mgk_attention_gradient *gradient)
{
    const mgk_head_maps maps = mgk_scores_maps(view);
    const mgk_head_strides query = strides(view, view->query_stride);
    const mgk_head_strides key = strides(view, view->key_stride);
    mgk_batched_product product = {.samples = maps.samples,
                                   .heads = maps.heads,
                                   .m = maps.rows,
                                   .n = (size_t)view->dim,
                                   .k = dscores ? maps.cols : 0,
                                   .alpha = 1 / sqrt(view->dim),
                                   .a = mgk_map_strides(&maps),
                                   .b = key,
                                   .c = query};
    TRY(device->op->dense->batched_multiply(device, &product, dscores, view->key, gradient->query));
    product.transpose_a = true;
    product.b = query;
    product.c = key;
    return device->op->dense->batched_multiply(device, &product, dscores, view->query,
                                               gradient->key);
}

/* The view without queries and keys: the logits are all there is. */
static mgk_attention_view without_dot(const mgk_attention_view *view)
{
    mgk_attention_view out = *view;
    out.value_dim = mgk_view_value_dim(view);
    out.dim = 0;
    out.query = out.key = NULL;
    return out;
}

static mgk_mixture softmax(const mgk_attention_view *view, const mgk_attention_layer *layer)
{
    const mgk_head_maps maps = mgk_scores_maps(view);
    return (mgk_mixture){.scale = {1},
                         .normalizer_epsilon = layer->normalizer_epsilon,
                         .terms = {.full = layer->kept,
                                   .full_sample_stride = mgk_map_strides(&maps).sample,
                                   .full_head_stride = mgk_map_strides(&maps).head}};
}

static void *statistic(const mgk_device *device, const mgk_attention_view *view,
                       const mgk_attention_layer *layer)
{
    return mgk_at(device, layer->kept, mgk_scores_count(view));
}

mgk_status mgk_scores_forward(mgk_device *device, const mgk_attention_view *view,
                              const mgk_attention_layer *layer, void *output, size_t output_stride)
{
    const mgk_attention_view own = without_dot(view);
    const mgk_mixture mixture = softmax(view, layer);
    return device->op->mixture_attention(device, &own, &mixture, output, output_stride,
                                         statistic(device, view, layer));
}

mgk_status mgk_scores_backward(mgk_device *device, const mgk_attention_view *view,
                               const mgk_attention_layer *layer, const void *output,
                               const void *doutput, size_t output_stride,
                               const mgk_layer_gradient *gradient, void *dscores)
{
    const mgk_attention_view own = without_dot(view);
    const mgk_mixture mixture = softmax(view, layer);
    const mgk_attention_gradient to = {.value = gradient->view.value, .full = dscores};
    const size_t count = mgk_scores_count(view);
    TRY(gradient->kept ? device->op->dense->add_scaled(device, count, 1, gradient->kept, 0, dscores)
                       : device->op->zero(device, dscores, count * device->real_size));
    return device->op->mixture_attention_backward(device, &own, &mixture, output,
                                                  statistic(device, view, layer), doutput,
                                                  output_stride, &to);
}

mgk_status mgk_scores_matrix(mgk_device *device, const mgk_attention_view *view,
                             const mgk_attention_layer *layer, mgk_matrix_content content,
                             int sample, const int32_t *heads, int count, void *matrix)
{
    const mgk_attention_view own = without_dot(view);
    const mgk_mixture mixture = softmax(view, layer);
    return device->op->mixture_matrix(device, &own, &mixture, content, sample, 1, heads, count,
                                      matrix);
}

mgk_status mgk_scores_matrix_output(mgk_device *device, const mgk_attention_view *view,
                                    const mgk_attention_layer *layer, int sample,
                                    const int32_t *heads, int count, void *matrix, void *output,
                                    size_t output_stride)
{
    const mgk_attention_view own = without_dot(view);
    const mgk_mixture mixture = softmax(view, layer);
    return device->op->mixture_matrix_output(device, &own, &mixture, sample, heads, count, matrix,
                                             output, output_stride);
}

/* Products of all pairs; a softmax and a weighted value of those that a query sees. */
double mgk_scores_flops(const mgk_attention_kind *kind, const mgk_attention_size *size)
{
    (void)kind;
    const double tokens = size->tokens, dim = size->dim;
    return size->heads *
           (tokens * tokens * 2 * dim + mgk_attention_pairs(size) * (2 * dim + 5) + tokens * dim);
}
