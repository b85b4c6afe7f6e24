/* SPDX-License-Identifier: MIT */
/*
 * Routing attention (Roy et al. 2021). Queries and keys get the length √D. Each of C centroids
 * takes the w = ⌈n / C⌉ queries and the w keys with the largest products with it, n valid tokens of
 * the sample, and its queries have a softmax over its keys:
 *     A = mean over the query's clusters c of softmax_(j in c)(q_i·k_j / √D),
 * 0 for a query in no cluster. Causal attention has keys that are the queries, so that both have
 * the same clusters. The centroids are drawn; the choice of tokens has no gradient.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "kernels/attention/groups.h"
#include "kernels/attention/kinds.h"
#include "kernels/attention/primitives.h"

static const double epsilon = 1e-6; /* of lengths */

/* What a layer keeps. */
typedef struct arrays {
    size_t dim, all, packed;  /* D; numbers of tokens, and of packed ones */
    size_t most;              /* w of the longest sample */
    void *query, *key;        /* packed, of length √D */
    void *output, *statistic; /* of packed queries */
    int32_t *query_index, *key_index;
    int32_t *counts;  /* clusters of each query [B, H, N] */
    int32_t *lengths; /* w of each cluster, [B C] */
    mgk_groups groups;
} arrays;

static size_t cluster_size(size_t tokens, size_t clusters)
{
    return (tokens + clusters - 1) / clusters;
}

/*
 * Scratch: queries and keys of the same length, and their products with centroids; or packed
 * values, outputs and gradients; or weights of packed queries, which are fewer.
 */
static mgk_kind_memory memory(const mgk_attention_size *size, int samples, bool training)
{
    const size_t tokens = (size_t)size->tokens, heads = (size_t)size->heads;
    const size_t clusters = (size_t)size->settings->clusters;
    const size_t places = clusters * cluster_size(tokens, clusters), rows = (size_t)samples * heads;
    const size_t dim = (size_t)size->dim;
    const size_t all = rows * tokens * dim, packed = rows * places * dim;
    const size_t chosen = 2 * all + rows * clusters * tokens;
    const size_t pass = training ? 2 * all + 5 * packed : all + packed;
    return (mgk_kind_memory){.kept = 3 * packed + rows * (3 * places + tokens) +
                                     (size_t)samples * clusters,
                             .scratch = chosen > pass ? chosen : pass};
}

static arrays arrays_of(const mgk_device *device, const mgk_attention_view *view,
                        const mgk_attention_layer *layer)
{
    const size_t clusters = (size_t)layer->size.settings->clusters;
    const size_t tokens = (size_t)view->tokens, heads = (size_t)view->heads;
    const size_t rows = (size_t)view->samples * heads, w = cluster_size(tokens, clusters);
    arrays out = {.dim = (size_t)view->dim, .most = w};
    out.all = rows * tokens * out.dim;
    out.packed = rows * clusters * w * out.dim;
    out.query = layer->kept;
    out.key = mgk_at(device, out.query, out.packed);
    out.output = mgk_at(device, out.key, out.packed);
    out.statistic = mgk_at(device, out.output, out.packed);
    out.query_index = mgk_at(device, out.statistic, rows * clusters * w);
    out.key_index = mgk_at(device, out.query_index, rows * clusters * w);
    out.counts = mgk_at(device, out.key_index, rows * clusters * w);
    out.lengths = mgk_at(device, out.counts, rows * tokens);
    if (view->causal) {
        out.key = out.query;
        out.key_index = out.query_index;
    }
    out.groups = (mgk_groups){.samples = (size_t)view->samples,
                              .heads = heads,
                              .tokens = tokens,
                              .groups = clusters,
                              .queries = w,
                              .keys = w,
                              .query = out.query_index,
                              .key = out.key_index,
                              .query_lengths = out.lengths,
                              .key_lengths = out.lengths};
    return out;
}

static mgk_packed packed_of(const mgk_attention_view *view, const arrays *a)
{
    return (mgk_packed){a->dim, a->groups.heads * a->dim, a->query, a->key, view->causal};
}

static int ascending(const void *x, const void *y)
{
    const int32_t a = *(const int32_t *)x, b = *(const int32_t *)y;
    return (a > b) - (a < b);
}

/* Of the tokens of each cluster, best first, keeps those of the sample's w, and sorts them by
 * position. counts receives in how many clusters each token is. */
