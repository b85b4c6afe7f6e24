/* SPDX-License-Identifier: MIT */
/*
 * The primitives that kinds are made of.
 *   tile      A = normalise(exp(S)) over the keys that a query sees: tile.c
 *   features  A = φ(Q) φ(K)ᵀ, in O(N): features.c
 * Each gives all methods of a kind, which only says what its scores or its features are.
 */
#ifndef MGK_KERNELS_ATTENTION_PRIMITIVES_H
#define MGK_KERNELS_ATTENTION_PRIMITIVES_H

#include "kernels/attention.h"
#include "kernels/dense.h"

extern const mgk_attention_methods mgk_tile_methods;            /* of kinds with `tile` */
extern const mgk_attention_methods mgk_distance_methods;        /* the same, with `distance` */
extern const mgk_attention_methods mgk_feature_methods;         /* of kinds with `features` */
extern const mgk_attention_methods mgk_mixture_methods;         /* tile, with priors */
extern const mgk_attention_methods mgk_feature_mixture_methods; /* features, with priors */

/* The methods of tiles, for kinds that add to some of them. `kept` ends with the statistics of the
 * rows, so many. */
#define MGK_TILE                                                                  \
    .primitives = "tile", .forward = mgk_tile_forward, .matrix = mgk_tile_matrix, \
    .matrix_output = mgk_tile_matrix_output
mgk_status mgk_tile_forward(mgk_device *device, const mgk_attention_view *view,
                            const mgk_attention_layer *layer, void *output, size_t output_stride);
mgk_status mgk_tile_backward(mgk_device *device, const mgk_attention_view *view,
                             const mgk_attention_layer *layer, const void *output,
                             const void *doutput, size_t output_stride,
                             const mgk_layer_gradient *gradient);
mgk_status mgk_tile_matrix(mgk_device *device, const mgk_attention_view *view,
                           const mgk_attention_layer *layer, mgk_matrix_content content, int sample,
                           const int32_t *heads, int count, void *out);
mgk_status mgk_tile_matrix_output(mgk_device *device, const mgk_attention_view *view,
                                  const mgk_attention_layer *layer, int sample,
                                  const int32_t *heads, int count, void *out, void *output,
                                  size_t output_stride);
size_t mgk_tile_statistics(const mgk_attention_size *size, int samples);

/* The methods of features, likewise. */
mgk_status mgk_feature_forward(mgk_device *device, const mgk_attention_view *view,
                               const mgk_attention_layer *layer, void *output,
                               size_t output_stride);
mgk_status mgk_feature_backward(mgk_device *device, const mgk_attention_view *view,
                                const mgk_attention_layer *layer, const void *output,
                                const void *doutput, size_t output_stride,
                                const mgk_layer_gradient *gradient);
mgk_status mgk_feature_matrix(mgk_device *device, const mgk_attention_view *view,
                              const mgk_attention_layer *layer, mgk_matrix_content content,
                              int sample, const int32_t *heads, int count, void *out);

/*
 * The table [H, 2 N − 1] of a kind's `distance`, laid out as a bias of mgk_score_terms, computed on
 * the host in double: fills `table` on the device; adds the gradients of the kind's parameters for
 * the table's gradient. STATUS_MEMORY, and errors of the device.
 */
size_t mgk_distance_count(const mgk_attention_size *size); /* numbers of the table */
mgk_status mgk_distance_fill(mgk_device *device, const mgk_attention_layer *layer, void *table);
mgk_status mgk_distance_backward(mgk_device *device, const mgk_attention_layer *layer,
                                 const void *dtable, void *const *parameters);

/* A setting that counts tokens, or what stands for them: more than N are as good as N. */
static inline size_t mgk_at_most_tokens(const mgk_attention_size *size, int setting)
{
    return (size_t)(setting < size->tokens ? setting : size->tokens);
}

/* The scores q·k / √D, of all keys; and of those in the layer's pattern, if it has one. */
mgk_mixture mgk_dot_products(const mgk_attention_view *view);
mgk_mixture mgk_tile_scores(const mgk_attention_view *view, const mgk_attention_layer *layer);

/* The keys and values of a view, seen by other queries without gaps: `count` of each sample, of
 * which lengths [B] are valid. */
mgk_attention_view mgk_other_queries(const mgk_attention_view *view, size_t count,
                                     const int32_t *lengths, const void *queries);

/* y = x W for vectors [rows, width] without gaps and W [width, width]. */
mgk_status mgk_map_vectors(mgk_device *device, size_t rows, size_t width, const void *weight,
                           const void *x, void *y);
/* dx = dy Wᵀ + beta dx; dW += xᵀ dy. */
mgk_status mgk_map_vectors_backward(mgk_device *device, size_t rows, size_t width,
                                    const void *weight, const void *x, const void *dy, double beta,
                                    void *dx, void *dweight);

/*
 * A convolution of each head's values over tokens, [H, kernel], beside a matrix: the parameter; and
 * adds its band to the matrices [count, N, N] of these heads, with memory `ones` [N].
 */
mgk_kind_parameter mgk_convolution_parameter(const mgk_attention_size *size);
mgk_status mgk_add_bands(mgk_device *device, const mgk_attention_view *view,
                         const mgk_token_kernel *convolution, int sample, const int32_t *heads,
                         int count, void *ones, void *matrices);

/* Adds the keys that a query of Big Bird sees but for random blocks; whether these are all keys. */
bool mgk_bigbird_window(const mgk_attention_size *size, int query, mgk_pattern_row *row);

/* Sets the first `width` of every `stride` reals to 0, `rows` times. */
mgk_status mgk_zero_rows(mgk_device *device, size_t rows, size_t width, size_t stride, void *reals);

/* Operations of a softmax over the pairs of a kind's pattern, all heads. */
double mgk_tile_flops(const mgk_attention_kind *kind, const mgk_attention_size *size);

/* Operations with so many features of each query and key, which take `map` operations per token and
 * head; all heads. */
double mgk_feature_flops(const mgk_attention_size *size, double features, double map);

#endif
