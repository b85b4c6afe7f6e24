/* SPDX-License-Identifier: MIT */
/*
 * The features primitive: scores are products of features of queries and keys, so that the output
 * costs O(N). A kind gives the features by its function `features`.
 */
#include "kernels/attention/primitives.h"

/* These variants exist to read trained models. */
static mgk_status check_trainable(const mgk_device *device, const mgk_attention_layer *layer,
                                  const mgk_linear *linear)
{
    if (linear->unit_features)
        return mgk_fail(
            STATUS_UNSUPPORTED,
            "linear attention whose features are divided by their sum cannot be trained");
    if (linear->features.map == MGK_FEATURES_POSITIVE && linear->features.epsilon > 0)
        return mgk_fail(
            STATUS_UNSUPPORTED,
            "`feature_map` positive-offset is for trained models, and has no gradients");
    if (!device->all_parts && (layer->fixed_normalizer > 0 || layer->mix_keys))
        return mgk_fail(STATUS_UNSUPPORTED, "linear attention that does not normalise its rows or "
                                            "mixes its keys is trained on the CPU alone");
    return STATUS_OK;
}

static mgk_kind_memory memory(const mgk_attention_size *size, int samples, bool training)
{
    (void)size;
    (void)samples;
    (void)training;
    return (mgk_kind_memory){0};
}

mgk_status mgk_feature_forward(mgk_device *device, const mgk_attention_view *view,
                               const mgk_attention_layer *layer, void *output, size_t output_stride)
{
    const mgk_linear linear = layer->kind->features(view, layer);
    return device->op->linear_attention(device, view, &linear, output, output_stride);
}

mgk_status mgk_feature_backward(mgk_device *device, const mgk_attention_view *view,
                                const mgk_attention_layer *layer, const void *output,
                                const void *doutput, size_t output_stride,
                                const mgk_layer_gradient *gradient)
{
    const mgk_linear linear = layer->kind->features(view, layer);
    TRY(check_trainable(device, layer, &linear));
    return device->op->linear_attention_backward(device, view, &linear, output, doutput,
                                                 output_stride, &gradient->view);
}

static mgk_status matrices(mgk_device *device, const mgk_attention_view *view,
                           const mgk_attention_layer *layer, mgk_matrix_content content, int first,
                           int samples, const int32_t *heads, int count, void *out)
{
    const mgk_linear linear = layer->kind->features(view, layer);
    return device->op->linear_matrix(device, view, &linear, content, first, samples, heads, count,
                                     out);
}

mgk_status mgk_feature_matrix(mgk_device *device, const mgk_attention_view *view,
                              const mgk_attention_layer *layer, mgk_matrix_content content,
                              int sample, const int32_t *heads, int count, void *out)
{
    return matrices(device, view, layer, content, sample, 1, heads, count, out);
}

/* The features do not depend on the arrays of the layer and its view. */
static size_t factor_columns(const mgk_attention_kind *kind, const mgk_attention_size *size)
{
    const mgk_attention_layer layer = {.kind = kind, .size = *size};
    const mgk_attention_view view = {
        .heads = size->heads, .dim = size->dim, .mixtures = size->mixtures};
    const mgk_features features = kind->features(&view, &layer).features;
    return mgk_features_signed(&features) ? 0 : mgk_feature_count(&features, (size_t)size->dim) + 1;
}

static mgk_status factors(mgk_device *device, const mgk_attention_view *view,
                          const mgk_attention_layer *layer, int sample, const int32_t *heads,
                          int count, void *left, void *right)
{
    const mgk_linear linear = layer->kind->features(view, layer);
    return device->op->linear_factors(device, view, &linear, sample, heads, count, left, right);
}

static mgk_status add_responsibilities(mgk_device *device, const mgk_attention_view *view,
                                       const mgk_attention_layer *layer, double *sums)
{
    const mgk_linear linear = layer->kind->features(view, layer);
    TRY(check_trainable(device, layer, &linear));
    if (layer->mix_keys)
        return mgk_fail(STATUS_USAGE,
                        "`prior` em: attention \"%s\" that mixes keys before their features, as "
                        "`recipe` lra sets it, has no soft-E priors; expected learned",
                        layer->kind->name);
    return device->op->linear_responsibilities(device, view, &linear, sums);
}

/* Per token: the update of Σ f vᵀ and Σ f, and the query's product with both. */
double mgk_feature_flops(const mgk_attention_size *size, double features, double map)
{
    return (double)size->heads * size->tokens * (map + 4 * features * size->dim + 4 * features);
}

#define FEATURES                                                                          \
    .primitives = "features", .memory = memory, .forward = mgk_feature_forward,           \
    .backward = mgk_feature_backward, .matrix = mgk_feature_matrix, .matrices = matrices, \
    .factor_columns = factor_columns, .factors = factors

const mgk_attention_methods mgk_feature_methods = {FEATURES};
const mgk_attention_methods mgk_feature_mixture_methods = {FEATURES, .add_responsibilities =
                                                                         add_responsibilities};
