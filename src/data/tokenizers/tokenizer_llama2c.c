/* SPDX-License-Identifier: MIT */
/*
 * The tokenizer.bin of llama2.c (github.com/karpathy/llama2.c), little-endian:
 *
 *   u32   bytes of the longest token
 *   for each token: f32 score, u32 bytes, the text, with spaces
 *
 * Token 0 is the unknown one, 1 begins a text, 2 ends it, and 3 to 258 are bytes. A text gets a
 * space in front. Its characters, or their bytes, are merged to the token of the largest score.
 */
#include <math.h>
#include <string.h>

#include "data/tokenizers/tokenizer_private.h"

enum { HEAD = 4, TOKEN_HEAD = 8, LONGEST = 512, FIRST_BYTE = 3, BEGIN = 1 };

static uint32_t read_little(const char *data)
{
    const unsigned char *byte = (const unsigned char *)data;
    return byte[0] | (uint32_t)byte[1] << 8 | (uint32_t)byte[2] << 16 | (uint32_t)byte[3] << 24;
}

/* Cuts the next token off; false: malformed. */
static bool read_token(mgk_span *rest, size_t longest, float *score, mgk_span *text)
{
    if (rest->size < TOKEN_HEAD)
        return false;
    uint32_t bits = read_little(rest->data), size = read_little(rest->data + 4);
    memcpy(score, &bits, sizeof(bits));
    if (size > longest || size > rest->size - TOKEN_HEAD || !isfinite(*score))
        return false;
    *text = (mgk_span){rest->data + TOKEN_HEAD, size};
    *rest = (mgk_span){rest->data + TOKEN_HEAD + size, rest->size - TOKEN_HEAD - size};
    return true;
}

bool mgk_llama2c_begins(mgk_span bytes)
{
    static const char *const first[] = {"<unk>", "\n<s>\n", "\n</s>\n", "<0x00>"};
    mgk_span rest = {bytes.data + HEAD, bytes.size - HEAD}, text;
    float score;
    if (bytes.size < HEAD || read_little(bytes.data) > LONGEST)
        return false;
    for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++)
        if (!read_token(&rest, LONGEST, &score, &text) || !mgk_span_equals(text, first[i]))
            return false;
    return true;
}

mgk_status mgk_tokenizer_read_llama2c(mgk_span bytes, mgk_tokenizer *tokenizer)
{
    const int32_t begin = BEGIN;
    const mgk_span space = {" ", 1};
    mgk_buffer pieces = {0};
    mgk_status status = STATUS_OK;
    size_t longest = read_little(bytes.data);
    mgk_span rest = {bytes.data + HEAD, bytes.size - HEAD};
    tokenizer->model = &mgk_bpe_model;
    tokenizer->spaced = tokenizer->bpe.byte_fallback = true;
    for (size_t id = 0; rest.size > 0; id++) {
        mgk_scored_piece piece = {.id = id};
        if (!read_token(&rest, longest, &piece.score, &piece.text))
            CHECK(mgk_fail(STATUS_FORMAT, "llama2.c's tokenizer: token %zu is malformed", id));
        CHECK(mgk_vocabulary_set(&tokenizer->vocabulary, (int64_t)id, piece.text));
        CHECK(mgk_buffer_append(&pieces, &piece, sizeof(piece)));
    }
    CHECK(mgk_bpe_merge_by_score((mgk_scored_piece *)(void *)pieces.data,
                                 pieces.size / sizeof(mgk_scored_piece), tokenizer));
    if (mgk_vocabulary_size(&tokenizer->vocabulary) < FIRST_BYTE + 256)
        CHECK(mgk_fail(STATUS_FORMAT, "llama2.c's tokenizer: fewer tokens than bytes"));
    for (int byte = 0; byte < 256; byte++)
        tokenizer->fallback[byte] = FIRST_BYTE + byte;
    CHECK(mgk_normalizer_add_prepend(&tokenizer->normalizer, space));
    CHECK(mgk_buffer_append(&tokenizer->before, &begin, sizeof(begin)));
out:
    mgk_buffer_free(&pieces);
    return status;
}
