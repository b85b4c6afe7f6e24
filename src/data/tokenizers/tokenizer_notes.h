/* Private to the tokenizers: what lies beside a plain vocabulary, tokenizer_config.json above all.
 */
#ifndef MGK_DATA_TOKENIZER_NOTES_H
#define MGK_DATA_TOKENIZER_NOTES_H

#include "data/tokenizers/tokenizer_json.h"

/* What transformers reads of them; zeroed is closed. */
typedef struct mgk_notes {
    cJSON *config; /* an object; special tokens that only special_tokens_map.json names are in it */
    mgk_vocabulary added; /* of added_tokens.json; empty where the configuration lists them */
} mgk_notes;

/* Parses them. STATUS_FORMAT names the file. Released with mgk_notes_close. */
mgk_status mgk_notes_open(const mgk_tokenizer_notes *texts, mgk_notes *out);
void mgk_notes_close(mgk_notes *notes);

/*
 * Which of `known` (until NULL) the configuration's tokenizer_class is, as it stands or with "Fast"
 * behind; −1: it has none. STATUS_UNSUPPORTED: another one, of which plain files do not tell all.
 */
mgk_status mgk_notes_class(const mgk_notes *notes, const char *const *known, int *out);

/* A special token: what the configuration calls it, or its usual name. */
mgk_span mgk_notes_name(const mgk_notes *notes, const char *key, const char *usual);

/* The id of a token of the vocabulary or an added one. STATUS_FORMAT: there is none. */
mgk_status mgk_notes_find(mgk_span name, const mgk_tokenizer *tokenizer, int32_t *id);

/* Adds the tokens that the vocabulary does not have, once the normalizer is complete.
 * STATUS_FORMAT: an id that is taken. */
mgk_status mgk_notes_add_tokens(const mgk_notes *notes, mgk_tokenizer *tokenizer);

/* Adds a special token, unless it is there already or in no vocabulary. `takes_space`: on its left,
 * where the configuration does not say. */
mgk_status mgk_notes_add_special(const mgk_notes *notes, const char *key, const char *usual,
                                 bool takes_space, mgk_tokenizer *tokenizer);

/* Adds all others that are named. STATUS_UNSUPPORTED: one has no id, which other software would
 * give it. */
mgk_status mgk_notes_add_others(const mgk_notes *notes, mgk_tokenizer *tokenizer);

#endif
