/* SPDX-License-Identifier: MIT */
/* Makes the merges of BPE from a list of pieces. */
#include <stdlib.h>

#include "data/tokenizers/tokenizer_private.h"

/* Of a piece; so a list of n bytes makes at most LONGEST n comparisons of tokens. */
enum { LONGEST = 256 };

/* Adds a merge for every way to make the piece of two others, the one with the shortest left part
 * first. */
static mgk_status add_merges(mgk_span piece, const int32_t *rank, mgk_tokenizer *tokenizer)
{
    char quoted[MGK_QUOTE_SIZE];
    if (piece.size > LONGEST)
        return mgk_fail(STATUS_UNSUPPORTED, "piece \"%s...\": %zu bytes are more than %d",
                        mgk_quote(piece, quoted), piece.size, LONGEST);
    for (size_t cut = 1; cut < piece.size; cut++) {
        mgk_span left = {piece.data, cut}, right = {piece.data + cut, piece.size - cut};
        /* Parts of characters are no pieces. */
        if (mgk_vocabulary_find(&tokenizer->vocabulary, left) < 0 ||
            mgk_vocabulary_find(&tokenizer->vocabulary, right) < 0)
            continue;
        TRY(mgk_bpe_add_ranked(tokenizer, left, right,
                               rank ? *rank : (int32_t)tokenizer->bpe.merge_count));
    }
    return STATUS_OK;
}

mgk_status mgk_bpe_merge_in_order(const mgk_piece_model *model, mgk_tokenizer *tokenizer)
{
    TRY(mgk_bpe_prepare(tokenizer));
    for (size_t id = 0; id < mgk_piece_count(model); id++)
        TRY(add_merges(mgk_piece_at(model, id)->text, NULL, tokenizer));
    return STATUS_OK;
}

static int compare(const void *a, const void *b)
{
    const mgk_scored_piece *left = a, *right = b;
    if (left->score != right->score)
        return left->score > right->score ? -1 : 1;
    return left->id < right->id ? -1 : left->id > right->id;
}

mgk_status mgk_bpe_merge_by_score(mgk_scored_piece *pieces, size_t count, mgk_tokenizer *tokenizer)
{
    int32_t rank = 0;
    TRY(mgk_bpe_prepare(tokenizer));
    if (count > 0)
        qsort(pieces, count, sizeof(*pieces), compare);
    for (size_t i = 0; i < count; i++) {
        rank += i > 0 && pieces[i].score != pieces[i - 1].score;
        TRY(add_merges(pieces[i].text, &rank, tokenizer));
    }
    return STATUS_OK;
}
