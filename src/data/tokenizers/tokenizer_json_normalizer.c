/* SPDX-License-Identifier: MIT */
/* The "normalizer" of tokenizer.json: steps that have a "type"; a "Sequence" holds others. */
#include <string.h>

#include "data/tokenizers/tokenizer_json.h"

static mgk_status read_bert(const cJSON *step, mgk_tokenizer *tokenizer)
{
    mgk_bert_steps bert;
    TRY(mgk_json_flag(step, "clean_text", true, &bert.clean));
    TRY(mgk_json_flag(step, "handle_chinese_chars", true, &bert.ideographs));
    TRY(mgk_json_flag(step, "lowercase", true, &bert.lower));
    TRY(mgk_json_flag(step, "strip_accents", bert.lower, &bert.accents));
    return mgk_tokenizer_add_bert(tokenizer, bert);
}

static mgk_status read_strip(const cJSON *step, mgk_tokenizer *tokenizer)
{
    bool left, right;
    TRY(mgk_json_flag(step, "strip_left", false, &left));
    TRY(mgk_json_flag(step, "strip_right", false, &right));
    if (left)
        TRY(mgk_normalizer_add(&tokenizer->normalizer, MGK_NORMAL_STRIP_LEFT));
    return right ? mgk_normalizer_add(&tokenizer->normalizer, MGK_NORMAL_STRIP_RIGHT) : STATUS_OK;
}

static mgk_status read_prepend(const cJSON *step, mgk_tokenizer *tokenizer)
{
    mgk_span content = mgk_json_text(cJSON_GetObjectItemCaseSensitive(step, "prepend"));
    if (!content.data)
        return mgk_fail(STATUS_FORMAT, "normalizer \"Prepend\" without \"prepend\"");
    return mgk_normalizer_add_prepend(&tokenizer->normalizer, content);
}

static mgk_status read_replace(const cJSON *step, mgk_tokenizer *tokenizer)
{
    mgk_span content = mgk_json_text(cJSON_GetObjectItemCaseSensitive(step, "content")), pattern;
    bool literal;
    TRY(mgk_json_pattern(step, &pattern, &literal));
    if (!content.data)
        return mgk_fail(STATUS_FORMAT, "normalizer \"Replace\" without \"content\"");
    return mgk_normalizer_add_replace(&tokenizer->normalizer, pattern, literal, content);
}

static mgk_status read_charsmap(const cJSON *step, mgk_tokenizer *tokenizer)
{
    mgk_span text = mgk_json_text(cJSON_GetObjectItemCaseSensitive(step, "precompiled_charsmap"));
    mgk_charsmap map;
    if (!text.data)
        return mgk_fail(STATUS_FORMAT, "normalizer \"Precompiled\" without its table");
    mgk_status status = mgk_charsmap_read_base64(text, &map);
    if (status == STATUS_OK)
        return mgk_normalizer_add_charsmap(&tokenizer->normalizer, map);
    mgk_charsmap_free(&map);
    return status;
}

mgk_status mgk_tokenizer_read_normalizer(const cJSON *step, mgk_tokenizer *tokenizer)
{
    static const struct {
        const char *type;
        mgk_normal_kind kind;
    } plain[] = {
        {"NFC", MGK_NORMAL_NFC},         {"NFD", MGK_NORMAL_NFD},
        {"NFKC", MGK_NORMAL_NFKC},       {"NFKD", MGK_NORMAL_NFKD},
        {"Lowercase", MGK_NORMAL_LOWER}, {"StripAccents", MGK_NORMAL_STRIP_MARKS},
    };
    static const struct {
        const char *type;
        mgk_status (*read)(const cJSON *step, mgk_tokenizer *tokenizer);
    } others[] = {
        {"BertNormalizer", read_bert}, {"Strip", read_strip},          {"Prepend", read_prepend},
        {"Replace", read_replace},     {"Precompiled", read_charsmap},
    };
    const cJSON *child;
    if (!step || cJSON_IsNull(step))
        return STATUS_OK;
    if (mgk_json_is_type(step, "Sequence")) {
        cJSON_ArrayForEach(child, cJSON_GetObjectItemCaseSensitive(step, "normalizers"))
            TRY(mgk_tokenizer_read_normalizer(child, tokenizer));
        return STATUS_OK;
    }
    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
        if (mgk_json_is_type(step, plain[i].type))
            return mgk_normalizer_add(&tokenizer->normalizer, plain[i].kind);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (mgk_json_is_type(step, others[i].type))
            return others[i].read(step, tokenizer);
    return mgk_json_refuse("normalizer", step);
}
