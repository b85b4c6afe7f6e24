/* SPDX-License-Identifier: MIT */
/* The operations of kernels/dense.h on the CPU, and what several of them need. */
#ifndef MGK_KERNELS_CPU_DENSE_H
#define MGK_KERNELS_CPU_DENSE_H

#include "kernels/blas.h"
#include "kernels/cpu/cpu.h"
#include "kernels/dense.h"

extern const mgk_dense_operations MGK_CPU(dense_operations);

mgk_batched_multiply_fn MGK_CPU(batched_multiply);
mgk_add_scaled_fn MGK_CPU(add_scaled);
mgk_mix_heads_fn MGK_CPU(mix_heads);
mgk_softmax_rows_fn MGK_CPU(softmax_rows);
mgk_softmax_rows_backward_fn MGK_CPU(softmax_rows_backward);
mgk_segment_means_fn MGK_CPU(segment_means);
mgk_segment_means_backward_fn MGK_CPU(segment_means_backward);
mgk_newton_inverse_fn MGK_CPU(newton_inverse);
mgk_newton_inverse_backward_fn MGK_CPU(newton_inverse_backward);
mgk_shifted_inverse_fn MGK_CPU(shifted_inverse);
mgk_shifted_inverse_backward_fn MGK_CPU(shifted_inverse_backward);
mgk_convolve_tokens_fn MGK_CPU(convolve_tokens);
mgk_convolve_tokens_backward_fn MGK_CPU(convolve_tokens_backward);
mgk_convolve_maps_fn MGK_CPU(convolve_maps);
mgk_convolve_maps_backward_fn MGK_CPU(convolve_maps_backward);
mgk_gather_tokens_fn MGK_CPU(gather_tokens);
mgk_scatter_add_tokens_fn MGK_CPU(scatter_add_tokens);
mgk_add_weighed_rows_fn MGK_CPU(add_weighed_rows);
mgk_unit_tokens_fn MGK_CPU(unit_tokens);
mgk_unit_tokens_backward_fn MGK_CPU(unit_tokens_backward);
mgk_expand_heads_fn MGK_CPU(expand_heads);
mgk_expand_heads_backward_fn MGK_CPU(expand_heads_backward);
mgk_query_sparsity_fn MGK_CPU(query_sparsity);
mgk_top_rows_fn MGK_CPU(top_rows);
mgk_k_means_fn MGK_CPU(k_means);
mgk_group_means_fn MGK_CPU(group_means);
mgk_group_means_backward_fn MGK_CPU(group_means_backward);
mgk_tree_means_fn MGK_CPU(tree_means);
mgk_tree_means_backward_fn MGK_CPU(tree_means_backward);
mgk_tree_spread_fn MGK_CPU(tree_spread);
mgk_add_pairs_fn MGK_CPU(add_pairs);
mgk_weigh_groups_fn MGK_CPU(weigh_groups);
mgk_weigh_groups_backward_fn MGK_CPU(weigh_groups_backward);
mgk_lsh_buckets_fn MGK_CPU(lsh_buckets);
mgk_group_mask_fn MGK_CPU(group_mask);
mgk_merge_parts_fn MGK_CPU(merge_parts);
mgk_sinkhorn_fn MGK_CPU(sinkhorn);
mgk_sinkhorn_backward_fn MGK_CPU(sinkhorn_backward);
mgk_subtract_windows_fn MGK_CPU(subtract_windows);
mgk_subtract_windows_backward_fn MGK_CPU(subtract_windows_backward);
mgk_route_capsules_fn MGK_CPU(route_capsules);
mgk_route_capsules_backward_fn MGK_CPU(route_capsules_backward);

/* lengths[b] of at most `all`; lengths NULL: all. */
static inline size_t mgk_cpu_length(const int32_t *lengths, size_t b, size_t all)
{
    if (!lengths)
        return all;
    return lengths[b] < 0 ? 0 : (size_t)lengths[b] < all ? (size_t)lengths[b] : all;
}

/* Valid columns of row i of sample b: 0 … count − 1. */
static inline size_t mgk_cpu_row_width(const mgk_head_maps *maps, size_t b, size_t i)
{
    if (i >= mgk_cpu_length(maps->row_lengths, b, maps->rows))
        return 0;
    size_t width = mgk_cpu_length(maps->col_lengths, b, maps->cols);
    return maps->causal && i + 1 < width ? i + 1 : width;
}

/* The index of the numbers of head h of token t of sample b. */
static inline size_t mgk_cpu_token_at(const mgk_head_tokens *shape, size_t stride, size_t b,
                                      size_t t, size_t h)
{
    return (b * shape->tokens + t) * stride + h * shape->dim;
}

/* y += alpha x. */
static inline void mgk_cpu_add_row(size_t count, real alpha, const real *x, real *y)
{
#pragma omp simd
    for (size_t c = 0; c < count; c++)
        y[c] += alpha * x[c];
}

static inline real mgk_cpu_dot_row(size_t count, const real *x, const real *y)
{
    real sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t c = 0; c < count; c++)
        sum += x[c] * y[c];
    return sum;
}

#endif
