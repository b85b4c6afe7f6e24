/*
 * Memory that ends where a test wants it to: for the programs whose sources these are, all that the
 * library itself takes goes through here. That is aligned_alloc and open_memstream, which the
 * linker sends here (--wrap), and what cJSON takes on its behalf.
 */
#ifndef MGK_TESTS_MEMORY_END_H
#define MGK_TESTS_MEMORY_END_H

#include <stdbool.h>
#include <stdint.h>

/* Sends cJSON here; called before any other function, while there is one thread. */
void memory_watch(void);

/* Who asks: the library itself, or cJSON, which asks often. */
typedef enum memory_asker { MEMORY_OWN, MEMORY_JSON } memory_asker;

/* For `at`: none fails, and it is noted which calls led to each. */
#define MEMORY_NEVER INT64_MAX

/* From now on allocation number `at`, from 0, of this asker fails; with `lasting` so do all behind
 * it, whoever asks. */
void memory_ends_at(memory_asker asker, int64_t at, bool lasting);

/* Of the allocations noted last, the next from number `at` on to which the same calls led fewer
 * than `times` times before; -1 where there is none. */
int64_t memory_next(int64_t at, int times);

/* There is memory again. So often the asker has asked: an allocation failed if more than `at`. */
int64_t memory_is_back(void);

#endif
