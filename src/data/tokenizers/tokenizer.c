/* SPDX-License-Identifier: MIT */
#include "data/tokenizers/tokenizer.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "data/tokenizers/byte_alphabet.h"
#include "data/tokenizers/tokenizer_private.h"

mgk_status mgk_tokenizer_create(mgk_tokenizer **out)
{
    TRY(mgk_alloc(1, sizeof(**out), out));
    (*out)->unknown = (*out)->end_of_line = -1;
    return STATUS_OK;
}

void mgk_tokenizer_close(mgk_tokenizer *tokenizer)
{
    if (!tokenizer)
        return;
    mgk_vocabulary_free(&tokenizer->vocabulary);
    mgk_vocabulary_free(&tokenizer->named);
    mgk_added_tokens_free(&tokenizer->added);
    mgk_added_tokens_free(&tokenizer->added_normalized);
    for (size_t i = 0; i < tokenizer->stage_count; i++)
        mgk_pattern_free(tokenizer->stages[i].pattern);
    mgk_buffer_free(&tokenizer->before);
    mgk_buffer_free(&tokenizer->after);
    mgk_normalizer_free(&tokenizer->normalizer);
    mgk_buffer_free(&tokenizer->bpe.prefix);
    mgk_buffer_free(&tokenizer->bpe.suffix);
    mgk_buffer_free(&tokenizer->bpe.merges);
    mgk_prefix_tree_free(&tokenizer->unigram.pieces);
    mgk_buffer_free(&tokenizer->unigram.scores);
    mgk_buffer_free(&tokenizer->unigram.ids);
    mgk_buffer_free(&tokenizer->text);
    mgk_free(tokenizer->text_from);
    mgk_free(tokenizer);
}

mgk_status mgk_tokenizer_add_bert(mgk_tokenizer *tokenizer, mgk_bert_steps steps)
{
    mgk_normalizer *normalizer = &tokenizer->normalizer;
    if (steps.clean)
        TRY(mgk_normalizer_add(normalizer, MGK_NORMAL_CLEAN));
    if (steps.ideographs)
        TRY(mgk_normalizer_add(normalizer, MGK_NORMAL_SPACE_IDEOGRAPHS));
    if (steps.accents) {
        TRY(mgk_normalizer_add(normalizer, MGK_NORMAL_NFD));
        TRY(mgk_normalizer_add(normalizer, MGK_NORMAL_STRIP_NONSPACING));
    }
    return steps.lower ? mgk_normalizer_add(normalizer, MGK_NORMAL_LOWER) : STATUS_OK;
}

mgk_status mgk_tokenizer_add_token(mgk_tokenizer *tokenizer, mgk_span content,
                                   mgk_added_token token, bool normalized)
{
    mgk_normal_scratch scratch = {0};
    char quoted[MGK_QUOTE_SIZE];
    int32_t known = mgk_vocabulary_find(&tokenizer->vocabulary, content);
    if (known >= 0 && known != token.id)
        return mgk_fail(STATUS_FORMAT, "added token \"%s\" has the id %d, in the vocabulary %d",
                        mgk_quote(content, quoted), token.id, known);
    TRY(mgk_vocabulary_set(&tokenizer->named, token.id, content));
    if (!normalized)
        return mgk_added_tokens_add(&tokenizer->added, content, token);
    const mgk_span sign = mgk_normalizer_sign(&tokenizer->normalizer);
    bool takes_space = memchr(content.data, ' ', content.size) != NULL;
    mgk_status status = mgk_normalize(&tokenizer->normalizer, &scratch, content, &content);
    if (status == STATUS_OK && sign.size > 0)
        takes_space |= memmem(content.data, content.size, sign.data, sign.size) != NULL;
    tokenizer->added_normalized.takes_space |= takes_space;
    if (status == STATUS_OK)
        status = mgk_added_tokens_add(&tokenizer->added_normalized, content, token);
    mgk_normal_scratch_free(&scratch);
    return status;
}

static void write_byte_name(int byte, char name[8])
{
    snprintf(name, 8, "<0x%02X>", (unsigned)byte & 0xff);
}

