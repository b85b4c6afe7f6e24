/* SPDX-License-Identifier: MIT */
#include "fuzz/arrays.h"

#include <string.h>

#include "base/memory.h"
#include "data/datasets/token_array.h"
#include "store/foreign/integers.h"
#include "store/foreign/list.h"
#include "store/foreign/mask.h"
#include "store/schema/reader.h"

enum { MOST_TOKENS = 256, MOST_MATRICES = 64 };

static mgk_status pass_over(void *context, const mgk_store_entry *entry)
{
    size_t *length = context;
    *length +=
        strlen(entry->object) + strlen(entry->type) + strlen(entry->value) + strlen(entry->axes);
    return STATUS_OK;
}

/* Reads the first matrices, unless they are large. */
static void read_matrices(mgk_store_reader *reader)
{
    const mgk_store_description *d = mgk_store_describe(reader);
    double *matrix;
    const int32_t keys = mgk_store_keys(d);
    if (d->tokens > MOST_TOKENS || keys > MOST_TOKENS)
        return;
    if (mgk_alloc((size_t)d->tokens * (size_t)keys, sizeof(*matrix), &matrix) != STATUS_OK)
        return;
    int read = 0;
    for (int32_t s = 0; s < d->samples; s++)
        for (int32_t l = 0; l < d->layers; l++)
            for (int32_t h = 0; h < d->heads && read < MOST_MATRICES; h++, read++)
                mgk_store_read_matrix(reader, s, l, h, STORE_F64, matrix, NULL);
    mgk_free(matrix);
}

static void read_tokens(mgk_store_reader *reader)
{
    const mgk_store_description *d = mgk_store_describe(reader);
    int32_t tokens[MOST_TOKENS], length;
    char text[MOST_TOKENS][MGK_TOKEN_TEXT];
    if (d->tokens > MOST_TOKENS || mgk_store_keys(d) > MOST_TOKENS || d->samples < 1)
        return;
    mgk_store_read_tokens(reader, 0, tokens, &length);
    mgk_store_read_token_text(reader, 0, text);
    mgk_store_read_key_tokens(reader, 0, tokens, &length);
    mgk_store_read_key_token_text(reader, 0, text);
    mgk_store_read_key_length(reader, 0, &length);
}

void fuzz_arrays(const char *path)
{
    static const char *const names[] = {NULL, "a*", "attention"};
    size_t length = 0;
    mgk_store_integers integers;
    mgk_token_array array;
    mgk_mask mask;
    mgk_store_list(path, pass_over, &length);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        mgk_store_reader *reader;
        if (mgk_store_open(path, names[i], &reader) != STATUS_OK)
            continue;
        read_matrices(reader);
        read_tokens(reader);
        mgk_store_close(reader);
    }
    if (mgk_mask_read(path, &mask) == STATUS_OK)
        mgk_mask_free(&mask);
    mgk_token_array_read(path, &array);
    mgk_free(array.ids);
    mgk_store_read_integers(path, MGK_MOST_TOKEN_IDS, &integers);
    mgk_free(integers.values);
}
