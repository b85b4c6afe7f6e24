/* SPDX-License-Identifier: MIT */
/*
 * The tile primitive: a softmax over the keys that a query sees. A kind gives the logits by its
 * function `tile`; `kept` is the statistic of each row.
 */
#include "kernels/attention/primitives.h"

static mgk_mixture scores(const mgk_attention_view *view, const mgk_attention_layer *layer)
{
    mgk_mixture mixture = layer->kind->tile(view, layer);
    mixture.normalizer_epsilon = layer->normalizer_epsilon;
    return mixture;
}

static mgk_kind_memory memory(const mgk_attention_size *size, int samples, bool training)
{
    (void)training;
    return (mgk_kind_memory){.kept = (size_t)samples * (size_t)size->heads * (size_t)size->tokens};
}

static mgk_status forward(mgk_device *device, const mgk_attention_view *view,
                          const mgk_attention_layer *layer, void *output, size_t output_stride)
{
    const mgk_mixture mixture = scores(view, layer);
    return device->op->mixture_attention(device, view, &mixture, output, output_stride,
                                         layer->kept);
}

static mgk_status backward(mgk_device *device, const mgk_attention_view *view,
                           const mgk_attention_layer *layer, const void *output,
                           const void *doutput, size_t output_stride,
                           const mgk_layer_gradient *gradient)
{
    const mgk_mixture mixture = scores(view, layer);
    return device->op->mixture_attention_backward(device, view, &mixture, output, layer->kept,
                                                  doutput, output_stride, &gradient->view);
}

static mgk_status matrix(mgk_device *device, const mgk_attention_view *view,
                         const mgk_attention_layer *layer, mgk_matrix_content content, int sample,
                         const int32_t *heads, int count, void *out)
{
    const mgk_mixture mixture = scores(view, layer);
    return device->op->mixture_matrix(device, view, &mixture, content, sample, heads, count, out);
}

static mgk_status matrix_output(mgk_device *device, const mgk_attention_view *view,
                                const mgk_attention_layer *layer, int sample, const int32_t *heads,
                                int count, void *out, void *output, size_t output_stride)
{
    const mgk_mixture mixture = scores(view, layer);
    return device->op->mixture_matrix_output(device, view, &mixture, sample, heads, count, out,
                                             output, output_stride);
}

static mgk_status update_prior(mgk_device *device, const mgk_attention_view *view,
                               const mgk_attention_layer *layer, void *prior)
{
    const mgk_mixture mixture = scores(view, layer);
    return device->op->responsibilities(device, view, &mixture, prior);
}

#define TILE                                                                          \
    .primitives = "tile", .memory = memory, .forward = forward, .backward = backward, \
    .matrix = matrix, .matrix_output = matrix_output

const mgk_attention_methods mgk_tile_methods = {TILE};
const mgk_attention_methods mgk_mixture_methods = {TILE, .update_prior = update_prior};
