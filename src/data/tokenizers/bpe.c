/* SPDX-License-Identifier: MIT */
/*
 * Byte-pair encoding (Sennrich et al. 2016). A word starts as its bytes (Radford et al. 2019) or
 * its characters. The pair of neighbours that stands first in the list of merges is merged, the
 * leftmost of equal pairs first, until no pair is in the list.
 *
 * A heap orders the pairs by (rank, place), and the symbols form a linked list: a word of n bytes
 * takes O(n log n) steps.
 */
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "data/tokenizers/byte_alphabet.h"
#include "data/tokenizers/heap.h"
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

static size_t table_rows(const mgk_bpe *bpe)
{
    return bpe->merges.size / sizeof(merge);
}

/* Finds the row of the pair, or the empty row where it belongs. */
static merge *find_row(const mgk_bpe *bpe, int32_t left, int32_t right)
{
    uint64_t pair = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    merge *rows = (merge *)(void *)bpe->merges.data;
    size_t mask = table_rows(bpe) - 1;
    size_t i = (size_t)mgk_mix(bpe->seed ^ pair) & mask;
    while (rows[i].rank >= 0 && (rows[i].left != left || rows[i].right != right))
        i = (i + 1) & mask;
    return &rows[i];
}

/* The id of a character with the prefix and suffix of its place in the word; -1: none. */
static int32_t find_character(const mgk_tokenizer *tokenizer, mgk_span letter, bool first,
                              bool last)
{
    const mgk_bpe *bpe = &tokenizer->bpe;
    char whole[4 + 2 * MGK_AFFIX_MOST];
    size_t size = first ? 0 : bpe->prefix.size;
    if (bpe->prefix.size + bpe->suffix.size == 0)
        return mgk_vocabulary_find(&tokenizer->vocabulary, letter);
    if (size > 0)
        memcpy(whole, bpe->prefix.data, size);
    memcpy(whole + size, letter.data, letter.size);
    size += letter.size;
    if (last && bpe->suffix.size > 0)
        memcpy(whole + size, bpe->suffix.data, bpe->suffix.size);
    size += last ? bpe->suffix.size : 0;
    return mgk_vocabulary_find(&tokenizer->vocabulary, (mgk_span){whole, size});
}

/* The id of a byte or character of a word. */
static int32_t find_symbol(const mgk_tokenizer *tokenizer, mgk_span letter, bool first, bool last)
{
    if (tokenizer->bpe.of_bytes)
        return tokenizer->bpe.bytes[first + 2 * last][(unsigned char)letter.data[0]];
    return find_character(tokenizer, letter, first, last);
}

/* Makes room for another merge. */
static mgk_status grow(mgk_bpe *bpe)
{
    enum { FIRST_ROWS = 1024, MOST = 1 << 22 /* merges; real tokenizers have 600000 */ };
    mgk_buffer old = bpe->merges;
    size_t rows = table_rows(bpe), more = rows ? 2 * rows : FIRST_ROWS;
    mgk_buffer fresh = {0};
    if (bpe->merge_count == MOST)
        return mgk_fail(STATUS_UNSUPPORTED, "more than %d merges", MOST);
    if (2 * (bpe->merge_count + 1) <= rows)
        return STATUS_OK;
    TRY(mgk_buffer_reserve(&fresh, more * sizeof(merge)));
    fresh.size = more * sizeof(merge);
    memset(fresh.data, -1, fresh.size);
    bpe->merges = fresh;
    const merge *row = (const merge *)(const void *)old.data;
    for (size_t i = 0; i < rows; i++)
        if (row[i].rank >= 0)
            *find_row(bpe, row[i].left, row[i].right) = row[i];
    mgk_buffer_free(&old);
    return STATUS_OK;
}

