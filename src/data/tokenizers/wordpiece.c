/* SPDX-License-Identifier: MIT */
/* WordPiece (Schuster and Nakajima 2012) takes the longest token at the start of a word, then
 * repeatedly the longest token, prefixed by ##, at the start of the rest. */
#include "base/utf8.h"
#include "data/tokenizers/tokenizer_private.h"

static const mgk_span nothing = {"", 0}, continued = {"##", 2};

static size_t character_size(mgk_span text)
{
    uint32_t code;
    return mgk_utf8_read(text.data, text.size, &code);
}

static size_t count_characters(mgk_span word)
{
    size_t count = 0;
    for (size_t i = 0; i < word.size; i++)
        count += ((unsigned char)word.data[i] & 0xc0) != 0x80;
    return count;
}

/* Finds the longest token at the start of the rest of a word, -1: none. */
static int32_t longest(const mgk_vocabulary *vocabulary, mgk_span rest, mgk_span prefix,
                       size_t *size)
{
    uint64_t hash = mgk_hash_seeded(vocabulary->seed, prefix.data, prefix.size);
    int32_t best = -1;
    for (size_t end = 0; end < rest.size && end + prefix.size < vocabulary->longest;) {
        mgk_span left = {rest.data + end, rest.size - end};
        size_t step = character_size(left);
        hash = mgk_hash_seeded(hash, left.data, step);
        end += step;
        int32_t id =
            mgk_vocabulary_find_joined(vocabulary, hash, prefix, (mgk_span){rest.data, end});
        if (id >= 0) {
            best = id;
            *size = end;
        }
    }
    return best;
}

static mgk_status encode(mgk_token_encoder *encoder, mgk_span word)
{
    const mgk_tokenizer *tokenizer = encoder->tokenizer;
    size_t before = encoder->ids->size;
    if (count_characters(word) > tokenizer->longest_word)
        return mgk_emit(encoder, tokenizer->unknown);
    for (size_t at = 0, size = 0; at < word.size; at += size) {
        mgk_span rest = {word.data + at, word.size - at};
        int32_t id = longest(&tokenizer->vocabulary, rest, at > 0 ? continued : nothing, &size);
        if (id < 0) {
            encoder->ids->size = before;
            return mgk_emit(encoder, tokenizer->unknown);
        }
        TRY(mgk_emit(encoder, id));
    }
    return STATUS_OK;
}

const mgk_token_model mgk_wordpiece = {"WordPiece", true, false, encode};
