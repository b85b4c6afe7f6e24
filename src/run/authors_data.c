/* SPDX-License-Identifier: MIT */
#include "run/authors_data.h"

#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/numpy.h"
#include "base/zip.h"
#include "model/containers/pickle.h"
#include "model/containers/tensors.h"

/* Many samples of a hostile file may be one large dictionary, which is searched for each. */
enum { MOST_BYTES = INT32_MAX, MOST_MEMBERS = 64 };

/* Ids of one document: items of a list, or the bytes of an array. */
typedef struct document {
    const mgk_pickle_items *items; /* NULL: an array */
    const unsigned char *bytes;
    size_t count, size; /* ids; bytes of one */
    bool is_unsigned;
} document;

mgk_status mgk_recognise_pickle(const char *path, bool *out)
{
    unsigned char bytes[2];
    size_t size;
    *out = false;
    TRY(mgk_file_read_beginning(path, sizeof(bytes), bytes, &size));
    *out = size == 2 && bytes[0] == 0x80 && bytes[1] >= 2 && bytes[1] <= 5;
    return STATUS_OK;
}

static const mgk_pickle_value *item(const mgk_pickle_value *value, size_t index)
{
    const mgk_pickle_items *items = value ? mgk_pickle_sequence(value) : NULL;
    return items && index < items->count ? items->list[index] : NULL;
}

/* numpy.dtype("i4", ...) with the state (3, "<", ...): an integer of 1 to 8 bytes. */
static bool read_type(const mgk_pickle_value *value, document *out)
{
    static const char *const names[] = {"i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"};
    if (!value || value->kind != MGK_PICKLE_OBJECT || !mgk_pickle_class(value) ||
        strcmp(mgk_pickle_class(value), "numpy.dtype") != 0)
        return false;
    const mgk_pickle_value *name = item(value->as.object->arguments, 0);
    const mgk_pickle_value *order = item(value->as.object->state, 1);
    if (order && mgk_pickle_is(order, MGK_PICKLE_TEXT, ">"))
        return false;
    for (size_t i = 0; name && i < sizeof(names) / sizeof(names[0]); i++)
        if (mgk_pickle_is(name, MGK_PICKLE_TEXT, names[i])) {
            out->size = (size_t)1 << i % 4;
            out->is_unsigned = i >= 4;
            return true;
        }
    return false;
}

/* An array of NumPy: state (1, shape, type, False, bytes), or a call (bytes, type, shape, "C"). */
static bool read_array(const mgk_pickle_value *value, document *out)
{
    if (!value || value->kind != MGK_PICKLE_OBJECT)
        return false;
    const mgk_pickle_value *state = value->as.object->state;
    const mgk_pickle_value *call = value->as.object->arguments;
    const mgk_pickle_value *bytes = state ? item(state, 4) : item(call, 0);
    if (!bytes || bytes->kind != MGK_PICKLE_BYTES ||
        !read_type(state ? item(state, 2) : item(call, 1), out))
        return false;
    out->bytes = (const unsigned char *)bytes->as.bytes.text;
    out->count = bytes->as.bytes.length / out->size;
    return bytes->as.bytes.length % out->size == 0;
}

/* The value of a key of a dictionary; NULL: there is none. */
static const mgk_pickle_value *member(const mgk_pickle_value *value, const char *key)
{
    if (value->kind != MGK_PICKLE_DICT)
        return NULL;
    for (size_t i = 0; i + 1 < value->as.items->count && i < 2 * MOST_MEMBERS; i += 2)
        if (mgk_pickle_is(value->as.items->list[i], MGK_PICKLE_TEXT, key))
            return value->as.items->list[i + 1];
    return NULL;
}

/* *found: the sample has such a document. */
static mgk_status find_document(const mgk_pickle_value *sample, size_t index, int which,
                                document *out, bool *found)
{
    const char *key = which == 0 ? "input_ids_0" : "input_ids_1";
    const mgk_pickle_value *value = member(sample, key);
    *out = (document){0};
    *found = value != NULL;
    if (!value && which == 1)
        return STATUS_OK;
    if (value && mgk_pickle_sequence(value)) {
        out->items = mgk_pickle_sequence(value);
        out->count = out->items->count;
        return STATUS_OK;
    }
    return read_array(value, out) ? STATUS_OK
                                  : mgk_fail(STATUS_FORMAT,
                                             "sample %zu has no \"%s\", a list or an array of "
                                             "integers, as data of the Long Range Arena has",
                                             index, key);
}

