/* SPDX-License-Identifier: MIT */
/*
 * Byte-level byte-pair encoding (Sennrich et al. 2016; Radford et al. 2019). A word starts as its
 * bytes. The pair of neighbours that stands first in the list of merges is merged, the leftmost of
 * equal pairs first, until no pair is in the list.
 *
 * A heap orders the pairs by (rank, place), and the symbols form a linked list: a word of n bytes
 * takes O(n log n) steps.
 */
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "data/tokenizers/byte_alphabet.h"
#include "data/tokenizers/tokenizer_private.h"

/* A row of the hash table of merges; empty rows have rank -1. */
typedef struct merge {
    int32_t left, right;
    int32_t rank, id;
} merge;

typedef struct symbol {
    int32_t id, previous, next; /* places in the word, -1: none */
} symbol;

/* A pair in the heap; it is stale if one of its symbols was merged since. */
typedef struct candidate {
    int32_t rank, place;
    int32_t left, right, id;
} candidate;

static size_t table_rows(const mgk_tokenizer *tokenizer)
{
    return tokenizer->merges.size / sizeof(merge);
}

/* Finds the row of the pair, or the empty row where it belongs. */
static merge *find_row(const mgk_tokenizer *tokenizer, int32_t left, int32_t right)
{
    uint64_t pair = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    merge *rows = (merge *)(void *)tokenizer->merges.data;
    size_t mask = table_rows(tokenizer) - 1;
    size_t i = (size_t)mgk_mix(tokenizer->merge_seed ^ pair) & mask;
    while (rows[i].rank >= 0 && (rows[i].left != left || rows[i].right != right))
        i = (i + 1) & mask;
    return &rows[i];
}

mgk_status mgk_bpe_prepare(mgk_tokenizer *tokenizer, size_t merges)
{
    size_t rows = 1024;
    char letter[4];
    while (rows < 2 * merges + 2)
        rows *= 2;
    TRY(mgk_buffer_reserve(&tokenizer->merges, rows * sizeof(merge)));
    tokenizer->merges.size = rows * sizeof(merge);
    tokenizer->merge_seed = mgk_hash_seed();
    memset(tokenizer->merges.data, -1, tokenizer->merges.size);
    for (int byte = 0; byte < 256; byte++) {
        mgk_span spelled = {letter,
                            mgk_utf8_write(mgk_byte_character((unsigned char)byte), letter)};
        tokenizer->bytes[byte] = mgk_vocabulary_find(&tokenizer->vocabulary, spelled);
    }
    return STATUS_OK;
}

static mgk_status find_token(const mgk_tokenizer *tokenizer, mgk_span first, mgk_span second,
                             int32_t *id)
{
    char quoted[MGK_QUOTE_SIZE], rest[MGK_QUOTE_SIZE];
    uint64_t hash = mgk_hash_seeded(tokenizer->vocabulary.seed, first.data, first.size);
    hash = mgk_hash_seeded(hash, second.data, second.size);
    *id = mgk_vocabulary_find_joined(&tokenizer->vocabulary, hash, first, second);
    if (*id < 0)
        return mgk_fail(STATUS_FORMAT, "merge %zu: \"%s%s\" is not in the vocabulary",
                        tokenizer->merge_count + 1, mgk_quote(first, quoted),
                        mgk_quote(second, rest));
    return STATUS_OK;
}

mgk_status mgk_bpe_add_merge(mgk_tokenizer *tokenizer, mgk_span left, mgk_span right)
{
    const mgk_span nothing = {"", 0};
    merge found;
    TRY(find_token(tokenizer, left, nothing, &found.left));
    TRY(find_token(tokenizer, right, nothing, &found.right));
    TRY(find_token(tokenizer, left, right, &found.id));
    found.rank = (int32_t)tokenizer->merge_count++;
    /* If a pair is listed twice, its last place counts. */
    *find_row(tokenizer, found.left, found.right) = found;
    return STATUS_OK;
}

static bool before(const candidate *a, const candidate *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->place < b->place;
}

static mgk_status push(mgk_buffer *queue, candidate fresh)
{
    TRY(mgk_buffer_append(queue, &fresh, sizeof(fresh)));
    candidate *heap = (candidate *)(void *)queue->data;
    size_t i = queue->size / sizeof(fresh) - 1;
    for (; i > 0 && before(&fresh, &heap[(i - 1) / 2]); i = (i - 1) / 2)
        heap[i] = heap[(i - 1) / 2];
    heap[i] = fresh;
    return STATUS_OK;
}

