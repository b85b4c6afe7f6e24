/* SPDX-License-Identifier: MIT */
/* The operation table of one CPU variant. */
#include "kernels/cpu/attention/dense.h"
#include "kernels/cpu/device.h"
#include "kernels/cpu/memory.h"
#include "kernels/cpu/operations.h"
#include "kernels/cpu/recording.h"
#include "kernels/cpu/spectral/singular_values.h"

extern const mgk_operations MGK_CPU(table);

const mgk_operations MGK_CPU(table) = {
    .allocate = mgk_cpu_allocate,
    .release = mgk_cpu_release,
    .upload = mgk_cpu_copy,
    .download = mgk_cpu_copy,
    .zero = mgk_cpu_zero,
    .copy = mgk_cpu_copy,
    .synchronize = mgk_cpu_synchronize,
    .close = mgk_cpu_close,
    .memory = mgk_cpu_memory,
    .mirror_open = mgk_cpu_mirror_open,
    .mirror_send = mgk_cpu_mirror_send,
    .mirror_wait = mgk_cpu_mirror_send,
    .mirror_close = mgk_cpu_mirror_close,
    .allow_tf32 = mgk_cpu_allow_tf32,
    .multiply = MGK_CPU(multiply),
    .bias_activation = MGK_CPU(bias_activation),
    .activation_backward = MGK_CPU(activation_backward),
    .column_sums = MGK_CPU(column_sums),
    .dropout_add = MGK_CPU(dropout_add),
    .layer_norm = MGK_CPU(layer_norm),
    .layer_norm_backward = MGK_CPU(layer_norm_backward),
    .rms_norm = MGK_CPU(rms_norm),
    .group_norm = MGK_CPU(group_norm),
    .soft_cap = MGK_CPU(soft_cap),
    .gate = MGK_CPU(gate),
    .rotary_embedding = MGK_CPU(rotary_embedding),
    .embed = MGK_CPU(embed),
    .add_rows = MGK_CPU(add_rows),
    .embed_backward = MGK_CPU(embed_backward),
    .pool = MGK_CPU(pool),
    .pool_backward = MGK_CPU(pool_backward),
    .pair_features = MGK_CPU(pair_features),
    .pair_features_backward = MGK_CPU(pair_features_backward),
    .cross_entropy = MGK_CPU(cross_entropy),
    .shift_keys = MGK_CPU(shift_keys),
    .shift_keys_backward = MGK_CPU(shift_keys_backward),
    .mixture_attention = MGK_CPU(mixture_attention),
    .mixture_attention_backward = MGK_CPU(mixture_attention_backward),
    .linear_attention = MGK_CPU(linear_attention),
    .linear_attention_backward = MGK_CPU(linear_attention_backward),
    .mixture_matrix = MGK_CPU(mixture_matrix),
    .mixture_matrix_output = MGK_CPU(mixture_matrix_output),
    .linear_matrix = MGK_CPU(linear_matrix),
    .linear_factors = MGK_CPU(linear_factors),
    .responsibilities = MGK_CPU(responsibilities),
    .linear_responsibilities = MGK_CPU(linear_responsibilities),
    .take_block = MGK_CPU(take_block),
    .singular_values = mgk_cpu_singular_values,
    .sum_squares = MGK_CPU(sum_squares),
    .adamw = MGK_CPU(adamw),
    .record = mgk_cpu_record,
    .replay = mgk_cpu_replay,
    .release_recording = mgk_cpu_release_recording,
    .dense = &MGK_CPU(dense_operations),
};
