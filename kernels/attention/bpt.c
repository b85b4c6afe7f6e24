/* SPDX-License-Identifier: MIT */
/*
 * BP-Transformer (Ye et al. 2019): a token sees itself, `window` tokens on each side, then as many
 * spans of 2 tokens, of 4, and so on, until all tokens are covered, each once. Spans are those of a
 * binary tree (mgk_tree_place): where one would overlap what is covered, its other half takes its
 * place. A span's key and value are the means of its tokens' keys and values, so that its weight
 * spreads evenly over them:
 *     A = softmax(q_i·k_s / √D) E,   E_sj = 1 / |s| for tokens j of span s.
 * A causal model sees the spans to the left.
 *
 * Kept are how many spans of each sample have a valid token, as integers, keys and values of spans
 * [B, spans, H, D], and the statistics.
 */
#include "base/memory.h"
#include "kernels/attention/kinds.h"
#include "kernels/attention/primitives.h"
#include "kernels/dense.h"

static int levels_of(const mgk_attention_size *size)
{
    return mgk_tree_levels((size_t)size->tokens);
}

/* Spans of the tree, which are what a query sees. */
static int span_count(const mgk_attention_size *size)
{
    return (int)mgk_tree_place(levels_of(size), (size_t)size->tokens);
}

/* Adds span number `index` of 2^level tokens, if it exists. */
static void add_span(const mgk_attention_size *size, int64_t index, int level, mgk_pattern_row *row)
{
    const int64_t first = index << level;
    if (first < size->tokens)
        mgk_pattern_add_key(row, (int)mgk_tree_place(levels_of(size), (size_t)first) + level);
}

/* `half`: what is covered ends within span `next`, of which only the far half is left. */
static void add_right(const mgk_attention_size *size, int query, mgk_pattern_row *row)
{
    int64_t next = query + 1;
    bool half = false;
    for (int level = 0; next << level < size->tokens; level++) {
        for (int k = 0; k < size->settings->window && next << level < size->tokens; k++) {
            if (half)
                add_span(size, 2 * next + 1, level - 1, row);
            else
                add_span(size, next, level, row);
            half = false;
            next++;
        }
        half = next % 2 == 1;
        next /= 2;
    }
}

static void add_left(const mgk_attention_size *size, int query, mgk_pattern_row *row)
{
    int64_t next = query - 1;
    bool half = false;
    for (int level = 0; next >= 0; level++) {
        for (int k = 0; k < size->settings->window && next >= 0; k++) {
            if (half)
                add_span(size, 2 * next, level - 1, row);
            else
                add_span(size, next, level, row);
            half = false;
            next--;
        }
        half = next % 2 == 0;
        next = next < 0 ? -1 : next / 2;
    }
}

static void pattern(const mgk_attention_size *size, int head, int query, mgk_pattern_row *row)
{
    (void)head;
    add_span(size, query, 0, row);
    add_left(size, query, row);
    if (!size->causal)
        add_right(size, query, row);
}

/* Numbers of the keys of all spans. */
static size_t vectors(const mgk_attention_size *size, int samples)
{
    return (size_t)samples * (size_t)span_count(size) * (size_t)size->heads * (size_t)size->dim;
}

/* Scratch: the gradients of keys and values of spans. */
static mgk_kind_memory memory(const mgk_attention_size *size, int samples, bool training)
{
    const size_t count = 2 * vectors(size, samples);
    return (mgk_kind_memory){.kept = (size_t)samples + count + mgk_tile_statistics(size, samples),
                             .scratch = training ? count : 0};
}

static mgk_attention_view replaced(const mgk_device *device, const mgk_attention_view *view,
                                   const mgk_attention_layer *layer)
{
    mgk_attention_view out = *view;
    out.causal = false; /* the pattern is */
    out.key_tokens = span_count(&layer->size);
    out.key_lengths = layer->kept;
    out.key = mgk_at(device, layer->kept, (size_t)view->samples);
    out.value = mgk_at(device, out.key, vectors(&layer->size, view->samples));
    out.key_stride = out.value_stride = (size_t)view->heads * (size_t)view->dim;
    return out;
}

