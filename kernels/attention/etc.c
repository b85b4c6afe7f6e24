/* SPDX-License-Identifier: MIT */
/*
 * Extended transformer construction (Ainslie et al. 2020): the first `global` tokens, g, and all
 * others, l, weigh each other in four parts, g2g, g2l, l2g and l2l, of which only l2l is bounded by
 * the window. A pair has a label, the distance within g or within l, clipped, or one for all pairs
 * of both; a head has a vector for each label (Shaw et al. 2018), other ones for queries of g:
 *     A = softmax(q_i·(k_j + a_label(i, j)) / √D).
 *
 * The products q_i·a / √D of a query with its labels are `query_side` of mgk_score_terms. Kept are
 * the places of distances, 2 N integers, these products [B, N, H, LABELS], and the statistics.
 */
#include <math.h>

#include "base/memory.h"
#include "kernels/attention/kinds.h"
#include "kernels/attention/primitives.h"
#include "kernels/dense.h"

/* The authors' clipping of distances, and labels: those from −FARTHEST to FARTHEST, and another. */
enum { FARTHEST = 12, LABELS = 2 * FARTHEST + 2 };

static void pattern(const mgk_attention_size *size, int head, int query, mgk_pattern_row *row)
{
    const int window = size->settings->window, first = size->settings->global;
    (void)head;
    mgk_pattern_add(row, 0, query < first ? size->tokens : first);
    mgk_pattern_add(row, query - window, query + window + 1);
}

/* Labels of queries of l, then of g. */
static int parameters(const mgk_attention_size *size, mgk_kind_parameter out[MGK_KIND_PARAMETERS])
{
    out[0] = (mgk_kind_parameter){.name = "label",
                                  .axes = 3,
                                  .shape = {2 * LABELS, (size_t)size->heads, (size_t)size->dim},
                                  .initial = MGK_INITIAL_NORMAL,
                                  .value = 0.5}; /* as the authors' code */
    return 1;
}

static size_t side_count(const mgk_attention_size *size, int samples)
{
    return mgk_tile_statistics(size, samples) * LABELS;
}

/* Scratch: gradients of the sides. */
static mgk_kind_memory memory(const mgk_attention_size *size, int samples, bool training)
{
    const size_t sides = side_count(size, samples), places = 2 * (size_t)size->tokens;
    return (mgk_kind_memory){.kept = places + sides + mgk_tile_statistics(size, samples),
                             .scratch = training ? sides : 0};
}

/* After the places, an even number of integers, so that reals of any precision can follow. */
static void *sides(const mgk_attention_layer *layer)
{
    return (int32_t *)layer->kept + 2 * (size_t)layer->size.tokens;
}

static mgk_status fill_places(mgk_device *device, const mgk_attention_layer *layer)
{
    const int count = 2 * layer->size.tokens - 1;
    int32_t *place;
    TRY(mgk_alloc((size_t)count, sizeof(*place), &place));
    for (int i = 0; i < count; i++) {
        const int distance = i - (layer->size.tokens - 1) + FARTHEST;
        place[i] = distance < 0 ? 0 : distance > 2 * FARTHEST ? 2 * FARTHEST : distance;
    }
    const mgk_status status =
        device->op->upload(device, layer->kept, place, (size_t)count * sizeof(*place));
    mgk_free(place);
    return status;
}

/* Queries that share labels: tokens first … first + count − 1 of all samples. */
typedef struct label_part {
    size_t first, count, label; /* the first of their labels */
} label_part;

static label_part part_of(const mgk_attention_size *size, bool global)
{
    const size_t tokens = (size_t)size->tokens, most = (size_t)size->settings->global;
    const size_t globals = most < tokens ? most : tokens;
    return global ? (label_part){0, globals, LABELS} : (label_part){globals, tokens - globals, 0};
}

/* Where arrays begin for a part, and the strides of their matrices. */
typedef struct label_arrays {
    size_t query, label, side;
    mgk_head_strides query_strides, label_strides, side_strides;
} label_arrays;

static label_arrays arrays_of(const mgk_attention_view *view, const label_part *part)
{
    const size_t tokens = (size_t)view->tokens, heads = (size_t)view->heads;
    const size_t dim = (size_t)view->dim, step = heads * LABELS;
    return (label_arrays){.query = part->first * view->query_stride,
                          .label = part->label * heads * dim,
                          .side = part->first * step,
                          .query_strides = {tokens * view->query_stride, dim, view->query_stride},
                          .label_strides = {0, dim, heads * dim},
                          .side_strides = {tokens * step, LABELS, step}};
}

