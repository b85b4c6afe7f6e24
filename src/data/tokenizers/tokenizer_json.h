/* Private to the tokenizers: reading the JSON of Hugging Face. */
#ifndef MGK_DATA_TOKENIZER_JSON_H
#define MGK_DATA_TOKENIZER_JSON_H

#include "base/json.h"
#include "data/tokenizers/tokenizer_private.h"

/* The text of a string, of an object's "content" or of a list's first; data NULL: none of them. */
mgk_span mgk_json_text(const cJSON *value);

/* The member's truth, or `otherwise` where it is missing or null. STATUS_FORMAT: something else. */
mgk_status mgk_json_flag(const cJSON *object, const char *key, bool otherwise, bool *out);

/* Whether the member is missing or null. */
bool mgk_json_absent(const cJSON *object, const char *key);

/* STATUS_FORMAT, naming `what`: no whole number. */
mgk_status mgk_json_id(const cJSON *value, const char *what, int64_t *out);

/* Fills a vocabulary from an object of token: id. */
mgk_status mgk_json_vocabulary(const cJSON *object, mgk_vocabulary *vocabulary);

/* The steps of tokenizer.json: its members "normalizer", "pre_tokenizer" and "post_processor",
 * any of which may be NULL. STATUS_UNSUPPORTED names a step that is not known. */
mgk_status mgk_tokenizer_read_normalizer(const cJSON *step, mgk_tokenizer *tokenizer);
mgk_status mgk_tokenizer_read_splits(const cJSON *step, mgk_tokenizer *tokenizer, bool *byte_level);
mgk_status mgk_tokenizer_read_frame(const cJSON *step, mgk_tokenizer *tokenizer);

/* All of a tokenizer.json; vocab.json with the text of its merges.txt. */
mgk_status mgk_tokenizer_read_tree(const cJSON *tree, mgk_tokenizer *tokenizer);
mgk_status mgk_tokenizer_read_bpe(const cJSON *vocabulary, mgk_span merges,
                                  const mgk_tokenizer_notes *notes, mgk_tokenizer *tokenizer);

/* An added token: an object with "content" and perhaps properties, and its id. */
mgk_status mgk_tokenizer_read_added(const cJSON *object, const cJSON *id, mgk_tokenizer *tokenizer);

#endif
