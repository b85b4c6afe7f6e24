/* SPDX-License-Identifier: MIT */
/* Texts that are known only at run time, such as names of files: each is stored once, and found by
 * a hash. */
#ifndef MGK_TABLE_NAMES_H
#define MGK_TABLE_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

/* A zeroed list is empty. It owns the texts. */
typedef struct mgk_names {
    const char **texts; /* [count], in the order in which they came */
    size_t count, room;
    int32_t *slots;    /* [slot_count], the hash table: an index in texts plus 1; 0: free */
    size_t slot_count; /* 0 or a power of two, of which at most half is used */
    uint64_t seed;
    mgk_arena arena; /* of the texts */
} mgk_names;

/*
 * Finds a text, or adds it: texts[*index]. STATUS_MEMORY; STATUS_FORMAT: not valid UTF-8, or more
 * than 2^30 texts.
 */
mgk_status mgk_names_put(mgk_names *names, const char *text, int32_t *index);

/* Releases all texts; then the list is empty. */
void mgk_names_free(mgk_names *names);

#endif
