/* SPDX-License-Identifier: MIT */
#include "kernels/attention/clusters.h"

#include "base/memory.h"

size_t mgk_clusters_scratch(const mgk_attention_size *size, int samples)
{
    const size_t vectors = (size_t)size->tokens + (size_t)size->settings->clusters;
    return (size_t)samples * (size_t)size->heads * vectors * (size_t)size->settings->hashes;
}

/* Tokens at equal distances, one for each cluster: index [B, H, C]. */
static mgk_status spread(mgk_device *device, const mgk_attention_view *view, const mgk_clusters *a,
                         int32_t *index)
{
    const size_t clusters = a->groups.tokens, heads = a->groups.heads;
    const size_t count = a->groups.samples * heads * clusters;
    int32_t *lengths, *chosen;
    TRY(mgk_device_indices(device, view->lengths, a->groups.samples, &lengths));
    mgk_status status = mgk_alloc(count, sizeof(*chosen), &chosen);
    for (size_t i = 0; status == STATUS_OK && i < count; i++) {
        const size_t n = (size_t)lengths[i / (heads * clusters)];
        chosen[i] = n > 0 ? (int32_t)(i % clusters * n / clusters) : -1;
    }
    mgk_free(lengths);
    if (status != STATUS_OK)
        return status;
    status = device->op->upload(device, index, chosen, count * sizeof(*chosen));
    mgk_free(chosen);
    return status;
}

/* The clusters of the queries. k-means begins with the hashes of queries at equal distances: means
 * of many queries would have nearly the same signs, and all queries one cluster. */
static mgk_status choose(mgk_device *device, const mgk_attention_view *view,
                         const mgk_attention_layer *layer, const mgk_clusters *a)
{
    const mgk_dense_operations *dense = device->op->dense;
    const size_t bits = (size_t)layer->size.settings->hashes;
    const mgk_k_means means = {a->groups.tokens, MGK_CLUSTER_UPDATES, true};
    const mgk_head_tokens queries = mgk_view_tokens(view, view->query_stride);
    mgk_head_tokens hashes = queries;
    hashes.dim = bits;
    hashes.stride = hashes.heads * bits;
    void *codes = layer->scratch;
    void *centroids = mgk_at(device, codes, hashes.samples * hashes.tokens * hashes.stride);
    const mgk_batched_product project = {.samples = queries.samples,
                                         .heads = queries.heads,
                                         .m = queries.tokens,
                                         .n = bits,
                                         .k = queries.dim,
                                         .alpha = 1,
                                         .a = mgk_token_strides(&queries),
                                         .b = {.row = bits},
                                         .c = mgk_token_strides(&hashes)};
    TRY(dense->batched_multiply(device, &project, view->query, layer->parameters[0], codes));
    TRY(spread(device, view, a, a->sizes)); /* k_means overwrites them */
    TRY(dense->gather_tokens(device, &hashes, means.clusters, a->sizes, codes, centroids,
                             hashes.stride));
    return dense->k_means(device, &hashes, &means, codes, centroids, a->cluster, a->sizes);
}

mgk_status mgk_clusters_find(mgk_device *device, const mgk_attention_view *view,
                             const mgk_attention_layer *layer, const mgk_clusters *clusters)
{
    const mgk_head_tokens queries = mgk_view_tokens(view, view->query_stride);
    TRY(choose(device, view, layer, clusters));
    return device->op->dense->group_means(device, &queries, clusters->groups.tokens,
                                          clusters->cluster, clusters->sizes, view->query,
                                          clusters->queries);
}

int mgk_clusters_parameters(const mgk_attention_size *size,
                            mgk_kind_parameter out[MGK_KIND_PARAMETERS])
{
    out[0] = (mgk_kind_parameter){.name = "planes",
                                  .axes = 2,
                                  .shape = {(size_t)size->dim, (size_t)size->settings->hashes},
                                  .initial = MGK_INITIAL_NORMAL,
                                  .value = 1,
                                  .drawn = true};
    return 1;
}

/* Hashes, and distances to clusters. */
double mgk_clusters_flops(const mgk_attention_size *size)
{
    const double clusters = size->settings->clusters, bits = size->settings->hashes;
    return 2 * bits * size->dim + (MGK_CLUSTER_UPDATES + 1) * clusters * 3 * bits;
}
