/* SPDX-License-Identifier: MIT */
/* The operation table, once for each precision. */
#include "kernels/cuda/operations.h"
#include "kernels/cuda/table.h"

/* The same in both precisions. */
static mgk_spectral_operations spectral_table(void)
{
    mgk_spectral_operations op = {};
    op.measure_entries = mgk_cuda_measure_entries;
    op.singular_values = mgk_cuda_singular_values;
    op.bisected_values = mgk_cuda_bisected_values;
    op.bisection_order = mgk_cuda_bisection_order;
    op.reduce_to_bands = mgk_cuda_reduce_to_bands;
    op.prove_full_rank = mgk_cuda_prove_full_rank;
    op.bound_square = mgk_cuda_bound_square;
    op.shifted_inertia = mgk_cuda_shifted_inertia;
    op.solve_factored = mgk_cuda_solve_factored;
    op.residual_images = mgk_cuda_residual_images;
    op.exact_images = mgk_cuda_exact_images;
    op.hash_entries = mgk_cuda_hash_entries;
    return op;
}

template <typename real> static mgk_operations table(void)
{
    static const mgk_spectral_operations spectral = spectral_table();
    mgk_operations op = {}; /* operations that are not set are NULL */
    op.allocate = mgk_cuda_allocate;
    op.release = mgk_cuda_release;
    op.upload = mgk_cuda_upload;
    op.download = mgk_cuda_download;
    op.zero = mgk_cuda_zero;
    op.copy = mgk_cuda_copy;
    op.synchronize = mgk_cuda_synchronize;
    op.close = mgk_cuda_close;
    op.open_again = mgk_cuda_open_again;
    op.memory = mgk_cuda_memory;
    op.mirror_open = mgk_cuda_mirror_open;
    op.mirror_send = mgk_cuda_mirror_send;
    op.mirror_wait = mgk_cuda_mirror_wait;
    op.mirror_close = mgk_cuda_mirror_close;
    op.allow_tf32 = mgk_cuda_allow_tf32;
    op.multiply = mgk_cuda_multiply<real>;
    op.bias_activation = mgk_cuda_bias_activation<real>;
    op.activation_backward = mgk_cuda_activation_backward<real>;
    op.column_sums = mgk_cuda_column_sums<real>;
    op.dropout_add = mgk_cuda_dropout_add<real>;
    op.layer_norm = mgk_cuda_layer_norm<real>;
    op.layer_norm_backward = mgk_cuda_layer_norm_backward<real>;
    op.rms_norm = mgk_cuda_rms_norm<real>;
    op.gate = mgk_cuda_gate<real>;
    op.rotary_embedding = mgk_cuda_rotary_embedding<real>;
    op.embed = mgk_cuda_embed<real>;
    op.embed_backward = mgk_cuda_embed_backward<real>;
    op.pool = mgk_cuda_pool<real>;
    op.pool_backward = mgk_cuda_pool_backward<real>;
    op.pair_features = mgk_cuda_pair_features<real>;
    op.pair_features_backward = mgk_cuda_pair_features_backward<real>;
    op.cross_entropy = mgk_cuda_cross_entropy<real>;
    op.shift_keys = mgk_cuda_shift_keys<real>;
    op.shift_keys_backward = mgk_cuda_shift_keys_backward<real>;
    op.mixture_attention = mgk_cuda_mixture_attention<real>;
    op.mixture_attention_backward = mgk_cuda_mixture_attention_backward<real>;
    op.linear_attention = mgk_cuda_linear_attention<real>;
    op.linear_attention_backward = mgk_cuda_linear_attention_backward<real>;
    op.mixture_matrix = mgk_cuda_mixture_matrix<real>;
    op.linear_matrix = mgk_cuda_linear_matrix<real>;
    op.linear_factors = mgk_cuda_linear_factors<real>;
    op.responsibilities = mgk_cuda_responsibilities<real>;
    op.linear_responsibilities = mgk_cuda_linear_responsibilities<real>;
    op.mean_responsibilities = mgk_cuda_mean_responsibilities<real>;
    op.take_block = mgk_cuda_take_block<real>;
    op.sum_squares = mgk_cuda_sum_squares<real>;
    op.adamw = mgk_cuda_adamw<real>;
    op.record = mgk_cuda_record;
    op.replay = mgk_cuda_replay;
    op.release_recording = mgk_cuda_release_recording;
    op.spectral = &spectral;
    return op;
}

const mgk_operations *mgk_cuda_table(mgk_precision precision)
{
    static const mgk_operations single = table<float>(), twofold = table<double>();
    return precision == MGK_DOUBLE ? &twofold : &single;
}
