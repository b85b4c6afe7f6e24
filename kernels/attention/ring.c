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

/* Chunks of queries, and two of keys for each. */
static mgk_groups sizes_of(const mgk_attention_size *size, int samples)
{
    const size_t tokens = (size_t)size->tokens,
                 chunk = mgk_at_most_tokens(size, size->settings->window);
    return (mgk_groups){.samples = (size_t)samples,
                        .heads = (size_t)size->heads,
                        .tokens = tokens,
                        .groups = (tokens + chunk - 1) / chunk,
                        .queries = chunk,
                        .keys = 2 * chunk};
}

/* Scratch: packed values, outputs and gradients. */
static mgk_kind_memory memory(const mgk_attention_size *size, int samples, bool training)
{
    const mgk_groups g = sizes_of(size, samples);
    const size_t dim = (size_t)size->dim;
    return (mgk_kind_memory){.kept = mgk_group_arrays_reals(&g, dim),
                             .scratch = (training ? 9 : 3) * mgk_groups_queries(&g) * dim};
}

static mgk_group_arrays arrays_of(const mgk_device *device, const mgk_attention_view *view,
                                  const mgk_attention_layer *layer)
{
    const mgk_groups g = sizes_of(&layer->size, view->samples);
    return mgk_group_arrays_at(device, &g, (size_t)view->dim, layer->kept);
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
static mgk_status fill_groups(mgk_device *device, const mgk_group_arrays *a,
                              const int32_t *view_lengths)
{
    const mgk_groups *g = &a->groups;
    const size_t rows = g->samples * g->heads, count = mgk_group_index_count(g);
    int32_t *lengths = NULL, *index = NULL;
    mgk_status status;
    CHECK(mgk_device_indices(device, view_lengths, g->samples, &lengths));
    CHECK(mgk_alloc(count, sizeof *index, &index));
    const mgk_group_index host = mgk_group_index_at(g, index);
    for (size_t i = 0; i < rows * g->groups; i++) {
        const size_t sample = i / g->groups / g->heads, at = sample * g->groups + i % g->groups;
        fill_group((size_t)lengths[sample], g->queries, i % g->groups, host.query + i * g->queries,
                   host.key + i * g->keys, host.query_lengths + at, host.key_lengths + at);
    }
    CHECK(device->op->upload(device, a->index, index, count * sizeof *index));
out:
    mgk_free(lengths);
    mgk_free(index);
    return status;
}

static mgk_status prepare(mgk_device *device, const mgk_attention_view *view,
                          const mgk_attention_layer *layer)
{
    const mgk_group_arrays a = arrays_of(device, view, layer);
    TRY(fill_groups(device, &a, view->lengths));
    TRY(mgk_groups_pack(device, &a.groups, false, a.dim, view->query, view->query_stride, a.query));
    return mgk_groups_pack(device, &a.groups, true, a.dim, view->key, view->key_stride, a.key);
}

static mgk_status forward(mgk_device *device, const mgk_attention_view *view,
                          const mgk_attention_layer *layer, void *output, size_t output_stride)
{
    const mgk_group_arrays a = arrays_of(device, view, layer);
    const mgk_mixture mixture = mgk_dot_products(view);
    void *values = layer->scratch, *part = mgk_at(device, values, 2 * a.packed);
    TRY(mgk_groups_pack(device, &a.groups, true, a.dim, view->value, view->value_stride, values));
    TRY(mgk_groups_attend(device, &a, &mixture, values, part));
    return mgk_groups_spread(device, &a.groups, false, a.dim, part, output, output_stride);
}

static mgk_status backward(mgk_device *device, const mgk_attention_view *view,
                           const mgk_attention_layer *layer, const void *output,
                           const void *doutput, size_t output_stride,
                           const mgk_layer_gradient *gradient)
{
    const mgk_group_arrays a = arrays_of(device, view, layer);
    const mgk_groups *g = &a.groups;
    const mgk_mixture mixture = mgk_dot_products(view);
    const mgk_attention_gradient *out = &gradient->view;
    mgk_attention_gradient inner = {0};
    void *values = layer->scratch, *room = mgk_at(device, values, 2 * a.packed);
    TRY(mgk_groups_pack(device, g, true, a.dim, view->value, view->value_stride, values));
    TRY(mgk_groups_attend_backward(device, &a, &mixture, values, output, doutput, output_stride,
                                   room, &inner));
    TRY(mgk_groups_spread(device, g, false, a.dim, inner.query, out->query, view->query_stride));
    TRY(mgk_groups_spread(device, g, true, a.dim, inner.key, out->key, view->key_stride));
    return mgk_groups_spread(device, g, true, a.dim, inner.value, out->value, view->value_stride);
}

static mgk_status add_head(mgk_device *device, const mgk_attention_view *view,
                           const mgk_attention_layer *layer, size_t sample, size_t head, void *out)
{
    const mgk_group_arrays a = arrays_of(device, view, layer);
    const mgk_packed all = mgk_group_arrays_packed(&a);
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
    const mgk_groups g = sizes_of(size, 1);
    (void)kind;
    return (double)mgk_groups_queries(&g) * (double)g.keys * (4.0 * size->dim + 5);
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
    .plain_sums = true,
    .methods = &methods,
    .flops = flops,
};
