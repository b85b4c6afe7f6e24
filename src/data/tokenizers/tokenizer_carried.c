/* SPDX-License-Identifier: MIT */
/* The text of a tokenizer that a model carries: a tokenizer.json or a list of words as it is, or
 * all files of another kind. */
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "data/tokenizers/tokenizer_json.h"
#include "data/tokenizers/tokenizer_source.h"

static const char files_member[] = "files";

/* tokenizer.json, or the files of a tokenizer. */
static mgk_status read_tree(const cJSON *tree, mgk_tokenizer *tokenizer)
{
    const mgk_tokenizer_source source = {.carried =
                                             cJSON_GetObjectItemCaseSensitive(tree, files_member)};
    if (cJSON_IsObject(source.carried))
        return mgk_tokenizer_read_files(&source, tokenizer);
    TRY(mgk_tokenizer_read_tree(tree, tokenizer));
    return mgk_tokenizer_finish(tokenizer);
}

static mgk_status read_text(mgk_span text, mgk_tokenizer *tokenizer)
{
    cJSON *tree;
    if (!mgk_tokenizer_is_object(text)) {
        TRY(mgk_tokenizer_read_words(text, tokenizer));
        return mgk_tokenizer_finish(tokenizer);
    }
    TRY(mgk_json_parse_object(text.data, text.size, &tree));
    mgk_status status = read_tree(tree, tokenizer);
    cJSON_Delete(tree);
    return status;
}

mgk_status mgk_tokenizer_open_text(const char *text, mgk_tokenizer **out)
{
    mgk_tokenizer *tokenizer;
    *out = NULL;
    TRY(mgk_tokenizer_create(&tokenizer));
    mgk_status status = read_text((mgk_span){text, strlen(text)}, tokenizer);
    if (status != STATUS_OK) {
        mgk_tokenizer_close(tokenizer);
        return status;
    }
    tokenizer->keeps_bytes = tokenizer->model == &mgk_bpe_model && tokenizer->bpe.of_bytes &&
                             tokenizer->normalizer.count == 0;
    *out = tokenizer;
    return STATUS_OK;
}

/* Whether the tokenizer's own file says all, and is text, which is then carried as it is. */
static bool is_plain(const mgk_tokenizer *tokenizer, const cJSON *read, mgk_span text)
{
    const bool alone = mgk_tokenizer_is_object(text) && cJSON_GetArraySize(read) == 1;
    return (alone || tokenizer->model == &mgk_words) && !memchr(text.data, '\0', text.size) &&
           mgk_utf8_valid(text.data, text.size) == text.size;
}

static mgk_status print_files(cJSON *read, char **text)
{
    cJSON *tree = cJSON_CreateObject();
    char *printed = NULL;
    if (cJSON_AddItemReferenceToObject(tree, files_member, read))
        printed = cJSON_PrintUnformatted(tree);
    mgk_status status = printed ? mgk_copy_string(printed, text)
                                : mgk_fail(STATUS_MEMORY, "no memory for a tokenizer");
    cJSON_free(printed);
    cJSON_Delete(tree);
    return status;
}

static mgk_status copy(mgk_span text, char **out)
{
    TRY(mgk_alloc(text.size + 1, 1, out));
    memcpy(*out, text.data, text.size);
    return STATUS_OK;
}

static mgk_status write_text(const mgk_tokenizer *tokenizer, cJSON *read, char **text)
{
    const mgk_tokenizer_source source = {.carried = read};
    mgk_tokenizer_part own;
    mgk_status status = mgk_tokenizer_source_own(&source, &own);
    const mgk_span bytes = mgk_tokenizer_part_bytes(&own);
    if (status == STATUS_OK)
        status = is_plain(tokenizer, read, bytes) ? copy(bytes, text) : print_files(read, text);
    mgk_tokenizer_part_close(&own);
    return status;
}

mgk_status mgk_tokenizer_text_of(const char *path, char **text)
{
    mgk_status status;
    mgk_tokenizer *tokenizer = NULL;
    mgk_tokenizer_source source = {.read = cJSON_CreateObject()};
    char *file = NULL;
    *text = NULL;
    CHECK(source.read ? STATUS_OK : mgk_fail(STATUS_MEMORY, "no memory for a tokenizer"));
    CHECK(mgk_tokenizer_find_file(path, &file));
    CHECK(mgk_tokenizer_create(&tokenizer));
    source.path = file;
    CHECK(mgk_tokenizer_read_files(&source, tokenizer));
    CHECK(write_text(tokenizer, source.read, text));
out:
    mgk_tokenizer_close(tokenizer);
    cJSON_Delete(source.read);
    mgk_free(file);
    return status;
}
