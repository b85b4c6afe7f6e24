/* SPDX-License-Identifier: MIT */
/* The table of operations over whole arrays. */
#include "kernels/cpu/attention/dense.h"

const mgk_dense_operations MGK_CPU(dense_operations) = {
    .batched_multiply = MGK_CPU(batched_multiply),
    .add_scaled = MGK_CPU(add_scaled),
    .softmax_rows = MGK_CPU(softmax_rows),
    .softmax_rows_backward = MGK_CPU(softmax_rows_backward),
    .segment_means = MGK_CPU(segment_means),
    .segment_means_backward = MGK_CPU(segment_means_backward),
    .newton_inverse = MGK_CPU(newton_inverse),
    .newton_inverse_backward = MGK_CPU(newton_inverse_backward),
    .shifted_inverse = MGK_CPU(shifted_inverse),
    .shifted_inverse_backward = MGK_CPU(shifted_inverse_backward),
    .convolve_tokens = MGK_CPU(convolve_tokens),
    .convolve_tokens_backward = MGK_CPU(convolve_tokens_backward),
    .convolve_maps = MGK_CPU(convolve_maps),
    .convolve_maps_backward = MGK_CPU(convolve_maps_backward),
    .gather_tokens = MGK_CPU(gather_tokens),
    .scatter_add_tokens = MGK_CPU(scatter_add_tokens),
    .expand_heads = MGK_CPU(expand_heads),
    .expand_heads_backward = MGK_CPU(expand_heads_backward),
    .query_sparsity = MGK_CPU(query_sparsity),
    .top_rows = MGK_CPU(top_rows),
    .k_means = MGK_CPU(k_means),
    .group_means = MGK_CPU(group_means),
    .group_means_backward = MGK_CPU(group_means_backward),
    .lsh_buckets = MGK_CPU(lsh_buckets),
    .sinkhorn = MGK_CPU(sinkhorn),
    .sinkhorn_backward = MGK_CPU(sinkhorn_backward),
    .subtract_windows = MGK_CPU(subtract_windows),
    .subtract_windows_backward = MGK_CPU(subtract_windows_backward),
};
