/* SPDX-License-Identifier: MIT */
/*
 * The first format of llama2.c, little-endian without gaps:
 *     7 int32   dim, hidden_dim, n_layers, n_heads, n_kv_heads, vocab_size, seq_len; vocab_size is
 *               negative if the output layer is not the embedding
 *     float32   token_embedding [V, C]; then each of these for all layers: rms_att [C], wq [C, C],
 *               wk and wv [G D, C], wo [C, C], rms_ffn [C], w1 [F, C], w2 [C, F], w3 [F, C];
 *               rms_final [C]; freq_cis_real and freq_cis_imag [N, D / 2]; wcls [V, C] of an output
 *               layer of its own
 * Its tensors are named "layers.0.wq"; its sizes are values. Nothing marks such a file but sizes
 * that agree with each other and with the file's.
 */
#ifndef MGK_MODEL_LLAMA2C_H
#define MGK_MODEL_LLAMA2C_H

#include "model/containers/tensors_private.h"

/* The name of this container. */
extern const char mgk_llama2c_container[];

bool mgk_llama2c_matches(const unsigned char *bytes, size_t size);

/* STATUS_FORMAT: the file's size is not the one that its header says. */
mgk_status mgk_llama2c_add(mgk_tensors *tensors, const char *path);

#endif
