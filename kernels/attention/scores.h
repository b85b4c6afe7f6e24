/* SPDX-License-Identifier: MIT */
/*
 * Explicit logits S [B, H, N, N], for kinds that mix them over heads or layers. They take O(N²)
 * memory. Such a kind fills S at the beginning of `kept` in `prepare`; the methods here are a
 * softmax of it, by the tile primitive. The layer above finds S at the beginning of `below`.
 */
#ifndef MGK_KERNELS_ATTENTION_SCORES_H
#define MGK_KERNELS_ATTENTION_SCORES_H

#include "kernels/attention.h"
#include "kernels/dense.h"

/* The shape of S, and the numbers in it. */
mgk_head_maps mgk_scores_maps(const mgk_attention_view *view);
size_t mgk_scores_count(const mgk_attention_view *view);
size_t mgk_scores_size(const mgk_attention_size *size, int samples);

/* What a kind keeps for the methods below, in reals: S and a statistic of each row. */
size_t mgk_scores_kept(const mgk_attention_size *size, int samples);

/* scores = Q Kᵀ / √D + beta scores, of all pairs, whether a query sees the key or not. */
mgk_status mgk_scores_multiply(mgk_device *device, const mgk_attention_view *view, double beta,
                               void *scores);
/* The gradients of queries and keys through it. NULL: both are 0. */
mgk_status mgk_scores_multiply_backward(mgk_device *device, const mgk_attention_view *view,
                                        const void *dscores,
                                        const mgk_attention_gradient *gradient);

/* Methods of kinds whose attention is the softmax of S. */
mgk_status mgk_scores_forward(mgk_device *device, const mgk_attention_view *view,
                              const mgk_attention_layer *layer, void *output, size_t output_stride);
mgk_status mgk_scores_matrix(mgk_device *device, const mgk_attention_view *view,
                             const mgk_attention_layer *layer, mgk_matrix_content content,
                             int sample, const int32_t *heads, int count, void *matrix);
mgk_status mgk_scores_matrix_output(mgk_device *device, const mgk_attention_view *view,
                                    const mgk_attention_layer *layer, int sample,
                                    const int32_t *heads, int count, void *matrix, void *output,
                                    size_t output_stride);
/*
 * Their gradient: dscores, which is that from the layer above besides, is overwritten, 0 where a
 * query does not see a key; so is that of the values.
 */
mgk_status mgk_scores_backward(mgk_device *device, const mgk_attention_view *view,
                               const mgk_attention_layer *layer, const void *output,
                               const void *doutput, size_t output_stride,
                               const mgk_layer_gradient *gradient, void *dscores);

/* Operations of S and its softmax. */
double mgk_scores_flops(const mgk_attention_kind *kind, const mgk_attention_size *size);

#define MGK_SCORES_METHODS                                                                    \
    .primitives = "mixing, tile", .forward = mgk_scores_forward, .matrix = mgk_scores_matrix, \
    .matrix_output = mgk_scores_matrix_output

#endif
