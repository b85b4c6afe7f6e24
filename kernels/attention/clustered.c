/* SPDX-License-Identifier: MIT */
/*
 * Clustered attention (Vyas et al. 2020): queries are put into C clusters by k-means of the signs
 * of random projections, and each query gets the row of its cluster,
 *     a_i = softmax(mean of the cluster's queries · K / √D),
 * so that time and memory are O(N C). The choice of clusters has no gradient.
 */
#include <math.h>

#include "base/memory.h"
#include "kernels/attention/clusters.h"
#include "kernels/attention/kinds.h"
#include "kernels/attention/primitives.h"
#include "kernels/dense.h"

/* What a layer keeps. */
typedef struct arrays {
    mgk_head_tokens groups; /* [B, C, H, D] */
    size_t few;             /* numbers of it */
    void *queries, *output; /* of clusters */
    void *statistic;        /* [B, H, C] */
    int32_t *cluster;       /* [B, H, N] */
    int32_t *sizes;         /* [B, H, C] */
    int32_t *lengths;       /* C, [B] */
} arrays;

/*
 * Scratch: hashes of queries and of clusters; or rows of clusters of a matrix; or the gradients of
 * clusters. Integers take the place of reals.
 */
static mgk_kind_memory memory(const mgk_attention_size *size, int samples, bool training)
{
    const size_t heads = (size_t)size->heads, rows = (size_t)samples * heads;
    const size_t clusters = (size_t)size->settings->clusters, tokens = (size_t)size->tokens;
    const size_t few = rows * clusters * (size_t)size->dim;
    const size_t hashes = mgk_clusters_scratch(size, samples);
    const size_t maps = heads * clusters * tokens, own = training ? 2 * few : 0;
    const size_t most = hashes > maps ? hashes : maps;
    return (mgk_kind_memory){.kept = 2 * few + rows * (2 * clusters + tokens) + (size_t)samples,
                             .scratch = own > most ? own : most};
}

static arrays arrays_of(const mgk_device *device, const mgk_attention_view *view,
                        const mgk_attention_layer *layer)
{
    const size_t samples = (size_t)view->samples, heads = (size_t)view->heads,
                 dim = (size_t)view->dim, clusters = (size_t)layer->size.settings->clusters;
    arrays out = {.groups = {samples, clusters, heads, dim, heads * dim, NULL},
                  .few = samples * heads * clusters * dim};
    out.queries = layer->kept;
    out.output = mgk_at(device, out.queries, out.few);
    out.statistic = mgk_at(device, out.output, out.few);
    out.cluster = mgk_at(device, out.statistic, samples * heads * clusters);
    out.sizes = mgk_at(device, out.cluster, samples * heads * (size_t)view->tokens);
    out.lengths = mgk_at(device, out.sizes, samples * heads * clusters);
    return out;
}

/* Clusters see keys. */
static mgk_attention_view group_view(const mgk_attention_view *view, const arrays *a)
{
    return mgk_other_queries(view, a->groups.tokens, a->lengths, a->queries);
}

static mgk_status prepare(mgk_device *device, const mgk_attention_view *view,
                          const mgk_attention_layer *layer)
{
    const arrays a = arrays_of(device, view, layer);
    const mgk_clusters clusters = {a.groups, a.queries, a.cluster, a.sizes};
    const int32_t count = (int32_t)a.groups.tokens;
    for (int b = 0; b < view->samples; b++)
        TRY(device->op->upload(device, a.lengths + b, &count, sizeof(count)));
    return mgk_clusters_find(device, view, layer, &clusters);
}

static mgk_status forward(mgk_device *device, const mgk_attention_view *view,
                          const mgk_attention_layer *layer, void *output, size_t output_stride)
{
    const arrays a = arrays_of(device, view, layer);
    const mgk_attention_view own = group_view(view, &a);
    const mgk_mixture mixture = mgk_dot_products(view);
    TRY(device->op->mixture_attention(device, &own, &mixture, a.output, a.groups.stride,
                                      a.statistic));
    return device->op->dense->gather_tokens(device, &a.groups, (size_t)view->tokens, a.cluster,
                                            a.output, output, output_stride);
}

