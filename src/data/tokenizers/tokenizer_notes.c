/* SPDX-License-Identifier: MIT */
#include "data/tokenizers/tokenizer_notes.h"
#include "base/append.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Special tokens by role, and lists of further ones. */
static const char *const parts[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                    "pad_token", "cls_token", "mask_token"};
static const char *const lists[] = {"additional_special_tokens", "extra_special_tokens"};

enum { PARTS = sizeof(parts) / sizeof(parts[0]), LISTS = sizeof(lists) / sizeof(lists[0]) };

/* *tree is NULL if the text is empty. */
static mgk_status parse(mgk_span text, const char *name, cJSON **tree)
{
    if (text.size == 0)
        return STATUS_OK;
    mgk_status status = mgk_json_parse_object(text.data, text.size, tree);
    return status == STATUS_OK ? status : mgk_fail_prefix(status, name);
}

/* Moves a member to `to`, unless `to` has it. */
static mgk_status move(cJSON *from, const char *key, cJSON *to)
{
    if (!mgk_json_absent(to, key) || mgk_json_absent(from, key))
        return STATUS_OK;
    cJSON_DeleteItemFromObjectCaseSensitive(to, key);
    if (mgk_json_add(to, key, cJSON_DetachItemFromObjectCaseSensitive(from, key)))
        return STATUS_OK;
    return mgk_fail(STATUS_MEMORY, "no memory for the names of special tokens");
}

static mgk_status move_names(cJSON *from, cJSON *to)
{
    for (size_t i = 0; i < PARTS; i++)
        TRY(move(from, parts[i], to));
    for (size_t i = 0; i < LISTS; i++)
        TRY(move(from, lists[i], to));
    return STATUS_OK;
}

static mgk_status read_numbers(mgk_span text, mgk_vocabulary *added)
{
    cJSON *tree = NULL;
    mgk_status status = parse(text, "added_tokens.json", &tree);
    if (status == STATUS_OK && tree) {
        status = mgk_json_vocabulary(tree, added);
        if (status != STATUS_OK)
            mgk_fail_prefix(status, "added_tokens.json");
    }
    cJSON_Delete(tree);
    return status;
}

mgk_status mgk_notes_open(const mgk_tokenizer_notes *texts, mgk_notes *out)
{
    mgk_status status;
    cJSON *specials = NULL;
    *out = (mgk_notes){0};
    CHECK(parse(texts->config, "tokenizer_config.json", &out->config));
    if (!out->config)
        out->config = cJSON_CreateObject();
    if (!out->config)
        CHECK(mgk_fail(STATUS_MEMORY, "no memory for a configuration"));
    /* A configuration that lists added tokens is newer than the other files, and complete. */
    if (mgk_json_absent(out->config, "added_tokens_decoder")) {
        CHECK(read_numbers(texts->added, &out->added));
        CHECK(parse(texts->specials, "special_tokens_map.json", &specials));
        CHECK(move_names(specials, out->config));
    }
out:
    cJSON_Delete(specials);
    if (status != STATUS_OK)
        mgk_notes_close(out);
    return status;
}

void mgk_notes_close(mgk_notes *notes)
{
    cJSON_Delete(notes->config);
    mgk_vocabulary_free(&notes->added);
    *notes = (mgk_notes){0};
}

static const cJSON *member(const mgk_notes *notes, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(notes->config, key);
}

static bool is_class(mgk_span class, const char *name)
{
    char fast[64];
    snprintf(fast, sizeof(fast), "%sFast", name);
    return mgk_span_equals(class, name) || mgk_span_equals(class, fast);
}

mgk_status mgk_notes_class(const mgk_notes *notes, const char *const *known, int *out)
{
    mgk_span class = mgk_json_text(member(notes, "tokenizer_class"));
    char quoted[MGK_QUOTE_SIZE], list[200] = "";
    *out = -1;
    if (!class.data)
        return STATUS_OK;
    for (int i = 0; known[i]; i++) {
        mgk_append(list, sizeof(list), i > 0 ? ", %s" : "%s", known[i]);
        if (!is_class(class, known[i]))
            continue;
        *out = i;
        return STATUS_OK;
    }
    return mgk_fail(
        STATUS_UNSUPPORTED,
        "tokenizer_class \"%s\" needs its tokenizer.json; without one, the known classes are %s",
        mgk_quote(class, quoted), list);
}

mgk_status mgk_notes_model_type(const mgk_tokenizer_notes *texts, cJSON **model, mgk_span *type)
{
    *model = NULL;
    *type = (mgk_span){NULL, 0};
    TRY(parse(texts->model, "config.json", model));
    *type = mgk_json_text(cJSON_GetObjectItemCaseSensitive(*model, "model_type"));
    return STATUS_OK;
}

mgk_span mgk_notes_name(const mgk_notes *notes, const char *key, const char *usual)
{
    mgk_span name = mgk_json_text(member(notes, key));
    return name.data ? name : (mgk_span){usual, strlen(usual)};
}

bool mgk_notes_lack(const mgk_notes *notes, const char *key)
{
    return cJSON_IsNull(member(notes, key));
}

mgk_status mgk_notes_find(mgk_span name, const mgk_tokenizer *tokenizer, int32_t *id)
{
    char quoted[MGK_QUOTE_SIZE];
    *id = mgk_vocabulary_find(&tokenizer->vocabulary, name);
    if (*id < 0)
        *id = mgk_vocabulary_find(&tokenizer->named, name);
    if (*id < 0)
        return mgk_fail(STATUS_FORMAT, "the vocabulary has no \"%s\"", mgk_quote(name, quoted));
    return STATUS_OK;
}

