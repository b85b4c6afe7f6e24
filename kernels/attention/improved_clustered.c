/* SPDX-License-Identifier: MIT */
/*
 * Improved clustered attention (Vyas et al. 2020): a query has the row of its cluster,
 *     c = softmax(mean of the cluster's queries · K / √D),
 * but for the k keys T that are largest in it. Their share m = Σ_T c_j stays, and each query has
 * its own softmax of it:
 *     a_ij = c_j for j not in T,   a_ij = m softmax_T(q_i·k_j / √D) for j in T.
 * Time and memory are O(N (C + k)). The choice of clusters and keys has no gradient.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "kernels/attention/clusters.h"
#include "kernels/attention/groups.h"
#include "kernels/attention/kinds.h"
#include "kernels/attention/primitives.h"

enum { GROUP_QUERIES = 32 }; /* queries of one cluster that are computed together, at most */

/* The sizes of a layer. */
typedef struct sizes {
    size_t samples, heads, tokens, dim, clusters, top; /* C, k, which is not more than N */
    size_t few, all, queries, keys; /* numbers of means, of tokens, of packed ones */
    size_t maps, chosen, rows;      /* of c, of T, and B H C */
    mgk_groups groups;              /* ⌈N / 32⌉ + min(C, N): enough for any clusters */
} sizes;

/* What a layer keeps. */
typedef struct arrays {
    sizes s;
    mgk_clusters clusters;
    void *map, *rest, *mass; /* c, and c but for T, [B, H, C, N]; m [B, H, C] */
    void *own;               /* output of each query's softmax over T, [B, N, H, D] */
    int32_t *top;            /* T, [B, H, C, k] */
    mgk_group_arrays kept;
} arrays;

static sizes sizes_of(const mgk_attention_size *size, int samples)
{
    sizes s = {.samples = (size_t)samples,
               .heads = (size_t)size->heads,
               .tokens = (size_t)size->tokens,
               .dim = (size_t)size->dim,
               .clusters = (size_t)size->settings->clusters};
    const size_t matrices = s.samples * s.heads;
    s.top = mgk_at_most_tokens(size, size->settings->landmarks);
    s.groups = (mgk_groups){.samples = s.samples,
                            .heads = s.heads,
                            .tokens = s.tokens,
                            .groups = (s.tokens + GROUP_QUERIES - 1) / GROUP_QUERIES +
                                      mgk_at_most_tokens(size, size->settings->clusters),
                            .queries = GROUP_QUERIES,
                            .keys = s.top};
    s.queries = mgk_groups_queries(&s.groups) * s.dim;
    s.keys = mgk_groups_keys(&s.groups) * s.dim;
    s.rows = matrices * s.clusters;
    s.few = s.rows * s.dim;
    s.all = matrices * s.tokens * s.dim;
    s.maps = s.rows * s.tokens;
    s.chosen = s.rows * s.top;
    return s;
}

/*
 * Scratch: hashes of queries and of clusters; or weights of chosen keys; or outputs of clusters,
 * packed values and outputs, and gradients; or m of one head's queries. Integers take the place of
 * reals.
 */
static mgk_kind_memory memory(const mgk_attention_size *size, int samples, bool training)
{
    const sizes s = sizes_of(size, samples);
    const size_t places = s.groups.groups * GROUP_QUERIES;
    const size_t hashes = mgk_clusters_scratch(size, samples);
    const size_t pass =
        training ? 2 * s.few + s.maps + s.chosen + 2 * s.rows + s.all + 3 * s.queries + 3 * s.keys
                 : s.few + s.keys + s.queries;
    const size_t masses = places + s.tokens;
    size_t most = hashes > pass ? hashes : pass;
    most = most > s.chosen + s.rows ? most : s.chosen + s.rows;
    return (mgk_kind_memory){.kept = s.few + s.samples * s.heads * s.tokens + s.rows + 2 * s.maps +
                                     s.rows + s.all + s.chosen +
                                     mgk_group_arrays_reals(&s.groups, s.dim),
                             .scratch = most > masses ? most : masses};
}

