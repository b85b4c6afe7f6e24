/* SPDX-License-Identifier: MIT */
/*
 * The unigram language model (Kudo 2018) of SentencePiece: of all ways to cut a word into pieces it
 * takes the one with the largest sum of scores, the logarithms of their probabilities (Viterbi).
 * A character that is no piece is unknown; neighbouring unknown characters are one token.
 */
#include <math.h>
#include <string.h>

#include "base/utf8.h"
#include "data/tokenizers/tokenizer_private.h"

/* LONGEST: a word of n bytes takes at most LONGEST n steps. PENALTY: of an unknown character, below
 * the smallest score, as in SentencePiece. */
enum { LONGEST = 1024, PENALTY = 10 };

/* The best way to cut the beginning of a word. */
typedef struct path {
    double score;
    int32_t from; /* where its last piece begins, -1: there is no way yet */
    int32_t last; /* piece */
} path;

/* A piece of the word. */
typedef struct piece {
    int32_t start, end, number;
} piece;

static size_t piece_count(const mgk_unigram *unigram)
{
    return unigram->scores.size / sizeof(double);
}

mgk_status mgk_unigram_add_piece(mgk_tokenizer *tokenizer, mgk_span text, double score)
{
    mgk_unigram *unigram = &tokenizer->unigram;
    char quoted[MGK_QUOTE_SIZE];
    if (text.size > LONGEST)
        return mgk_fail(STATUS_FORMAT, "piece \"%s...\": %zu bytes are more than %d",
                        mgk_quote(text, quoted), text.size, LONGEST);
    if (!isfinite(score))
        return mgk_fail(STATUS_FORMAT, "piece \"%s\": its score is not a number",
                        mgk_quote(text, quoted));
    TRY(mgk_prefix_tree_add(&unigram->pieces, text, (int32_t)piece_count(unigram)));
    return mgk_buffer_append(&unigram->scores, &score, sizeof(score));
}

mgk_status mgk_unigram_add(mgk_tokenizer *tokenizer, mgk_span text, double score)
{
    TRY(mgk_vocabulary_set(&tokenizer->vocabulary, (int64_t)piece_count(&tokenizer->unigram),
                           text));
    return mgk_unigram_add_piece(tokenizer, text, score);
}

mgk_status mgk_unigram_finish(mgk_tokenizer *tokenizer)
{
    mgk_unigram *unigram = &tokenizer->unigram;
    const double *scores = (const double *)(const void *)unigram->scores.data;
    double least = INFINITY;
    for (size_t i = 0; i < piece_count(unigram); i++)
        least = scores[i] < least ? scores[i] : least;
    unigram->unknown_score = least - PENALTY;
    if (unigram->single)
        unigram->unknown_score = (double)(float)unigram->unknown_score;
    if (unigram->ids.size == 0)
        unigram->unknown = tokenizer->unknown;
    mgk_tokenizer_find_bytes(tokenizer);
    return STATUS_OK;
}

static void offer(const mgk_unigram *unigram, path *paths, int32_t from, int32_t to, double score,
                  int32_t last)
{
    double sum = score + paths[from].score;
    if (unigram->single)
        sum = (double)(float)sum;
    if (paths[to].from < 0 || sum > paths[to].score)
        paths[to] = (path){sum, from, last};
}

/* Offers all pieces that begin at `from`. */
static void extend(const mgk_unigram *unigram, mgk_span word, path *paths, int32_t from,
                   int32_t character)
{
    const double *scores = (const double *)(const void *)unigram->scores.data;
    uint32_t node = 0;
    bool known = false;
    for (int32_t to = from; (size_t)to < word.size;) {
        int32_t found;
        node = mgk_prefix_tree_step(&unigram->pieces, node, (unsigned char)word.data[to++], &found);
        if (!node)
            break;
        if (found < 0)
            continue;
        offer(unigram, paths, from, to, scores[found], found);
        known = known || to == from + character;
    }
    if (!known)
        offer(unigram, paths, from, from + character, unigram->unknown_score, unigram->unknown);
}

static mgk_status find_paths(mgk_token_encoder *encoder, mgk_span word)
{
    const path none = {0, -1, -1};
    encoder->paths.size = 0;
    TRY(mgk_buffer_reserve(&encoder->paths, (word.size + 1) * sizeof(path)));
    path *paths = (path *)(void *)encoder->paths.data;
    for (size_t i = 0; i <= word.size; i++)
        paths[i] = none;
    for (size_t at = 0, size; at < word.size; at += size) {
        uint32_t code;
        size = mgk_utf8_read(word.data + at, word.size - at, &code);
        extend(&encoder->tokenizer->unigram, word, paths, (int32_t)at, (int32_t)size);
    }
    return STATUS_OK;
}

/* Follows the best path from the end of the word to its start. */
static mgk_status collect(mgk_token_encoder *encoder, mgk_span word)
{
    const path *paths = (const path *)(const void *)encoder->paths.data;
    int32_t unknown = encoder->tokenizer->unigram.unknown;
    piece *last = NULL;
    encoder->pieces.size = 0;
    for (int32_t end = (int32_t)word.size; end > 0; end = paths[end].from) {
        piece fresh = {paths[end].from, end, paths[end].last};
        if (last && last->number == unknown && fresh.number == unknown) {
            last->start = fresh.start;
            continue;
        }
        TRY(mgk_buffer_append(&encoder->pieces, &fresh, sizeof(fresh)));
        last = (piece *)(void *)(encoder->pieces.data + encoder->pieces.size) - 1;
    }
    return STATUS_OK;
}

/* Unknown characters together may be a piece, or are their bytes. */
static mgk_status emit_unknown(mgk_token_encoder *encoder, mgk_span text)
{
    const mgk_tokenizer *tokenizer = encoder->tokenizer;
    bool joined = tokenizer->unigram.joined_unknown;
    int32_t id = joined ? mgk_vocabulary_find(&tokenizer->vocabulary, text) : -1;
    if (id < 0 && tokenizer->unigram.byte_fallback && mgk_tokenizer_has_bytes(tokenizer, text)) {
        for (size_t i = 0; i < text.size; i++)
            TRY(mgk_emit(encoder, tokenizer->fallback[(unsigned char)text.data[i]]));
        return STATUS_OK;
    }
    return mgk_emit(encoder, id < 0 ? tokenizer->unknown : id);
}

static mgk_status emit(mgk_token_encoder *encoder, mgk_span word, const piece *found)
{
    const mgk_unigram *unigram = &encoder->tokenizer->unigram;
    const int32_t *ids = (const int32_t *)(const void *)unigram->ids.data;
    if (found->number == unigram->unknown)
        return emit_unknown(
            encoder, (mgk_span){word.data + found->start, (size_t)(found->end - found->start)});
    return mgk_emit(encoder, ids ? ids[found->number] : found->number);
}

static mgk_status encode(mgk_token_encoder *encoder, mgk_span word)
{
    if (word.size >= INT32_MAX)
        return mgk_fail(STATUS_SHAPE, "a word of %zu bytes", word.size);
    TRY(find_paths(encoder, word));
    TRY(collect(encoder, word));
    const piece *pieces = (const piece *)(const void *)encoder->pieces.data;
    for (size_t i = encoder->pieces.size / sizeof(*pieces); i-- > 0;)
        TRY(emit(encoder, word, &pieces[i]));
    return STATUS_OK;
}

const mgk_token_model mgk_unigram_model = {"Unigram", true, false, encode};
