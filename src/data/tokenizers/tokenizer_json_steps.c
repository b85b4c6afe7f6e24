/* SPDX-License-Identifier: MIT */
/* The steps of tokenizer.json. Each has a "type"; a "Sequence" holds others. */
#include <string.h>

#include "data/tokenizers/tokenizer_json.h"

static bool is_type(const cJSON *step, const char *name)
{
    const cJSON *type = cJSON_GetObjectItemCaseSensitive(step, "type");
    return cJSON_IsString(type) && strcmp(type->valuestring, name) == 0;
}

static mgk_status refuse(const char *what, const cJSON *step)
{
    mgk_span type = mgk_json_text(cJSON_GetObjectItemCaseSensitive(step, "type"));
    char quoted[MGK_QUOTE_SIZE];
    if (!type.data)
        return mgk_fail(STATUS_FORMAT, "\"%s\" has no type", what);
    return mgk_fail(STATUS_UNSUPPORTED, "%s \"%s\" is not known: give ids with `tokens`", what,
                    mgk_quote(type, quoted));
}

static mgk_status read_bert_normalizer(const cJSON *step, mgk_tokenizer *tokenizer)
{
    mgk_bert_steps bert;
    TRY(mgk_json_flag(step, "clean_text", true, &bert.clean));
    TRY(mgk_json_flag(step, "handle_chinese_chars", true, &bert.ideographs));
    TRY(mgk_json_flag(step, "lowercase", true, &bert.lower));
    TRY(mgk_json_flag(step, "strip_accents", bert.lower, &bert.accents));
    return mgk_tokenizer_add_bert(tokenizer, bert);
}

mgk_status mgk_tokenizer_read_normalizer(const cJSON *step, mgk_tokenizer *tokenizer)
{
    static const struct {
        const char *type;
        mgk_normal_step step;
    } rows[] = {
        {"NFC", MGK_NORMAL_NFC},         {"NFD", MGK_NORMAL_NFD},
        {"NFKC", MGK_NORMAL_NFKC},       {"NFKD", MGK_NORMAL_NFKD},
        {"Lowercase", MGK_NORMAL_LOWER}, {"StripAccents", MGK_NORMAL_STRIP_MARKS},
    };
    const cJSON *child;
    if (!step || cJSON_IsNull(step))
        return STATUS_OK;
    if (is_type(step, "Sequence")) {
        cJSON_ArrayForEach(child, cJSON_GetObjectItemCaseSensitive(step, "normalizers"))
            TRY(mgk_tokenizer_read_normalizer(child, tokenizer));
        return STATUS_OK;
    }
    if (is_type(step, "BertNormalizer"))
        return read_bert_normalizer(step, tokenizer);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (is_type(step, rows[i].type))
            return mgk_normalizer_add(&tokenizer->normalizer, rows[i].step);
    return refuse("normalizer", step);
}

static mgk_status add_pattern(mgk_tokenizer *tokenizer, mgk_span text, bool literal,
                              mgk_cut_stage stage)
{
    stage.kind = MGK_CUT_PATTERN;
    TRY(mgk_pattern_compile(text, literal, &stage.pattern));
    return mgk_tokenizer_add_stage(tokenizer, stage);
}

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

static mgk_status read_split(const cJSON *step, mgk_tokenizer *tokenizer)
{
    const cJSON *pattern = cJSON_GetObjectItemCaseSensitive(step, "pattern");
    const cJSON *regex = cJSON_GetObjectItemCaseSensitive(pattern, "Regex");
    mgk_span text =
        mgk_json_text(regex ? regex : cJSON_GetObjectItemCaseSensitive(pattern, "String"));
    mgk_span behavior = mgk_json_text(cJSON_GetObjectItemCaseSensitive(step, "behavior"));
    mgk_cut_stage stage = {0};
    bool invert;
    char quoted[MGK_QUOTE_SIZE];
    TRY(mgk_json_flag(step, "invert", false, &invert));
    if (!text.data || !behavior.data)
        return mgk_fail(STATUS_FORMAT, "pre_tokenizer \"Split\" without pattern or behavior");
    if (mgk_span_equals(behavior, "Removed")) {
        stage.drop_matches = !invert;
        stage.drop_gaps = invert;
    } else if (!mgk_span_equals(behavior, "Isolated")) {
        return mgk_fail(STATUS_UNSUPPORTED,
                        "pre_tokenizer \"Split\" with behavior \"%s\": give ids with `tokens`",
                        mgk_quote(behavior, quoted));
    }
    stage.spaced = regex && is_spaced(text);
    return add_pattern(tokenizer, text, !regex, stage);
}

static mgk_status read_byte_level(const cJSON *step, mgk_tokenizer *tokenizer)
{
    bool prefix, split;
    TRY(mgk_json_flag(step, "add_prefix_space", true, &prefix));
    TRY(mgk_json_flag(step, "use_regex", true, &split));
    return mgk_tokenizer_add_byte_level(tokenizer, prefix, split);
}

static mgk_status read_digits(const cJSON *step, mgk_tokenizer *tokenizer)
{
    bool single;
    TRY(mgk_json_flag(step, "individual_digits", false, &single));
    return add_pattern(tokenizer, (mgk_span){"\\p{N}+", single ? 5 : 6}, false, (mgk_cut_stage){0});
}

