/* SPDX-License-Identifier: MIT */
#include "data/tokenizers/vocabulary.h"

#include <string.h>

#include "base/memory.h"

typedef struct entry {
    size_t start, size; /* within the text */
    uint64_t hash;
    bool set;
} entry;

static entry *entries_of(const mgk_vocabulary *vocabulary)
{
    return (entry *)(void *)vocabulary->entries.data;
}

int32_t mgk_vocabulary_size(const mgk_vocabulary *vocabulary)
{
    return (int32_t)(vocabulary->entries.size / sizeof(entry));
}

mgk_span mgk_vocabulary_token(const mgk_vocabulary *vocabulary, int32_t id)
{
    if (id < 0 || id >= mgk_vocabulary_size(vocabulary) || !entries_of(vocabulary)[id].set)
        return (mgk_span){0};
    const entry *found = &entries_of(vocabulary)[id];
    if (found->size == 0) /* `text` may still be NULL */
        return (mgk_span){"", 0};
    return (mgk_span){(const char *)vocabulary->text.data + found->start, found->size};
}

/* Finds the slot of the token in two pieces, or the empty slot where it belongs; one
 * always exists. */
static size_t find_slot(const mgk_vocabulary *vocabulary, uint64_t hash, mgk_span first,
                        mgk_span second)
{
    size_t mask = vocabulary->slots - 1, slot = (size_t)hash & mask;
    for (; vocabulary->table[slot] >= 0; slot = (slot + 1) & mask) {
        const entry *other = &entries_of(vocabulary)[vocabulary->table[slot]];
        if (other->hash != hash || other->size != first.size + second.size)
            continue;
        if (other->size == 0) /* `text` may still be NULL */
            break;
        const unsigned char *text = vocabulary->text.data + other->start;
        if (memcmp(text, first.data, first.size) == 0 &&
            memcmp(text + first.size, second.data, second.size) == 0)
            break;
    }
    return slot;
}

int32_t mgk_vocabulary_find_joined(const mgk_vocabulary *vocabulary, uint64_t hash, mgk_span first,
                                   mgk_span second)
{
    if (vocabulary->slots == 0)
        return -1;
    return vocabulary->table[find_slot(vocabulary, hash, first, second)];
}

int32_t mgk_vocabulary_find(const mgk_vocabulary *vocabulary, mgk_span token)
{
    mgk_span nothing = {"", 0};
    uint64_t hash = mgk_hash_seeded(vocabulary->seed, token.data, token.size);
    return mgk_vocabulary_find_joined(vocabulary, hash, token, nothing);
}

/* Doubles the table. At most half of it is used, so that searches stay short. */
static mgk_status grow_table(mgk_vocabulary *vocabulary)
{
    int32_t *old = vocabulary->table;
    size_t old_slots = vocabulary->slots, slots = old_slots ? 2 * old_slots : 1024;
    mgk_span nothing = {"", 0};
    int32_t *table;
    TRY(mgk_alloc(slots, sizeof(*table), &table));
    memset(table, -1, slots * sizeof(*table));
    if (!vocabulary->seed)
        vocabulary->seed = mgk_hash_seed();
    vocabulary->table = table;
    vocabulary->slots = slots;
    for (size_t i = 0; i < old_slots; i++) {
        if (old[i] < 0)
            continue;
        mgk_span token = mgk_vocabulary_token(vocabulary, old[i]);
        uint64_t hash = entries_of(vocabulary)[old[i]].hash;
        table[find_slot(vocabulary, hash, token, nothing)] = old[i];
    }
    mgk_free(old);
    return STATUS_OK;
}

/* Extends the entries up to the id, with empty ones below it. */
static mgk_status reach(mgk_vocabulary *vocabulary, int32_t id)
{
    size_t size = (size_t)mgk_vocabulary_size(vocabulary), needed = (size_t)id + 1;
    if (needed <= size)
        return STATUS_OK;
    TRY(mgk_buffer_reserve(&vocabulary->entries, (needed - size) * sizeof(entry)));
    memset(vocabulary->entries.data + vocabulary->entries.size, 0, (needed - size) * sizeof(entry));
    vocabulary->entries.size = needed * sizeof(entry);
    return STATUS_OK;
}

mgk_status mgk_vocabulary_set(mgk_vocabulary *vocabulary, int64_t id, mgk_span token)
{
    char quoted[MGK_QUOTE_SIZE], other[MGK_QUOTE_SIZE];
    const int32_t most = vocabulary->most > 0 ? vocabulary->most : MGK_VOCABULARY_MOST;
    if (id < 0 || id >= most)
        return mgk_fail(STATUS_FORMAT, "token \"%s\": id %lld is not in [0, %d)",
                        mgk_quote(token, quoted), (long long)id, most);
    mgk_span taken = mgk_vocabulary_token(vocabulary, (int32_t)id), nothing = {"", 0};
    if (taken.data && taken.size == token.size && memcmp(taken.data, token.data, token.size) == 0)
        return STATUS_OK;
    if (taken.data)
        return mgk_fail(STATUS_FORMAT, "id %lld belongs to \"%s\" and to \"%s\"", (long long)id,
                        mgk_quote(taken, other), mgk_quote(token, quoted));
    TRY(reach(vocabulary, (int32_t)id));
    if (2 * (vocabulary->used + 1) > vocabulary->slots)
        TRY(grow_table(vocabulary));
    entry fresh = {vocabulary->text.size, token.size,
                   mgk_hash_seeded(vocabulary->seed, token.data, token.size), true};
    TRY(mgk_buffer_append(&vocabulary->text, token.data, token.size));
    size_t slot = find_slot(vocabulary, fresh.hash, token, nothing);
    vocabulary->used += vocabulary->table[slot] < 0;
    vocabulary->table[slot] = (int32_t)id;
    entries_of(vocabulary)[id] = fresh;
    if (token.size > vocabulary->longest)
        vocabulary->longest = token.size;
    return STATUS_OK;
}

void mgk_vocabulary_free(mgk_vocabulary *vocabulary)
{
    mgk_buffer_free(&vocabulary->text);
    mgk_buffer_free(&vocabulary->entries);
    mgk_free(vocabulary->table);
    *vocabulary = (mgk_vocabulary){0};
}
