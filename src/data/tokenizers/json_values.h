/* SPDX-License-Identifier: MIT */
/* Reads JSON values of Hugging Face's tokenizer files. */
#ifndef MGK_DATA_JSON_VALUES_H
#define MGK_DATA_JSON_VALUES_H

#include "base/json.h"
#include "data/tokenizers/vocabulary.h"

/* The text of a string, of an object's "content" or of a list's first entry; data NULL: none of
 * these. */
mgk_span mgk_json_text(const cJSON *value);

/* Reads a boolean member, or `otherwise` if it is missing or null. STATUS_FORMAT: another type. */
mgk_status mgk_json_flag(const cJSON *object, const char *key, bool otherwise, bool *out);

/* Whether the member is missing or null. */
bool mgk_json_absent(const cJSON *object, const char *key);

/* STATUS_FORMAT, naming `what`: not a whole number. */
mgk_status mgk_json_id(const cJSON *value, const char *what, int64_t *out);

/* Fills a vocabulary from an object {token: id}. */
mgk_status mgk_json_vocabulary(const cJSON *object, mgk_vocabulary *vocabulary);

/* Whether a step of tokenizer.json has this type. */
bool mgk_json_is_type(const cJSON *step, const char *name);

/* Fails: this step, a "normalizer" or the like, is not known. */
mgk_status mgk_json_refuse(const char *what, const cJSON *step);

/* The "pattern" of a step. STATUS_FORMAT: it has none. */
mgk_status mgk_json_pattern(const cJSON *step, mgk_span *text, bool *literal);

#endif
