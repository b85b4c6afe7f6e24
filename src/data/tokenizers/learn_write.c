/* SPDX-License-Identifier: MIT */
/* Writes learnt tokenizers as Hugging Face's tokenizer.json, which its `tokenizers` read, too. */
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "data/tokenizers/byte_alphabet.h"
#include "data/tokenizers/learn_private.h"

static mgk_status no_memory(void)
{
    return mgk_fail(STATUS_MEMORY, "no memory for a learnt tokenizer");
}

/* Members of the same name as in files of `tokenizers`; each value is JSON. */
static const char bpe_frame[] =
    "{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\"added_tokens\":[],"
    "\"normalizer\":null,\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false,"
    "\"trim_offsets\":true,\"use_regex\":true},\"post_processor\":null,"
    "\"decoder\":{\"type\":\"ByteLevel\",\"add_prefix_space\":true,\"trim_offsets\":true,"
    "\"use_regex\":true},\"model\":{\"type\":\"BPE\",\"dropout\":null,\"unk_token\":null,"
    "\"continuing_subword_prefix\":null,\"end_of_word_suffix\":null,\"fuse_unk\":false,"
    "\"byte_fallback\":false,\"ignore_merges\":false,\"vocab\":{},\"merges\":[]}}";

static const char words_frame[] =
    "{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\"added_tokens\":[{\"id\":0,"
    "\"content\":\"<unk>\",\"single_word\":false,\"lstrip\":false,\"rstrip\":false,"
    "\"normalized\":false,\"special\":true}],\"normalizer\":{\"type\":\"Lowercase\"},"
    "\"pre_tokenizer\":{\"type\":\"Whitespace\"},\"post_processor\":null,\"decoder\":null,"
    "\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"<unk>\":0},\"unk_token\":\"<unk>\"}}";

static cJSON *member(const cJSON *tree, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(tree, "model"), name);
}

/* Makes a string, with a 0 at its end, of texts. */
static mgk_status join(mgk_span first, const char *between, mgk_span second, mgk_buffer *out)
{
    out->size = 0;
    TRY(mgk_buffer_append(out, first.data, first.size));
    TRY(mgk_buffer_append(out, between, strlen(between)));
    TRY(mgk_buffer_append(out, second.data, second.size));
    return mgk_buffer_append(out, "", 1);
}

static mgk_status add_token(cJSON *vocabulary, mgk_span token, size_t id, mgk_buffer *scratch)
{
    TRY(join(token, "", (mgk_span){"", 0}, scratch));
    return cJSON_AddNumberToObject(vocabulary, (const char *)scratch->data, (double)id)
               ? STATUS_OK
               : no_memory();
}

static mgk_span span_of(const mgk_buffer *buffer)
{
    return (mgk_span){(const char *)buffer->data, buffer->size};
}

/* Buffers of one writer. */
typedef struct spelling {
    mgk_buffer left, right, text;
} spelling;

static void free_spelling(spelling *s)
{
    mgk_buffer_free(&s->left);
    mgk_buffer_free(&s->right);
    mgk_buffer_free(&s->text);
}

static mgk_status add_bpe(const mgk_vocabulary *tokens, const mgk_buffer *merges, spelling *s,
                          cJSON *tree)
{
    const mgk_learnt_merge *merge = (const mgk_learnt_merge *)(const void *)merges->data;
    for (int32_t id = 0; id < mgk_vocabulary_size(tokens); id++) {
        TRY(mgk_spell_bytes(mgk_vocabulary_token(tokens, id), &s->left));
        TRY(add_token(member(tree, "vocab"), span_of(&s->left), (size_t)id, &s->text));
    }
    for (size_t i = 0; i < merges->size / sizeof(*merge); i++) {
        TRY(mgk_spell_bytes(mgk_vocabulary_token(tokens, merge[i].left), &s->left));
        TRY(mgk_spell_bytes(mgk_vocabulary_token(tokens, merge[i].right), &s->right));
        TRY(join(span_of(&s->left), " ", span_of(&s->right), &s->text));
        if (!mgk_json_append(member(tree, "merges"), cJSON_CreateString((char *)s->text.data)))
            return no_memory();
    }
    return STATUS_OK;
}

static mgk_status print(const cJSON *tree, char **text)
{
    char *printed = cJSON_PrintUnformatted(tree);
    if (!printed)
        return no_memory();
    mgk_status status = mgk_copy_string(printed, text);
    cJSON_free(printed);
    return status;
}

mgk_status mgk_write_bpe(const mgk_vocabulary *tokens, const mgk_buffer *merges, char **text)
{
    mgk_status status;
    spelling s = {0};
    cJSON *tree = cJSON_Parse(bpe_frame);
    CHECK(tree ? STATUS_OK : no_memory());
    CHECK(add_bpe(tokens, merges, &s, tree));
    CHECK(print(tree, text));
out:
    free_spelling(&s);
    cJSON_Delete(tree);
    return status;
}

mgk_status mgk_write_words(const mgk_pieces *pieces, const int32_t *words, size_t count,
                           char **text)
{
    mgk_status status;
    spelling s = {0};
    cJSON *tree = cJSON_Parse(words_frame);
    CHECK(tree ? STATUS_OK : no_memory());
    for (size_t i = 0; i < count; i++)
        CHECK(add_token(member(tree, "vocab"), mgk_counted_text(pieces, (size_t)words[i]), i + 1,
                        &s.text));
    CHECK(print(tree, text));
out:
    free_spelling(&s);
    cJSON_Delete(tree);
    return status;
}
