/* SPDX-License-Identifier: MIT */
/* tokenizer.json: the model and its vocabulary, the added tokens, and the steps around them. */
#include "data/tokenizers/tokenizer_json.h"

#include <math.h>
#include <string.h>

mgk_status mgk_tokenizer_read_added(const cJSON *object, const cJSON *id, mgk_tokenizer *tokenizer)
{
    mgk_span content = mgk_json_text(object);
    mgk_added_token token = {0};
    int64_t number;
    bool special, normalized;
    if (!cJSON_IsObject(object) || !content.data)
        return mgk_fail(STATUS_FORMAT, "\"added_tokens\": one without \"content\"");
    TRY(mgk_json_id(id, content.data, &number));
    if (number < 0 || number >= MGK_VOCABULARY_MOST)
        return mgk_fail(STATUS_FORMAT, "added token \"%.64s\": id %lld is not in [0, %d)",
                        content.data, (long long)number, MGK_VOCABULARY_MOST);
    token.id = (int32_t)number;
    TRY(mgk_json_flag(object, "single_word", false, &token.single_word));
    TRY(mgk_json_flag(object, "lstrip", false, &token.left));
    TRY(mgk_json_flag(object, "rstrip", false, &token.right));
    TRY(mgk_json_flag(object, "special", false, &special));
    TRY(mgk_json_flag(object, "normalized", !special, &normalized));
    return mgk_tokenizer_add_token(tokenizer, content, token, normalized);
}

mgk_status mgk_tokenizer_read_tree(const cJSON *tree, mgk_tokenizer *tokenizer)
{
    const cJSON *added;
    TRY(mgk_tokenizer_read_normalizer(cJSON_GetObjectItemCaseSensitive(tree, "normalizer"),
                                      tokenizer));
    TRY(mgk_tokenizer_read_splits(cJSON_GetObjectItemCaseSensitive(tree, "pre_tokenizer"),
                                  tokenizer));
    TRY(mgk_tokenizer_read_model(cJSON_GetObjectItemCaseSensitive(tree, "model"), tokenizer));
    cJSON_ArrayForEach(added, cJSON_GetObjectItemCaseSensitive(tree, "added_tokens")) TRY(
        mgk_tokenizer_read_added(added, cJSON_GetObjectItemCaseSensitive(added, "id"), tokenizer));
    return mgk_tokenizer_read_frame(cJSON_GetObjectItemCaseSensitive(tree, "post_processor"),
                                    tokenizer);
}
