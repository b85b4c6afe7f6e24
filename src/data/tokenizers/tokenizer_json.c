/* SPDX-License-Identifier: MIT */
/* tokenizer.json: the model and its vocabulary, the added tokens, and the steps around them. */
#include "data/tokenizers/tokenizer_json.h"

#include <math.h>
#include <string.h>

/* Refuses a member whose meaning is not supported, unless it is absent or empty. */
static mgk_status expect_nothing(const cJSON *model, const char *key)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(model, key);
    bool nothing = mgk_json_absent(model, key) || cJSON_IsFalse(value) ||
                   (cJSON_IsNumber(value) && value->valuedouble == 0) ||
                   (cJSON_IsString(value) && !value->valuestring[0]);
    if (!nothing)
        return mgk_fail(STATUS_UNSUPPORTED, "BPE with \"%s\": give ids with `tokens`", key);
    return STATUS_OK;
}

/* Reads the id of the unknown token; -1: absent. */
static mgk_status read_unknown(const cJSON *model, const mgk_vocabulary *vocabulary, int32_t *id)
{
    mgk_span token = mgk_json_text(cJSON_GetObjectItemCaseSensitive(model, "unk_token"));
    char quoted[MGK_QUOTE_SIZE];
    if (!token.data)
        return STATUS_OK;
    *id = mgk_vocabulary_find(vocabulary, token);
    if (*id < 0)
        return mgk_fail(STATUS_FORMAT, "unk_token \"%s\" is not in the vocabulary",
                        mgk_quote(token, quoted));
    return STATUS_OK;
}

/* "a b", or ["a", "b"] in files from 2024 on. */
static mgk_status read_merge(const cJSON *pair, mgk_tokenizer *tokenizer)
{
    mgk_span left = mgk_json_text(pair), right = {0};
    if (cJSON_IsArray(pair) && left.data && cJSON_GetArraySize(pair) == 2)
        right = mgk_json_text(pair->child->next);
    else if (cJSON_IsString(pair)) {
        mgk_span rest = left;
        mgk_next_field(&rest, ' ', &left);
        right = rest;
    }
    if (!left.data || !right.data || memchr(right.data, ' ', right.size))
        return mgk_fail(STATUS_FORMAT, "merge %zu: expected two tokens",
                        tokenizer->merge_count + 1);
    return mgk_bpe_add_merge(tokenizer, left, right);
}

static mgk_status read_bpe_model(const cJSON *model, mgk_tokenizer *tokenizer)
{
    static const char *const unknown_to_us[] = {"dropout", "continuing_subword_prefix",
                                                "end_of_word_suffix", "byte_fallback"};
    const cJSON *merges = cJSON_GetObjectItemCaseSensitive(model, "merges"), *pair;
    for (size_t i = 0; i < sizeof(unknown_to_us) / sizeof(unknown_to_us[0]); i++)
        TRY(expect_nothing(model, unknown_to_us[i]));
    if (!cJSON_IsArray(merges))
        return mgk_fail(STATUS_FORMAT, "\"merges\" is not a list");
    TRY(mgk_json_flag(model, "ignore_merges", false, &tokenizer->whole_words));
    TRY(mgk_json_flag(model, "fuse_unk", false, &tokenizer->fuse_unknown));
    TRY(mgk_bpe_prepare(tokenizer, (size_t)cJSON_GetArraySize(merges)));
    cJSON_ArrayForEach(pair, merges) TRY(read_merge(pair, tokenizer));
    return STATUS_OK;
}

