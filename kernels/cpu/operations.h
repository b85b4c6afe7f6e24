/* SPDX-License-Identifier: MIT */
/* The operations of the CPU; kernels/backend.h describes them. */
#ifndef MGK_KERNELS_CPU_OPERATIONS_H
#define MGK_KERNELS_CPU_OPERATIONS_H

#include "kernels/cpu/cpu.h"

mgk_multiply_fn MGK_CPU(multiply);
mgk_bias_activation_fn MGK_CPU(bias_activation);
mgk_activation_backward_fn MGK_CPU(activation_backward);
mgk_column_sums_fn MGK_CPU(column_sums);
mgk_dropout_add_fn MGK_CPU(dropout_add);
mgk_layer_norm_fn MGK_CPU(layer_norm);
mgk_layer_norm_backward_fn MGK_CPU(layer_norm_backward);
mgk_rms_norm_fn MGK_CPU(rms_norm);
mgk_group_norm_fn MGK_CPU(group_norm);
mgk_soft_cap_fn MGK_CPU(soft_cap);
mgk_gate_fn MGK_CPU(gate);
mgk_rotary_embedding_fn MGK_CPU(rotary_embedding);
mgk_embed_fn MGK_CPU(embed);
mgk_add_rows_fn MGK_CPU(add_rows);
mgk_embed_backward_fn MGK_CPU(embed_backward);
mgk_pool_fn MGK_CPU(pool);
mgk_pool_backward_fn MGK_CPU(pool_backward);
mgk_pack_tokens_fn MGK_CPU(pack_tokens);
mgk_pack_tokens_fn MGK_CPU(unpack_tokens);
mgk_pair_features_fn MGK_CPU(pair_features);
mgk_pair_features_backward_fn MGK_CPU(pair_features_backward);
mgk_cross_entropy_fn MGK_CPU(cross_entropy);
mgk_smooth_targets_fn MGK_CPU(smooth_targets);
mgk_shift_keys_fn MGK_CPU(shift_keys);
mgk_shift_keys_backward_fn MGK_CPU(shift_keys_backward);
mgk_mixture_attention_fn MGK_CPU(mixture_attention);
mgk_mixture_attention_backward_fn MGK_CPU(mixture_attention_backward);
mgk_linear_attention_fn MGK_CPU(linear_attention);
mgk_linear_attention_backward_fn MGK_CPU(linear_attention_backward);
mgk_mixture_matrix_fn MGK_CPU(mixture_matrix);
mgk_mixture_matrix_output_fn MGK_CPU(mixture_matrix_output);
mgk_linear_matrix_fn MGK_CPU(linear_matrix);
mgk_linear_factors_fn MGK_CPU(linear_factors);
mgk_feature_map_fn MGK_CPU(feature_map);
mgk_feature_map_backward_fn MGK_CPU(feature_map_backward);
mgk_delta_attention_fn MGK_CPU(delta_attention);
mgk_delta_attention_backward_fn MGK_CPU(delta_attention_backward);
mgk_delta_matrix_fn MGK_CPU(delta_matrix);
mgk_responsibilities_fn MGK_CPU(responsibilities);
mgk_linear_responsibilities_fn MGK_CPU(linear_responsibilities);
mgk_mean_responsibilities_fn MGK_CPU(mean_responsibilities);
mgk_take_block_fn MGK_CPU(take_block);
mgk_sum_squares_fn MGK_CPU(sum_squares);
mgk_adamw_fn MGK_CPU(adamw);

#endif