static mgk_status count_spans(mgk_device *device, const mgk_attention_view *view,
                              const mgk_attention_layer *layer)
{
    const size_t samples = (size_t)view->samples;
    const int levels = levels_of(&layer->size);
    int32_t *count;
    TRY(mgk_device_indices(device, view->lengths, samples, &count));
    for (size_t b = 0; b < samples; b++)
        count[b] = (int32_t)mgk_tree_place(levels, (size_t)count[b]);
    const mgk_status status =
        device->op->upload(device, layer->kept, count, samples * sizeof(*count));
    mgk_free(count);
    return status;
}

static mgk_status prepare(mgk_device *device, const mgk_attention_view *view,
                          const mgk_attention_layer *layer)
{
    const mgk_attention_view own = replaced(device, view, layer);
    const mgk_head_tokens keys = mgk_view_tokens(view, view->key_stride);
    const mgk_head_tokens values = mgk_view_tokens(view, view->value_stride);
    TRY(count_spans(device, view, layer));
    TRY(device->op->dense->tree_means(device, &keys, view->key, (void *)(uintptr_t)own.key));
    return device->op->dense->tree_means(device, &values, view->value,
                                         (void *)(uintptr_t)own.value);
}

/* The gradient of tokens from that of spans. */
static mgk_status to_tokens(mgk_device *device, const mgk_attention_view *view, size_t stride,
                            const void *dspans, void *dtokens)
{
    const mgk_head_tokens tokens = mgk_view_tokens(view, stride);
    TRY(mgk_zero_rows(device, tokens.samples * tokens.tokens, tokens.heads * tokens.dim, stride,
                      dtokens));
    return device->op->dense->tree_means_backward(device, &tokens, dspans, dtokens);
}

static mgk_status backward(mgk_device *device, const mgk_attention_view *view,
                           const mgk_attention_layer *layer, const void *output,
                           const void *doutput, size_t output_stride,
                           const mgk_layer_gradient *gradient)
{
    mgk_layer_gradient inner = *gradient;
    inner.view.key = layer->scratch;
    inner.view.value = mgk_at(device, layer->scratch, vectors(&layer->size, view->samples));
    TRY(mgk_tile_backward(device, view, layer, output, doutput, output_stride, &inner));
    TRY(to_tokens(device, view, view->key_stride, inner.view.key, gradient->view.key));
    return to_tokens(device, view, view->value_stride, inner.view.value, gradient->view.value);
}

/* Its weights of spans take twice the memory of a matrix. */
static mgk_status matrix(mgk_device *device, const mgk_attention_view *view,
                         const mgk_attention_layer *layer, mgk_matrix_content content, int sample,
                         const int32_t *heads, int count, void *out)
{
    const size_t n = (size_t)view->tokens, spans = (size_t)span_count(&layer->size);
    void *weights;
    TRY(mgk_device_lend(device, n * spans * device->real_size, &weights));
    for (int c = 0; c < count; c++) {
        TRY(mgk_tile_matrix(device, view, layer, content, sample, heads + c, 1, weights));
        TRY(device->op->dense->tree_spread(device, n, n, view->lengths + sample, weights,
                                           mgk_at(device, out, (size_t)c * n * n)));
    }
    return STATUS_OK;
}

/* Tiles, and means of keys and values. */
static double flops(const mgk_attention_kind *kind, const mgk_attention_size *size)
{
    return mgk_tile_flops(kind, size) +
           4.0 * size->heads * size->tokens * levels_of(size) * size->dim;
}

static const mgk_attention_methods methods = {.primitives = "tile",
                                              .memory = memory,
                                              .prepare = prepare,
                                              .forward = mgk_tile_forward,
                                              .backward = backward,
                                              .matrix = matrix};

const mgk_attention_kind mgk_attention_bpt = {
    .name = "bpt",
    .score = "exp(q_i.k_s / sqrt(D)) / |s|, k_s the mean key of the span s of j: 1, 2, 4... tokens "
             "by distance",
    .rank_bound = "N",
    .defaults = {.window = 16},
    .methods = &methods,
    .tile = mgk_tile_scores,
    .replaced = replaced,
    .pattern = pattern,
    .pattern_keys = span_count,
    .flops = flops,
};