static void sort_clusters(const arrays *a, const int32_t *lengths, int32_t *index, int32_t *counts)
{
    const mgk_groups *g = &a->groups;
    memset(counts, 0, g->samples * g->heads * g->tokens * sizeof *counts);
    for (size_t row = 0; row < g->samples * g->heads * g->groups; row++) {
        int32_t *tokens = index + row * a->most;
        const size_t matrix = row / g->groups;
        const size_t w = cluster_size((size_t)lengths[matrix / g->heads], g->groups);
        for (size_t i = w; i < a->most; i++)
            tokens[i] = -1;
        qsort(tokens, w, sizeof *tokens, ascending);
        for (size_t i = 0; i < w; i++)
            counts[matrix * g->tokens + (size_t)tokens[i]]++;
    }
}

/* Sorts an index of the device, `lengths` on the host; fills `counts` of the device. */
static mgk_status sort_index(mgk_device *device, const arrays *a, const int32_t *lengths,
                             int32_t *index, int32_t *counts)
{
    const mgk_groups *g = &a->groups;
    const size_t rows = g->samples * g->heads, places = rows * g->groups * a->most;
    int32_t *host = NULL, *counted = NULL;
    mgk_status status;
    CHECK(mgk_device_indices(device, index, places, &host));
    CHECK(mgk_alloc(rows * g->tokens, sizeof *counted, &counted));
    sort_clusters(a, lengths, host, counted);
    CHECK(device->op->upload(device, index, host, places * sizeof *host));
    CHECK(device->op->upload(device, counts, counted, rows * g->tokens * sizeof *counted));
out:
    mgk_free(host);
    mgk_free(counted);
    return status;
}

/* w of each cluster of each sample. */
static mgk_status fill_lengths(mgk_device *device, const arrays *a, const int32_t *lengths)
{
    for (size_t i = 0; i < a->groups.samples * a->groups.groups; i++) {
        const int32_t w =
            (int32_t)cluster_size((size_t)lengths[i / a->groups.groups], a->groups.groups);
        TRY(device->op->upload(device, a->lengths + i, &w, sizeof w));
    }
    return STATUS_OK;
}

/* The clusters of tokens x of length √D without gaps; products [B, H, C, N] are memory. */
static mgk_status choose(mgk_device *device, const mgk_attention_view *view,
                         const mgk_attention_layer *layer, const arrays *a, const void *x,
                         void *products, int32_t *index)
{
    const size_t clusters = a->groups.groups, n = a->groups.tokens;
    const mgk_head_tokens tokens = mgk_view_tokens(view, a->groups.heads * a->dim);
    const mgk_batched_product product = {.samples = a->groups.samples,
                                         .heads = a->groups.heads,
                                         .m = clusters,
                                         .n = n,
                                         .k = a->dim,
                                         .transpose_b = true,
                                         .alpha = 1,
                                         .a = {0, clusters * a->dim, a->dim},
                                         .b = mgk_token_strides(&tokens),
                                         .c = {a->groups.heads * clusters * n, clusters * n, n}};
    TRY(device->op->dense->batched_multiply(device, &product, layer->parameters[0], x, products));
    return device->op->dense->top_rows(device, a->groups.samples, a->groups.heads * clusters, n,
                                       view->lengths, a->most, products, index);
}

/* Queries or keys of length √D, their clusters, and those of each cluster packed. */
static mgk_status assign(mgk_device *device, const mgk_attention_view *view,
                         const mgk_attention_layer *layer, const arrays *a, const int32_t *lengths,
                         bool keys)
{
    const mgk_head_tokens tokens =
        mgk_view_tokens(view, keys ? view->key_stride : view->query_stride);
    int32_t *index = keys ? a->key_index : a->query_index;
    void *unit = layer->scratch, *products = mgk_at(device, unit, a->all);
    TRY(device->op->dense->unit_tokens(device, &tokens, epsilon, keys ? view->key : view->query,
                                       unit));
    TRY(choose(device, view, layer, a, unit, products, index));
    TRY(sort_index(device, a, lengths, index, keys ? products : a->counts));
    return mgk_groups_pack(device, &a->groups, keys, a->dim, unit, a->groups.heads * a->dim,
                           keys ? a->key : a->query);
}