/* Writes a character, or an escape for an invisible character or for a byte that is not UTF-8. */
static mgk_status write_character(mgk_span bytes, uint32_t code, mgk_buffer *out)
{
    char escape[8];
    if (code == MGK_UTF8_INVALID) {
        for (size_t i = 0; i < bytes.size; i++) {
            write_byte_name((unsigned char)bytes.data[i], escape);
            TRY(mgk_buffer_append(out, escape, 6));
        }
        return STATUS_OK;
    }
    if (code >= 0x20 && code != 0x7f)
        return mgk_buffer_append(out, bytes.data, bytes.size);
    const char letter = code == '\n' ? 'n' : code == '\t' ? 't' : code == '\r' ? 'r' : '\0';
    int size = letter ? snprintf(escape, sizeof(escape), "\\%c", letter)
                      : snprintf(escape, sizeof(escape), "\\x%02X", (unsigned)code);
    return mgk_buffer_append(out, escape, (size_t)size);
}

/* Writes a text, with a space for each sign, which may be empty. */
static mgk_status write_text(mgk_span token, mgk_span sign, mgk_buffer *out)
{
    for (size_t at = 0, size; at < token.size; at += size) {
        uint32_t code;
        mgk_span rest = {token.data + at, token.size - at};
        size = mgk_utf8_read(rest.data, rest.size, &code);
        if (size == sign.size && memcmp(rest.data, sign.data, size) == 0)
            TRY(mgk_buffer_append(out, " ", 1));
        else
            TRY(write_character((mgk_span){rest.data, size}, code, out));
    }
    return STATUS_OK;
}

void mgk_tokenizer_find_bytes(mgk_tokenizer *tokenizer)
{
    char name[8];
    for (int byte = 0; byte < 256; byte++) {
        write_byte_name(byte, name);
        tokenizer->fallback[byte] =
            mgk_vocabulary_find(&tokenizer->vocabulary, (mgk_span){name, strlen(name)});
    }
}

/* The ASCII character that a token of one byte stands for; '\0': another token. */
static char ascii_of(const mgk_tokenizer *tokenizer, int32_t id)
{
    bool used = tokenizer->bpe.byte_fallback || tokenizer->unigram.byte_fallback;
    for (int byte = 1; byte < 0x80 && used; byte++)
        if (tokenizer->fallback[byte] == id)
            return (char)byte;
    return '\0';
}

/* The character that tokens have for a space; size 0: none. */
static mgk_span sign_of(const mgk_tokenizer *tokenizer)
{
    for (size_t i = 0; i < tokenizer->stage_count; i++)
        if (tokenizer->stages[i].kind == MGK_CUT_META)
            return (mgk_span){tokenizer->stages[i].sign, tokenizer->stages[i].sign_size};
    mgk_span sign = mgk_normalizer_sign(&tokenizer->normalizer);
    uint32_t code;
    bool character = sign.size > 0 && mgk_utf8_read(sign.data, sign.size, &code) == sign.size;
    return character ? sign : (mgk_span){"", 0};
}

/* Translates a token in the byte alphabet back to bytes; *whole is false if a character is not in
 * the alphabet. */
static mgk_status unspell(mgk_span token, mgk_buffer *out, bool *whole)
{
    out->size = 0;
    *whole = true;
    for (size_t at = 0; at < token.size && *whole;) {
        uint32_t code;
        at += mgk_utf8_read(token.data + at, token.size - at, &code);
        int byte = mgk_character_byte(code);
        unsigned char value = (unsigned char)byte;
        *whole = byte >= 0;
        TRY(mgk_buffer_append(out, &value, 1));
    }
    return STATUS_OK;
}

static mgk_status write_token(const mgk_tokenizer *tokenizer, int32_t id, mgk_buffer *bytes,
                              mgk_buffer *out)
{
    mgk_span token = mgk_vocabulary_token(&tokenizer->named, id), sign = {"", 0};
    bool spelled = !token.data && tokenizer->byte_alphabet;
    char byte = token.data ? '\0' : ascii_of(tokenizer, id);
    if (mgk_vocabulary_token(&tokenizer->vocabulary, id).data)
        sign = sign_of(tokenizer);
    if (!token.data)
        token = mgk_vocabulary_token(&tokenizer->vocabulary, id);
    if (spelled && token.data) {
        TRY(unspell(token, bytes, &spelled));
        if (spelled)
            token = (mgk_span){(const char *)bytes->data, bytes->size};
    }
    TRY(write_text(byte ? (mgk_span){&byte, 1} : token, sign, out));
    return mgk_buffer_append(out, "", 1);
}

static mgk_status check_ids(const mgk_buffer *ids, int32_t size)
{
    const int32_t *id = (const int32_t *)(const void *)ids->data;
    for (size_t i = 0; i < ids->size / sizeof(*id); i++)
        if (id[i] < 0 || id[i] >= size)
            return mgk_fail(STATUS_FORMAT, "a token of every text has the id %d: expected [0, %d)",
                            id[i], size);
    return STATUS_OK;
}

