/* SPDX-License-Identifier: MIT */
/*
 * Longformer (Beltagy et al. 2020): a token weighs the keys nearby and those of the first `global`
 * tokens. These tokens weigh all tokens, with queries, keys and values q', k', v' of their own
 * maps, which are the kind's `extra` numbers [3, H, D]:
 *     A_ij = softmax(q_i·k_j / √D) of v_j for i >= global,
 *     A_ij = softmax(q'_i·k'_j / √D) of v'_j for i < global.
 *
 * The pattern leaves the rows of global tokens empty; they are computed for each sample where they
 * belong in output and matrix. Kept are how many global tokens of each sample are valid, as
 * integers, the statistics of their rows [B, H, global], and those of all rows.
 */
#include "base/memory.h"
#include "kernels/attention/kinds.h"
#include "kernels/attention/primitives.h"

static void pattern(const mgk_attention_size *size, int head, int query, mgk_pattern_row *row)
{
    const int window = size->settings->window, first = size->settings->global;
    (void)head;
    if (query < first)
        return;
    mgk_pattern_add(row, 0, first);
    mgk_pattern_add(row, query - window, query + window + 1);
}

static int extra(const mgk_attention_size *size)
{
    return 3 * size->heads * size->dim;
}

/* Global tokens that there are. */
static int globals(const mgk_attention_size *size)
{
    return size->settings->global < size->tokens ? size->settings->global : size->tokens;
}

static mgk_kind_memory memory(const mgk_attention_size *size, int samples, bool training)
{
    const size_t rows = (size_t)(samples * size->heads) * (size_t)globals(size);
    (void)training;
    return (mgk_kind_memory){.kept = (size_t)samples + rows + mgk_tile_statistics(size, samples)};
}

static mgk_status prepare(mgk_device *device, const mgk_attention_view *view,
                          const mgk_attention_layer *layer)
{
    const size_t samples = (size_t)view->samples;
    const int32_t most = globals(&layer->size);
    int32_t *valid;
    TRY(mgk_device_indices(device, view->lengths, samples, &valid));
    for (size_t b = 0; b < samples; b++)
        valid[b] = valid[b] < most ? valid[b] : most;
    const mgk_status status =
        device->op->upload(device, layer->kept, valid, samples * sizeof(*valid));
    mgk_free(valid);
    return status;
}

/* Token 0 of sample b in an array of the view's tokens. */
static void *sample_at(const mgk_device *device, const mgk_attention_view *view, const void *array,
                       size_t stride, int b)
{
    return mgk_at(device, array, (size_t)b * (size_t)view->tokens * stride);
}

/* The global tokens of sample b as queries, and all its tokens as keys. */
static mgk_attention_view global_view(const mgk_device *device, const mgk_attention_view *view,
                                      const mgk_attention_layer *layer, int b)
{
    const size_t width = (size_t)view->heads * (size_t)view->dim;
    mgk_attention_view out = *view;
    out.samples = 1;
    out.tokens = globals(&layer->size);
    out.key_tokens = view->tokens;
    out.lengths = (const int32_t *)layer->kept + b;
    out.key_lengths = view->lengths + b;
    out.query = sample_at(device, view, view->extra, view->extra_stride, b);
    out.key = mgk_at(device, out.query, width);
    out.value = mgk_at(device, out.query, 2 * width);
    out.query_stride = out.key_stride = out.value_stride = view->extra_stride;
    return out;
}

static mgk_mixture global_scores(const mgk_attention_view *view, const mgk_attention_layer *layer)
{
    mgk_mixture mixture = mgk_dot_products(view);
    mixture.normalizer_epsilon = layer->normalizer_epsilon;
    return mixture;
}

/* The statistics of the global rows of sample b. */
static void *statistics(const mgk_device *device, const mgk_attention_view *view,
                        const mgk_attention_layer *layer, int b)
{
    const size_t rows = (size_t)view->heads * (size_t)globals(&layer->size);
    return mgk_at(device, layer->kept, (size_t)view->samples + (size_t)b * rows);
}

static mgk_status forward(mgk_device *device, const mgk_attention_view *view,
                          const mgk_attention_layer *layer, void *output, size_t output_stride)
{
    const mgk_mixture mixture = global_scores(view, layer);
    TRY(mgk_tile_forward(device, view, layer, output, output_stride));
    for (int b = 0; b < view->samples; b++) {
        const mgk_attention_view own = global_view(device, view, layer, b);
        TRY(device->op->mixture_attention(device, &own, &mixture,
                                          sample_at(device, view, output, output_stride, b),
                                          output_stride, statistics(device, view, layer, b)));
    }
    return STATUS_OK;
}

static mgk_status backward(mgk_device *device, const mgk_attention_view *view,
                           const mgk_attention_layer *layer, const void *output,
                           const void *doutput, size_t output_stride,
                           const mgk_layer_gradient *gradient)
{
    const mgk_mixture mixture = global_scores(view, layer);
    const size_t width = (size_t)view->heads * (size_t)view->dim, stride = view->extra_stride;
    TRY(mgk_tile_backward(device, view, layer, output, doutput, output_stride, gradient));
    TRY(mgk_zero_rows(device, (size_t)view->samples * (size_t)view->tokens, width, stride,
                      gradient->view.extra)); /* queries of other tokens */
    for (int b = 0; b < view->samples; b++) {
        const mgk_attention_view own = global_view(device, view, layer, b);
        void *dquery = sample_at(device, view, gradient->view.extra, stride, b);
        const mgk_attention_gradient into = {.query = dquery,
                                             .key = mgk_at(device, dquery, width),
                                             .value = mgk_at(device, dquery, 2 * width)};
        TRY(device->op->mixture_attention_backward(
            device, &own, &mixture, sample_at(device, view, output, output_stride, b),
            statistics(device, view, layer, b), sample_at(device, view, doutput, output_stride, b),
            output_stride, &into));
    }
    return STATUS_OK;
}

static mgk_status matrix(mgk_device *device, const mgk_attention_view *view,
                         const mgk_attention_layer *layer, mgk_matrix_content content, int sample,
                         const int32_t *heads, int count, void *out)
{
    const mgk_mixture mixture = global_scores(view, layer);
    const mgk_attention_view own = global_view(device, view, layer, sample);
    const size_t size = (size_t)view->tokens * (size_t)view->tokens;
    TRY(mgk_tile_matrix(device, view, layer, content, sample, heads, count, out));
    for (int c = 0; c < count; c++)
        TRY(device->op->mixture_matrix(device, &own, &mixture, content, 0, 1, heads + c, 1,
                                       mgk_at(device, out, (size_t)c * size)));
    return STATUS_OK;
}

/* Tiles, and whole rows for the global tokens. */
static double flops(const mgk_attention_kind *kind, const mgk_attention_size *size)
{
    return mgk_tile_flops(kind, size) +
           (double)size->heads * globals(size) * size->tokens * (4.0 * size->dim + 5);
}

static const mgk_attention_methods methods = {.primitives = "tile",
                                              .memory = memory,
                                              .prepare = prepare,
                                              .forward = forward,
                                              .backward = backward,
                                              .matrix = matrix};

const mgk_attention_kind mgk_attention_longformer = {
    .name = "longformer",
    .score = "exp(q_i.k_j / sqrt(D)) where |i - j| <= window or j < global; for i < global all j, "
             "by other q, k, v",
    .rank_bound = "N",
    .defaults = {.window = 128, .global = 1},
    .own_values = true,
    .methods = &methods,
    .tile = mgk_tile_scores,
    .pattern = pattern,
    .extra = extra,
    .flops = flops,
};
