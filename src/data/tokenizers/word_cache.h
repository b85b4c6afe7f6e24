/* SPDX-License-Identifier: MIT */
/* A cache of the ids of recent words. */
#ifndef MGK_DATA_WORD_CACHE_H
#define MGK_DATA_WORD_CACHE_H

#include <stdint.h>

#include "base/hash.h"
#include "data/datasets/lines.h"

enum {
    MGK_CACHED_BYTES = 30, /* longest word that is kept */
    MGK_CACHED_IDS = 8,    /* most ids; an entry is 64 bytes, one cache line */
    MGK_CACHED_WORDS = 1 << 15,
};

typedef struct mgk_cached_word {
    unsigned char size, count; /* size 0: empty */
    char word[MGK_CACHED_BYTES];
    int32_t ids[MGK_CACHED_IDS];
} mgk_cached_word;

typedef struct mgk_word_cache {
    mgk_cached_word *words; /* [MGK_CACHED_WORDS], by hash */
} mgk_word_cache;

mgk_status mgk_word_cache_open(mgk_word_cache *cache);
void mgk_word_cache_close(mgk_word_cache *cache); /* a zeroed one is accepted */

/* The entry that may hold this word; NULL: words of this size are not cached. */
mgk_cached_word *mgk_word_cache_entry(const mgk_word_cache *cache, mgk_span word);

/* Whether the entry holds the word. */
bool mgk_cached_word_is(const mgk_cached_word *entry, mgk_span word);

/* Stores a word and its ids, at least one, in the entry, unless there are too many. */
void mgk_cached_word_set(mgk_cached_word *entry, mgk_span word, const int32_t *ids, size_t count);

#endif
