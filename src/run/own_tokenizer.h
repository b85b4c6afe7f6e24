/* SPDX-License-Identifier: MIT */
/* The tokenizer that a model of mgk-train carries: its text is in the model's file. */
#ifndef MGK_RUN_OWN_TOKENIZER_H
#define MGK_RUN_OWN_TOKENIZER_H

#include <stdbool.h>

#include "data/tokenizers/tokenizer.h"

/* Opens the text; a language model was trained without tokens around its windows. Fails as
 * mgk_tokenizer_open_text, with `path`, the model's file, in front of the message. */
mgk_status mgk_own_tokenizer_open(const char *text, bool language_model, const char *path,
                                  mgk_tokenizer **out);

#endif
