/* SPDX-License-Identifier: MIT */
/*
 * Local attention in a ring, as the local layers of Reformer's published code without a causal
 * mask: the tokens of a sample are cut into chunks of w, and a query sees its own chunk and the one
 * before, of which the first chunk takes the last one,
 *     a_ij = exp(q_i·k_j / √D) where j is in i's chunk or in the one before.
 * Which chunk is the last depends on the length of each sample, so that no pattern says it.
 */
#include "base/memory.h"
#include "kernels/attention/groups.h"
#include "kernels/attention/kinds.h"
#include "kernels/attention/primitives.h"

/* The sizes of a layer. */
typedef struct sizes {
    size_t chunk, groups; /* w, ⌈N / w⌉ */
    size_t places;        /* packed queries of all heads */
    size_t packed;        /* their numbers */
} sizes;

/* What a layer keeps. */
typedef struct arrays {
    sizes s;
    size_t dim;
    void *query, *key; /* packed; two chunks of keys for each of queries */
    void *statistic;   /* [B G, H, w] */
    int32_t *query_index, *key_index, *query_lengths, *key_lengths;
    mgk_groups groups;
} arrays;

static sizes sizes_of(const mgk_attention_size *size, int samples)
{
    sizes out = {.chunk = mgk_at_most_tokens(size, size->settings->window)};
    out.groups = ((size_t)size->tokens + out.chunk - 1) / out.chunk;
    out.places = (size_t)samples * (size_t)size->heads * out.groups * out.chunk;
    out.packed = out.places * (size_t)size->dim;
    return out;
}

/* Scratch: packed values, outputs and gradients. Integers take the place of reals. */
static mgk_kind_memory memory(const mgk_attention_size *size, int samples, bool training)
{
    const sizes s = sizes_of(size, samples);
    return (mgk_kind_memory){.kept = 3 * s.packed + 4 * s.places + 2 * (size_t)samples * s.groups,
                             .scratch = (training ? 9 : 3) * s.packed};
}

static arrays arrays_of(const mgk_device *device, const mgk_attention_view *view,
                        const mgk_attention_layer *layer)
{
    arrays out = {.s = sizes_of(&layer->size, view->samples), .dim = (size_t)view->dim};
    const sizes *s = &out.s;
    out.query = layer->kept;
    out.key = mgk_at(device, out.query, s->packed);
    out.statistic = mgk_at(device, out.key, 2 * s->packed);
    out.query_index = mgk_at(device, out.statistic, s->places);
    out.key_index = mgk_at(device, out.query_index, s->places);
    out.query_lengths = mgk_at(device, out.key_index, 2 * s->places);
    out.key_lengths = mgk_at(device, out.query_lengths, (size_t)view->samples * s->groups);
    out.groups = (mgk_groups){.samples = (size_t)view->samples,
                              .heads = (size_t)view->heads,
                              .tokens = (size_t)view->tokens,
                              .groups = s->groups,
                              .queries = s->chunk,
                              .keys = 2 * s->chunk,
                              .query = out.query_index,
                              .key = out.key_index,
                              .query_lengths = out.query_lengths,
                              .key_lengths = out.key_lengths};
    return out;
}

static mgk_packed packed_of(const arrays *a)
{
    return (mgk_packed){a->dim, a->groups.heads * a->dim, a->query, a->key, false};
}

/* Appends the tokens of a chunk to those of a group; the number then. */
static size_t append_chunk(size_t n, size_t chunk, size_t which, size_t count, int32_t *tokens)
{
    for (size_t t = which * chunk; t < (which + 1) * chunk && t < n; t++)
        tokens[count++] = (int32_t)t;
    return count;
}

/*
 * Group g of a sample with n tokens, all else is −1. Of its two chunks of keys the last one of the
 * sample stands behind the other, as it may be shorter.
 */
static void fill_group(size_t n, size_t chunk, size_t g, int32_t *query, int32_t *key,
                       int32_t *queries, int32_t *keys)
{
    const size_t chunks = (n + chunk - 1) / chunk,
                 before = (g + chunks - 1) % (chunks ? chunks : 1);
    size_t count = 0;
    for (size_t i = 0; i < chunk; i++)
        query[i] = key[i] = key[chunk + i] = -1;
    *queries = (int32_t)append_chunk(n, chunk, g, 0, query);
    if (g < chunks) {
        count = append_chunk(n, chunk, g < before ? g : before, count, key);
        if (before != g)
            count = append_chunk(n, chunk, g < before ? before : g, count, key);
    }
    *keys = (int32_t)count;
}

/* Fills the index and the lengths of the device; all heads of a sample have the same. */
static mgk_status fill_groups(mgk_device *device, const arrays *a, const int32_t *view_lengths)
{
    const mgk_groups *g = &a->groups;
    const size_t rows = g->samples * g->heads, own = g->groups * g->queries;
    const size_t groups = g->samples * g->groups;
    int32_t *lengths = NULL, *index = NULL;
    mgk_status status;
    CHECK(mgk_device_indices(device, view_lengths, g->samples, &lengths));
    CHECK(mgk_alloc(3 * rows * own + 2 * groups, sizeof *index, &index));
    int32_t *key = index + rows * own, *queries = key + 2 * rows * own, *keys = queries + groups;
    for (size_t i = 0; i < rows * g->groups; i++) {
        const size_t sample = i / g->groups / g->heads, at = sample * g->groups + i % g->groups;
        fill_group((size_t)lengths[sample], g->queries, i % g->groups, index + i * g->queries,
                   key + i * g->keys, queries + at, keys + at);
    }
    CHECK(device->op->upload(device, a->query_index, index, rows * own * sizeof *index));
    CHECK(device->op->upload(device, a->key_index, key, 2 * rows * own * sizeof *index));
    CHECK(device->op->upload(device, a->query_lengths, queries, groups * sizeof *index));
    CHECK(device->op->upload(device, a->key_lengths, keys, groups * sizeof *index));
out:
    mgk_free(lengths);
    mgk_free(index);
    return status;
}