/* sides = Q aᵀ / √D */
static mgk_status multiply_labels(mgk_device *device, const mgk_attention_view *view,
                                  const mgk_attention_layer *layer, bool global)
{
    const label_part part = part_of(&layer->size, global);
    const label_arrays at = arrays_of(view, &part);
    const mgk_batched_product product = {.samples = (size_t)view->samples,
                                         .heads = (size_t)view->heads,
                                         .m = part.count,
                                         .n = LABELS,
                                         .k = (size_t)view->dim,
                                         .transpose_b = true,
                                         .alpha = 1 / sqrt(view->dim),
                                         .a = at.query_strides,
                                         .b = at.label_strides,
                                         .c = at.side_strides};
    if (part.count == 0)
        return STATUS_OK;
    return device->op->dense->batched_multiply(
        device, &product, mgk_at(device, view->query, at.query),
        mgk_at(device, layer->parameters[0], at.label), mgk_at(device, sides(layer), at.side));
}

static mgk_status prepare(mgk_device *device, const mgk_attention_view *view,
                          const mgk_attention_layer *layer)
{
    TRY(fill_places(device, layer));
    TRY(multiply_labels(device, view, layer, false));
    return multiply_labels(device, view, layer, true);
}

/* dQ += dsides a / √D; da += dsidesᵀ Q / √D, one sample after the other. */
static mgk_status add_gradients(mgk_device *device, const mgk_attention_view *view,
                                const mgk_attention_layer *layer, bool global,
                                const mgk_layer_gradient *gradient)
{
    const label_part part = part_of(&layer->size, global);
    const label_arrays at = arrays_of(view, &part);
    const mgk_batched_product to_queries = {.samples = (size_t)view->samples,
                                            .heads = (size_t)view->heads,
                                            .m = part.count,
                                            .n = (size_t)view->dim,
                                            .k = LABELS,
                                            .alpha = 1 / sqrt(view->dim),
                                            .beta = 1,
                                            .a = at.side_strides,
                                            .b = at.label_strides,
                                            .c = at.query_strides};
    mgk_batched_product to_labels = to_queries;
    to_labels.samples = 1;
    to_labels.m = LABELS;
    to_labels.k = part.count;
    to_labels.transpose_a = true;
    to_labels.b = at.query_strides;
    to_labels.c = at.label_strides;
    if (part.count == 0)
        return STATUS_OK;
    const void *dsides = mgk_at(device, layer->scratch, at.side);
    TRY(device->op->dense->batched_multiply(device, &to_queries, dsides,
                                            mgk_at(device, layer->parameters[0], at.label),
                                            mgk_at(device, gradient->view.query, at.query)));
    for (size_t b = 0; b < (size_t)view->samples; b++)
        TRY(device->op->dense->batched_multiply(
            device, &to_labels, mgk_at(device, dsides, b * at.side_strides.sample),
            mgk_at(device, view->query, at.query + b * at.query_strides.sample),
            mgk_at(device, gradient->parameters[0], at.label)));
    return STATUS_OK;
}

static mgk_status backward(mgk_device *device, const mgk_attention_view *view,
                           const mgk_attention_layer *layer, const void *output,
                           const void *doutput, size_t output_stride,
                           const mgk_layer_gradient *gradient)
{
    mgk_layer_gradient inner = *gradient;
    inner.view.query_side = layer->scratch;
    TRY(device->op->zero(device, layer->scratch,
                         side_count(&layer->size, view->samples) * device->real_size));
    TRY(mgk_tile_backward(device, view, layer, output, doutput, output_stride, &inner));
    TRY(add_gradients(device, view, layer, false, gradient));
    return add_gradients(device, view, layer, true, gradient);
}

static mgk_mixture tile(const mgk_attention_view *view, const mgk_attention_layer *layer)
{
    mgk_mixture mixture = mgk_tile_scores(view, layer);
    mixture.terms = (mgk_score_terms){.query_side = sides(layer),
                                      .places = layer->kept,
                                      .sides = LABELS,
                                      .place_tokens = (size_t)layer->size.tokens,
                                      .place_globals = (size_t)layer->size.settings->global};
    return mixture;
}

/* Tiles, and the products of each query with its labels. */
static double flops(const mgk_attention_kind *kind, const mgk_attention_size *size)
{
    return mgk_tile_flops(kind, size) +
           (double)size->heads * size->tokens * LABELS * 2.0 * size->dim;
}

static const mgk_attention_methods methods = {MGK_TILE, .memory = memory, .prepare = prepare,
                                              .backward = backward};

const mgk_attention_kind mgk_attention_etc = {
    .name = "etc",
    .score = "exp(q_i.(k_j + a_label) / sqrt(D)) where |i - j| <= window, i < global or j < global",
    .rank_bound = "N",
    .defaults = {.window = 84, .global = 16},
    .methods = &methods,
    .tile = tile,
    .pattern = pattern,
    .parameters = parameters,
    .flops = flops,
};
