/* SPDX-License-Identifier: MIT */
/* Pre-tokenization: splits a text into words. */
#include <string.h>

#include "base/utf8.h"
#include "data/tokenizers/byte_alphabet.h"
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
    mgk_buffer *prefixed = &encoder->rewritten[stage];
    if (text.data[0] == ' ')
        return mgk_cut_words(encoder, stage + 1, text);
    prefixed->size = 0;
    TRY(mgk_buffer_append(prefixed, " ", 1));
    TRY(mgk_buffer_append(prefixed, text.data, text.size));
    return mgk_cut_words(encoder, stage + 1,
                         (mgk_span){(const char *)prefixed->data, prefixed->size});
}

/* A text on its way through a stage: matches and gaps arrive in order, and pieces leave. */
typedef struct joiner {
    mgk_token_encoder *encoder;
    size_t stage;
    mgk_span text;
    size_t start, end; /* of the piece that waits for its neighbour */
    bool waits, match; /* there is one; its last part is a match */
} joiner;

static bool joins(const joiner *state, bool match)
{
    if (!state->waits)
        return false;
    switch (state->encoder->tokenizer->stages[state->stage].behavior) {
    case MGK_CUT_WITH_PREVIOUS:
        return match && !state->match;
    case MGK_CUT_WITH_NEXT:
        return !match && state->match;
    case MGK_CUT_CONTIGUOUS:
        return match == state->match;
    default:
        return false;
    }
}

/* Takes the next match or gap, which ends at `end`. */
static mgk_status take(joiner *state, size_t end, bool match)
{
    const mgk_cut_stage *stage = &state->encoder->tokenizer->stages[state->stage];
    size_t start = state->end;
    match ^= stage->invert;
    if (joins(state, match)) {
        start = state->start;
    } else if (state->waits) {
        TRY(hand_on(state->encoder, state->stage, state->text, state->start, state->end));
    }
    state->waits = stage->behavior != MGK_CUT_REMOVED || !match;
    state->match = match;
    state->start = start;
    state->end = end;
    return STATUS_OK;
}

/* Takes a match and the gap before it. */
static mgk_status take_match(joiner *state, size_t start, size_t end)
{
    if (start > state->end)
        TRY(take(state, start, false));
    return take(state, end, true);
}

static mgk_status take_rest(joiner *state)
{
    if (state->end < state->text.size)
        TRY(take(state, state->text.size, false));
    if (!state->waits)
        return STATUS_OK;
    return hand_on(state->encoder, state->stage, state->text, state->start, state->end);
}

static mgk_status split_pattern(mgk_token_encoder *encoder, size_t stage, mgk_span text)
{
    joiner state = {.encoder = encoder, .stage = stage, .text = text};
    mgk_matches matches = {.pattern = encoder->tokenizer->stages[stage].pattern, .text = text};
    mgk_match match;
    for (;;) {
        TRY(mgk_matches_next(&matches, encoder->matcher, &match));
        if (!match.found)
            return take_rest(&state);
        TRY(take_match(&state, match.start, match.end));
    }
}

static mgk_status split_punctuation(mgk_token_encoder *encoder, size_t stage, mgk_span text)
{
    joiner state = {.encoder = encoder, .stage = stage, .text = text};
    for (size_t at = 0, size; at < text.size; at += size) {
        uint32_t code;
        size = mgk_utf8_read(text.data + at, text.size - at, &code);
        if (mgk_is_punctuation(code))
            TRY(take_match(&state, at, at + size));
    }
    return take_rest(&state);
}

static bool starts_with(mgk_span text, const mgk_cut_stage *stage)
{
    return text.size >= stage->sign_size && memcmp(text.data, stage->sign, stage->sign_size) == 0;
}

static mgk_status split_sign(mgk_token_encoder *encoder, size_t number, mgk_span text)
{
    const mgk_cut_stage *stage = &encoder->tokenizer->stages[number];
    size_t start = 0;
    bool after_sign = true;
    for (size_t at = 0, size; at < text.size; at += size) {
        uint32_t code;
        mgk_span rest = {text.data + at, text.size - at};
        bool sign = starts_with(rest, stage);
        size = mgk_utf8_read(rest.data, rest.size, &code);
        if (sign && !after_sign) {
            TRY(hand_on(encoder, number, text, start, at));
            start = at;
        }
        after_sign = sign;
    }
    return hand_on(encoder, number, text, start, text.size);
}

static mgk_status write_sign(mgk_token_encoder *encoder, size_t number, mgk_span text)
{
    const mgk_cut_stage *stage = &encoder->tokenizer->stages[number];
    mgk_buffer *out = &encoder->rewritten[number];
    bool first = stage->prepend == MGK_CUT_ALWAYS ||
                 (stage->prepend == MGK_CUT_FIRST && text.data == encoder->text_start);
    bool prepend = first && text.data[0] != ' ' && !starts_with(text, stage);
    out->size = 0;
    if (prepend)
        TRY(mgk_buffer_append(out, stage->sign, stage->sign_size));
    for (size_t at = 0; at < text.size;) {
        const char *space = memchr(text.data + at, ' ', text.size - at);
        size_t end = space ? (size_t)(space - text.data) : text.size;
        TRY(mgk_buffer_append(out, text.data + at, end - at));
        if (space)
            TRY(mgk_buffer_append(out, stage->sign, stage->sign_size));
        at = end + 1;
    }
    return mgk_cut_words(encoder, number + 1, (mgk_span){(const char *)out->data, out->size});
}

