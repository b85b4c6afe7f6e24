/* SPDX-License-Identifier: MIT */
/* Private to the learning of tokenizers: counted pieces of text, and what is made of them. */
#ifndef MGK_DATA_LEARN_PRIVATE_H
#define MGK_DATA_LEARN_PRIVATE_H

#include "data/tokenizers/learn.h"
#include "data/tokenizers/tokenizer_private.h"

/* Bytes of the longest token that is learnt: a text of one letter would make tokens of megabytes.
 */
enum { MGK_LONGEST_LEARNT = 1 << 12 };

/* A different piece of the texts. */
typedef struct mgk_counted {
    size_t start, size; /* bytes of mgk_pieces.text */
    int64_t count;
} mgk_counted;

/* The different pieces, in the order of their first occurrence; a zeroed one is empty. */
typedef struct mgk_pieces {
    mgk_buffer text;
    mgk_buffer list; /* mgk_counted */
    int32_t *table;  /* [slots] pieces by hash, -1: empty */
    size_t slots;
    uint64_t seed; /* of the hash */
} mgk_pieces;

void mgk_pieces_free(mgk_pieces *pieces);

static inline size_t mgk_pieces_size(const mgk_pieces *pieces)
{
    return pieces->list.size / sizeof(mgk_counted);
}

static inline mgk_counted *mgk_counted_at(const mgk_pieces *pieces, size_t index)
{
    return (mgk_counted *)(void *)pieces->list.data + index;
}

static inline mgk_span mgk_counted_text(const mgk_pieces *pieces, size_t index)
{
    const mgk_counted *piece = mgk_counted_at(pieces, index);
    return (mgk_span){(const char *)pieces->text.data + piece->start, piece->size};
}

/* The model of a tokenizer that counts: it gives each word its index among tokenizer->pieces. */
extern const mgk_token_model mgk_counting_model, mgk_counting_lines;

typedef struct mgk_learnt_merge {
    int32_t left, right, id; /* tokens; `id` is what both make */
} mgk_learnt_merge;

/*
 * Learns merges until there are `vocabulary` >= 256 tokens, or no pair occurs twice: appends the
 * merges [mgk_learnt_merge] in their order, and the bytes of each token to `tokens`, whose id is
 * its place.
 */
mgk_status mgk_learn_merges(const mgk_pieces *pieces, size_t vocabulary, mgk_buffer *merges,
                            mgk_vocabulary *tokens);

/* The most frequent pieces but `skipped` [skip] and those that are too long or have a zero byte,
 * which no file of words holds, at most `most` of them: their indices [*count] in order; release
 * with mgk_free. */
mgk_status mgk_learn_words(const mgk_pieces *pieces, const char *const *skipped, size_t skip,
                           size_t most, int32_t **out, size_t *count);

/* The tokenizer.json of merges, and of words behind "<unk>". Release with mgk_free. */
mgk_status mgk_write_bpe(const mgk_vocabulary *tokens, const mgk_buffer *merges, char **text);
mgk_status mgk_write_words(const mgk_pieces *pieces, const int32_t *words, size_t count,
                           char **text);

#endif
