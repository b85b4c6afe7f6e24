/* SPDX-License-Identifier: MIT */
/*
 * Low-rank and locality constrained attention (Guo et al. 2019, IEEE/ACM TASLP 27): heads 0, 2, …
 * see all keys, by the first d = `projection` numbers of queries and keys (all, if they have no
 * more), so that their logits have rank d at most; heads 1, 3, … see the keys nearby:
 *     A = softmax(q_i[0..d)·k_j[0..d) / √d)  or  A = softmax(q_i·k_j / √D where |i − j| <= window).
 *
 * Both are tiles with queries q ∘ m: of the first heads m is √(D / d), then 0. Kept are m [H, D],
 * the queries and the statistics.
 */
#include <math.h>

#include "base/memory.h"
#include "kernels/attention/kinds.h"
#include "kernels/attention/primitives.h"
#include "kernels/dense.h"

static bool is_low_rank(int head)
{
    return head % 2 == 0;
}

static void pattern(const mgk_attention_size *size, int head, int query, mgk_pattern_row *row)
{
    const int window = size->settings->window;
    if (is_low_rank(head))
        mgk_pattern_add(row, 0, size->tokens);
    else
        mgk_pattern_add(row, query - window, query + window + 1);
}

static mgk_status check(const mgk_attention_size *size)
{
    if (size->heads < 2)
        return mgk_fail(STATUS_USAGE, "attention \"lowrank-band\" with 1 head, expected 2: the "
                                      "first has a low rank, the second a band");
    return STATUS_OK;
}

static size_t width_of(const mgk_attention_size *size)
{
    return (size_t)size->heads * (size_t)size->dim;
}

static size_t tokens_of(const mgk_attention_size *size, int samples)
{
    return (size_t)samples * (size_t)size->tokens;
}

/* Scratch: gradients of m, which nobody wants, and of the queries. */
static mgk_kind_memory memory(const mgk_attention_size *size, int samples, bool training)
{
    const size_t count = (1 + tokens_of(size, samples)) * width_of(size);
    return (mgk_kind_memory){.kept = count + mgk_tile_statistics(size, samples),
                             .scratch = training ? count : 0};
}

static mgk_attention_view replaced(const mgk_device *device, const mgk_attention_view *view,
                                   const mgk_attention_layer *layer)
{
    mgk_attention_view out = *view;
    out.query = mgk_at(device, layer->kept, width_of(&layer->size));
    out.query_stride = width_of(&layer->size);
    return out;
}

/* m, in `kept`. */
static mgk_status fill_weights(mgk_device *device, const mgk_attention_layer *layer)
{
    const int dim = layer->size.dim, given = layer->size.settings->projection;
    const int rank = given < dim ? given : dim;
    const size_t width = width_of(&layer->size);
    double *weights;
    TRY(mgk_alloc(width, sizeof(*weights), &weights));
    for (int h = 0; h < layer->size.heads; h++)
        for (int d = 0; d < dim; d++)
            weights[h * dim + d] = !is_low_rank(h) ? 1 : d < rank ? sqrt((double)dim / rank) : 0;
    const mgk_status status = mgk_device_upload(device, weights, width, layer->kept);
    mgk_free(weights);
    return status;
}

static mgk_status prepare(mgk_device *device, const mgk_attention_view *view,
                          const mgk_attention_layer *layer)
{
    const size_t width = width_of(&layer->size);
    TRY(fill_weights(device, layer));
    return device->op->dense->expand_heads(device, tokens_of(&layer->size, view->samples), 1, width,
                                           view->query, view->query_stride, layer->kept,
                                           mgk_at(device, layer->kept, width));
}

static mgk_status backward(mgk_device *device, const mgk_attention_view *view,
                           const mgk_attention_layer *layer, const void *output,
                           const void *doutput, size_t output_stride,
                           const mgk_layer_gradient *gradient)
{
    const size_t tokens = tokens_of(&layer->size, view->samples), width = width_of(&layer->size);
    mgk_layer_gradient inner = *gradient;
    inner.view.query = mgk_at(device, layer->scratch, width);
    TRY(mgk_tile_backward(device, view, layer, output, doutput, output_stride, &inner));
    TRY(mgk_zero_rows(device, tokens, width, view->query_stride, gradient->view.query));
    TRY(device->op->zero(device, layer->scratch, width * device->real_size));
    return device->op->dense->expand_heads_backward(
        device, tokens, 1, width, view->query, view->query_stride, layer->kept, inner.view.query,
        gradient->view.query, layer->scratch);
}

static const mgk_attention_methods methods = {MGK_TILE, .memory = memory, .prepare = prepare,
                                              .backward = backward};

const mgk_attention_kind mgk_attention_lowrank_band = {
    .name = "lowrank-band",
    .score = "exp(q_i.k_j / sqrt(d)) of d = projection numbers, in odd heads all where |i - j| <= "
             "window",
    .rank_bound = "N",
    .defaults = {.window = 16, .projection = 8},
    .pattern_of_head = true,
    .methods = &methods,
    .tile = mgk_tile_scores,
    .replaced = replaced,
    .pattern = pattern,
    .check = check,
    .flops = mgk_tile_flops,
};
