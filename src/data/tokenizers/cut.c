/* SPDX-License-Identifier: MIT */
/* Pre-tokenization: splits a text into words. */
#include "base/utf8.h"
#include "data/tokenizers/tokenizer_private.h"
#include "data/tokenizers/unicode.h"

/* Passes a piece on to the next stage, unless it is empty. */
static mgk_status hand_on(mgk_token_encoder *encoder, size_t stage, mgk_span text, size_t start,
                          size_t end)
{
    if (start == end)
        return STATUS_OK;
    return mgk_cut_words(encoder, stage + 1, (mgk_span){text.data + start, end - start});
}

static mgk_status split_bert(mgk_token_encoder *encoder, size_t stage, mgk_span text)
{
    size_t start = 0;
    for (size_t at = 0, size; at < text.size; at += size) {
        uint32_t code;
        size = mgk_utf8_read(text.data + at, text.size - at, &code);
        bool space = mgk_is_space(code);
        if (!space && !mgk_is_punctuation(code))
            continue;
        TRY(hand_on(encoder, stage, text, start, at));
        start = at + size;
        if (!space)
            TRY(hand_on(encoder, stage, text, at, start));
    }
    return hand_on(encoder, stage, text, start, text.size);
}

static mgk_status split_prefix(mgk_token_encoder *encoder, size_t stage, mgk_span text)
{
    mgk_buffer *prefixed = &encoder->prefixed[stage];
    if (text.data[0] == ' ')
        return mgk_cut_words(encoder, stage + 1, text);
    prefixed->size = 0;
    TRY(mgk_buffer_append(prefixed, " ", 1));
    TRY(mgk_buffer_append(prefixed, text.data, text.size));
    return mgk_cut_words(encoder, stage + 1,
                         (mgk_span){(const char *)prefixed->data, prefixed->size});
}

static mgk_status split_pattern(mgk_token_encoder *encoder, size_t number, mgk_span text)
{
    const mgk_cut_stage *stage = &encoder->tokenizer->stages[number];
    size_t done = 0, from = 0;
    mgk_match match;
    while (from <= text.size) {
        TRY(mgk_pattern_find(stage->pattern, encoder->matcher, text, from, &match));
        if (!match.found)
            break;
        if (!stage->drop_gaps)
            TRY(hand_on(encoder, number, text, done, match.start));
        if (!stage->drop_matches)
            TRY(hand_on(encoder, number, text, match.start, match.end));
        done = from = match.end;
        uint32_t code;
        if (match.end == match.start) /* empty match: advance by one character */
            from += from < text.size ? mgk_utf8_read(text.data + from, text.size - from, &code) : 1;
    }
    return stage->drop_gaps ? STATUS_OK : hand_on(encoder, number, text, done, text.size);
}

static mgk_status encode_word(mgk_token_encoder *encoder, mgk_span word)
{
    const mgk_token_model *model = encoder->tokenizer->model;
    mgk_cached_word *entry = mgk_word_cache_entry(&encoder->cache, word);
    if (!entry)
        return model->encode(encoder, word);
    if (mgk_cached_word_is(entry, word))
        return mgk_buffer_append(encoder->ids, entry->ids, entry->count * sizeof(int32_t));
    size_t before = encoder->ids->size;
    TRY(model->encode(encoder, word));
    size_t count = (encoder->ids->size - before) / sizeof(int32_t);
    if (count > 0) /* the cache does not hold words without ids */
        mgk_cached_word_set(entry, word,
                            (const int32_t *)(const void *)(encoder->ids->data + before), count);
    return STATUS_OK;
}

mgk_status mgk_cut_words(mgk_token_encoder *encoder, size_t stage, mgk_span piece)
{
    if (stage == encoder->tokenizer->stage_count)
        return encode_word(encoder, piece);
    switch (encoder->tokenizer->stages[stage].kind) {
    case MGK_CUT_BERT:
        return split_bert(encoder, stage, piece);
    case MGK_CUT_PREFIX:
        return split_prefix(encoder, stage, piece);
    default:
        return split_pattern(encoder, stage, piece);
    }
}

/* Whether every space after a printable ASCII character begins a new piece. Normalizers change such
 * characters at most to lower case. */
static bool cuts_at_spaces(const mgk_tokenizer *tokenizer)
{
    const mgk_cut_stage *stage = tokenizer->stages, *end = stage + tokenizer->stage_count;
    if (tokenizer->added.takes_space || tokenizer->added_normalized.takes_space)
        return false;
    if (stage < end && stage->kind == MGK_CUT_PREFIX)
        stage++; /* this stage leaves text that begins with a space unchanged */
    return stage < end && (stage->kind == MGK_CUT_BERT || stage->spaced);
}

size_t mgk_tokenizer_cut(const mgk_tokenizer *tokenizer, const char *text, size_t size)
{
    if (!cuts_at_spaces(tokenizer))
        return 0;
    for (size_t at = size; at-- > 1;)
        if (text[at] == ' ' && text[at - 1] > ' ' && text[at - 1] <= '~')
            return at;
    return 0;
}

mgk_status mgk_tokenizer_add_stage(mgk_tokenizer *tokenizer, mgk_cut_stage stage)
{
    if (tokenizer->stage_count == MGK_CUT_STAGES) {
        mgk_pattern_free(stage.pattern);
        return mgk_fail(STATUS_UNSUPPORTED, "pre_tokenizer of more than %d steps", MGK_CUT_STAGES);
    }
    tokenizer->stages[tokenizer->stage_count++] = stage;
    return STATUS_OK;
}

mgk_status mgk_tokenizer_add_byte_level(mgk_tokenizer *tokenizer, bool prefix, bool split)
{
    static const char words[] = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+"
                                "|\\s+(?!\\S)|\\s+";
    mgk_cut_stage stage = {.kind = MGK_CUT_PREFIX};
    if (prefix)
        TRY(mgk_tokenizer_add_stage(tokenizer, stage));
    if (!split)
        return STATUS_OK;
    stage.kind = MGK_CUT_PATTERN;
    stage.spaced = true;
    TRY(mgk_pattern_compile((mgk_span){words, sizeof(words) - 1}, false, &stage.pattern));
    return mgk_tokenizer_add_stage(tokenizer, stage);
}
