/* SPDX-License-Identifier: MIT */
/* Fields of config.json that the Hugging Face formats share. */
#ifndef MGK_MODEL_HUGGING_FACE_H
#define MGK_MODEL_HUGGING_FACE_H

#include "model/formats/tensor_names.h"

/*
 * Adds "model_type" to a config.json without one, if the tensors' names tell it: those of 2019
 * begin with the module of the family, "bert.". Of models that were saved without this module only
 * bert is told.
 */
mgk_status mgk_hugging_face_tell_type(mgk_checkpoint *checkpoint);

/* The activation under `key` of config.json; STATUS_UNSUPPORTED names an unknown one. */
mgk_status mgk_hugging_face_activation(const mgk_checkpoint *checkpoint, const char *key,
                                       const char *fallback, mgk_activation *out);

/* The activation of this name, the value of `key`. */
mgk_status mgk_hugging_face_activation_of(const mgk_checkpoint *checkpoint, const char *key,
                                          const char *name, mgk_activation *out);

/* Sets heads, dim and head_dim = dim / heads from keys of config.json. */
mgk_status mgk_hugging_face_heads(const mgk_checkpoint *checkpoint, const char *heads_key,
                                  const char *dim_key, mgk_config *config);

/*
 * Refuses what lets the queries of a causal model see later keys: "is_causal", false or null, and
 * "use_bidirectional_attention".
 */
mgk_status mgk_hugging_face_causal(const mgk_checkpoint *checkpoint);

/* Sets the id of padding in token files, "pad_token_id" or −1, and whether texts begin or end with
 * it, too. */
mgk_status mgk_hugging_face_padding(const mgk_checkpoint *checkpoint, mgk_config *config);

/*
 * Sets the output layer of a language model or decoder: the tensor `output`, a constant (NULL:
 * "lm_head.weight"), if the file has it, else the embedding, unless config.json says that they are
 * not tied; `tied` is its default. A model that was saved without its separate layer has hidden
 * states and attention, but no loss: it becomes a causal encoder.
 */
mgk_status mgk_hugging_face_output(const mgk_checkpoint *checkpoint, const char *output, bool tied,
                                   mgk_config *config);

/* Like mgk_recipe_by_names, for a model that may have such an output layer. */
mgk_status mgk_hugging_face_language_model(const mgk_checkpoint *checkpoint,
                                           const mgk_tensor_names *names, const char *output,
                                           const mgk_parameter *parameter, mgk_recipe *out);

/* Sets the id before the target's tokens: "decoder_start_token_id", or `usual`. */
mgk_status mgk_hugging_face_start(const mgk_checkpoint *checkpoint, int usual, mgk_config *config);

/* Sets what config.json says of a side, "encoder" or "decoder", of bart, its relatives and whisper:
 * vocabulary, layers, heads, sizes, activation, scale and padding; positions are learned. */
mgk_status mgk_hugging_face_bart_side(const mgk_checkpoint *checkpoint, const char *side,
                                      mgk_config *config);

/* The tensors of layers of bart and its relatives. */
extern const mgk_tensor_row mgk_hugging_face_bart_rows[];

/*
 * Names the tensor of the token embedding of an encoder or decoder: its own, such as
 * "encoder.embed_tokens.weight", a constant, or "shared.weight" of both; equal where files have
 * both. `anchor` is that of all names.
 */
void mgk_hugging_face_tokens(const mgk_checkpoint *checkpoint, const char *anchor, const char *own,
                             mgk_recipe *out);

/* Sets learned positions of max_position_embeddings rows that begin after config->padding and skip
 * it (RoBERTa). */
mgk_status mgk_hugging_face_places(const mgk_checkpoint *checkpoint, mgk_config *config);

/*
 * For mgk_recipe.compute of their table: values [N + 1, E] are the rows after the id of padding,
 * then that of padding, each with row 0 of the tensor recipe->plus, if there is one.
 */
mgk_status mgk_hugging_face_compute_places(const mgk_checkpoint *checkpoint,
                                           const mgk_config *config, const mgk_recipe *recipe,
                                           const mgk_parameter *parameter, double *values);

/* The step of training of a folder that transformers' Trainer wrote: that of trainer_state.json, or
 * of its name, "checkpoint-500"; -1: not known. STATUS_MEMORY. */
mgk_status mgk_hugging_face_step(const mgk_checkpoint *checkpoint, int64_t *out);

#endif
