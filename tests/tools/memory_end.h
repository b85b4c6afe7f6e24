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

/* From now on allocation number `at`, from 0, fails; with `lasting` so do all behind it. */
void memory_ends_at(int64_t at, bool lasting);

/* There is memory again. So many allocations were asked for: one has failed if more than `at`. */
int64_t memory_is_back(void);

#endif
