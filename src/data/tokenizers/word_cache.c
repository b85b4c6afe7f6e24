/* SPDX-License-Identifier: MIT */
#include "data/tokenizers/word_cache.h"

#include <string.h>

#include "base/memory.h"

mgk_status mgk_word_cache_open(mgk_word_cache *cache)
{
    return mgk_alloc(MGK_CACHED_WORDS, sizeof(*cache->words), &cache->words);
}

void mgk_word_cache_close(mgk_word_cache *cache)
{
    mgk_free(cache->words);
    cache->words = NULL;
}

mgk_cached_word *mgk_word_cache_entry(const mgk_word_cache *cache, mgk_span word)
{
    if (word.size == 0 || word.size > MGK_CACHED_BYTES)
        return NULL;
    uint64_t hash = mgk_hash(MGK_HASH_START, word.data, word.size);
    return &cache->words[(hash ^ hash >> 32) % MGK_CACHED_WORDS];
}

bool mgk_cached_word_is(const mgk_cached_word *entry, mgk_span word)
{
    return entry->size == word.size && memcmp(entry->word, word.data, word.size) == 0;
}

void mgk_cached_word_set(mgk_cached_word *entry, mgk_span word, const int32_t *ids, size_t count)
{
    if (count > MGK_CACHED_IDS)
        return;
    entry->size = (unsigned char)word.size;
    entry->count = (unsigned char)count;
    memcpy(entry->word, word.data, word.size);
    memcpy(entry->ids, ids, count * sizeof(*ids));
}
