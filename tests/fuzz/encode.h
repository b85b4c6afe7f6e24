/* What the targets of tokenizers share. */
#ifndef MGK_TESTS_FUZZ_ENCODE_H
#define MGK_TESTS_FUZZ_ENCODE_H

#include "data/tokenizers/tokenizer.h"

/* Makes tokens of a usual text and of this one, if any, and finds the text of every id. */
void fuzz_encode(const mgk_tokenizer *tokenizer, const char *text, size_t size);

#endif
