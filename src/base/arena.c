/* SPDX-License-Identifier: MIT */
#include "base/arena.h"

#include <stdint.h>
#include <string.h>

#include "base/memory.h"

enum { ALIGNMENT = 16, BLOCK_SIZE = 1 << 16 };

struct mgk_arena_block {
    mgk_arena_block *previous;
    size_t used, size; /* of the bytes after this header */
    _Alignas(ALIGNMENT) unsigned char bytes[];
};

/* Appends a block with room for at least `size` bytes. */
static mgk_status add_block(mgk_arena *arena, size_t size)
{
    mgk_arena_block *block;
    size_t room = size > BLOCK_SIZE ? size : BLOCK_SIZE;
    TRY(mgk_alloc(1, sizeof(*block) + room, &block));
    block->size = room;
    block->previous = arena->last;
    arena->last = block;
    return STATUS_OK;
}

mgk_status mgk_arena_alloc(mgk_arena *arena, size_t count, size_t size, void *out)
{
    void *bytes = NULL;
    size_t total;
    memcpy(out, &bytes, sizeof(bytes));
    TRY(mgk_multiply(count, size, &total));
    size_t limit = arena->limit ? arena->limit : SIZE_MAX / 2;
    if (total > limit - arena->used || limit - arena->used - total < ALIGNMENT)
        return mgk_fail(STATUS_MEMORY, "needs more than %zu bytes of memory", limit);
    size_t rounded = (total + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (!arena->last || rounded > arena->last->size - arena->last->used)
        TRY(add_block(arena, rounded));
    bytes = arena->last->bytes + arena->last->used;
    arena->last->used += rounded;
    arena->used += rounded;
    memcpy(out, &bytes, sizeof(bytes));
    return STATUS_OK;
}

mgk_status mgk_arena_grow(mgk_arena *arena, size_t used, size_t size, size_t *room, void *array)
{
    enum { FIRST_ROOM = 4 };
    void *old, *fresh;
    if (used < *room)
        return STATUS_OK;
    size_t wanted = *room ? 2 * *room : FIRST_ROOM;
    TRY(mgk_arena_alloc(arena, wanted, size, &fresh));
    memcpy(&old, array, sizeof(old));
    if (used)
        memcpy(fresh, old, used * size);
    memcpy(array, &fresh, sizeof(fresh));
    *room = wanted;
    return STATUS_OK;
}

mgk_status mgk_arena_text(mgk_arena *arena, const char *text, size_t length, const char **out)
{
    char *copy;
    TRY(mgk_arena_alloc(arena, length + 1, 1, &copy));
    memcpy(copy, text, length);
    *out = copy;
    return STATUS_OK;
}

void mgk_arena_free(mgk_arena *arena)
{
    while (arena->last) {
        mgk_arena_block *block = arena->last;
        arena->last = block->previous;
        mgk_free(block);
    }
    arena->used = 0;
}
