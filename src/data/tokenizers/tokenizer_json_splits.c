/* SPDX-License-Identifier: MIT */
/* The "pre_tokenizer" of tokenizer.json: steps that have a "type"; a "Sequence" holds others. */
#include <string.h>

#include "base/utf8.h"
#include "data/tokenizers/tokenizer_json.h"

/* Recognises the regular expressions of Llama 3 and Qwen 2, as their tokenizers write them: a space
 * after a printable character always begins a new piece. */
static bool is_spaced(mgk_span regex)
{
#define WORDS_UP_TO(digits)                                                    \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}" digits \
    "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
    return mgk_span_equals(regex, WORDS_UP_TO("{1,3}")) || mgk_span_equals(regex, WORDS_UP_TO(""));
#undef WORDS_UP_TO
}

static mgk_status read_behavior(const cJSON *step, const char *usual, mgk_cut_behavior *out)
{
    static const struct {
        const char *name;
        mgk_cut_behavior behavior;
    } rows[] = {
        {"Isolated", MGK_CUT_ISOLATED},
        {"Removed", MGK_CUT_REMOVED},
        {"MergedWithPrevious", MGK_CUT_WITH_PREVIOUS},
        {"MergedWithNext", MGK_CUT_WITH_NEXT},
        {"Contiguous", MGK_CUT_CONTIGUOUS},
    };
    mgk_span name = mgk_json_text(cJSON_GetObjectItemCaseSensitive(step, "behavior"));
    char quoted[MGK_QUOTE_SIZE];
    if (!name.data && usual)
        name = (mgk_span){usual, strlen(usual)};
    if (!name.data)
        return mgk_fail(STATUS_FORMAT, "pre_tokenizer \"Split\" without behavior");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (mgk_span_equals(name, rows[i].name)) {
            *out = rows[i].behavior;
            return STATUS_OK;
        }
    return mgk_fail(STATUS_UNSUPPORTED,
                    "pre_tokenizer with the behavior \"%s\": give ids with "
                    "`tokens`",
                    mgk_quote(name, quoted));
}

static mgk_status read_split(const cJSON *step, mgk_tokenizer *tokenizer)
{
    mgk_cut_stage stage = {0};
    mgk_span text;
    bool literal;
    TRY(mgk_json_pattern(step, &text, &literal));
    TRY(mgk_json_flag(step, "invert", false, &stage.invert));
    TRY(read_behavior(step, NULL, &stage.behavior));
    /* In Gemma, the normalizer leaves no space to split at. */
    if (literal && mgk_span_equals(text, " ") && !stage.invert &&
        mgk_normalizer_sign(&tokenizer->normalizer).data)
        return STATUS_OK;
    stage.spaced = !literal && is_spaced(text);
    return mgk_tokenizer_add_pattern(tokenizer, text, literal, stage);
}

static mgk_status read_byte_level(const cJSON *step, mgk_tokenizer *tokenizer)
{
    bool prefix, split;
    TRY(mgk_json_flag(step, "add_prefix_space", true, &prefix));
    TRY(mgk_json_flag(step, "use_regex", true, &split));
    if (tokenizer->byte_alphabet)
        return mgk_fail(STATUS_UNSUPPORTED, "pre_tokenizer \"ByteLevel\" twice");
    tokenizer->byte_alphabet = tokenizer->bpe.of_bytes = true;
    return mgk_tokenizer_add_byte_level(tokenizer, prefix, split);
}

static mgk_status read_bert(const cJSON *step, mgk_tokenizer *tokenizer)
{
    (void)step;
    return mgk_tokenizer_add_stage(tokenizer, (mgk_cut_stage){.kind = MGK_CUT_BERT});
}

static mgk_status read_white_space(const cJSON *step, mgk_tokenizer *tokenizer)
{
    (void)step;
    return mgk_tokenizer_add_pattern(tokenizer, (mgk_span){"\\s+", 3}, false,
                                     (mgk_cut_stage){.behavior = MGK_CUT_REMOVED, .spaced = true});
}

/* Words, and runs of other characters. */
static mgk_status read_words(const cJSON *step, mgk_tokenizer *tokenizer)
{
    (void)step;
    return mgk_tokenizer_add_word_runs(tokenizer);
}

static mgk_status read_digits(const cJSON *step, mgk_tokenizer *tokenizer)
{
    bool single;
    TRY(mgk_json_flag(step, "individual_digits", false, &single));
    return mgk_tokenizer_add_pattern(tokenizer, (mgk_span){"\\p{N}+", single ? 5 : 6}, false,
                                     (mgk_cut_stage){0});
}

static mgk_status read_punctuation(const cJSON *step, mgk_tokenizer *tokenizer)
{
    mgk_cut_stage stage = {.kind = MGK_CUT_PUNCTUATION};
    TRY(read_behavior(step, "Isolated", &stage.behavior));
    return mgk_tokenizer_add_stage(tokenizer, stage);
}