mgk_status mgk_tokenizer_read_splits(const cJSON *step, mgk_tokenizer *tokenizer, bool *byte_level)
{
    const cJSON *child;
    if (!step || cJSON_IsNull(step))
        return STATUS_OK;
    if (is_type(step, "Sequence")) {
        cJSON_ArrayForEach(child, cJSON_GetObjectItemCaseSensitive(step, "pretokenizers"))
            TRY(mgk_tokenizer_read_splits(child, tokenizer, byte_level));
        return STATUS_OK;
    }
    /* A later step would split the characters of the byte alphabet instead of the text. */
    if (*byte_level)
        return mgk_fail(STATUS_UNSUPPORTED, "pre_tokenizer: ByteLevel is not the last step");
    if (is_type(step, "ByteLevel")) {
        *byte_level = true;
        return read_byte_level(step, tokenizer);
    }
    if (is_type(step, "BertPreTokenizer"))
        return mgk_tokenizer_add_stage(tokenizer, (mgk_cut_stage){.kind = MGK_CUT_BERT});
    if (is_type(step, "WhitespaceSplit"))
        return add_pattern(tokenizer, (mgk_span){"\\s+", 3}, false,
                           (mgk_cut_stage){.drop_matches = true, .spaced = true});
    if (is_type(step, "Digits"))
        return read_digits(step, tokenizer);
    if (is_type(step, "Split"))
        return read_split(step, tokenizer);
    return refuse("pre_tokenizer", step);
}

enum { MOST_AROUND = 64 /* tokens or pieces around a text */ };

static mgk_status add_to_frame(const cJSON *value, const char *what, mgk_buffer *side)
{
    int64_t id;
    TRY(mgk_json_id(value, what, &id));
    if (id < 0 || id >= MGK_VOCABULARY_MOST || side->size >= MOST_AROUND * sizeof(int32_t))
        return mgk_fail(STATUS_FORMAT, "post_processor: the id %lld, or more than %d of them",
                        (long long)id, MOST_AROUND);
    int32_t narrow = (int32_t)id;
    return mgk_buffer_append(side, &narrow, sizeof(narrow));
}

/* {"SpecialToken": {"id": "[CLS]"}}, {"Sequence": {"id": "A"}}, {"SpecialToken": ...} */
static mgk_status read_template(const cJSON *step, mgk_tokenizer *tokenizer)
{
    const cJSON *tokens = cJSON_GetObjectItemCaseSensitive(step, "special_tokens"), *part, *id;
    const cJSON *pieces = cJSON_GetObjectItemCaseSensitive(step, "single");
    mgk_buffer *side = &tokenizer->before;
    /* Each piece is searched for among all descriptions: long lists would take quadratic time. */
    if (cJSON_GetArraySize(pieces) > MOST_AROUND)
        return mgk_fail(STATUS_FORMAT, "post_processor of %d pieces, expected at most %d",
                        cJSON_GetArraySize(pieces), MOST_AROUND);
    cJSON_ArrayForEach(part, pieces)
    {
        const cJSON *token = cJSON_GetObjectItemCaseSensitive(part, "SpecialToken");
        const cJSON *name = cJSON_GetObjectItemCaseSensitive(token, "id");
        if (cJSON_IsObject(cJSON_GetObjectItemCaseSensitive(part, "Sequence"))) {
            if (side == &tokenizer->after)
                return mgk_fail(STATUS_UNSUPPORTED, "post_processor that repeats the text");
            side = &tokenizer->after;
            continue;
        }
        token = cJSON_IsString(name) ? cJSON_GetObjectItemCaseSensitive(tokens, name->valuestring)
                                     : NULL;
        const cJSON *ids = cJSON_GetObjectItemCaseSensitive(token, "ids");
        if (!cJSON_IsArray(ids))
            return mgk_fail(STATUS_FORMAT, "post_processor: a token that is not described");
        cJSON_ArrayForEach(id, ids) TRY(add_to_frame(id, name->valuestring, side));
    }
    if (side == &tokenizer->before)
        return mgk_fail(STATUS_FORMAT, "post_processor without the text");
    return STATUS_OK;
}

mgk_status mgk_tokenizer_read_frame(const cJSON *step, mgk_tokenizer *tokenizer)
{
    const cJSON *child;
    if (!step || cJSON_IsNull(step) || is_type(step, "ByteLevel"))
        return STATUS_OK;
    if (is_type(step, "Sequence")) {
        cJSON_ArrayForEach(child, cJSON_GetObjectItemCaseSensitive(step, "processors"))
            TRY(mgk_tokenizer_read_frame(child, tokenizer));
        return STATUS_OK;
    }
    if (tokenizer->before.size + tokenizer->after.size > 0)
        return mgk_fail(STATUS_UNSUPPORTED, "two post_processors that add tokens");
    if (is_type(step, "TemplateProcessing"))
        return read_template(step, tokenizer);
    if (!is_type(step, "BertProcessing") && !is_type(step, "RobertaProcessing"))
        return refuse("post_processor", step);
    /* ["[CLS]", 101] and ["[SEP]", 102] */
    const cJSON *first = cJSON_GetObjectItemCaseSensitive(step, "cls");
    const cJSON *last = cJSON_GetObjectItemCaseSensitive(step, "sep");
    TRY(add_to_frame(cJSON_GetArrayItem(first, 1), "cls", &tokenizer->before));
    return add_to_frame(cJSON_GetArrayItem(last, 1), "sep", &tokenizer->after);
}
