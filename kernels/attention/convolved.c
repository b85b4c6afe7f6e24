/* SPDX-License-Identifier: MIT */
/*
 * Softmax attention beside a convolution: A = sm(Q Kᵀ/√D) + T, where T is the band of a convolution
 * of the values over tokens, with weights of each head. It is what a Nyströmformer computes whose
 * landmarks are its tokens. Entries may be negative, and rows have any sum.
 */
#include <math.h>

#include "kernels/attention/kinds.h"
#include "kernels/attention/primitives.h"
#include "kernels/dense.h"

mgk_kind_parameter mgk_convolution_parameter(const mgk_attention_size *size)
{
    const size_t taps = (size_t)size->settings->kernel;
    return (mgk_kind_parameter){.name = "convolution",
                                .axes = 2,
                                .shape = {(size_t)size->heads, taps},
                                .initial = MGK_INITIAL_NORMAL,
                                .value = 1 / sqrt((double)taps)};
}

/*
 * Tap k of a head is added to the entries (t, t + k − offset) of the n valid tokens. Entries of a
 * diagonal are N + 1 apart.
 */
static mgk_status add_band(mgk_device *device, const mgk_token_kernel *convolution, int head, int n,
                           size_t tokens, const void *ones, void *matrix)
{
    const size_t taps = convolution->taps;
    for (size_t k = 0; k < taps; k++) {
        const int offset = (int)k - (int)(taps - 1) / 2, first = offset < 0 ? -offset : 0;
        const int end = offset > 0 ? n - offset : n;
        const size_t entry = (size_t)first * tokens + (size_t)(first + offset);
        double weight;
        if (first >= end)
            continue;
        TRY(mgk_device_download(
            device, mgk_at(device, convolution->weight, (size_t)head * taps + k), 1, &weight));
        TRY(device->op->multiply(device, false, false, (size_t)(end - first), 1, 1, weight, ones, 1,
                                 ones, 1, 1, mgk_at(device, matrix, entry), tokens + 1));
    }
    return STATUS_OK;
}

mgk_status mgk_add_bands(mgk_device *device, const mgk_attention_view *view,
                         const mgk_token_kernel *convolution, int sample, const int32_t *heads,
                         int count, void *ones, void *matrices)
{
    const size_t tokens = (size_t)view->tokens;
    const double one = 1;
    int32_t n, head;
    TRY(device->op->download(device, &n, view->lengths + sample, sizeof(n)));
    for (size_t t = 0; t < tokens; t++)
        TRY(mgk_device_upload(device, &one, 1, mgk_at(device, ones, t)));
    for (size_t which = 0; which < (size_t)count; which++) {
        TRY(device->op->download(device, &head, heads + which, sizeof(head)));
        TRY(add_band(device, convolution, head, n, tokens, ones,
                     mgk_at(device, matrices, which * tokens * tokens)));
    }
    return STATUS_OK;
}

static mgk_token_kernel convolution_of(const mgk_attention_layer *layer)
{
    return (mgk_token_kernel){.taps = (size_t)layer->size.settings->kernel,
                              .weight = layer->parameters[0]};
}

/* Scratch: the output of the softmax alone, or ones. */
static mgk_kind_memory memory(const mgk_attention_size *size, int samples, bool training)
{
    const size_t rows = mgk_tile_statistics(size, samples);
    return (mgk_kind_memory){.kept = rows,
                             .scratch = training ? rows * (size_t)size->dim : (size_t)size->tokens};
}

static mgk_status forward(mgk_device *device, const mgk_attention_view *view,
                          const mgk_attention_layer *layer, void *output, size_t output_stride)
{
    const mgk_head_tokens value = mgk_view_tokens(view, view->value_stride);
    const mgk_token_kernel convolution = convolution_of(layer);
    TRY(mgk_tile_forward(device, view, layer, output, output_stride));
    return device->op->dense->convolve_tokens(device, &value, &convolution, view->value, output,
                                              output_stride);
}

static mgk_status backward(mgk_device *device, const mgk_attention_view *view,
                           const mgk_attention_layer *layer, const void *output,
                           const void *doutput, size_t output_stride,
                           const mgk_layer_gradient *gradient)
{
    const mgk_head_tokens value = mgk_view_tokens(view, view->value_stride);
    const mgk_token_kernel convolution = convolution_of(layer);
    (void)output;
    if (output_stride != (size_t)(view->heads * view->dim))
        return mgk_fail(STATUS_UNSUPPORTED, "an output with gaps between its tokens");
    TRY(mgk_tile_forward(device, view, layer, layer->scratch, output_stride));
    TRY(mgk_tile_backward(device, view, layer, layer->scratch, doutput, output_stride, gradient));
    return device->op->dense->convolve_tokens_backward(device, &value, &convolution, view->value,
                                                       doutput, output_stride, gradient->view.value,
                                                       gradient->parameters[0]);
}

static mgk_status matrix(mgk_device *device, const mgk_attention_view *view,
                         const mgk_attention_layer *layer, mgk_matrix_content content, int sample,
                         const int32_t *heads, int count, void *out)
{
    const mgk_token_kernel convolution = convolution_of(layer);
    (void)content; /* rows are not normalised: scores are the matrix */
    TRY(mgk_tile_matrix(device, view, layer, MGK_MATRIX_ATTENTION, sample, heads, count, out));
    return mgk_add_bands(device, view, &convolution, sample, heads, count, layer->scratch, out);
}

static int parameters(const mgk_attention_size *size, mgk_kind_parameter out[MGK_KIND_PARAMETERS])
{
    out[0] = mgk_convolution_parameter(size);
    return 1;
}

static double flops(const mgk_attention_kind *kind, const mgk_attention_size *size)
{
    const double row = (double)size->heads * size->tokens * size->dim;
    (void)kind;
    return size->heads * mgk_attention_pairs(size) * (4.0 * size->dim + 5) + row +
           2 * row * size->settings->kernel;
}

static const mgk_attention_methods methods = {.primitives = "tile",
                                              .memory = memory,
                                              .forward = forward,
                                              .backward = backward,
                                              .matrix = matrix};

const mgk_attention_kind mgk_attention_convolved = {
    .name = "convolved",
    .score = "softmax(Q K' / sqrt(D)) + a band",
    .rank_bound = "N",
    .defaults = {.kernel = 33},
    .not_causal = true,
    .unnormalized = true,
    .signed_entries = true,
    .methods = &methods,
    .tile = mgk_tile_scores,
    .parameters = parameters,
    .flops = flops,
};
