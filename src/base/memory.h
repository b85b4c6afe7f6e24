/* Arrays whose size is checked for overflow before it is believed. */
#ifndef MGK_BASE_MEMORY_H
#define MGK_BASE_MEMORY_H

#include <stddef.h>

#include "base/status.h"

/*
 * Allocates count * size bytes, zeroed, aligned to 64 bytes (from 256 KB on: 4096), into *out (NULL
 * when the product is 0). The caller releases it with mgk_free. STATUS_MEMORY: the product
 * overflows or there is no memory; *out is NULL.
 */
mgk_status mgk_alloc(size_t count, size_t size, void *out);

/* Bytes that this thread has allocated so far, released ones included. */
size_t mgk_allocated(void);

/* Releases what mgk_alloc gave; NULL is accepted. */
void mgk_free(void *array);

/*
 * Makes room for an element behind the first `count` of *array [*room], of `size` bytes each: where
 * there is none the array moves to a larger one. STATUS_MEMORY: the array stays as it is.
 */
mgk_status mgk_grow(size_t count, size_t size, size_t *room, void *array);

/* *out = a * b; STATUS_MEMORY if it does not fit. */
mgk_status mgk_multiply(size_t a, size_t b, size_t *out);

/* A copy of the string, released with mgk_free. */
mgk_status mgk_copy_string(const char *text, char **out);

#endif