static mgk_status read_wordpiece_model(const cJSON *model, mgk_tokenizer *tokenizer)
{
    enum { USUAL = 100, MOST = 1000 };
    const cJSON *longest = cJSON_GetObjectItemCaseSensitive(model, "max_input_chars_per_word");
    const cJSON *prefix = cJSON_GetObjectItemCaseSensitive(model, "continuing_subword_prefix");
    int64_t most = USUAL;
    if (prefix && (!cJSON_IsString(prefix) || strcmp(prefix->valuestring, "##") != 0))
        return mgk_fail(STATUS_UNSUPPORTED, "WordPiece with another prefix than \"##\"");
    if (longest)
        TRY(mgk_json_id(longest, "max_input_chars_per_word", &most));
    if (most < 0 || most > MOST)
        return mgk_fail(STATUS_UNSUPPORTED, "max_input_chars_per_word %lld: expected 0 to %d",
                        (long long)most, MOST);
    tokenizer->longest_word = (size_t)most;
    return STATUS_OK;
}

/* Finds the kind of a model; files of old releases do not name it. */
static mgk_status model_kind(const cJSON *model, const mgk_token_model **kind)
{
    mgk_span type = mgk_json_text(cJSON_GetObjectItemCaseSensitive(model, "type"));
    char quoted[MGK_QUOTE_SIZE];
    if (!type.data)
        *kind = mgk_json_absent(model, "merges") ? &mgk_wordpiece : &mgk_bpe;
    else if (mgk_span_equals(type, "BPE"))
        *kind = &mgk_bpe;
    else if (mgk_span_equals(type, "WordPiece"))
        *kind = &mgk_wordpiece;
    else
        return mgk_fail(STATUS_UNSUPPORTED,
                        "a tokenizer of the kind \"%s\"%s: expected WordPiece or byte-level BPE; "
                        "give ids with `tokens`",
                        mgk_quote(type, quoted),
                        mgk_span_equals(type, "Unigram") ? " (SentencePiece)" : "");
    return STATUS_OK;
}

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
    const cJSON *model = cJSON_GetObjectItemCaseSensitive(tree, "model"), *added;
    bool byte_level = false;
    if (!cJSON_IsObject(model))
        return mgk_fail(STATUS_FORMAT, "\"model\" is not an object");
    TRY(model_kind(model, &tokenizer->model));
    TRY(mgk_tokenizer_read_normalizer(cJSON_GetObjectItemCaseSensitive(tree, "normalizer"),
                                      tokenizer));
    TRY(mgk_tokenizer_read_splits(cJSON_GetObjectItemCaseSensitive(tree, "pre_tokenizer"),
                                  tokenizer, &byte_level));
    if (tokenizer->model->byte_level != byte_level)
        return mgk_fail(STATUS_UNSUPPORTED,
                        byte_level ? "%s of bytes: give ids with `tokens`"
                                   : "%s is read where its pre_tokenizer is ByteLevel: "
                                     "give ids with `tokens`",
                        byte_level ? "WordPiece" : "BPE");
    TRY(mgk_json_vocabulary(cJSON_GetObjectItemCaseSensitive(model, "vocab"),
                            &tokenizer->vocabulary));
    TRY(read_unknown(model, &tokenizer->vocabulary, &tokenizer->unknown));
    TRY(tokenizer->model == &mgk_bpe ? read_bpe_model(model, tokenizer)
                                     : read_wordpiece_model(model, tokenizer));
    cJSON_ArrayForEach(added, cJSON_GetObjectItemCaseSensitive(tree, "added_tokens")) TRY(
        mgk_tokenizer_read_added(added, cJSON_GetObjectItemCaseSensitive(added, "id"), tokenizer));
    return mgk_tokenizer_read_frame(cJSON_GetObjectItemCaseSensitive(tree, "post_processor"),
                                    tokenizer);
}

mgk_status mgk_tokenizer_read_json(const char *text, size_t size, mgk_tokenizer *tokenizer)
{
    cJSON *tree;
    TRY(mgk_json_parse_object(text, size, &tree));
    mgk_status status = mgk_tokenizer_read_tree(tree, tokenizer);
    cJSON_Delete(tree);
    return status == STATUS_OK ? mgk_tokenizer_finish(tokenizer) : status;
}
