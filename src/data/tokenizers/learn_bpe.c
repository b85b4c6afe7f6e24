/* SPDX-License-Identifier: MIT */
/*
 * Learns the merges of byte-pair encoding (Sennrich et al. 2016) in time that grows with the places
 * that are merged. The different pieces stand behind one another as symbols, each linked to its
 * neighbours within the piece. Each pair of neighbouring symbols has a count, and a list of the
 * places where it stands; a heap orders the pairs by count. A merge visits the places of its pair
 * and changes the counts of the pairs around them; a count in the heap that has changed since is
 * found when the pair comes to the top.
 *
 * All places of a pair arise in one step, that which makes the later one of its tokens, so that a
 * pair enters the heap once. Only if two pairs of tokens make the same bytes, "a aa" and "aa a",
 * may it enter again. In this case, too, counts are those of Hugging Face's trainer: the count of a
 * merged pair is not set to 0.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/tokenizers/byte_alphabet.h"
#include "data/tokenizers/heap.h"
#include "data/tokenizers/learn_private.h"

enum {
    BYTES = 256,
    LEAST_COUNT = 2, /* of a pair that is merged */
    NONE = -1,
};

typedef struct symbol {
    int32_t id; /* NONE: merged into the symbol before */
    int32_t previous, next;
    int32_t piece;
} symbol;

/* A place in a list. */
typedef struct link {
    int32_t place, next;
} link;

/* A row of the table of pairs; `left` NONE: empty. */
typedef struct pair {
    int32_t left, right;
    int64_t count;
    int32_t first, last; /* links to places that are not in the heap yet */
} pair;

typedef struct candidate {
    int64_t count;
    int32_t left, right;
    int32_t first; /* link to its places */
} candidate;

typedef struct learner {
    const mgk_pieces *pieces;
    mgk_vocabulary *tokens;
    symbol *symbols;
    size_t symbol_count;
    pair *pairs; /* [pair_rows] */
    size_t pair_rows, pair_count;
    uint64_t seed;
    mgk_buffer links; /* link */
    int32_t unused;   /* first link that is free */
    mgk_buffer heap;  /* candidate */
    mgk_buffer fresh; /* uint64_t, pairs that have places outside of the heap */
    mgk_buffer places;
} learner;

