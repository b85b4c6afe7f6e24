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

extern const mgk_attention_methods mgk_tile_methods;            /* of kinds with `tile` */
extern const mgk_attention_methods mgk_feature_methods;         /* of kinds with `features` */
extern const mgk_attention_methods mgk_mixture_methods;         /* tile, with priors */
extern const mgk_attention_methods mgk_feature_mixture_methods; /* features, with priors */

/* Operations of a softmax over the pairs of a kind's pattern, all heads. */
double mgk_tile_flops(const mgk_attention_kind *kind, const mgk_attention_size *size);

/* Operations with so many features of each query and key, which take `map` operations per token and
 * head; all heads. */
double mgk_feature_flops(const mgk_attention_size *size, double features, double map);

#endif
