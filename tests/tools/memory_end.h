/* SPDX-License-Identifier: MIT */
/*
 * Makes allocations of the library fail at a chosen point. In programs that contain this file, the
 * linker redirects aligned_alloc and open_memstream to it (--wrap), and cJSON allocates through it.
 */
#ifndef MGK_TESTS_MEMORY_END_H
#define MGK_TESTS_MEMORY_END_H

#include <stdbool.h>
#include <stdint.h>

/* Redirects cJSON's allocations; called before any other function, while there is one thread. */
void memory_watch(void);

/* The allocating code: the library itself, or cJSON, which allocates often. */
typedef enum memory_asker { MEMORY_OWN, MEMORY_JSON } memory_asker;

/* For `at`: no allocation fails, and the call stack of each is recorded. It ends at the function of
 * mgk.h that was called: whoever calls it, allocations within it are alike. */
#define MEMORY_NEVER INT64_MAX

/* From now on allocation number `at`, from 0, of this asker fails; with `lasting` also all later
 * ones of any asker. */
void memory_ends_at(memory_asker asker, int64_t at, bool lasting);

/* Among the recorded allocations, the next from number `at` on whose call stack has a call, from
 * one place of the code to another, that is in fewer than `times` of the stacks that this function
 * has returned, for whatever recording; -1: none. */
int64_t memory_next(int64_t at, int times);

/* From now on memory_next has returned none. */
void memory_forget(void);

/* Ends the failures. Returns the asker's number of allocations; one failed if it exceeds `at`. */
int64_t memory_is_back(void);

#endif