static mgk_status spell(mgk_token_encoder *encoder, size_t stage, mgk_span text)
{
    mgk_buffer *out = &encoder->rewritten[stage];
    TRY(mgk_spell_bytes(text, out));
    return mgk_cut_words(encoder, stage + 1, (mgk_span){(const char *)out->data, out->size});
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
    static mgk_status (*const split[])(mgk_token_encoder *, size_t, mgk_span) = {
        [MGK_CUT_BERT] = split_bert,       [MGK_CUT_PREFIX] = split_prefix,
        [MGK_CUT_PATTERN] = split_pattern, [MGK_CUT_PUNCTUATION] = split_punctuation,
        [MGK_CUT_SIGN] = split_sign,       [MGK_CUT_META] = write_sign,
        [MGK_CUT_SPELL] = spell,
    };
    if (stage == encoder->tokenizer->stage_count)
        return encode_word(encoder, piece);
    return split[encoder->tokenizer->stages[stage].kind](encoder, stage, piece);
}

/* Whether every space after a printable ASCII character begins a new piece. */
static bool cuts_at_spaces(const mgk_tokenizer *tokenizer)
{
    const mgk_cut_stage *stage = tokenizer->stages, *end = stage + tokenizer->stage_count;
    mgk_span sign = {"", 0};
    if (tokenizer->added.takes_space || tokenizer->added_normalized.takes_space)
        return false;
    /* These stages leave text that begins with a space, or with the sign for it, as it is. */
    while (stage < end && (stage->kind == MGK_CUT_PREFIX || stage->kind == MGK_CUT_META)) {
        sign = (mgk_span){stage->sign, stage->sign_size};
        stage++;
    }
    if (stage == end)
        return false;
    if (stage->kind == MGK_CUT_SIGN)
        sign = (mgk_span){stage->sign, stage->sign_size};
    return (stage->kind == MGK_CUT_BERT || stage->kind == MGK_CUT_SIGN || stage->spaced) &&
           mgk_normalizer_keeps_cuts(&tokenizer->normalizer, sign);
}

static size_t after_last_line(const char *text, size_t size)
{
    while (size > 0 && text[size - 1] != '\n')
        size--;
    return size;
}

size_t mgk_tokenizer_cut(const mgk_tokenizer *tokenizer, const char *text, size_t size)
{
    if (tokenizer->model->of_lines)
        return after_last_line(text, size);
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

mgk_status mgk_tokenizer_add_pattern(mgk_tokenizer *tokenizer, mgk_span text, bool literal,
                                     mgk_cut_stage stage)
{
    stage.kind = MGK_CUT_PATTERN;
    TRY(mgk_pattern_compile(text, literal, &stage.pattern));
    return mgk_tokenizer_add_stage(tokenizer, stage);
}

mgk_status mgk_tokenizer_add_byte_level(mgk_tokenizer *tokenizer, bool prefix, bool split)
{
    static const char words[] = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+"
                                "|\\s+(?!\\S)|\\s+";
    if (prefix)
        TRY(mgk_tokenizer_add_stage(tokenizer, (mgk_cut_stage){.kind = MGK_CUT_PREFIX}));
    if (!split)
        return STATUS_OK;
    return mgk_tokenizer_add_pattern(tokenizer, (mgk_span){words, sizeof(words) - 1}, false,
                                     (mgk_cut_stage){.spaced = true});
}

mgk_status mgk_tokenizer_add_word_runs(mgk_tokenizer *tokenizer)
{
#define WORD "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\x{200C}\\x{200D}"
    static const char pattern[] = "[" WORD "]+|[^" WORD "\\s]+";
#undef WORD
    return mgk_tokenizer_add_pattern(
        tokenizer, (mgk_span){pattern, sizeof(pattern) - 1}, false,
        (mgk_cut_stage){.behavior = MGK_CUT_REMOVED, .invert = true, .spaced = true});
}

mgk_status mgk_tokenizer_add_metaspace(mgk_tokenizer *tokenizer, mgk_span sign,
                                       mgk_cut_prepend prepend, bool split)
{
    mgk_cut_stage stage = {.kind = MGK_CUT_META, .prepend = prepend, .sign_size = sign.size};
    memcpy(stage.sign, sign.data, sign.size);
    TRY(mgk_tokenizer_add_stage(tokenizer, stage));
    if (!split)
        return STATUS_OK;
    return mgk_tokenizer_add_pattern(
        tokenizer, sign, true, (mgk_cut_stage){.behavior = MGK_CUT_WITH_NEXT, .spaced = true});
}
