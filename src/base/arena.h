/* Many small objects that are released together. */
#ifndef MGK_BASE_ARENA_H
#define MGK_BASE_ARENA_H

#include <stddef.h>

#include "base/status.h"

typedef struct mgk_arena_block mgk_arena_block;

/* A zeroed one, but for the limit, is empty and ready. */
typedef struct mgk_arena {
    size_t limit; /* of all bytes together; 0: as much as there is */
    size_t used;  /* bytes given out; never beyond the limit */
    mgk_arena_block *last;
} mgk_arena;

/*
 * count * size bytes, zeroed, aligned to 16, into *out; they live until mgk_arena_free.
 * STATUS_MEMORY: there is no memory, or the limit is reached; *out is NULL.
 */
mgk_status mgk_arena_alloc(mgk_arena *arena, size_t count, size_t size, void *out);

/*
 * Room in a growing array [*room] of the arena for one element more than `used`: where it is full,
 * *array becomes a copy of twice the room.
 */
mgk_status mgk_arena_grow(mgk_arena *arena, size_t used, size_t size, size_t *room, void *array);

/* A copy of `length` bytes as a string. */
mgk_status mgk_arena_text(mgk_arena *arena, const char *text, size_t length, const char **out);

/* Releases all; the arena is empty then. */
void mgk_arena_free(mgk_arena *arena);

#endif
