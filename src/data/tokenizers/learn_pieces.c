/* SPDX-License-Identifier: MIT */
/* Different pieces of text, found by a hash. */
#include <string.h>

#include "base/memory.h"
#include "data/tokenizers/learn_private.h"

static uint64_t hash_of(const mgk_pieces *pieces, mgk_span piece)
{
    return mgk_hash_seeded(pieces->seed, piece.data, piece.size);
}

/* The slot of the piece, or the empty one where it belongs. */
static size_t slot_of(const mgk_pieces *pieces, mgk_span piece)
{
    const size_t mask = pieces->slots - 1;
    size_t slot = (size_t)hash_of(pieces, piece) & mask;
    for (; pieces->table[slot] >= 0; slot = (slot + 1) & mask) {
        const mgk_span other = mgk_counted_text(pieces, (size_t)pieces->table[slot]);
        if (other.size == piece.size && memcmp(other.data, piece.data, piece.size) == 0)
            break;
    }
    return slot;
}

/* At most half of the table is used, so that searches stay short. */
static mgk_status grow(mgk_pieces *pieces)
{
    enum { FIRST_SLOTS = 1 << 12 };
    int32_t *table;
    if (2 * (mgk_pieces_size(pieces) + 1) <= pieces->slots)
        return STATUS_OK;
    const size_t slots = pieces->slots ? 2 * pieces->slots : FIRST_SLOTS;
    TRY(mgk_alloc(slots, sizeof(*table), &table));
    memset(table, -1, slots * sizeof(*table));
    if (!pieces->seed)
        pieces->seed = mgk_hash_seed();
    mgk_free(pieces->table);
    pieces->table = table;
    pieces->slots = slots;
    for (size_t i = 0; i < mgk_pieces_size(pieces); i++)
        table[slot_of(pieces, mgk_counted_text(pieces, i))] = (int32_t)i;
    return STATUS_OK;
}

/* The index of a piece, which is new with a count of 0. STATUS_SHAPE as mgk_learner_add. */
static mgk_status find(mgk_pieces *pieces, mgk_span piece, int32_t *index)
{
    TRY(grow(pieces));
    const size_t slot = slot_of(pieces, piece), count = mgk_pieces_size(pieces);
    *index = pieces->table[slot];
    if (*index >= 0)
        return STATUS_OK;
    if (piece.size > INT32_MAX - pieces->text.size || count == INT32_MAX)
        return mgk_fail(STATUS_SHAPE, "more than %d different words, or bytes of them", INT32_MAX);
    const mgk_counted fresh = {.start = pieces->text.size, .size = piece.size};
    TRY(mgk_buffer_reserve(&pieces->list, sizeof(fresh)));
    TRY(mgk_buffer_append(&pieces->text, piece.data, piece.size));
    TRY(mgk_buffer_append(&pieces->list, &fresh, sizeof(fresh)));
    *index = pieces->table[slot] = (int32_t)count;
    return STATUS_OK;
}

void mgk_pieces_free(mgk_pieces *pieces)
{
    mgk_buffer_free(&pieces->text);
    mgk_buffer_free(&pieces->list);
    mgk_free(pieces->table);
    *pieces = (mgk_pieces){0};
}

static mgk_status count_word(mgk_token_encoder *encoder, mgk_span word)
{
    int32_t index;
    TRY(find(encoder->tokenizer->pieces, word, &index));
    return mgk_emit(encoder, index);
}

static mgk_status no_line(mgk_token_encoder *encoder)
{
    (void)encoder;
    return STATUS_OK;
}

static mgk_status count_lines(mgk_token_encoder *encoder, mgk_span text)
{
    return mgk_split_words(encoder, text, count_word, no_line);
}

const mgk_token_model mgk_counting_model = {"counted words", false, false, count_word};
const mgk_token_model mgk_counting_lines = {"counted words of lines", false, true, count_lines};
