/* SPDX-License-Identifier: MIT */
/* Functions for tests of tokenizers: opening one and checking its ids. */
#ifndef MGK_TESTS_DATA_TOKENIZER_CASE_H
#define MGK_TESTS_DATA_TOKENIZER_CASE_H

#include "data/fixture.h"
#include "data/tokenizers/tokenizer.h"

mgk_tokenizer *tokenizer_of(const char *path);

/* The text [size] has these ids [count]. */
void assert_ids(const mgk_tokenizer *tokenizer, const char *text, size_t size,
                const int32_t *expected, size_t count);

#define assert_encoded(tokenizer, text, ...)                                      \
    assert_ids(tokenizer, text, sizeof(text) - 1, (const int32_t[]){__VA_ARGS__}, \
               sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t))

/* Opening fails with this status, and the one-line message contains `part`. */
void assert_closed(const char *path, mgk_status expected, const char *part);

#endif
