/* SPDX-License-Identifier: MIT */
/* Allocates arrays, with overflow checks of their sizes. */
#ifndef MGK_BASE_MEMORY_H
#define MGK_BASE_MEMORY_H

#include <stddef.h>

#include "base/status.h"

/*
 * Allocates count * size bytes, zeroed, 64-byte aligned (4096 from 256 KB on), to *out (NULL if the
 * product is 0). Release with mgk_free. STATUS_MEMORY: the product overflows or there is no memory;
 * *out is NULL.
 */
mgk_status mgk_alloc(size_t count, size_t size, void *out);

/* Total bytes allocated by this thread, including released ones. */
size_t mgk_allocated(void);

/* Releases an array of mgk_alloc; NULL is accepted. */
void mgk_free(void *array);

/*
 * Makes room for an element after the first `count` of *array [*room], `size` bytes each: a full
 * array moves to a larger one. STATUS_MEMORY: the array is unchanged.
 */
mgk_status mgk_grow(size_t count, size_t size, size_t *room, void *array);

/* *out = a * b; STATUS_MEMORY if it does not fit. */
mgk_status mgk_multiply(size_t a, size_t b, size_t *out);

/* Copies the string; release with mgk_free. */
mgk_status mgk_copy_string(const char *text, char **out);

#endif
