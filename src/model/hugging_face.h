/* What the formats of Hugging Face share: words of config.json. */
#ifndef MGK_MODEL_HUGGING_FACE_H
#define MGK_MODEL_HUGGING_FACE_H

#include "model/tensor_names.h"

/* The activation that config.json calls by `key`; STATUS_UNSUPPORTED names one that is not known.
 */
mgk_status mgk_hugging_face_activation(const mgk_checkpoint *checkpoint, const char *key,
                                       const char *fallback, mgk_activation *out);

/* heads, dim and head_dim = dim / heads by keys of config.json. */
mgk_status mgk_hugging_face_heads(const mgk_checkpoint *checkpoint, const char *heads_key,
                                  const char *dim_key, mgk_config *config);

/* Where the tokens of files are padded: "pad_token_id", or −1. */
mgk_status mgk_hugging_face_padding(const mgk_checkpoint *checkpoint, mgk_config *config);

#endif
