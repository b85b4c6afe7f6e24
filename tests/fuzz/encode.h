/* SPDX-License-Identifier: MIT */
/* Shared by the targets of tokenizers. */
#ifndef MGK_TESTS_FUZZ_ENCODE_H
#define MGK_TESTS_FUZZ_ENCODE_H

#include "data/tokenizers/tokenizer.h"

/* Encodes a usual text and this one, if any, and looks up the text of every id. */
void fuzz_encode(const mgk_tokenizer *tokenizer, const char *text, size_t size);

#endif