static arrays arrays_of(const mgk_device *device, const mgk_attention_view *view,
                        const mgk_attention_layer *layer)
{
    arrays out = {.s = sizes_of(&layer->size, view->samples)};
    const sizes *s = &out.s;
    const size_t matrices = s->samples * s->heads;
    out.clusters.groups =
        (mgk_head_tokens){s->samples, s->clusters, s->heads, s->dim, s->heads * s->dim, NULL};
    out.clusters.queries = layer->kept;
    out.clusters.cluster = mgk_at(device, out.clusters.queries, s->few);
    out.clusters.sizes = mgk_at(device, out.clusters.cluster, matrices * s->tokens);
    out.map = mgk_at(device, out.clusters.sizes, s->rows);
    out.rest = mgk_at(device, out.map, s->maps);
    out.mass = mgk_at(device, out.rest, s->maps);
    out.own = mgk_at(device, out.mass, s->rows);
    out.top = mgk_at(device, out.own, s->all);
    out.kept = mgk_group_arrays_at(device, &s->groups, s->dim, mgk_at(device, out.top, s->chosen));
    return out;
}

/* One head of one sample with n tokens: the queries of each cluster, 32 at a time, and its keys. */
static void fill_head(const sizes *s, size_t n, const int32_t *cluster, const int32_t *top,
                      int32_t *query, int32_t *key)
{
    size_t group = 0;
    for (size_t i = 0; i < s->groups.groups * GROUP_QUERIES; i++)
        query[i] = -1;
    for (size_t i = 0; i < s->groups.groups * s->top; i++)
        key[i] = -1;
    for (size_t c = 0; c < s->clusters; c++) {
        size_t count = 0;
        for (size_t t = 0; t < n; t++)
            if (cluster[t] == (int32_t)c) {
                const size_t own = group + count / GROUP_QUERIES;
                if (count % GROUP_QUERIES == 0)
                    memcpy(key + own * s->top, top + c * s->top, s->top * sizeof *key);
                query[own * GROUP_QUERIES + count++ % GROUP_QUERIES] = (int32_t)t;
            }
        group += (count + GROUP_QUERIES - 1) / GROUP_QUERIES;
    }
}

/* Groups of samples with tokens have all queries, some of which are of no token, and all keys. */
static void fill_lengths(const sizes *s, const int32_t *lengths, int32_t *queries, int32_t *keys)
{
    for (size_t i = 0; i < s->samples * s->groups.groups; i++) {
        const size_t n = (size_t)lengths[i / s->groups.groups];
        queries[i] = n > 0 ? GROUP_QUERIES : 0;
        keys[i] = (int32_t)(n < s->top ? n : s->top);
    }
}

static mgk_status fill_groups(mgk_device *device, const arrays *a, const int32_t *view_lengths)
{
    const sizes *s = &a->s;
    const size_t matrices = s->samples * s->heads, count = mgk_group_index_count(&s->groups);
    const size_t queries = s->groups.groups * GROUP_QUERIES, keys = s->groups.groups * s->top;
    int32_t *lengths = NULL, *cluster = NULL, *top = NULL, *index = NULL;
    mgk_status status;
    CHECK(mgk_device_indices(device, view_lengths, s->samples, &lengths));
    CHECK(mgk_device_indices(device, a->clusters.cluster, matrices * s->tokens, &cluster));
    CHECK(mgk_device_indices(device, a->top, s->chosen, &top));
    CHECK(mgk_alloc(count, sizeof *index, &index));
    const mgk_group_index host = mgk_group_index_at(&s->groups, index);
    for (size_t m = 0; m < matrices; m++)
        fill_head(s, (size_t)lengths[m / s->heads], cluster + m * s->tokens,
                  top + m * s->clusters * s->top, host.query + m * queries, host.key + m * keys);
    fill_lengths(s, lengths, host.query_lengths, host.key_lengths);
    CHECK(device->op->upload(device, a->kept.index, index, count * sizeof *index));
out:
    mgk_free(lengths);
    mgk_free(cluster);
    mgk_free(top);
    mgk_free(index);
    return status;
}