static uint64_t key_of(int32_t left, int32_t right)
{
    return (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
}

static pair *find_pair(const learner *l, int32_t left, int32_t right)
{
    const size_t mask = l->pair_rows - 1;
    size_t row = (size_t)mgk_mix(l->seed ^ key_of(left, right)) & mask;
    while (l->pairs[row].left != NONE &&
           (l->pairs[row].left != left || l->pairs[row].right != right))
        row = (row + 1) & mask;
    return &l->pairs[row];
}

static mgk_status grow_pairs(learner *l)
{
    enum { FIRST_ROWS = 1 << 12 };
    pair *old = l->pairs;
    const size_t old_rows = l->pair_rows, rows = old_rows ? 2 * old_rows : FIRST_ROWS;
    pair *wider;
    if (2 * (l->pair_count + 1) <= old_rows)
        return STATUS_OK;
    TRY(mgk_alloc(rows, sizeof(*wider), &wider));
    for (size_t i = 0; i < rows; i++)
        wider[i].left = NONE;
    l->pairs = wider;
    l->pair_rows = rows;
    for (size_t i = 0; i < old_rows; i++)
        if (old[i].left != NONE)
            *find_pair(l, old[i].left, old[i].right) = old[i];
    mgk_free(old);
    return STATUS_OK;
}

/* The row of a pair, with a count of 0 if it is new; valid until the next call. */
static mgk_status pair_of(learner *l, int32_t left, int32_t right, pair **out)
{
    TRY(grow_pairs(l));
    *out = find_pair(l, left, right);
    if ((*out)->left != NONE)
        return STATUS_OK;
    **out = (pair){.left = left, .right = right, .first = NONE, .last = NONE};
    l->pair_count++;
    return STATUS_OK;
}

static link *link_at(const learner *l, int32_t index)
{
    return (link *)(void *)l->links.data + index;
}

static mgk_status take_link(learner *l, int32_t place, int32_t *index)
{
    const link fresh = {place, NONE};
    *index = l->unused;
    if (*index == NONE) {
        *index = (int32_t)(l->links.size / sizeof(fresh));
        return mgk_buffer_append(&l->links, &fresh, sizeof(fresh));
    }
    l->unused = link_at(l, *index)->next;
    *link_at(l, *index) = fresh;
    return STATUS_OK;
}

static int64_t weight_at(const learner *l, int32_t place)
{
    return mgk_counted_at(l->pieces, (size_t)l->symbols[place].piece)->count;
}

/* The pair stands at one more place. */
static mgk_status add_place(learner *l, int32_t left, int32_t right, int32_t place)
{
    pair *row;
    int32_t index;
    const uint64_t key = key_of(left, right);
    TRY(pair_of(l, left, right, &row));
    row->count += weight_at(l, place);
    TRY(take_link(l, place, &index));
    if (row->last != NONE) {
        link_at(l, row->last)->next = index;
    } else {
        row->first = index;
        TRY(mgk_buffer_append(&l->fresh, &key, sizeof(key)));
    }
    row->last = index;
    return STATUS_OK;
}

static void take_place_away(const learner *l, int32_t left, int32_t right, int32_t place)
{
    find_pair(l, left, right)->count -= weight_at(l, place);
}

static bool is_before(const void *one, const void *other)
{
    const candidate *a = one, *b = other;
    if (a->count != b->count)
        return a->count > b->count;
    return a->left != b->left ? a->left < b->left : a->right < b->right;
}

/* Moves pairs with new places into the heap. */
static mgk_status queue_fresh(learner *l)
{
    const uint64_t *keys = (const uint64_t *)(const void *)l->fresh.data;
    for (size_t i = 0; i < l->fresh.size / sizeof(*keys); i++) {
        pair *row = find_pair(l, (int32_t)(keys[i] >> 32), (int32_t)(uint32_t)keys[i]);
        if (row->count > 0) {
            const candidate added = {row->count, row->left, row->right, row->first};
            TRY(mgk_heap_push(&l->heap, &added, sizeof(added), is_before));
        } else {
            link_at(l, row->last)->next = l->unused;
            l->unused = row->first;
        }
        row->first = row->last = NONE;
    }
    l->fresh.size = 0;
    return STATUS_OK;
}

static int compare_places(const void *a, const void *b)
{
    const int32_t first = *(const int32_t *)a, second = *(const int32_t *)b;
    return first < second ? -1 : first > second;
}

/* Moves the list of a candidate to l->places, ascending, and gives its links back. */
static mgk_status take_places(learner *l, int32_t first)
{
    bool ascending = true;
    int32_t before = NONE;
    l->places.size = 0;
    while (first != NONE) {
        const link taken = *link_at(l, first);
        ascending &= taken.place > before;
        before = taken.place;
        TRY(mgk_buffer_append(&l->places, &taken.place, sizeof(taken.place)));
        link_at(l, first)->next = l->unused;
        l->unused = first;
        first = taken.next;
    }
    if (!ascending)
        qsort(l->places.data, l->places.size / sizeof(int32_t), sizeof(int32_t), compare_places);
    return STATUS_OK;
}

/* Merges the pair at a place, if it still stands there. */
static mgk_status merge_at(learner *l, int32_t place, mgk_learnt_merge merge)
{
    symbol *here = &l->symbols[place];
    if (here->id != merge.left || here->next == NONE || l->symbols[here->next].id != merge.right)
        return STATUS_OK;
    symbol *gone = &l->symbols[here->next];
    if (here->previous != NONE) {
        const int32_t other = l->symbols[here->previous].id;
        take_place_away(l, other, merge.left, place);
        TRY(add_place(l, other, merge.id, here->previous));
    }
    here->id = merge.id;
    here->next = gone->next;
    gone->id = NONE;
    if (here->next == NONE)
        return STATUS_OK;
    l->symbols[here->next].previous = place;
    const int32_t other = l->symbols[here->next].id;
    take_place_away(l, merge.right, other, place);
    return add_place(l, merge.id, other, place);
}

static bool is_too_long(const learner *l, int32_t left, int32_t right)
{
    return mgk_vocabulary_token(l->tokens, left).size +
               mgk_vocabulary_token(l->tokens, right).size >
           MGK_LONGEST_LEARNT;
}

/* The token of both parts, which is new unless others make the same bytes. */
static mgk_status make_token(learner *l, int32_t left, int32_t right, mgk_buffer *text, int32_t *id)
{
    const mgk_span parts[] = {mgk_vocabulary_token(l->tokens, left),
                              mgk_vocabulary_token(l->tokens, right)};
    text->size = 0;
    for (int i = 0; i < 2; i++)
        TRY(mgk_buffer_append(text, parts[i].data, parts[i].size));
    const mgk_span token = {(const char *)text->data, text->size};
    *id = mgk_vocabulary_find(l->tokens, token);
    if (*id >= 0)
        return STATUS_OK;
    *id = mgk_vocabulary_size(l->tokens);
    return mgk_vocabulary_set(l->tokens, *id, token);
}

static mgk_status merge_all(learner *l, size_t vocabulary, mgk_buffer *merges, mgk_buffer *text)
{
    while (l->heap.size > 0 && (size_t)mgk_vocabulary_size(l->tokens) < vocabulary) {
        candidate top = *(const candidate *)(const void *)l->heap.data;
        const int64_t count = find_pair(l, top.left, top.right)->count;
        if (top.count != count) {
            top.count = count;
            mgk_heap_replace_first(&l->heap, &top, sizeof(top), is_before);
            continue;
        }
        if (count < LEAST_COUNT)
            break;
        mgk_heap_pop(&l->heap, sizeof(top), is_before);
        TRY(take_places(l, top.first));
        if (is_too_long(l, top.left, top.right))
            continue;
        mgk_learnt_merge merge = {top.left, top.right, NONE};
        TRY(make_token(l, top.left, top.right, text, &merge.id));
        TRY(mgk_buffer_append(merges, &merge, sizeof(merge)));
        const int32_t *places = (const int32_t *)(const void *)l->places.data;
        for (size_t i = 0; i < l->places.size / sizeof(*places); i++)
            TRY(merge_at(l, places[i], merge));
        TRY(queue_fresh(l));
    }
    return STATUS_OK;
}

/* The tokens of bytes are in the order of their characters in the alphabet. */
static mgk_status add_bytes(mgk_vocabulary *tokens, int32_t ids[BYTES])
{
    enum { CODES = 512 /* all characters of the alphabet are below */ };
    int32_t next = 0;
    for (uint32_t code = 0; code < CODES; code++) {
        const int byte = mgk_character_byte(code);
        const char letter = (char)byte;
        if (byte < 0)
            continue;
        TRY(mgk_vocabulary_set(tokens, next, (mgk_span){&letter, 1}));
        ids[byte] = next++;
    }
    return STATUS_OK;
}

/* Writes the pieces as symbols, and counts their pairs. */
static mgk_status begin(learner *l)
{
    int32_t ids[BYTES];
    TRY(add_bytes(l->tokens, ids));
    TRY(mgk_alloc(l->pieces->text.size, sizeof(*l->symbols), &l->symbols));
    for (size_t p = 0; p < mgk_pieces_size(l->pieces); p++) {
        const mgk_span piece = mgk_counted_text(l->pieces, p);
        for (size_t i = 0; i < piece.size; i++) {
            const int32_t place = (int32_t)l->symbol_count++;
            l->symbols[place] =
                (symbol){ids[(unsigned char)piece.data[i]], i > 0 ? place - 1 : NONE,
                         i + 1 < piece.size ? place + 1 : NONE, (int32_t)p};
            if (i > 0)
                TRY(add_place(l, l->symbols[place - 1].id, l->symbols[place].id, place - 1));
        }
    }
    return queue_fresh(l);
}

mgk_status mgk_learn_merges(const mgk_pieces *pieces, size_t vocabulary, mgk_buffer *merges,
                            mgk_vocabulary *tokens)
{
    mgk_buffer text = {0};
    learner l = {.pieces = pieces, .tokens = tokens, .seed = mgk_hash_seed(), .unused = NONE};
    mgk_status status = begin(&l);
    if (status == STATUS_OK)
        status = merge_all(&l, vocabulary, merges, &text);
    mgk_free(l.symbols);
    mgk_free(l.pairs);
    mgk_buffer_free(&l.links);
    mgk_buffer_free(&l.heap);
    mgk_buffer_free(&l.fresh);
    mgk_buffer_free(&l.places);
    mgk_buffer_free(&text);
    return status;
}