static mgk_status prepare(mgk_device *device, const mgk_attention_view *view,
                          const mgk_attention_layer *layer)
{
    const arrays a = arrays_of(device, view, layer);
    TRY(fill_groups(device, &a, view->lengths));
    TRY(mgk_groups_pack(device, &a.groups, false, a.dim, view->query, view->query_stride, a.query));
    return mgk_groups_pack(device, &a.groups, true, a.dim, view->key, view->key_stride, a.key);
}

static mgk_status forward(mgk_device *device, const mgk_attention_view *view,
                          const mgk_attention_layer *layer, void *output, size_t output_stride)
{
    const arrays a = arrays_of(device, view, layer);
    const mgk_groups *g = &a.groups;
    const mgk_packed packed = packed_of(&a);
    const mgk_mixture mixture = mgk_dot_products(view);
    const size_t width = g->heads * a.dim;
    void *values = layer->scratch, *part = mgk_at(device, values, 2 * a.s.packed);
    const mgk_attention_view own = mgk_groups_view(g, &packed, values, a.dim);
    TRY(mgk_groups_pack(device, g, true, a.dim, view->value, view->value_stride, values));
    TRY(device->op->mixture_attention(device, &own, &mixture, part, width, a.statistic));
    TRY(mgk_zero_rows(device, g->samples * g->tokens, width, output_stride, output));
    return mgk_groups_unpack(device, g, false, a.dim, part, output, output_stride);
}

static mgk_status backward(mgk_device *device, const mgk_attention_view *view,
                           const mgk_attention_layer *layer, const void *output,
                           const void *doutput, size_t output_stride,
                           const mgk_layer_gradient *gradient)
{
    const arrays a = arrays_of(device, view, layer);
    const mgk_groups *g = &a.groups;
    const mgk_packed packed = packed_of(&a);
    const mgk_mixture mixture = mgk_dot_products(view);
    const mgk_attention_gradient *out = &gradient->view;
    const size_t width = g->heads * a.dim, rows = g->samples * g->tokens, each = a.s.packed;
    void *values = layer->scratch, *part = mgk_at(device, values, 2 * each);
    void *dpart = mgk_at(device, part, each);
    const mgk_attention_gradient inner = {.query = mgk_at(device, dpart, each),
                                          .key = mgk_at(device, dpart, 2 * each),
                                          .value = mgk_at(device, dpart, 4 * each)};
    const mgk_attention_view own = mgk_groups_view(g, &packed, values, a.dim);
    TRY(mgk_groups_pack(device, g, true, a.dim, view->value, view->value_stride, values));
    TRY(mgk_groups_pack(device, g, false, a.dim, output, output_stride, part));
    TRY(mgk_groups_pack(device, g, false, a.dim, doutput, output_stride, dpart));
    TRY(device->op->mixture_attention_backward(device, &own, &mixture, part, a.statistic, dpart,
                                               width, &inner));
    TRY(mgk_zero_rows(device, rows, width, view->query_stride, out->query));
    TRY(mgk_zero_rows(device, rows, width, view->key_stride, out->key));
    TRY(mgk_zero_rows(device, rows, width, view->value_stride, out->value));
    TRY(mgk_groups_unpack(device, g, false, a.dim, inner.query, out->query, view->query_stride));
    TRY(mgk_groups_unpack(device, g, true, a.dim, inner.key, out->key, view->key_stride));
    return mgk_groups_unpack(device, g, true, a.dim, inner.value, out->value, view->value_stride);
}

static mgk_status add_head(mgk_device *device, const mgk_attention_view *view,
                           const mgk_attention_layer *layer, size_t sample, size_t head, void *out)
{
    const arrays a = arrays_of(device, view, layer);
    const mgk_packed all = packed_of(&a);
    const mgk_groups g = mgk_groups_head(&a.groups, sample, head);
    const mgk_packed packed = mgk_packed_head(device, &a.groups, &all, sample, head);
    const mgk_mixture mixture = mgk_dot_products(view);
    return mgk_groups_matrix(device, &g, &packed, &mixture, NULL, out);
}

static mgk_status matrix(mgk_device *device, const mgk_attention_view *view,
                         const mgk_attention_layer *layer, mgk_matrix_content content, int sample,
                         const int32_t *heads, int count, void *out)
{
    (void)content;
    return mgk_matrix_by_heads(device, view, layer, add_head, sample, heads, count, out);
}

/* Pairs of each chunk with two. */
static double flops(const mgk_attention_kind *kind, const mgk_attention_size *size)
{
    const sizes s = sizes_of(size, 1);
    (void)kind;
    return (double)s.places * 2 * (double)s.chunk * (4.0 * size->dim + 5);
}

static const mgk_attention_methods methods = {.primitives = "tile",
                                              .memory = memory,
                                              .prepare = prepare,
                                              .forward = forward,
                                              .backward = backward,
                                              .matrix = matrix};

const mgk_attention_kind mgk_attention_ring = {
    .name = "ring",
    .score = "exp(q_i.k_j / sqrt(D)) where j in i's chunk of window tokens or before it in a ring",
    .rank_bound = "N",
    .defaults = {.window = 64},
    .not_causal = true,
    .methods = &methods,
    .flops = flops,
};