/* Rows of maps as samples with a number for each token: gathers and scatters entries. */
static mgk_head_tokens entries(const sizes *s)
{
    return (mgk_head_tokens){s->rows, s->tokens, 1, 1, 1, NULL};
}

/* The entries at T as samples of k numbers. */
static mgk_head_tokens chosen_entries(const sizes *s)
{
    return (mgk_head_tokens){s->rows, s->top, 1, 1, 1, NULL};
}

/* centroids · K / √D, [B, H, C, N]. */
static mgk_batched_product logits_product(const mgk_attention_view *view, const sizes *s)
{
    const size_t width = s->heads * s->dim;
    return (mgk_batched_product){
        .samples = s->samples,
        .heads = s->heads,
        .m = s->clusters,
        .n = s->tokens,
        .k = s->dim,
        .transpose_b = true,
        .alpha = 1 / sqrt((double)s->dim),
        .a = {s->clusters * width, s->dim, width},
        .b = {s->tokens * view->key_stride, s->dim, view->key_stride},
        .c = {s->heads * s->clusters * s->tokens, s->clusters * s->tokens, s->tokens}};
}

static mgk_head_maps cluster_maps(const mgk_attention_view *view, const sizes *s)
{
    return (mgk_head_maps){s->samples, s->heads,      s->clusters, s->tokens,
                           NULL,       view->lengths, false};
}

/* c and T; c without T; and m = k times the mean of c at T, which is 0 where there is no key. */
static mgk_status fill_maps(mgk_device *device, const mgk_attention_view *view, const arrays *a,
                            void *scratch)
{
    const mgk_dense_operations *dense = device->op->dense;
    const sizes *s = &a->s;
    const mgk_head_maps maps = cluster_maps(view, s);
    const mgk_batched_product product = logits_product(view, s);
    const mgk_head_tokens all = entries(s), few = chosen_entries(s);
    int32_t *counts = mgk_at(device, scratch, s->chosen);
    TRY(dense->batched_multiply(device, &product, a->clusters.queries, view->key, a->map));
    TRY(dense->softmax_rows(device, &maps, a->map));
    TRY(dense->top_rows(device, s->samples, s->heads * s->clusters, s->tokens, view->lengths,
                        s->top, a->map, a->top));
    TRY(dense->gather_tokens(device, &all, s->top, a->top, a->map, scratch, 1));
    TRY(dense->segment_means(device, &few, 1, scratch, a->mass, counts));
    TRY(dense->add_scaled(device, s->rows, 0, a->mass, (double)s->top, a->mass));
    TRY(dense->add_scaled(device, s->maps, 1, a->map, 0, a->rest));
    TRY(dense->add_scaled(device, s->chosen, 0, scratch, -1, scratch));
    return dense->scatter_add_tokens(device, &all, s->top, a->top, scratch, 1, a->rest);
}

static mgk_status prepare(mgk_device *device, const mgk_attention_view *view,
                          const mgk_attention_layer *layer)
{
    const arrays a = arrays_of(device, view, layer);
    TRY(mgk_clusters_find(device, view, layer, &a.clusters));
    TRY(fill_maps(device, view, &a, layer->scratch));
    TRY(fill_groups(device, &a, view->lengths));
    const mgk_groups *g = &a.kept.groups;
    TRY(mgk_groups_pack(device, g, false, a.s.dim, view->query, view->query_stride, a.kept.query));
    return mgk_groups_pack(device, g, true, a.s.dim, view->key, view->key_stride, a.kept.key);
}

/* The outputs of clusters without T: rest V. */
static mgk_batched_product rest_product(const sizes *s, size_t value_stride)
{
    const size_t map = s->clusters * s->tokens, width = s->heads * s->dim;
    return (mgk_batched_product){.samples = s->samples,
                                 .heads = s->heads,
                                 .m = s->clusters,
                                 .n = s->dim,
                                 .k = s->tokens,
                                 .alpha = 1,
                                 .a = {s->heads * map, map, s->tokens},
                                 .b = {s->tokens * value_stride, s->dim, value_stride},
                                 .c = {s->clusters * width, s->dim, width}};
}

