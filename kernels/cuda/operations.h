/* SPDX-License-Identifier: MIT */
/* The operations of backend.h on a CUDA device; real is float or double. */
#ifndef MGK_KERNELS_CUDA_OPERATIONS_H
#define MGK_KERNELS_CUDA_OPERATIONS_H

#include "kernels/cuda/cuda.h"

/* Instantiates an operation in both precisions, at the end of the file that defines it. */
#define MGK_CUDA_OPERATION(name)                \
    template decltype(name<float>) name<float>; \
    template decltype(name<double>) name<double>

mgk_allocate_fn mgk_cuda_allocate;
mgk_release_fn mgk_cuda_release;
mgk_upload_fn mgk_cuda_upload;
mgk_download_fn mgk_cuda_download;
mgk_zero_fn mgk_cuda_zero;
mgk_copy_fn mgk_cuda_copy;
mgk_synchronize_fn mgk_cuda_synchronize;
mgk_close_fn mgk_cuda_close;
mgk_open_again_fn mgk_cuda_open_again;
mgk_memory_fn mgk_cuda_memory;
mgk_mirror_open_fn mgk_cuda_mirror_open;
mgk_mirror_send_fn mgk_cuda_mirror_send;
mgk_mirror_wait_fn mgk_cuda_mirror_wait;
mgk_mirror_close_fn mgk_cuda_mirror_close;
mgk_allow_tf32_fn mgk_cuda_allow_tf32;

/* Sets the precision of cuBLAS products, according to device->tf32. */
mgk_status mgk_cuda_set_math(mgk_device *);
template <typename real> mgk_multiply_fn mgk_cuda_multiply;
template <typename real> mgk_bias_activation_fn mgk_cuda_bias_activation;
template <typename real> mgk_activation_backward_fn mgk_cuda_activation_backward;
template <typename real> mgk_column_sums_fn mgk_cuda_column_sums;
template <typename real> mgk_dropout_add_fn mgk_cuda_dropout_add;
template <typename real> mgk_layer_norm_fn mgk_cuda_layer_norm;
template <typename real> mgk_layer_norm_backward_fn mgk_cuda_layer_norm_backward;
template <typename real> mgk_rms_norm_fn mgk_cuda_rms_norm;
template <typename real> mgk_gate_fn mgk_cuda_gate;
template <typename real> mgk_rotary_embedding_fn mgk_cuda_rotary_embedding;
template <typename real> mgk_embed_fn mgk_cuda_embed;
template <typename real> mgk_embed_backward_fn mgk_cuda_embed_backward;
template <typename real> mgk_pool_fn mgk_cuda_pool;
template <typename real> mgk_pool_backward_fn mgk_cuda_pool_backward;
template <typename real> mgk_pair_features_fn mgk_cuda_pair_features;
template <typename real> mgk_pair_features_backward_fn mgk_cuda_pair_features_backward;
template <typename real> mgk_cross_entropy_fn mgk_cuda_cross_entropy;
template <typename real> mgk_shift_keys_fn mgk_cuda_shift_keys;
template <typename real> mgk_shift_keys_backward_fn mgk_cuda_shift_keys_backward;
template <typename real> mgk_mixture_attention_fn mgk_cuda_mixture_attention;
template <typename real> mgk_mixture_attention_backward_fn mgk_cuda_mixture_attention_backward;
template <typename real> mgk_linear_attention_fn mgk_cuda_linear_attention;
template <typename real> mgk_linear_attention_backward_fn mgk_cuda_linear_attention_backward;
template <typename real> mgk_mixture_matrix_fn mgk_cuda_mixture_matrix;
template <typename real> mgk_linear_matrix_fn mgk_cuda_linear_matrix;
template <typename real> mgk_linear_factors_fn mgk_cuda_linear_factors;
template <typename real> mgk_responsibilities_fn mgk_cuda_responsibilities;
template <typename real> mgk_linear_responsibilities_fn mgk_cuda_linear_responsibilities;
template <typename real> mgk_mean_responsibilities_fn mgk_cuda_mean_responsibilities;
template <typename real> mgk_take_block_fn mgk_cuda_take_block;
mgk_measure_entries_fn mgk_cuda_measure_entries;
mgk_singular_values_fn mgk_cuda_singular_values;
mgk_bisected_values_fn mgk_cuda_bisected_values;
mgk_bisection_order_fn mgk_cuda_bisection_order;
mgk_reduce_to_bands_fn mgk_cuda_reduce_to_bands;
mgk_prove_full_rank_fn mgk_cuda_prove_full_rank;
mgk_bound_square_fn mgk_cuda_bound_square;
mgk_shifted_inertia_fn mgk_cuda_shifted_inertia;
mgk_solve_factored_fn mgk_cuda_solve_factored;
mgk_residual_images_fn mgk_cuda_residual_images;
mgk_exact_images_fn mgk_cuda_exact_images;
mgk_hash_entries_fn mgk_cuda_hash_entries;
template <typename real> mgk_sum_squares_fn mgk_cuda_sum_squares;
template <typename real> mgk_adamw_fn mgk_cuda_adamw;

mgk_record_fn mgk_cuda_record;
mgk_replay_fn mgk_cuda_replay;
mgk_release_recording_fn mgk_cuda_release_recording;

#endif
