/* SPDX-License-Identifier: MIT */
/* Private to the tokenizers: the files that accompany a plain vocabulary, mainly
 * tokenizer_config.json. */
#ifndef MGK_DATA_TOKENIZER_NOTES_H
#define MGK_DATA_TOKENIZER_NOTES_H

#include "data/tokenizers/tokenizer_json.h"

/* The members that transformers reads; zeroed is closed. */
typedef struct mgk_notes {
    cJSON *config; /* an object; includes special tokens that only special_tokens_map.json names */
    /* from added_tokens.json; empty if the configuration lists added tokens */
    mgk_vocabulary added;
} mgk_notes;

/* Parses the files. STATUS_FORMAT names the file. Release *out with mgk_notes_close. */
mgk_status mgk_notes_open(const mgk_tokenizer_notes *texts, mgk_notes *out);
void mgk_notes_close(mgk_notes *notes);

/*
 * The index in `known` (ends with NULL) of the configuration's tokenizer_class, which may have the
 * suffix "Fast"; −1: not set. STATUS_UNSUPPORTED: another class, which the plain files do not
 * describe completely.
 */
mgk_status mgk_notes_class(const mgk_notes *notes, const char *const *known, int *out);

/* The model_type of config.json, data NULL: none; it belongs to *model, which cJSON_Delete
 * releases, also after a failure. */
mgk_status mgk_notes_model_type(const mgk_tokenizer_notes *texts, cJSON **model, mgk_span *type);

/* The name of a special token: from the configuration, or its usual name. */
mgk_span mgk_notes_name(const mgk_notes *notes, const char *key, const char *usual);

/* Whether the configuration says that there is no such special token, by null. */
bool mgk_notes_lack(const mgk_notes *notes, const char *key);

/* The id of a token of the vocabulary or an added token. STATUS_FORMAT: no such token. */
mgk_status mgk_notes_find(mgk_span name, const mgk_tokenizer *tokenizer, int32_t *id);

/* Adds the tokens that the vocabulary lacks; the normalizer must be complete. STATUS_FORMAT: an id
 * is taken. */
mgk_status mgk_notes_add_tokens(const mgk_notes *notes, mgk_tokenizer *tokenizer);

/* Adds a special token unless it is added already or has no id. `takes_space`: whether it includes
 * the white space on its left, if the configuration does not say. */
mgk_status mgk_notes_add_special(const mgk_notes *notes, const char *key, const char *usual,
                                 bool takes_space, mgk_tokenizer *tokenizer);

/* Adds all other special tokens that the files name. STATUS_UNSUPPORTED: one has no id; other
 * software would assign one. */
mgk_status mgk_notes_add_others(const mgk_notes *notes, mgk_tokenizer *tokenizer);

#endif
