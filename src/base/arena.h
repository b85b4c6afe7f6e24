/* SPDX-License-Identifier: MIT */
/* An allocator of many small objects that are released together. */
#ifndef MGK_BASE_ARENA_H
#define MGK_BASE_ARENA_H

#include <stddef.h>

#include "base/status.h"

typedef struct mgk_arena_block mgk_arena_block;

/* A zeroed arena, with a limit if needed, is empty and ready. */
typedef struct mgk_arena {
    size_t limit; /* of all bytes in total; 0: no limit */
    size_t used;  /* bytes allocated; at most the limit */
    mgk_arena_block *last;
} mgk_arena;

/*
 * Allocates count * size bytes, zeroed, 16-byte aligned, to *out; they live until mgk_arena_free.
 * STATUS_MEMORY: there is no memory, or the limit is reached; *out is NULL.
 */
mgk_status mgk_arena_alloc(mgk_arena *arena, size_t count, size_t size, void *out);

/*
 * Makes room for one element after the first `used` in *array [*room], an array in the arena: a
 * full array is replaced by a copy with twice the room.
 */
mgk_status mgk_arena_grow(mgk_arena *arena, size_t used, size_t size, size_t *room, void *array);

/* Copies `length` bytes as a string. */
mgk_status mgk_arena_text(mgk_arena *arena, const char *text, size_t length, const char **out);

/* Releases all objects; then the arena is empty. */
void mgk_arena_free(mgk_arena *arena);

#endif