static mgk_status read_id(const document *from, size_t i, int64_t *id)
{
    if (from->items) {
        const mgk_pickle_value *value = from->items->list[i];
        if (value->kind != MGK_PICKLE_INTEGER)
            return mgk_fail(STATUS_FORMAT, "token %zu is not an integer", i + 1);
        *id = value->as.integer;
        return STATUS_OK;
    }
    uint64_t bits = 0;
    for (size_t b = 0; b < from->size; b++)
        bits |= (uint64_t)from->bytes[i * from->size + b] << 8 * b;
    if (!from->is_unsigned && from->size < 8 && bits >> (8 * from->size - 1))
        bits |= UINT64_MAX << 8 * from->size;
    *id = (int64_t)bits;
    return STATUS_OK;
}

/* Counts documents and their longest, or with ids [rows, columns], zeros, fills these. */
static mgk_status walk(const mgk_pickle_items *samples, mgk_token_array *out)
{
    size_t row = 0, longest = 0;
    for (size_t i = 0; i < samples->count; i++)
        for (int which = 0; which < 2; which++) {
            document own;
            bool found;
            TRY(find_document(samples->list[i], i, which, &own, &found));
            for (size_t t = 0; out->ids && t < own.count; t++)
                TRY(read_id(&own, t, out->ids + row * out->columns + t));
            longest = own.count > longest ? own.count : longest;
            row += found;
        }
    out->rows = row;
    out->columns = longest;
    return STATUS_OK;
}

static mgk_status read_samples(const mgk_pickle_value *root, mgk_token_array *out)
{
    const mgk_pickle_items *samples = mgk_pickle_sequence(root);
    if (!samples || samples->count == 0)
        return mgk_fail(STATUS_FORMAT,
                        "a pickle, but no list of samples as those of the Long Range Arena");
    TRY(walk(samples, out));
    if (out->columns == 0 || out->rows > MGK_MOST_TOKEN_IDS / out->columns)
        return mgk_fail(STATUS_SHAPE, "%zu documents of up to %zu tokens, expected up to %d tokens",
                        out->rows, out->columns, MGK_MOST_TOKEN_IDS);
    TRY(mgk_alloc(out->rows * out->columns, sizeof(*out->ids), &out->ids));
    return walk(samples, out);
}

mgk_status mgk_lra_pickle_read(const char *path, mgk_token_array *out)
{
    mgk_arena arena = {.limit = (size_t)4 << 30};
    mgk_pickle pickle;
    mgk_mapping file;
    *out = (mgk_token_array){0};
    TRY(mgk_map_limited(path, MOST_BYTES, &file));
    mgk_status status = mgk_pickle_read(file.data, file.size, &arena, &pickle);
    if (status == STATUS_OK)
        status = read_samples(pickle.root, out);
    if (status != STATUS_OK) {
        mgk_free(out->ids);
        *out = (mgk_token_array){0};
    }
    mgk_arena_free(&arena);
    mgk_unmap_file(&file);
    return status == STATUS_OK ? status : mgk_fail_prefix(status, path);
}

static mgk_status read_test(const mgk_tensors *tensors, mgk_token_array *out)
{
    const mgk_tensor_info *test = mgk_tensors_find(tensors, "test");
    if (!test || test->axes != 1 || test->count == 0 || test->count > MGK_MOST_TOKEN_IDS)
        return mgk_fail(STATUS_SHAPE, "a corpus without a text \"test\" of 1 to %d tokens",
                        MGK_MOST_TOKEN_IDS);
    TRY(mgk_alloc(test->count, sizeof(*out->ids), &out->ids));
    out->rows = 1;
    out->columns = test->count;
    out->flat = true;
    return mgk_tensors_read_integers(tensors, test, out->ids);
}

mgk_status mgk_corpus_read(const char *path, bool *found, mgk_token_array *out)
{
    static const char ending[] = ".Corpus";
    unsigned char bytes[8];
    size_t size;
    bool numpy;
    mgk_tensors *tensors;
    *out = (mgk_token_array){0};
    *found = false;
    TRY(mgk_recognise_numpy(path, &numpy));
    TRY(mgk_file_read_beginning(path, sizeof(bytes), bytes, &size));
    if (numpy || !mgk_is_zip(bytes, size))
        return STATUS_OK;
    TRY(mgk_tensors_open(path, &tensors));
    const char *class = mgk_tensors_class(tensors, "");
    const size_t length = class ? strlen(class) : 0, own = strlen(ending);
    mgk_status status = STATUS_OK;
    *found = length > own && strcmp(class + length - own, ending) == 0;
    if (*found)
        status = read_test(tensors, out);
    if (status != STATUS_OK) {
        mgk_free(out->ids);
        *out = (mgk_token_array){0};
    }
    mgk_tensors_close(tensors);
    return status;
}