static mgk_head_tokens tokens_of(const mgk_groups *g, size_t tokens, size_t dim)
{
    return (mgk_head_tokens){g->samples, tokens, g->heads, dim, g->heads * dim, NULL};
}

/* The output of T, which is kept, times m, and the rest. */
static mgk_status forward(mgk_device *device, const mgk_attention_view *view,
                          const mgk_attention_layer *layer, void *output, size_t output_stride)
{
    const mgk_dense_operations *dense = device->op->dense;
    const arrays a = arrays_of(device, view, layer);
    const sizes *s = &a.s;
    const mgk_groups *g = &a.kept.groups;
    const mgk_mixture mixture = mgk_dot_products(view);
    const mgk_batched_product product = rest_product(s, view->value_stride);
    const mgk_head_tokens few = tokens_of(g, s->clusters, s->dim);
    const mgk_head_tokens all = tokens_of(g, s->tokens, s->dim);
    const size_t width = s->heads * s->dim;
    void *rest = layer->scratch, *values = mgk_at(device, rest, s->few);
    void *out = mgk_at(device, values, s->keys);
    TRY(dense->batched_multiply(device, &product, a.rest, view->value, rest));
    TRY(dense->gather_tokens(device, &few, s->tokens, a.clusters.cluster, rest, output,
                             output_stride));
    TRY(mgk_groups_pack(device, g, true, s->dim, view->value, view->value_stride, values));
    TRY(mgk_groups_attend(device, &a.kept, &mixture, values, out));
    TRY(mgk_groups_spread(device, g, false, s->dim, out, a.own, width));
    return dense->weigh_groups(device, &all, s->clusters, a.clusters.cluster, a.mass, a.own, output,
                               output_stride);
}

/* Memory of the backward pass. */
typedef struct gradients {
    void *rest, *means;  /* of clusters' outputs and mean queries */
    void *map, *chosen;  /* of c, and at T */
    void *mass, *scaled; /* of m, and k times that */
    void *own;           /* [B, N, H, D] */
    void *values, *room; /* packed, and those of mgk_groups_attend_backward */
} gradients;

static gradients gradients_of(const mgk_device *device, const arrays *a, void *scratch)
{
    const sizes *s = &a->s;
    gradients d = {.rest = scratch};
    d.means = mgk_at(device, d.rest, s->few);
    d.map = mgk_at(device, d.means, s->few);
    d.chosen = mgk_at(device, d.map, s->maps);
    d.mass = mgk_at(device, d.chosen, s->chosen);
    d.scaled = mgk_at(device, d.mass, s->rows);
    d.own = mgk_at(device, d.scaled, s->rows);
    d.values = mgk_at(device, d.own, s->all);
    d.room = mgk_at(device, d.values, s->keys);
    return d;
}

/* Through each query's softmax over T: += of queries, keys and values. */
static mgk_status top_backward(mgk_device *device, const mgk_attention_view *view, const arrays *a,
                               const gradients *d, const mgk_attention_gradient *out)
{
    const mgk_groups *g = &a->kept.groups;
    const mgk_mixture mixture = mgk_dot_products(view);
    const size_t dim = a->s.dim;
    mgk_attention_gradient inner = {0};
    TRY(mgk_groups_pack(device, g, true, dim, view->value, view->value_stride, d->values));
    TRY(mgk_groups_attend_backward(device, &a->kept, &mixture, d->values, a->own, d->own,
                                   a->s.heads * dim, d->room, &inner));
    TRY(mgk_groups_unpack(device, g, false, dim, inner.query, out->query, view->query_stride));
    TRY(mgk_groups_unpack(device, g, true, dim, inner.key, out->key, view->key_stride));
    return mgk_groups_unpack(device, g, true, dim, inner.value, out->value, view->value_stride);
}

