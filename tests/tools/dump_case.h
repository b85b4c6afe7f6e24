/* SPDX-License-Identifier: MIT */
/* Shared by the tests of mgk_dump_attention: a model, a text, and their store. */
#ifndef MGK_TESTS_DUMP_CASE_H
#define MGK_TESTS_DUMP_CASE_H

#include "mgk.h"
#include "store/schema/reader.h"

enum { N = 9, D = 2, C = 6, H = 4, L = 3, M = 2 };

/* Files in the test's folder. */
extern const char *const case_text, *const case_model, *const case_store;

/* Makes and enters the folder; each program has its own. */
void case_enter(const char *folder);

/* Options for a store of `samples` samples of a text, in double precision. */
mgk_dump_options case_options(const char *const *texts, int samples);

/* Saves a model whose layer 1 has keys of about 1e5. */
void case_save_large_keys(void);

/* Opens that store; close it with mgk_store_close. */
mgk_store_reader *case_open_store(void);

#endif