static mgk_status read_delimiter(const cJSON *step, mgk_tokenizer *tokenizer)
{
    mgk_span delimiter = mgk_json_text(cJSON_GetObjectItemCaseSensitive(step, "delimiter"));
    if (!delimiter.data)
        return mgk_fail(STATUS_FORMAT,
                        "pre_tokenizer \"CharDelimiterSplit\" without \"delimiter\"");
    return mgk_tokenizer_add_pattern(tokenizer, delimiter, true,
                                     (mgk_cut_stage){.behavior = MGK_CUT_REMOVED});
}

/* The first piece is the one that begins with the first character of the original text. That is not
 * known of characters that a step puts in front, nor of pieces of a normalized text. */
static mgk_status check_first(const mgk_tokenizer *tokenizer)
{
    const mgk_normalizer *normalizer = &tokenizer->normalizer;
    bool known = tokenizer->stage_count == 0 || normalizer->count == 0;
    for (size_t i = 0; i < normalizer->count; i++)
        known = known && normalizer->steps[i].kind != MGK_NORMAL_PREPEND;
    for (size_t i = 0; i < tokenizer->stage_count; i++) {
        mgk_cut_kind kind = tokenizer->stages[i].kind;
        known = known && kind != MGK_CUT_PREFIX && kind != MGK_CUT_META && kind != MGK_CUT_SPELL;
    }
    if (known)
        return STATUS_OK;
    return mgk_fail(STATUS_UNSUPPORTED, "pre_tokenizer \"Metaspace\" with the scheme \"first\" "
                                        "after such steps: give ids with `tokens`");
}

static mgk_status read_metaspace(const cJSON *step, mgk_tokenizer *tokenizer)
{
    mgk_span sign = mgk_json_text(cJSON_GetObjectItemCaseSensitive(step, "replacement"));
    mgk_span scheme = mgk_json_text(cJSON_GetObjectItemCaseSensitive(step, "prepend_scheme"));
    mgk_cut_prepend prepend = MGK_CUT_ALWAYS;
    uint32_t code;
    bool prefix, split;
    TRY(mgk_json_flag(step, "add_prefix_space", true, &prefix));
    TRY(mgk_json_flag(step, "split", true, &split));
    if (!sign.data || sign.size == 0 || mgk_utf8_read(sign.data, sign.size, &code) != sign.size ||
        code == MGK_UTF8_INVALID || code == ' ')
        return mgk_fail(STATUS_FORMAT, "pre_tokenizer \"Metaspace\": its replacement is no sign");
    if (!prefix || (scheme.data && mgk_span_equals(scheme, "never")))
        prepend = MGK_CUT_NEVER;
    else if (scheme.data && mgk_span_equals(scheme, "first"))
        prepend = MGK_CUT_FIRST;
    else if (scheme.data && !mgk_span_equals(scheme, "always"))
        return mgk_fail(STATUS_FORMAT, "pre_tokenizer \"Metaspace\": a scheme that is not always, "
                                       "first or never");
    if (prepend == MGK_CUT_FIRST)
        TRY(check_first(tokenizer));
    return mgk_tokenizer_add_metaspace(tokenizer, sign, prepend, split);
}

mgk_status mgk_tokenizer_read_splits(const cJSON *step, mgk_tokenizer *tokenizer)
{
    static const struct {
        const char *type;
        mgk_status (*read)(const cJSON *step, mgk_tokenizer *tokenizer);
    } rows[] = {
        {"ByteLevel", read_byte_level},
        {"BertPreTokenizer", read_bert},
        {"WhitespaceSplit", read_white_space},
        {"Whitespace", read_words},
        {"Digits", read_digits},
        {"Punctuation", read_punctuation},
        {"Split", read_split},
        {"Metaspace", read_metaspace},
        {"CharDelimiterSplit", read_delimiter},
    };
    const cJSON *child;
    if (!step || cJSON_IsNull(step))
        return STATUS_OK;
    if (mgk_json_is_type(step, "Sequence")) {
        cJSON_ArrayForEach(child, cJSON_GetObjectItemCaseSensitive(step, "pretokenizers"))
            TRY(mgk_tokenizer_read_splits(child, tokenizer));
        return STATUS_OK;
    }
    /* Steps after ByteLevel split what it wrote. */
    if (tokenizer->byte_alphabet && tokenizer->bpe.of_bytes) {
        tokenizer->bpe.of_bytes = false;
        TRY(mgk_tokenizer_add_stage(tokenizer, (mgk_cut_stage){.kind = MGK_CUT_SPELL}));
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (mgk_json_is_type(step, rows[i].type))
            return rows[i].read(step, tokenizer);
    return mgk_json_refuse("pre_tokenizer", step);
}
