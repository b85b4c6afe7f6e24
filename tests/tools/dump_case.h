/* What the tests of mgk_dump_attention share: a model, a text, and the store of them. */
#ifndef MGK_TESTS_DUMP_CASE_H
#define MGK_TESTS_DUMP_CASE_H

#include "mgk.h"
#include "store/schema/reader.h"

enum { N = 9, D = 2, C = 6, H = 4, L = 3, M = 2 };

/* Files in the folder of the test. */
extern const char *const case_text, *const case_model, *const case_store;

/* Makes the folder and enters it: each program has one of its own. */
void case_enter(const char *folder);

/* The store of so many samples of a text, in double precision. */
mgk_dump_options case_options(const char *const *texts, int samples);

/* Saves a model of which layer 1 has keys of some 1e5. */
void case_save_large_keys(void);

/* That store, closed with mgk_store_close. */
mgk_store_reader *case_open_store(void);

#endif