mgk_status mgk_bpe_prepare(mgk_tokenizer *tokenizer)
{
    mgk_bpe *bpe = &tokenizer->bpe;
    char letter[4];
    bpe->seed = mgk_hash_seed();
    for (int byte = 0; byte < 256; byte++) {
        mgk_span spelled = {letter,
                            mgk_utf8_write(mgk_byte_character((unsigned char)byte), letter)};
        for (int place = 0; place < 4; place++)
            bpe->bytes[place][byte] = find_character(tokenizer, spelled, place & 1, place & 2);
    }
    mgk_tokenizer_find_bytes(tokenizer);
    return grow(bpe);
}

/* Finds a token, or one in two pieces. */
static mgk_status find_token(const mgk_tokenizer *tokenizer, mgk_span first, mgk_span second,
                             int32_t *id)
{
    char quoted[MGK_QUOTE_SIZE], rest[MGK_QUOTE_SIZE];
    uint64_t hash = mgk_hash_seeded(tokenizer->vocabulary.seed, first.data, first.size);
    hash = mgk_hash_seeded(hash, second.data, second.size);
    *id = mgk_vocabulary_find_joined(&tokenizer->vocabulary, hash, first, second);
    if (*id < 0)
        return mgk_fail(STATUS_FORMAT, "merge %zu: \"%s%s\" is not in the vocabulary",
                        tokenizer->bpe.merge_count + 1, mgk_quote(first, quoted),
                        mgk_quote(second, rest));
    return STATUS_OK;
}

mgk_status mgk_bpe_add_ranked(mgk_tokenizer *tokenizer, mgk_span left, mgk_span right, int32_t rank)
{
    const mgk_span nothing = {"", 0};
    mgk_bpe *bpe = &tokenizer->bpe;
    merge found;
    TRY(find_token(tokenizer, left, nothing, &found.left));
    TRY(find_token(tokenizer, right, nothing, &found.right));
    if (right.size < bpe->prefix.size)
        return mgk_fail(STATUS_FORMAT, "merge %zu: its second token has no prefix",
                        bpe->merge_count + 1);
    right = (mgk_span){right.data + bpe->prefix.size, right.size - bpe->prefix.size};
    TRY(find_token(tokenizer, left, right, &found.id));
    TRY(grow(bpe));
    found.rank = rank;
    bpe->merge_count++;
    /* If a pair is listed twice, its last place counts. */
    *find_row(bpe, found.left, found.right) = found;
    return STATUS_OK;
}

mgk_status mgk_bpe_add_merge(mgk_tokenizer *tokenizer, mgk_span left, mgk_span right)
{
    return mgk_bpe_add_ranked(tokenizer, left, right, (int32_t)tokenizer->bpe.merge_count);
}

static bool begins(mgk_span token, mgk_span part)
{
    return token.size >= part.size && memcmp(token.data, part.data, part.size) == 0;
}

static bool ends(mgk_span token, mgk_span part)
{
    return token.size >= part.size &&
           memcmp(token.data + token.size - part.size, part.data, part.size) == 0;
}

bool mgk_bpe_splits_at(const mgk_tokenizer *tokenizer, mgk_span sign)
{
    const mgk_bpe *bpe = &tokenizer->bpe;
    const merge *rows = (const merge *)(const void *)bpe->merges.data;
    if (bpe->of_bytes || bpe->whole_words || bpe->prefix.size + bpe->suffix.size > 0 ||
        mgk_vocabulary_find(&tokenizer->vocabulary, sign) < 0)
        return false;
    for (size_t i = 0; i < table_rows(bpe); i++)
        if (rows[i].rank >= 0 &&
            begins(mgk_vocabulary_token(&tokenizer->vocabulary, rows[i].right), sign) &&
            !ends(mgk_vocabulary_token(&tokenizer->vocabulary, rows[i].left), sign))
            return false;
    return true;
}

static bool is_before(const void *one, const void *other)
{
    const candidate *a = one, *b = other;
    return a->rank != b->rank ? a->rank < b->rank : a->place < b->place;
}