static candidate pop(mgk_buffer *queue)
{
    candidate *heap = (candidate *)(void *)queue->data;
    size_t count = queue->size / sizeof(*heap) - 1;
    candidate top = heap[0], last = heap[count];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < count; i = child) {
        if (child + 1 < count && before(&heap[child + 1], &heap[child]))
            child++;
        if (!before(&heap[child], &last))
            break;
        heap[i] = heap[child];
    }
    heap[i] = last;
    queue->size = count * sizeof(*heap);
    return top;
}

/* Queues the symbol at `place` and the next one, if they can be merged. */
static mgk_status consider(mgk_token_encoder *encoder, int32_t place)
{
    const symbol *symbols = (const symbol *)(const void *)encoder->symbols.data;
    if (place < 0 || symbols[place].next < 0)
        return STATUS_OK;
    int32_t left = symbols[place].id, right = symbols[symbols[place].next].id;
    const merge *row = find_row(encoder->tokenizer, left, right);
    if (row->rank < 0)
        return STATUS_OK;
    return push(&encoder->queue, (candidate){row->rank, place, left, right, row->id});
}

/* Writes the bytes of a word as symbols. Bytes without an id are unknown or left out. */
static mgk_status read_symbols(mgk_token_encoder *encoder, mgk_span word)
{
    const mgk_tokenizer *tokenizer = encoder->tokenizer;
    bool after_unknown = false;
    int32_t count = 0;
    encoder->symbols.size = 0;
    TRY(mgk_buffer_reserve(&encoder->symbols, word.size * sizeof(symbol)));
    symbol *symbols = (symbol *)(void *)encoder->symbols.data;
    for (size_t i = 0; i < word.size; i++) {
        int32_t id = tokenizer->bytes[(unsigned char)word.data[i]];
        bool unknown = id < 0;
        if (unknown)
            id = after_unknown && tokenizer->fuse_unknown ? -1 : tokenizer->unknown;
        after_unknown = unknown;
        if (id < 0)
            continue;
        symbols[count] = (symbol){id, count - 1, count + 1};
        count++;
    }
    if (count > 0)
        symbols[count - 1].next = -1;
    encoder->symbols.size = (size_t)count * sizeof(symbol);
    return STATUS_OK;
}

static mgk_status merge_all(mgk_token_encoder *encoder)
{
    symbol *symbols = (symbol *)(void *)encoder->symbols.data;
    int32_t count = (int32_t)(encoder->symbols.size / sizeof(symbol));
    encoder->queue.size = 0;
    for (int32_t i = 0; i + 1 < count; i++)
        TRY(consider(encoder, i));
    while (encoder->queue.size > 0) {
        candidate best = pop(&encoder->queue);
        symbol *left = &symbols[best.place];
        if (left->id != best.left || left->next < 0 || symbols[left->next].id != best.right)
            continue;
        symbol *right = &symbols[left->next];
        left->id = best.id;
        left->next = right->next;
        right->id = -1; /* marks the symbol as merged */
        if (left->next >= 0)
            symbols[left->next].previous = best.place;
        TRY(consider(encoder, best.place));
        TRY(consider(encoder, left->previous));
    }
    return STATUS_OK;
}

static mgk_status encode(mgk_token_encoder *encoder, mgk_span word)
{
    if (word.size > INT32_MAX)
        return mgk_fail(STATUS_SHAPE, "a word of %zu bytes", word.size);
    if (encoder->tokenizer->whole_words) {
        TRY(mgk_spell_bytes(word, &encoder->spelling));
        mgk_span spelled = {(const char *)encoder->spelling.data, encoder->spelling.size};
        int32_t id = mgk_vocabulary_find(&encoder->tokenizer->vocabulary, spelled);
        if (id >= 0)
            return mgk_emit(encoder, id);
    }
    TRY(read_symbols(encoder, word));
    TRY(merge_all(encoder));
    const symbol *symbols = (const symbol *)(const void *)encoder->symbols.data;
    for (int32_t i = encoder->symbols.size > 0 ? 0 : -1; i >= 0; i = symbols[i].next)
        TRY(mgk_emit(encoder, symbols[i].id));
    return STATUS_OK;
}

const mgk_token_model mgk_bpe = {"byte-level BPE", " ", true, encode};