/* dc = drest · V but at T, where it is dm; then through the softmax, to d->map. */
static mgk_status map_backward(mgk_device *device, const mgk_attention_view *view, const arrays *a,
                               const gradients *d)
{
    const mgk_dense_operations *dense = device->op->dense;
    const sizes *s = &a->s;
    const mgk_head_maps maps = cluster_maps(view, s);
    const mgk_head_tokens all = entries(s), few = chosen_entries(s);
    const mgk_batched_product forth = rest_product(s, view->value_stride);
    mgk_batched_product product = forth;
    product.n = s->tokens;
    product.k = s->dim;
    product.transpose_b = true;
    product.a = forth.c;
    product.c = forth.a;
    TRY(dense->batched_multiply(device, &product, d->rest, view->value, d->map));
    TRY(dense->gather_tokens(device, &all, s->top, a->top, d->map, d->chosen, 1));
    TRY(dense->add_scaled(device, s->chosen, 0, d->chosen, -1, d->chosen));
    TRY(dense->add_scaled(device, s->rows, (double)s->top, d->mass, 0, d->scaled));
    TRY(dense->segment_means_backward(device, &few, 1, d->scaled, d->chosen));
    TRY(dense->scatter_add_tokens(device, &all, s->top, a->top, d->chosen, 1, d->map));
    return dense->softmax_rows_backward(device, &maps, a->map, d->map, d->map);
}

/* Of keys and queries through the logits of clusters, and of values through their rows: +=. */
static mgk_status cluster_backward(mgk_device *device, const mgk_attention_view *view,
                                   const arrays *a, const gradients *d,
                                   const mgk_attention_gradient *out)
{
    const mgk_dense_operations *dense = device->op->dense;
    const sizes *s = &a->s;
    const mgk_head_tokens queries = mgk_view_tokens(view, view->query_stride);
    const mgk_batched_product forth = logits_product(view, s);
    mgk_batched_product to_means = forth, to_keys = forth;
    mgk_batched_product to_values = rest_product(s, view->value_stride);
    const mgk_head_strides value = to_values.b;
    to_means.transpose_b = false;
    to_means.n = s->dim;
    to_means.k = s->tokens;
    to_means.a = forth.c;
    to_means.c = forth.a;
    to_keys.transpose_a = true;
    to_keys.transpose_b = false;
    to_keys.m = s->tokens;
    to_keys.n = s->dim;
    to_keys.k = s->clusters;
    to_keys.a = forth.c;
    to_keys.b = forth.a;
    to_keys.c = forth.b;
    to_values.transpose_a = true;
    to_values.m = s->tokens;
    to_values.k = s->clusters;
    to_values.b = to_values.c;
    to_values.c = value;
    to_keys.beta = to_values.beta = 1;
    TRY(dense->batched_multiply(device, &to_values, a->rest, d->rest, out->value));
    TRY(dense->batched_multiply(device, &to_keys, d->map, a->clusters.queries, out->key));
    TRY(dense->batched_multiply(device, &to_means, d->map, view->key, d->means));
    return dense->group_means_backward(device, &queries, s->clusters, a->clusters.cluster,
                                       a->clusters.sizes, d->means, out->query);
}

static mgk_status backward(mgk_device *device, const mgk_attention_view *view,
                           const mgk_attention_layer *layer, const void *output,
                           const void *doutput, size_t output_stride,
                           const mgk_layer_gradient *gradient)
{
    const mgk_dense_operations *dense = device->op->dense;
    const arrays a = arrays_of(device, view, layer);
    const sizes *s = &a.s;
    const gradients d = gradients_of(device, &a, layer->scratch);
    const mgk_head_tokens few = a.clusters.groups,
                          all = tokens_of(&a.kept.groups, s->tokens, s->dim);
    const mgk_attention_gradient *out = &gradient->view;
    const size_t rows = s->samples * s->tokens, width = s->heads * s->dim;
    (void)output;
    TRY(mgk_zero_rows(device, rows, width, view->query_stride, out->query));
    TRY(mgk_zero_rows(device, rows, width, view->key_stride, out->key));
    TRY(mgk_zero_rows(device, rows, width, view->value_stride, out->value));
    TRY(device->op->zero(device, d.rest, s->few * device->real_size));
    TRY(device->op->zero(device, d.own, s->all * device->real_size));
    TRY(device->op->zero(device, d.mass, s->rows * device->real_size));
    TRY(dense->scatter_add_tokens(device, &few, s->tokens, a.clusters.cluster, doutput,
                                  output_stride, d.rest));
    TRY(dense->weigh_groups_backward(device, &all, s->clusters, a.clusters.cluster, a.mass, a.own,
                                     doutput, output_stride, d.own, d.mass));
    TRY(top_backward(device, view, &a, &d, out));
    TRY(map_backward(device, view, &a, &d));
    return cluster_backward(device, view, &a, &d, out);
}

