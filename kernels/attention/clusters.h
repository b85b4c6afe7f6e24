/* SPDX-License-Identifier: MIT */
/*
 * Clusters of queries, for clustered attention and its improved form (Vyas et al. 2020): k-means of
 * the signs of random projections. The choice of clusters has no gradient.
 */
#ifndef MGK_KERNELS_ATTENTION_CLUSTERS_H
#define MGK_KERNELS_ATTENTION_CLUSTERS_H

#include "kernels/attention.h"
#include "kernels/dense.h"

enum { MGK_CLUSTER_UPDATES = 10 }; /* of k-means */

/* The clusters of a layer, on the device. */
typedef struct mgk_clusters {
    mgk_head_tokens groups; /* [B, C, H, D] */
    void *queries;          /* mean query of each cluster */
    int32_t *cluster;       /* of each query [B, H, N]; −1 for padding */
    int32_t *sizes;         /* [B, H, C] */
} mgk_clusters;

/* Fills what `clusters` points to. Takes mgk_clusters_scratch reals of the layer's scratch. */
mgk_status mgk_clusters_find(mgk_device *device, const mgk_attention_view *view,
                             const mgk_attention_layer *layer, const mgk_clusters *clusters);
size_t mgk_clusters_scratch(const mgk_attention_size *size, int samples);

/* The planes that queries are projected on, a kind's first parameter. */
int mgk_clusters_parameters(const mgk_attention_size *size,
                            mgk_kind_parameter out[MGK_KIND_PARAMETERS]);

/* Operations per token and head. */
double mgk_clusters_flops(const mgk_attention_size *size);

#endif
