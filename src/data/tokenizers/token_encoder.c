/* SPDX-License-Identifier: MIT */
/* Encodes text as token ids. */
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "data/tokenizers/tokenizer_private.h"

mgk_status mgk_token_encoder_open(const mgk_tokenizer *tokenizer, mgk_token_encoder **out)
{
    mgk_status status;
    mgk_token_encoder *encoder;
    *out = NULL;
    TRY(mgk_alloc(1, sizeof(*encoder), &encoder));
    encoder->tokenizer = tokenizer;
    CHECK(mgk_matcher_create(&encoder->matcher));
    CHECK(mgk_word_cache_open(&encoder->cache));
    *out = encoder;
out:
    if (status != STATUS_OK)
        mgk_token_encoder_close(encoder);
    return status;
}

void mgk_token_encoder_close(mgk_token_encoder *encoder)
{
    if (!encoder)
        return;
    mgk_buffer_free(&encoder->valid);
    mgk_normal_scratch_free(&encoder->normal);
    for (int i = 0; i < MGK_CUT_STAGES; i++)
        mgk_buffer_free(&encoder->rewritten[i]);
    mgk_matcher_free(encoder->matcher);
    mgk_word_cache_close(&encoder->cache);
    mgk_buffer_free(&encoder->symbols);
    mgk_buffer_free(&encoder->queue);
    mgk_buffer_free(&encoder->spelling);
    mgk_buffer_free(&encoder->paths);
    mgk_buffer_free(&encoder->pieces);
    mgk_free(encoder);
}

mgk_status mgk_emit(mgk_token_encoder *encoder, int32_t id)
{
    return mgk_buffer_append(encoder->ids, &id, sizeof(id));
}

bool mgk_tokenizer_has_bytes(const mgk_tokenizer *tokenizer, mgk_span text)
{
    for (size_t i = 0; i < text.size; i++)
        if (tokenizer->fallback[(unsigned char)text.data[i]] < 0)
            return false;
    return true;
}

/* Replaces bytes that are not UTF-8 by U+FFFD; valid text stays where it is. */
static mgk_status make_valid(mgk_buffer *valid, mgk_span *text)
{
    char replacement[4];
    size_t size = mgk_utf8_write(MGK_UTF8_REPLACEMENT, replacement);
    size_t good = mgk_utf8_valid(text->data, text->size);
    if (good == text->size)
        return STATUS_OK;
    valid->size = 0;
    for (mgk_span rest = *text;;) {
        uint32_t code;
        TRY(mgk_buffer_append(valid, rest.data, good));
        rest = (mgk_span){rest.data + good, rest.size - good};
        if (rest.size == 0)
            break;
        size_t bad = mgk_utf8_read(rest.data, rest.size, &code);
        TRY(mgk_buffer_append(valid, replacement, size));
        rest = (mgk_span){rest.data + bad, rest.size - bad};
        good = mgk_utf8_valid(rest.data, rest.size);
    }
    *text = (mgk_span){(const char *)valid->data, valid->size};
    return STATUS_OK;
}

typedef mgk_status (*encode_part)(mgk_token_encoder *encoder, mgk_span text);

/* Emits the added tokens of a text and passes the text between them to `rest`. */
static mgk_status encode_between(mgk_token_encoder *encoder, const mgk_added_tokens *added,
                                 mgk_span text, encode_part rest)
{
    mgk_added_search search = {0};
    mgk_added_match match;
    size_t done = 0;
    while (mgk_added_tokens_next(added, text, &search, &match)) {
        if (match.start > done)
            TRY(rest(encoder, (mgk_span){text.data + done, match.start - done}));
        TRY(mgk_emit(encoder, match.id));
        done = match.end;
    }
    if (done == text.size)
        return STATUS_OK;
    return rest(encoder, (mgk_span){text.data + done, text.size - done});
}

static mgk_status encode_words(mgk_token_encoder *encoder, mgk_span text)
{
    return mgk_cut_words(encoder, 0, text);
}

/* Emits the language code at the start of a text for Marian, and skips it. */
static mgk_status take_code(mgk_token_encoder *encoder, mgk_span *text)
{
    const mgk_tokenizer *tokenizer = encoder->tokenizer;
    size_t size = 2;
    if (text->size < 4 || memcmp(text->data, ">>", 2) != 0)
        return STATUS_OK;
    while (size + 1 < text->size && memcmp(text->data + size, "<<", 2) != 0)
        size++;
    if (size + 1 >= text->size)
        return STATUS_OK;
    size += 2;
    int32_t id = mgk_vocabulary_find(&tokenizer->vocabulary, (mgk_span){text->data, size});
    *text = (mgk_span){text->data + size, text->size - size};
    return mgk_emit(encoder, id < 0 ? tokenizer->unknown : id);
}

static mgk_status encode_plain(mgk_token_encoder *encoder, mgk_span text)
{
    const mgk_tokenizer *tokenizer = encoder->tokenizer;
    bool first = text.data == encoder->text_start;
    if (tokenizer->language_codes)
        TRY(take_code(encoder, &text));
    TRY(mgk_normalize(&tokenizer->normalizer, &encoder->normal, text, &text));
    encoder->text_start = first && encoder->normal.keeps_start ? text.data : NULL;
    return encode_between(encoder, &tokenizer->added_normalized, text, encode_words);
}

static mgk_status encode_valid(mgk_token_encoder *encoder, mgk_span text)
{
    encoder->text_start = text.data;
    return encode_between(encoder, &encoder->tokenizer->added, text, encode_plain);
}

/* Encodes each stretch of UTF-8, and the bytes between two of them as a word, by the model alone:
 * patterns match valid text only. */
static mgk_status encode_stretches(mgk_token_encoder *encoder, mgk_span text)
{
    while (text.size > 0) {
        const size_t good = mgk_utf8_valid(text.data, text.size);
        if (good > 0)
            TRY(encode_valid(encoder, (mgk_span){text.data, good}));
        text = (mgk_span){text.data + good, text.size - good};
        size_t bad = 0;
        for (uint32_t code = MGK_UTF8_INVALID; bad < text.size;) {
            const size_t size = mgk_utf8_read(text.data + bad, text.size - bad, &code);
            if (code != MGK_UTF8_INVALID)
                break;
            bad += size;
        }
        if (bad > 0)
            TRY(encoder->tokenizer->model->encode(encoder, (mgk_span){text.data, bad}));
        text = (mgk_span){text.data + bad, text.size - bad};
    }
    return STATUS_OK;
}

mgk_status mgk_token_encode(mgk_token_encoder *encoder, const char *text, size_t size,
                            mgk_buffer *ids)
{
    mgk_span whole = {text, size};
    if (size == 0)
        return STATUS_OK;
    encoder->ids = ids;
    if (encoder->tokenizer->keeps_bytes)
        return encode_stretches(encoder, whole);
    TRY(make_valid(&encoder->valid, &whole));
    return encode_valid(encoder, whole);
}