static mgk_status backward(mgk_device *device, const mgk_attention_view *view,
                           const mgk_attention_layer *layer, const void *output,
                           const void *doutput, size_t output_stride,
                           const mgk_layer_gradient *gradient)
{
    const mgk_dense_operations *dense = device->op->dense;
    const arrays a = arrays_of(device, view, layer);
    const mgk_attention_view own = group_view(view, &a);
    const mgk_mixture mixture = mgk_dot_products(view);
    const mgk_head_tokens queries = mgk_view_tokens(view, view->query_stride);
    void *dgroups = layer->scratch, *dqueries = mgk_at(device, dgroups, a.few);
    const mgk_attention_gradient inner = {
        .query = dqueries, .key = gradient->view.key, .value = gradient->view.value};
    (void)output;
    TRY(device->op->zero(device, dgroups, a.few * device->real_size));
    TRY(dense->scatter_add_tokens(device, &a.groups, queries.tokens, a.cluster, doutput,
                                  output_stride, dgroups));
    TRY(device->op->mixture_attention_backward(device, &own, &mixture, a.output, a.statistic,
                                               dgroups, a.groups.stride, &inner));
    TRY(mgk_zero_rows(device, queries.samples * queries.tokens, a.groups.stride, queries.stride,
                      gradient->view.query));
    return dense->group_means_backward(device, &queries, a.groups.tokens, a.cluster, a.sizes,
                                       dqueries, gradient->view.query);
}

static mgk_status matrix(mgk_device *device, const mgk_attention_view *view,
                         const mgk_attention_layer *layer, mgk_matrix_content content, int sample,
                         const int32_t *heads, int count, void *out)
{
    const arrays a = arrays_of(device, view, layer);
    const mgk_attention_view own = group_view(view, &a);
    const mgk_mixture mixture = mgk_dot_products(view);
    const size_t n = (size_t)view->tokens, clusters = a.groups.tokens;
    const mgk_head_tokens rows = {1, clusters, 1, n, n, NULL};
    int32_t *chosen;
    TRY(device->op->mixture_matrix(device, &own, &mixture, content, sample, 1, heads, count,
                                   layer->scratch));
    TRY(mgk_device_indices(device, heads, (size_t)count, &chosen));
    mgk_status status = STATUS_OK;
    for (size_t c = 0; status == STATUS_OK && c < (size_t)count; c++)
        status = device->op->dense->gather_tokens(
            device, &rows, n, a.cluster + ((size_t)sample * a.groups.heads + (size_t)chosen[c]) * n,
            mgk_at(device, layer->scratch, c * clusters * n), mgk_at(device, out, c * n * n), n);
    mgk_free(chosen);
    return status;
}

/* Hashes, distances to clusters, and attention of C queries. */
static double flops(const mgk_attention_kind *kind, const mgk_attention_size *size)
{
    const double clusters = size->settings->clusters, dim = size->dim;
    (void)kind;
    return (double)size->heads * size->tokens *
           (mgk_clusters_flops(size) + clusters * (4 * dim + 5) + dim);
}

static const mgk_attention_methods methods = {.primitives = "assignment, tile",
                                              .memory = memory,
                                              .prepare = prepare,
                                              .forward = forward,
                                              .backward = backward,
                                              .matrix = matrix};

const mgk_attention_kind mgk_attention_clustered = {
    .name = "clustered",
    .score = "exp(c.k_j / sqrt(D)), c = mean query of i's cluster",
    .rank_bound = "clusters",
    .defaults = {.clusters = 64, .hashes = 32},
    .not_causal = true,
    .plain_sums = true,
    .methods = &methods,
    .parameters = mgk_clusters_parameters,
    .flops = flops,
};