static mgk_status prepare(mgk_device *device, const mgk_attention_view *view,
                          const mgk_attention_layer *layer)
{
    const arrays a = arrays_of(device, view, layer);
    int32_t *lengths;
    TRY(mgk_device_indices(device, view->lengths, a.groups.samples, &lengths));
    mgk_status status = fill_lengths(device, &a, lengths);
    if (status == STATUS_OK)
        status = assign(device, view, layer, &a, lengths, false);
    if (status == STATUS_OK && !view->causal)
        status = assign(device, view, layer, &a, lengths, true);
    mgk_free(lengths);
    return status;
}

/* Clusters as samples, and the mean over those of each token. */
static mgk_head_tokens packed_tokens(const mgk_groups *g, size_t dim)
{
    return (mgk_head_tokens){g->samples, g->groups * g->queries, g->heads,
                             dim,        g->heads * dim,         NULL};
}

static mgk_status forward(mgk_device *device, const mgk_attention_view *view,
                          const mgk_attention_layer *layer, void *output, size_t output_stride)
{
    const arrays a = arrays_of(device, view, layer);
    const mgk_packed packed = packed_of(view, &a);
    const mgk_head_tokens tokens = packed_tokens(&a.groups, a.dim);
    const mgk_mixture mixture = mgk_dot_products(view);
    void *value = layer->scratch, *mean = mgk_at(device, value, a.packed);
    const mgk_attention_view own = mgk_groups_view(&a.groups, &packed, value, a.dim);
    TRY(mgk_groups_pack(device, &a.groups, true, a.dim, view->value, view->value_stride, value));
    TRY(device->op->mixture_attention(device, &own, &mixture, a.output, tokens.stride,
                                      a.statistic));
    TRY(device->op->dense->group_means(device, &tokens, a.groups.tokens, a.query_index, a.counts,
                                       a.output, mean));
    return mgk_copy_rows(device, a.groups.samples * a.groups.tokens, tokens.stride, mean,
                         tokens.stride, output, output_stride);
}

/* The gradient of queries or keys from that of packed ones of length √D. */
static mgk_status unit_backward(mgk_device *device, const mgk_attention_view *view, const arrays *a,
                                bool keys, void *unit, void *dx)
{
    const size_t width = a->groups.heads * a->dim, rows = a->groups.samples * a->groups.tokens;
    const mgk_head_tokens tokens =
        mgk_view_tokens(view, keys ? view->key_stride : view->query_stride);
    TRY(mgk_zero_rows(device, rows, width, tokens.stride, dx));
    return device->op->dense->unit_tokens_backward(device, &tokens, epsilon,
                                                   keys ? view->key : view->query, unit, dx);
}

static mgk_status backward(mgk_device *device, const mgk_attention_view *view,
                           const mgk_attention_layer *layer, const void *output,
                           const void *doutput, size_t output_stride,
                           const mgk_layer_gradient *gradient)
{
    const arrays a = arrays_of(device, view, layer);
    const mgk_packed packed = packed_of(view, &a);
    const mgk_groups *g = &a.groups;
    const mgk_head_tokens tokens = packed_tokens(g, a.dim);
    const mgk_mixture mixture = mgk_dot_products(view);
    const size_t width = tokens.stride, rows = g->samples * g->tokens;
    void *dy = layer->scratch, *unit = mgk_at(device, dy, a.all);
    void *value = mgk_at(device, unit, a.all), *dpacked = mgk_at(device, value, a.packed);
    const mgk_attention_gradient inner = {.query = mgk_at(device, dpacked, a.packed),
                                          .key = mgk_at(device, dpacked, 2 * a.packed),
                                          .value = mgk_at(device, dpacked, 3 * a.packed)};
    const mgk_attention_view own = mgk_groups_view(g, &packed, value, a.dim);
    (void)output;
    TRY(mgk_groups_pack(device, g, true, a.dim, view->value, view->value_stride, value));
    TRY(mgk_copy_rows(device, rows, width, doutput, output_stride, dy, width));
    TRY(device->op->zero(device, dpacked, a.packed * device->real_size));
    TRY(device->op->dense->group_means_backward(device, &tokens, g->tokens, a.query_index, a.counts,
                                                dy, dpacked));
    TRY(device->op->mixture_attention_backward(device, &own, &mixture, a.output, a.statistic,
                                               dpacked, width, &inner));
    TRY(mgk_zero_rows(device, rows, width, view->value_stride, gradient->view.value));
    TRY(mgk_groups_unpack(device, g, true, a.dim, inner.value, gradient->view.value,
                          view->value_stride));
    TRY(device->op->zero(device, unit, a.all * device->real_size));
    TRY(mgk_groups_unpack(device, g, false, a.dim, inner.query, unit, width));
    if (!view->causal) {
        TRY(unit_backward(device, view, &a, false, unit, gradient->view.query));
        TRY(device->op->zero(device, unit, a.all * device->real_size));
    }
    TRY(mgk_groups_unpack(device, g, true, a.dim, inner.key, unit, width));
    if (!view->causal)
        return unit_backward(device, view, &a, true, unit, gradient->view.key);
    TRY(mgk_zero_rows(device, rows, width, view->key_stride, gradient->view.key));
    return unit_backward(device, view, &a, false, unit, gradient->view.query);
}