/* m of the cluster of each packed query of a head, weight [G 32]; room [N]. */
static mgk_status find_masses(mgk_device *device, const sizes *s, const mgk_groups *g,
                              const int32_t *cluster, const void *mass, void *room, void *weight)
{
    const mgk_head_tokens clusters = {1, s->clusters, 1, 1, 1, NULL};
    const mgk_head_tokens tokens = {1, s->tokens, 1, 1, 1, NULL};
    TRY(device->op->dense->gather_tokens(device, &clusters, s->tokens, cluster, mass, room, 1));
    return device->op->dense->gather_tokens(device, &tokens, g->groups * GROUP_QUERIES, g->query,
                                            room, weight, 1);
}

/* Each query has the row of its cluster without T, and m times its own softmax over T. */
static mgk_status add_head(mgk_device *device, const mgk_attention_view *view,
                           const mgk_attention_layer *layer, size_t sample, size_t head, void *out)
{
    const arrays a = arrays_of(device, view, layer);
    const sizes *s = &a.s;
    const size_t matrix = sample * s->heads + head;
    const mgk_packed all = mgk_group_arrays_packed(&a.kept);
    const mgk_groups g = mgk_groups_head(&a.kept.groups, sample, head);
    const mgk_packed packed = mgk_packed_head(device, &a.kept.groups, &all, sample, head);
    const mgk_mixture mixture = mgk_dot_products(view);
    const mgk_head_tokens rows = {1, s->clusters, 1, s->tokens, s->tokens, NULL};
    const int32_t *cluster = a.clusters.cluster + matrix * s->tokens;
    void *weight = layer->scratch, *room = mgk_at(device, weight, g.groups * GROUP_QUERIES);
    TRY(device->op->dense->gather_tokens(device, &rows, s->tokens, cluster,
                                         mgk_at(device, a.rest, matrix * s->clusters * s->tokens),
                                         out, s->tokens));
    TRY(find_masses(device, s, &g, cluster, mgk_at(device, a.mass, matrix * s->clusters), room,
                    weight));
    return mgk_groups_matrix(device, &g, &packed, &mixture, weight, out);
}

/* The two parts of a row have no common scores before normalisation: scores are A. */
static mgk_status matrix(mgk_device *device, const mgk_attention_view *view,
                         const mgk_attention_layer *layer, mgk_matrix_content content, int sample,
                         const int32_t *heads, int count, void *out)
{
    (void)content;
    return mgk_matrix_by_heads(device, view, layer, add_head, sample, heads, count, out);
}

/* Rows of C clusters, and of all queries over k keys. */
static double flops(const mgk_attention_kind *kind, const mgk_attention_size *size)
{
    const double clusters = size->settings->clusters, top = (double)sizes_of(size, 1).top;
    const double dim = size->dim;
    (void)kind;
    return (double)size->heads * size->tokens *
           (mgk_clusters_flops(size) + (clusters + top) * (4 * dim + 5) + 3 * dim);
}

static const mgk_attention_methods methods = {.primitives = "assignment, factors, tile",
                                              .memory = memory,
                                              .prepare = prepare,
                                              .forward = forward,
                                              .backward = backward,
                                              .matrix = matrix};

const mgk_attention_kind mgk_attention_improved_clustered = {
    .name = "improved-clustered",
    .score = "as clustered, but m softmax(q_i.k_j / sqrt(D)) on its top keys",
    .rank_bound = "N",
    .defaults = {.landmarks = 32, .clusters = 64, .hashes = 32},
    .not_causal = true,
    .plain_sums = true,
    .methods = &methods,
    .parameters = mgk_clusters_parameters,
    .flops = flops,
};