/* Queues the symbol at `place` and the next one, if they can be merged. */
static mgk_status consider(mgk_token_encoder *encoder, int32_t place)
{
    const symbol *symbols = (const symbol *)(const void *)encoder->symbols.data;
    if (place < 0 || symbols[place].next < 0)
        return STATUS_OK;
    int32_t left = symbols[place].id, right = symbols[symbols[place].next].id;
    const merge *row = find_row(&encoder->tokenizer->bpe, left, right);
    if (row->rank < 0)
        return STATUS_OK;
    const candidate fresh = {row->rank, place, left, right, row->id};
    return mgk_heap_push(&encoder->queue, &fresh, sizeof(fresh), is_before);
}

static mgk_status add_symbol(mgk_token_encoder *encoder, int32_t id)
{
    int32_t count = (int32_t)(encoder->symbols.size / sizeof(symbol));
    const symbol fresh = {id, count - 1, count + 1};
    return mgk_buffer_append(&encoder->symbols, &fresh, sizeof(fresh));
}

static mgk_status add_bytes(mgk_token_encoder *encoder, mgk_span letter)
{
    for (size_t i = 0; i < letter.size; i++)
        TRY(add_symbol(encoder, encoder->tokenizer->fallback[(unsigned char)letter.data[i]]));
    return STATUS_OK;
}

/* Writes the characters of a word as symbols. An unknown one is left out if there is no unknown
 * token. It stands in front of the next known character, as in the tokenizers library: behind bytes
 * that come between. */
static mgk_status read_symbols(mgk_token_encoder *encoder, mgk_span word)
{
    const mgk_tokenizer *tokenizer = encoder->tokenizer;
    const mgk_bpe *bpe = &tokenizer->bpe;
    bool unknown = false;
    encoder->symbols.size = 0;
    for (size_t at = 0, size = 1; at < word.size; at += size) {
        uint32_t code;
        if (!bpe->of_bytes)
            size = mgk_utf8_read(word.data + at, word.size - at, &code);
        mgk_span letter = {word.data + at, size};
        int32_t id = find_symbol(tokenizer, letter, at == 0, at + size == word.size);
        if (id < 0 && bpe->byte_fallback && mgk_tokenizer_has_bytes(tokenizer, letter)) {
            TRY(add_bytes(encoder, letter));
            continue;
        }
        if (unknown && (id >= 0 || !bpe->fuse_unknown))
            TRY(add_symbol(encoder, tokenizer->unknown));
        unknown = id < 0 && tokenizer->unknown >= 0;
        if (id >= 0)
            TRY(add_symbol(encoder, id));
    }
    if (unknown)
        TRY(add_symbol(encoder, tokenizer->unknown));
    if (encoder->symbols.size > 0)
        ((symbol *)(void *)(encoder->symbols.data + encoder->symbols.size))[-1].next = -1;
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
        const candidate best = *(const candidate *)(const void *)encoder->queue.data;
        mgk_heap_pop(&encoder->queue, sizeof(best), is_before);
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

/* The id of the whole word; -1: none. */
static mgk_status find_word(mgk_token_encoder *encoder, mgk_span word, int32_t *id)
{
    if (encoder->tokenizer->bpe.of_bytes) {
        TRY(mgk_spell_bytes(word, &encoder->spelling));
        word = (mgk_span){(const char *)encoder->spelling.data, encoder->spelling.size};
    }
    *id = mgk_vocabulary_find(&encoder->tokenizer->vocabulary, word);
    return STATUS_OK;
}

static mgk_status encode(mgk_token_encoder *encoder, mgk_span word)
{
    int32_t id = -1;
    if (word.size > INT32_MAX)
        return mgk_fail(STATUS_SHAPE, "a word of %zu bytes", word.size);
    if (encoder->tokenizer->bpe.whole_words)
        TRY(find_word(encoder, word, &id));
    if (id >= 0)
        return mgk_emit(encoder, id);
    TRY(read_symbols(encoder, word));
    TRY(merge_all(encoder));
    const symbol *symbols = (const symbol *)(const void *)encoder->symbols.data;
    for (int32_t i = encoder->symbols.size > 0 ? 0 : -1; i >= 0; i = symbols[i].next)
        TRY(mgk_emit(encoder, symbols[i].id));
    return STATUS_OK;
}

const mgk_token_model mgk_bpe_model = {"BPE", false, false, encode};