/* Splits words before signs where that changes no ids, so that words are short and often cached. */
static mgk_status split_at_signs(mgk_tokenizer *tokenizer)
{
    size_t count = tokenizer->stage_count;
    mgk_span sign = sign_of(tokenizer);
    bool written = count == 0 || tokenizer->stages[count - 1].kind == MGK_CUT_META;
    mgk_cut_stage stage = {.kind = MGK_CUT_SIGN, .sign_size = sign.size};
    if (tokenizer->model != &mgk_bpe_model || sign.size == 0 || !written ||
        count == MGK_CUT_STAGES || !mgk_bpe_splits_at(tokenizer, sign))
        return STATUS_OK;
    memcpy(stage.sign, sign.data, sign.size);
    return mgk_tokenizer_add_stage(tokenizer, stage);
}

static const char *find_subword(const mgk_tokenizer *tokenizer)
{
    mgk_span prefix = {(const char *)tokenizer->bpe.prefix.data, tokenizer->bpe.prefix.size};
    if (tokenizer->model == &mgk_wordpiece || mgk_span_equals(prefix, "##"))
        return "##";
    bool spaced = tokenizer->byte_alphabet || tokenizer->spaced || sign_of(tokenizer).size > 0;
    return spaced && prefix.size + tokenizer->bpe.suffix.size == 0 ? " " : "";
}

mgk_status mgk_tokenizer_finish(mgk_tokenizer *tokenizer)
{
    mgk_status status = STATUS_OK;
    mgk_buffer bytes = {0};
    int32_t size = mgk_vocabulary_size(&tokenizer->vocabulary);
    int32_t named = mgk_vocabulary_size(&tokenizer->named);
    if (size == 0)
        return mgk_fail(STATUS_FORMAT, "the vocabulary is empty");
    tokenizer->size = size > named ? size : named;
    TRY(check_ids(&tokenizer->before, tokenizer->size));
    TRY(check_ids(&tokenizer->after, tokenizer->size));
    if (tokenizer->model->needs_unknown && tokenizer->unknown < 0)
        return mgk_fail(STATUS_FORMAT, "the vocabulary has no token for unknown words");
    TRY(split_at_signs(tokenizer));
    tokenizer->subword = find_subword(tokenizer);
    TRY(mgk_alloc((size_t)tokenizer->size, sizeof(*tokenizer->text_from), &tokenizer->text_from));
    for (int32_t id = 0; id < tokenizer->size; id++) {
        tokenizer->text_from[id] = tokenizer->text.size;
        CHECK(write_token(tokenizer, id, &bytes, &tokenizer->text));
    }
out:
    mgk_buffer_free(&bytes);
    return status;
}

void mgk_tokenizer_drop_frame(mgk_tokenizer *tokenizer)
{
    tokenizer->before.size = tokenizer->after.size = 0;
}

bool mgk_tokenizer_keeps_bytes(const mgk_tokenizer *tokenizer)
{
    return tokenizer->keeps_bytes;
}

int32_t mgk_tokenizer_vocabulary(const mgk_tokenizer *tokenizer)
{
    return tokenizer->size;
}

const char *mgk_tokenizer_kind(const mgk_tokenizer *tokenizer)
{
    return tokenizer->model->name;
}

size_t mgk_tokenizer_count_unknown(const mgk_tokenizer *tokenizer, const int32_t *ids, size_t count)
{
    size_t unknown = 0;
    for (size_t i = 0; tokenizer->unknown >= 0 && i < count; i++)
        unknown += ids[i] == tokenizer->unknown;
    return unknown;
}

mgk_token_frame mgk_tokenizer_frame(const mgk_tokenizer *tokenizer)
{
    return (mgk_token_frame){
        (const int32_t *)(const void *)tokenizer->before.data,
        (const int32_t *)(const void *)tokenizer->after.data,
        tokenizer->before.size / sizeof(int32_t),
        tokenizer->after.size / sizeof(int32_t),
    };
}

const char *mgk_tokenizer_text(const mgk_tokenizer *tokenizer, int32_t id)
{
    if (id < 0 || id >= tokenizer->size)
        return "";
    return (const char *)tokenizer->text.data + tokenizer->text_from[id];
}

const char *mgk_tokenizer_subword(const mgk_tokenizer *tokenizer)
{
    return tokenizer->subword;
}
