/* SPDX-License-Identifier: MIT */
#include "model/containers/llama2c.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"

const char mgk_llama2c_container[] = "llama2.c";

enum { SIZES = 7, HEADER = SIZES * 4, MOST_SIZE = 1 << 20, MOST_COUNT = 1 << 12 };

typedef struct header {
    int32_t dim, hidden, layers, heads, key_heads, vocabulary, length;
} header;

_Static_assert(sizeof(header) == HEADER, "the header is read as a whole");

static bool is_plausible(const header *h)
{
    const int32_t words = h->vocabulary;
    return h->dim >= 1 && h->dim <= MOST_SIZE && h->hidden >= 1 && h->hidden <= MOST_SIZE &&
           h->layers >= 1 && h->layers <= MOST_COUNT && h->heads >= 1 && h->heads <= MOST_COUNT &&
           h->key_heads >= 1 && h->key_heads <= h->heads && h->heads % h->key_heads == 0 &&
           h->dim % h->heads == 0 && words >= -MOST_SIZE && words != 0 && words <= MOST_SIZE &&
           h->length >= 1 && h->length <= MOST_SIZE;
}

bool mgk_llama2c_matches(const unsigned char *bytes, size_t size)
{
    header h;
    if (size < HEADER)
        return false;
    memcpy(&h, bytes, HEADER);
    return is_plausible(&h);
}

static mgk_status read_bytes(void *file, const void *storage, size_t first, size_t count,
                             void *bytes)
{
    (void)storage; /* all tensors are in one: the file */
    return mgk_file_read(file, HEADER + first, count, bytes);
}

static void close_file(void *file)
{
    mgk_file_close(file);
    mgk_free(file);
}

/* Adds tensors one behind the other. */
typedef struct sequence {
    mgk_tensors *tensors;
    size_t end; /* of the last one, in numbers */
} sequence;

/* cols 0: a vector. `layer` −1: not of a layer. */
static mgk_status add(sequence *s, const char *name, int layer, size_t rows, size_t cols)
{
    enum { ROOM = 40 };
    char *text;
    TRY(mgk_arena_alloc(&s->tensors->arena, ROOM, 1, &text));
    if (layer < 0)
        snprintf(text, ROOM, "%s", name);
    else
        snprintf(text, ROOM, "layers.%d.%s", layer, name);
    mgk_stored_tensor tensor = {.info = {.name = text,
                                         .dtype = MGK_DTYPE_F32,
                                         .axes = cols ? 2 : 1,
                                         .shape = {rows, cols},
                                         .count = rows * (cols ? cols : 1)},
                                .offset = s->end};
    mgk_tensors_set_strides(&tensor);
    s->end += tensor.info.count;
    return mgk_tensors_add(s->tensors, &tensor);
}

static mgk_status add_layers(sequence *s, const header *h)
{
    const size_t dim = (size_t)h->dim, hidden = (size_t)h->hidden;
    const size_t shared = dim / (size_t)h->heads * (size_t)h->key_heads;
    const struct {
        const char *name;
        size_t rows, cols;
    } rows[] = {{"rms_att", dim, 0}, {"wq", dim, dim},    {"wk", shared, dim},
                {"wv", shared, dim}, {"wo", dim, dim},    {"rms_ffn", dim, 0},
                {"w1", hidden, dim}, {"w2", dim, hidden}, {"w3", hidden, dim}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (int layer = 0; layer < h->layers; layer++)
            TRY(add(s, rows[i].name, layer, rows[i].rows, rows[i].cols));
    return STATUS_OK;
}

static mgk_status add_tensors(sequence *s, const header *h)
{
    const size_t dim = (size_t)h->dim, words = (size_t)abs(h->vocabulary);
    const size_t half = dim / (size_t)h->heads / 2, length = (size_t)h->length;
    TRY(add(s, "token_embedding", -1, words, dim));
    TRY(add_layers(s, h));
    TRY(add(s, "rms_final", -1, dim, 0));
    if (half > 0) {
        TRY(add(s, "freq_cis_real", -1, length, half));
        TRY(add(s, "freq_cis_imag", -1, length, half));
    }
    return h->vocabulary < 0 ? add(s, "wcls", -1, words, dim) : STATUS_OK;
}

static mgk_status add_values(mgk_tensors *tensors, const header *h)
{
    const struct {
        const char *name;
        double value;
    } rows[] = {
        {"dim", h->dim},       {"hidden_dim", h->hidden},    {"n_layers", h->layers},
        {"n_heads", h->heads}, {"n_kv_heads", h->key_heads}, {"vocab_size", abs(h->vocabulary)},
        {"seq_len", h->length}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        TRY(mgk_tensors_add_value(tensors, &(mgk_tensors_value){.name = rows[i].name,
                                                                .kind = MGK_VALUE_NUMBER,
                                                                .number = rows[i].value}));
    return STATUS_OK;
}

mgk_status mgk_llama2c_add(mgk_tensors *tensors, const char *path)
{
    mgk_file *file;
    header h;
    TRY(mgk_alloc(1, sizeof(*file), &file));
    mgk_status status = mgk_file_open(path, file);
    if (status != STATUS_OK) {
        mgk_free(file);
        return status;
    }
    TRY(mgk_tensors_add_part(
        tensors, path, (mgk_tensors_part){.file = file, .read = read_bytes, .close = close_file}));
    TRY(mgk_file_read(file, 0, HEADER, &h));
    if (!is_plausible(&h))
        return mgk_fail(STATUS_FORMAT, "%s: changed while it was read", path);
    sequence s = {.tensors = tensors};
    TRY(add_tensors(&s, &h));
    if (file->size < HEADER || (file->size - HEADER) / sizeof(float) != s.end ||
        (file->size - HEADER) % sizeof(float) != 0)
        return mgk_fail(STATUS_FORMAT,
                        "%s: not a file of tensors; if one of llama2.c, it has %zu bytes, expected "
                        "%zu",
                        path, file->size, HEADER + s.end * sizeof(float));
    return add_values(tensors, &h);
}
