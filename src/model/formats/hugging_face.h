/* Fields of config.json, which the formats of Hugging Face share. */
#ifndef MGK_MODEL_HUGGING_FACE_H
#define MGK_MODEL_HUGGING_FACE_H

#include "model/formats/tensor_names.h"

/* The activation that config.json calls by `key`; STATUS_UNSUPPORTED names one that is not known.
 */
mgk_status mgk_hugging_face_activation(const mgk_checkpoint *checkpoint, const char *key,
                                       const char *fallback, mgk_activation *out);

/* heads, dim and head_dim = dim / heads by keys of config.json. */
mgk_status mgk_hugging_face_heads(const mgk_checkpoint *checkpoint, const char *heads_key,
                                  const char *dim_key, mgk_config *config);

/* Where the tokens of files are padded: "pad_token_id", or −1. */
mgk_status mgk_hugging_face_padding(const mgk_checkpoint *checkpoint, mgk_config *config);

/*
 * The output layer of a language model: tied to the embedding or its own, "lm_head.weight". Where
 * config.json does not say which, `tied`. A model saved without its own one has hidden states and
 * attention and no loss: it becomes a causal encoder.
 */
mgk_status mgk_hugging_face_output(const mgk_checkpoint *checkpoint, bool tied, mgk_config *config);

/* As mgk_recipe_by_names, for a model that may have such an output layer. */
mgk_status mgk_hugging_face_language_model(const mgk_checkpoint *checkpoint,
                                           const mgk_tensor_names *names,
                                           const mgk_parameter *parameter, mgk_recipe *out);

#endif