/* 1 / the number of clusters of each packed query of a head, weight [C w] of the device. */
static mgk_status find_shares(mgk_device *device, const mgk_groups *g, const int32_t *counts,
                              void *weight)
{
    const size_t places = g->groups * g->queries;
    int32_t *query = NULL, *count = NULL;
    double *share = NULL;
    mgk_status status;
    CHECK(mgk_device_indices(device, g->query, places, &query));
    CHECK(mgk_device_indices(device, counts, g->tokens, &count));
    CHECK(mgk_alloc(places, sizeof *share, &share));
    for (size_t i = 0; i < places; i++)
        share[i] = query[i] < 0 ? 0 : 1. / count[query[i]];
    CHECK(mgk_device_upload(device, share, places, weight));
out:
    mgk_free(query);
    mgk_free(count);
    mgk_free(share);
    return status;
}

static mgk_status add_head(mgk_device *device, const mgk_attention_view *view,
                           const mgk_attention_layer *layer, size_t sample, size_t head, void *out)
{
    const arrays a = arrays_of(device, view, layer);
    const mgk_packed all = packed_of(view, &a);
    const mgk_groups g = mgk_groups_head(&a.groups, sample, head);
    const mgk_packed packed = mgk_packed_head(device, &a.groups, &all, sample, head);
    const mgk_mixture mixture = mgk_dot_products(view);
    void *weight = layer->scratch;
    TRY(find_shares(device, &g, a.counts + (sample * a.groups.heads + head) * g.tokens, weight));
    return mgk_groups_matrix(device, &g, &packed, &mixture, weight, out);
}

/* Rows are means of several softmaxes: there are no scores before them, and scores are A. */
static mgk_status matrix(mgk_device *device, const mgk_attention_view *view,
                         const mgk_attention_layer *layer, mgk_matrix_content content, int sample,
                         const int32_t *heads, int count, void *out)
{
    (void)content;
    return mgk_matrix_by_heads(device, view, layer, add_head, sample, heads, count, out);
}

static int parameters(const mgk_attention_size *size, mgk_kind_parameter out[MGK_KIND_PARAMETERS])
{
    out[0] = (mgk_kind_parameter){
        .name = "centroids",
        .axes = 3,
        .shape = {(size_t)size->heads, (size_t)size->settings->clusters, (size_t)size->dim},
        .initial = MGK_INITIAL_NORMAL,
        .value = 1,
        .drawn = true};
    return 1;
}

/* Products of tokens with centroids, and the pairs of each cluster. */
static double flops(const mgk_attention_kind *kind, const mgk_attention_size *size)
{
    const double clusters = size->settings->clusters, tokens = size->tokens, dim = size->dim;
    const double w = (double)cluster_size((size_t)size->tokens, (size_t)size->settings->clusters);
    const double pairs = clusters * (size->causal ? w * (w + 1) / 2 : w * w);
    (void)kind;
    return size->heads *
           ((size->causal ? 1 : 2) * tokens * dim * (2 * clusters + 3) + pairs * (4 * dim + 5));
}

static const mgk_attention_methods methods = {.primitives = "assignment, tile",
                                              .memory = memory,
                                              .prepare = prepare,
                                              .forward = forward,
                                              .backward = backward,
                                              .matrix = matrix};

const mgk_attention_kind mgk_attention_routing = {
    .name = "routing",
    .score = "mean over i's clusters of softmax(q_i.k_j / sqrt(D)) in each",
    .rank_bound = "N",
    .defaults = {.clusters = 16},
    .choice_looks_ahead = true,
    .may_be_blank = true,
    .plain_sums = true,
    .methods = &methods,
    .parameters = parameters,
    .flops = flops,
};
