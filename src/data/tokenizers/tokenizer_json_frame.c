/* SPDX-License-Identifier: MIT */
/* The "post_processor" of tokenizer.json: the tokens around every text. */
#include "data/tokenizers/tokenizer_json.h"

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
    if (!step || cJSON_IsNull(step) || mgk_json_is_type(step, "ByteLevel"))
        return STATUS_OK;
    if (mgk_json_is_type(step, "Sequence")) {
        cJSON_ArrayForEach(child, cJSON_GetObjectItemCaseSensitive(step, "processors"))
            TRY(mgk_tokenizer_read_frame(child, tokenizer));
        return STATUS_OK;
    }
    if (tokenizer->before.size + tokenizer->after.size > 0)
        return mgk_fail(STATUS_UNSUPPORTED, "two post_processors that add tokens");
    if (mgk_json_is_type(step, "TemplateProcessing"))
        return read_template(step, tokenizer);
    if (!mgk_json_is_type(step, "BertProcessing") && !mgk_json_is_type(step, "RobertaProcessing"))
        return mgk_json_refuse("post_processor", step);
    /* ["[CLS]", 101] and ["[SEP]", 102] */
    const cJSON *first = cJSON_GetObjectItemCaseSensitive(step, "cls");
    const cJSON *last = cJSON_GetObjectItemCaseSensitive(step, "sep");
    TRY(add_to_frame(cJSON_GetArrayItem(first, 1), "cls", &tokenizer->before));
    return add_to_frame(cJSON_GetArrayItem(last, 1), "sep", &tokenizer->after);
}
