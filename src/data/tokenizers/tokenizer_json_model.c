/* SPDX-License-Identifier: MIT */
/* The "model" of tokenizer.json: its kind, settings and vocabulary. */
#include <string.h>

#include "data/tokenizers/tokenizer_json.h"

/* Refuses a member whose meaning is not supported, unless it is absent or empty. */
static mgk_status expect_nothing(const cJSON *model, const char *key)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(model, key);
    bool nothing =
        mgk_json_absent(model, key) || (cJSON_IsNumber(value) && value->valuedouble == 0);
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
    bool list = cJSON_IsArray(pair);
    if (list && left.data && cJSON_GetArraySize(pair) == 2)
        right = mgk_json_text(pair->child->next);
    else if (cJSON_IsString(pair)) {
        mgk_span rest = left;
        mgk_next_field(&rest, ' ', &left);
        right = rest;
    }
    if (!left.data || !right.data || (!list && memchr(right.data, ' ', right.size)))
        return mgk_fail(STATUS_FORMAT, "merge %zu: expected two tokens",
                        tokenizer->bpe.merge_count + 1);
    return mgk_bpe_add_merge(tokenizer, left, right);
}

static mgk_status read_affix(const cJSON *model, const char *key, mgk_buffer *out)
{
    mgk_span text = mgk_json_text(cJSON_GetObjectItemCaseSensitive(model, key));
    if (text.size > MGK_AFFIX_MOST)
        return mgk_fail(STATUS_UNSUPPORTED, "\"%s\" of %zu bytes: expected at most %d", key,
                        text.size, MGK_AFFIX_MOST);
    return mgk_buffer_append(out, text.data, text.size);
}

static mgk_status read_bpe(const cJSON *model, mgk_tokenizer *tokenizer)
{
    mgk_bpe *bpe = &tokenizer->bpe;
    const cJSON *merges = cJSON_GetObjectItemCaseSensitive(model, "merges"), *pair;
    TRY(expect_nothing(model, "dropout"));
    TRY(mgk_json_vocabulary(cJSON_GetObjectItemCaseSensitive(model, "vocab"),
                            &tokenizer->vocabulary));
    TRY(read_unknown(model, &tokenizer->vocabulary, &tokenizer->unknown));
    TRY(read_affix(model, "continuing_subword_prefix", &bpe->prefix));
    TRY(read_affix(model, "end_of_word_suffix", &bpe->suffix));
    TRY(mgk_json_flag(model, "ignore_merges", false, &bpe->whole_words));
    TRY(mgk_json_flag(model, "fuse_unk", false, &bpe->fuse_unknown));
    TRY(mgk_json_flag(model, "byte_fallback", false, &bpe->byte_fallback));
    if (bpe->byte_fallback && (tokenizer->byte_alphabet || bpe->prefix.size + bpe->suffix.size > 0))
        return mgk_fail(STATUS_UNSUPPORTED, "BPE with \"byte_fallback\" and an alphabet of bytes, "
                                            "a prefix or a suffix: give ids with `tokens`");
    if (!cJSON_IsArray(merges))
        return mgk_fail(STATUS_FORMAT, "\"merges\" is not a list");
    TRY(mgk_bpe_prepare(tokenizer));
    cJSON_ArrayForEach(pair, merges) TRY(read_merge(pair, tokenizer));
    return STATUS_OK;
}

