/* SPDX-License-Identifier: MIT */
/* Private to the tokenizers: reads the JSON of Hugging Face. */
#ifndef MGK_DATA_TOKENIZER_JSON_H
#define MGK_DATA_TOKENIZER_JSON_H

#include "data/tokenizers/json_values.h"
#include "data/tokenizers/tokenizer_private.h"

/* Read the members "normalizer", "pre_tokenizer" and "post_processor" of tokenizer.json; each may
 * be NULL. STATUS_UNSUPPORTED names an unknown step. */
mgk_status mgk_tokenizer_read_normalizer(const cJSON *step, mgk_tokenizer *tokenizer);
mgk_status mgk_tokenizer_read_splits(const cJSON *step, mgk_tokenizer *tokenizer);
mgk_status mgk_tokenizer_read_frame(const cJSON *step, mgk_tokenizer *tokenizer);

/* Reads the member "model", once normalizer and splits are there. */
mgk_status mgk_tokenizer_read_model(const cJSON *model, mgk_tokenizer *tokenizer);

/* Read a whole tokenizer.json, or vocab.json with the text of its merges.txt. */
mgk_status mgk_tokenizer_read_tree(const cJSON *tree, mgk_tokenizer *tokenizer);
mgk_status mgk_tokenizer_read_bpe(const cJSON *vocabulary, mgk_span merges,
                                  const mgk_tokenizer_notes *notes, mgk_tokenizer *tokenizer);

/* Adds an added token: an object with "content" and optional properties, and its id. */
mgk_status mgk_tokenizer_read_added(const cJSON *object, const cJSON *id, mgk_tokenizer *tokenizer);

#endif