/* Refuses an id that belongs to another token of the vocabulary. */
static mgk_status check_free(const mgk_tokenizer *tokenizer, int64_t id, mgk_span content)
{
    char quoted[MGK_QUOTE_SIZE], other[MGK_QUOTE_SIZE];
    if (id < 0 || id >= mgk_vocabulary_size(&tokenizer->vocabulary))
        return STATUS_OK;
    mgk_span taken = mgk_vocabulary_token(&tokenizer->vocabulary, (int32_t)id);
    if (!taken.data ||
        (taken.size == content.size && memcmp(taken.data, content.data, taken.size) == 0))
        return STATUS_OK;
    return mgk_fail(STATUS_FORMAT, "added token \"%s\": its id %lld is that of \"%s\"",
                    mgk_quote(content, quoted), (long long)id, mgk_quote(taken, other));
}

static bool is_added(const mgk_tokenizer *tokenizer, mgk_span name)
{
    return mgk_vocabulary_find(&tokenizer->named, name) >= 0;
}

/* "50257": {"content": "<sep>", "lstrip": false, ...} */
static mgk_status add_described(const cJSON *object, mgk_tokenizer *tokenizer)
{
    mgk_span content = mgk_json_text(object);
    char *end = NULL;
    long long number = object->string ? strtoll(object->string, &end, 10) : 0;
    const cJSON id = {.type = cJSON_Number, .valuedouble = (double)number};
    if (!object->string || *end || end == object->string)
        return mgk_fail(STATUS_FORMAT, "\"added_tokens_decoder\": expected ids and their tokens");
    if (content.data)
        TRY(check_free(tokenizer, number, content));
    return mgk_tokenizer_read_added(object, &id, tokenizer);
}

/* Reads the properties that an object gives a token; a plain string has none. */
static mgk_status read_properties(const cJSON *value, mgk_added_token *token)
{
    if (!cJSON_IsObject(value))
        return STATUS_OK;
    TRY(mgk_json_flag(value, "single_word", token->single_word, &token->single_word));
    TRY(mgk_json_flag(value, "lstrip", token->left, &token->left));
    return mgk_json_flag(value, "rstrip", token->right, &token->right);
}

typedef mgk_status (*visit)(const mgk_notes *notes, const cJSON *value, mgk_tokenizer *tokenizer);

/* Calls `add` for each named special token, possibly more than once. */
static mgk_status visit_specials(const mgk_notes *notes, visit add, mgk_tokenizer *tokenizer)
{
    const cJSON *child;
    for (size_t i = 0; i < PARTS; i++)
        TRY(add(notes, member(notes, parts[i]), tokenizer));
    for (size_t i = 0; i < LISTS; i++)
        cJSON_ArrayForEach(child, member(notes, lists[i])) TRY(add(notes, child, tokenizer));
    return STATUS_OK;
}

/* Adds "<sep>": 50257, if "<sep>" is special. */
static mgk_status add_numbered(const mgk_notes *notes, const cJSON *value, mgk_tokenizer *tokenizer)
{
    mgk_span name = mgk_json_text(value);
    mgk_added_token token = {.id = -1};
    if (name.data)
        token.id = mgk_vocabulary_find(&notes->added, name);
    if (token.id < 0 || is_added(tokenizer, name))
        return STATUS_OK;
    TRY(check_free(tokenizer, token.id, name));
    TRY(read_properties(value, &token));
    return mgk_tokenizer_add_token(tokenizer, name, token, false);
}

mgk_status mgk_notes_add_tokens(const mgk_notes *notes, mgk_tokenizer *tokenizer)
{
    const cJSON *child;
    cJSON_ArrayForEach(child, member(notes, "added_tokens_decoder"))
        TRY(add_described(child, tokenizer));
    TRY(visit_specials(notes, add_numbered, tokenizer));
    /* Other added tokens are searched for in normalized text. */
    for (int32_t id = 0; id < mgk_vocabulary_size(&notes->added); id++) {
        mgk_span name = mgk_vocabulary_token(&notes->added, id);
        if (!name.data || is_added(tokenizer, name))
            continue;
        TRY(check_free(tokenizer, id, name));
        TRY(mgk_tokenizer_add_token(tokenizer, name, (mgk_added_token){.id = id}, true));
    }
    return STATUS_OK;
}

mgk_status mgk_notes_add_special(const mgk_notes *notes, const char *key, const char *usual,
                                 bool takes_space, mgk_tokenizer *tokenizer)
{
    mgk_span name = mgk_notes_name(notes, key, usual);
    mgk_added_token token = {.left = takes_space};
    token.id = mgk_vocabulary_find(&tokenizer->vocabulary, name);
    if (token.id < 0 || is_added(tokenizer, name))
        return STATUS_OK;
    TRY(read_properties(member(notes, key), &token));
    return mgk_tokenizer_add_token(tokenizer, name, token, false);
}

static mgk_status add_other(const mgk_notes *notes, const cJSON *value, mgk_tokenizer *tokenizer)
{
    char quoted[MGK_QUOTE_SIZE];
    mgk_span name = mgk_json_text(value);
    mgk_added_token token = {.id = -1};
    (void)notes;
    if (!name.data || name.size == 0 || is_added(tokenizer, name))
        return STATUS_OK;
    token.id = mgk_vocabulary_find(&tokenizer->vocabulary, name);
    if (token.id < 0)
        return mgk_fail(STATUS_UNSUPPORTED,
                        "the special token \"%s\" has no id in the vocabulary or "
                        "added_tokens.json: its tokenizer.json is needed",
                        mgk_quote(name, quoted));
    TRY(read_properties(value, &token));
    return mgk_tokenizer_add_token(tokenizer, name, token, false);
}

mgk_status mgk_notes_add_others(const mgk_notes *notes, mgk_tokenizer *tokenizer)
{
    return visit_specials(notes, add_other, tokenizer);
}