static mgk_status read_wordpiece(const cJSON *model, mgk_tokenizer *tokenizer)
{
    enum { USUAL = 100, MOST = 1000 };
    const cJSON *longest = cJSON_GetObjectItemCaseSensitive(model, "max_input_chars_per_word");
    const cJSON *prefix = cJSON_GetObjectItemCaseSensitive(model, "continuing_subword_prefix");
    int64_t most = USUAL;
    TRY(mgk_json_vocabulary(cJSON_GetObjectItemCaseSensitive(model, "vocab"),
                            &tokenizer->vocabulary));
    TRY(read_unknown(model, &tokenizer->vocabulary, &tokenizer->unknown));
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

static mgk_status read_word_level(const cJSON *model, mgk_tokenizer *tokenizer)
{
    TRY(mgk_json_vocabulary(cJSON_GetObjectItemCaseSensitive(model, "vocab"),
                            &tokenizer->vocabulary));
    return read_unknown(model, &tokenizer->vocabulary, &tokenizer->unknown);
}

/* "vocab": [["<unk>", 0.0], ["a", -3.5], ...] */
static mgk_status read_unigram(const cJSON *model, mgk_tokenizer *tokenizer)
{
    const cJSON *vocabulary = cJSON_GetObjectItemCaseSensitive(model, "vocab"), *entry;
    const cJSON *unknown = cJSON_GetObjectItemCaseSensitive(model, "unk_id");
    int64_t id = -1;
    if (!cJSON_IsArray(vocabulary))
        return mgk_fail(STATUS_FORMAT, "the vocabulary is not a list of pieces and their scores");
    cJSON_ArrayForEach(entry, vocabulary)
    {
        const cJSON *text = cJSON_IsArray(entry) ? entry->child : NULL;
        const cJSON *score = text ? text->next : NULL;
        if (!cJSON_IsString(text) || !cJSON_IsNumber(score) || score->next)
            return mgk_fail(STATUS_FORMAT, "piece %d: expected a text and its score",
                            mgk_vocabulary_size(&tokenizer->vocabulary));
        TRY(mgk_unigram_add(tokenizer, mgk_json_text(text), score->valuedouble));
    }
    if (!mgk_json_absent(model, "unk_id"))
        TRY(mgk_json_id(unknown, "unk_id", &id));
    if (id < -1 || id >= mgk_vocabulary_size(&tokenizer->vocabulary))
        return mgk_fail(STATUS_FORMAT, "unk_id %lld is not in [0, %d)", (long long)id,
                        mgk_vocabulary_size(&tokenizer->vocabulary));
    tokenizer->unknown = (int32_t)id;
    tokenizer->unigram.joined_unknown = true;
    TRY(mgk_json_flag(model, "byte_fallback", false, &tokenizer->unigram.byte_fallback));
    return mgk_unigram_finish(tokenizer);
}

/* The kinds of models. */
static const struct kind {
    const char *type;
    const mgk_token_model *model;
    mgk_status (*read)(const cJSON *model, mgk_tokenizer *tokenizer);
} kinds[] = {
    {"BPE", &mgk_bpe_model, read_bpe},
    {"WordPiece", &mgk_wordpiece, read_wordpiece},
    {"Unigram", &mgk_unigram_model, read_unigram},
    {"WordLevel", &mgk_word_level, read_word_level},
};

/* Files of old releases do not name the kind. */
static const char *type_of(const cJSON *model)
{
    const cJSON *type = cJSON_GetObjectItemCaseSensitive(model, "type");
    if (cJSON_IsString(type))
        return type->valuestring;
    if (cJSON_IsArray(cJSON_GetObjectItemCaseSensitive(model, "vocab")))
        return "Unigram";
    return mgk_json_absent(model, "merges") ? "WordPiece" : "BPE";
}

mgk_status mgk_tokenizer_read_model(const cJSON *model, mgk_tokenizer *tokenizer)
{
    char quoted[MGK_QUOTE_SIZE];
    if (!cJSON_IsObject(model))
        return mgk_fail(STATUS_FORMAT, "\"model\" is not an object");
    const char *type = type_of(model);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(type, kinds[i].type) != 0)
            continue;
        tokenizer->model = kinds[i].model;
        if (tokenizer->byte_alphabet && tokenizer->model != &mgk_bpe_model)
            return mgk_fail(STATUS_UNSUPPORTED, "%s of bytes: give ids with `tokens`", type);
        return kinds[i].read(model, tokenizer);
    }
    return mgk_fail(STATUS_UNSUPPORTED,
                    "a tokenizer of the kind \"%s\": expected BPE, WordPiece, Unigram or "
                    "WordLevel; give ids "
                    "with `tokens`",
                    mgk_quote((mgk_span){type, strlen(type)}, quoted));
}
