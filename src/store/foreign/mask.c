/* SPDX-License-Identifier: MIT */
#include "store/foreign/mask.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/numpy.h"
#include "store/foreign/list.h"
#include "store/hdf5/h5_box.h"

enum { AXES = 2 };

/* A mask of more tokens than that belongs to no array of matrices. */
static const size_t most_values = (size_t)1 << 27;

/* The array that is read. */
typedef struct found {
    char *name;
    int rank;      /* of its names, how well it suits; 0: none */
    size_t arrays; /* number of arrays that may be masks */
    int axes;
    uint64_t shape[AXES];
} found;

/* "attention_mask" goes before "mask", this before other names. */
static int rank_of(const char *name)
{
    return strcmp(name, "attention_mask") == 0 ? 3 : strcmp(name, "mask") == 0 ? 2 : 1;
}

static mgk_status visit(void *context, const mgk_store_entry *entry)
{
    found *f = context;
    const char *name = entry->object + (entry->object[0] == '/');
    /* HDF5 has no booleans: h5py stores them as an enumeration, "other". */
    static const char *const types[] = {"int", "uint", "bool", "other"};
    bool suits = entry->rank == 1 || entry->rank == AXES, known = false;
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
        known = known || strncmp(entry->type, types[i], strlen(types[i])) == 0;
    if (!suits || !known)
        return STATUS_OK;
    f->arrays++;
    if (f->rank >= rank_of(name))
        return STATUS_OK;
    mgk_free(f->name);
    f->rank = rank_of(name);
    f->axes = entry->rank;
    for (int i = 0; i < entry->rank; i++)
        f->shape[i] = entry->shape[i];
    return mgk_copy_string(name, &f->name);
}

static mgk_status find(const char *path, found *f)
{
    TRY(mgk_store_list_arrays(path, visit, f));
    if (f->arrays == 0)
        return mgk_fail(STATUS_FORMAT,
                        "%s: no array of integers or booleans [samples, tokens], as a mask is",
                        path);
    if (f->arrays > 1 && f->rank == 1)
        return mgk_fail(STATUS_FORMAT,
                        "%s: %zu arrays may be a mask, expected one of them, or one named "
                        "\"attention_mask\" or \"mask\"",
                        path, f->arrays);
    const uint64_t tokens = f->shape[f->axes - 1], samples = f->axes == AXES ? f->shape[0] : 1;
    if (tokens < 1 || samples < 1 || samples > most_values / tokens)
        return mgk_fail(STATUS_SHAPE, "%s: a mask of %llu x %llu tokens", path,
                        (unsigned long long)samples, (unsigned long long)tokens);
    return STATUS_OK;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Whether an integer of `size` bytes is 0 or 1: -1 if neither. */
static int bit_of(const unsigned char *bytes, size_t size, bool big_endian)
{
    const size_t lowest = big_endian ? size - 1 : 0;
    for (size_t i = 0; i < size; i++)
        if (bytes[i] > (i == lowest))
            return -1;
    return bytes[lowest];
}

static mgk_status read_numpy(const char *path, const char *name, mgk_numpy *file, size_t count,
                             signed char *out)
{
    size_t index = 0;
    unsigned char *bytes;
    while (strcmp(mgk_numpy_at(file, index)->name, name) != 0)
        index++;
    const mgk_npy *array = &mgk_numpy_at(file, index)->header;
    const size_t size = array->element_size, columns = array->shape[array->rank - 1],
                 rows = count / columns;
    if (!strchr("biu", array->kind))
        return mgk_fail(STATUS_FORMAT, "%s: the mask is not of integers or booleans", path);
    TRY(mgk_alloc(count, size, &bytes));
    mgk_status status = mgk_numpy_read(file, index, 0, count * size, bytes);
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        const size_t at = array->fortran_order ? i % columns * rows + i / columns : i;
        out[i] = (signed char)bit_of(bytes + at * size, size, array->big_endian);
    }
    mgk_free(bytes);
    return status;
}

/* h5py's booleans are an enumeration of integers. */
static mgk_status read_dataset(const mgk_h5_file *file, const char *name, size_t count,
                               signed char *out)
{
    const hsize_t start[AXES] = {0};
    hsize_t shape[AXES];
    hid_t dataset;
    int rank;
    int64_t *values = NULL;
    mgk_status status = mgk_h5_open_dataset(file, name, H5T_INTEGER, AXES, &dataset, &rank, shape);
    bool numbers = status == STATUS_OK;
    if (status == STATUS_FORMAT)
        status = mgk_h5_open_dataset(file, name, H5T_ENUM, AXES, &dataset, &rank, shape);
    if (status == STATUS_FORMAT)
        return mgk_fail(status, "%s: the mask is not of integers or booleans", file->path);
    TRY(status);
    CHECK(mgk_alloc(count, sizeof(*values), &values));
    if (numbers)
        CHECK(mgk_h5_read_box(file, name, dataset, rank, start, shape, H5T_NATIVE_INT64, values));
    else if (H5Dread(dataset, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0)
        status = mgk_h5_fail(STATUS_FORMAT, file, "cannot read \"%s\" as integers", name);
    for (size_t i = 0; i < count && status == STATUS_OK; i++)
        out[i] = values[i] == 0 || values[i] == 1 ? (signed char)values[i] : -1;
out:
    mgk_free(values);
    mgk_h5_close(dataset);
    return status;
}

static mgk_status read_hdf5(const char *path, const char *name, size_t count, signed char *out)
{
    mgk_h5_file file;
    mgk_h5_enter();
    mgk_status status = mgk_h5_open(path, &file);
    if (status == STATUS_OK)
        status = read_dataset(&file, name, count, out);
    mgk_h5_abandon(&file);
    mgk_h5_leave();
    return status;
}

static mgk_status read_values(const char *path, const char *name, size_t count, signed char *out)
{
    bool numpy;
    mgk_numpy *file;
    TRY(mgk_recognise_numpy(path, &numpy));
    if (!numpy)
        return read_hdf5(path, name, count, out);
    TRY(mgk_numpy_open(path, &file));
    mgk_status status = read_numpy(path, name, file, count, out);
    mgk_numpy_close(file);
    return status;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Finds the block of ones in a row of values. */
static mgk_status take_row(const char *path, const signed char *values, int32_t sample,
                           const mgk_mask *mask)
{
    int32_t *first = &mask->first[sample], *length = &mask->length[sample];
    for (int32_t i = 0; i < mask->tokens; i++) {
        if (values[i] < 0)
            return mgk_fail(STATUS_FORMAT, "%s: row %d of the mask has other numbers than 0 and 1",
                            path, sample);
        if (!values[i])
            continue;
        *first = *length == 0 ? i : *first;
        if (*first + *length != i)
            return mgk_fail(STATUS_UNSUPPORTED,
                            "%s: row %d of the mask has zeros between its ones: expected one block "
                            "of valid tokens",
                            path, sample);
        ++*length;
    }
    if (*length == 0)
        return mgk_fail(STATUS_FORMAT, "%s: row %d of the mask has no ones: a sample needs a token",
                        path, sample);
    return STATUS_OK;
}

static mgk_status take_rows(const char *path, const found *f, mgk_mask *out)
{
    mgk_status status;
    signed char *values = NULL;
    const size_t tokens = f->shape[f->axes - 1], samples = f->axes == AXES ? f->shape[0] : 1;
    *out = (mgk_mask){.samples = (int32_t)samples, .tokens = (int32_t)tokens};
    CHECK(mgk_alloc(samples, sizeof(*out->first), &out->first));
    CHECK(mgk_alloc(samples, sizeof(*out->length), &out->length));
    CHECK(mgk_alloc(samples * tokens, 1, &values));
    CHECK(read_values(path, f->name, samples * tokens, values));
    for (size_t s = 0; s < samples; s++)
        CHECK(take_row(path, values + s * tokens, (int32_t)s, out));
out:
    mgk_free(values);
    return status;
}

mgk_status mgk_mask_read(const char *path, mgk_mask *out)
{
    found f = {.name = NULL};
    *out = (mgk_mask){0};
    mgk_status status = find(path, &f);
    if (status == STATUS_OK)
        status = take_rows(path, &f, out);
    mgk_free(f.name);
    if (status != STATUS_OK)
        mgk_mask_free(out);
    return status;
}

void mgk_mask_free(mgk_mask *mask)
{
    mgk_free(mask->first);
    mgk_free(mask->length);
    *mask = (mgk_mask){0};
}

/* Moves the valid columns of rows first … first + valid − 1 of a matrix [rows, N] to the front. */
static void move(const mgk_mask *mask, int32_t sample, size_t size, size_t rows, size_t first,
                 size_t valid, unsigned char *row)
{
    const size_t tokens = (size_t)mask->tokens, length = (size_t)mask->length[sample];
    const size_t from = first * tokens + (size_t)mask->first[sample];
    for (size_t i = 0; i < rows; i++, row += tokens * size) {
        if (i < valid)
            memmove(row, row + from * size, length * size);
        const size_t kept = i < valid ? length : 0;
        memset(row + kept * size, 0, (tokens - kept) * size);
    }
}

void mgk_mask_apply(const mgk_mask *mask, int32_t sample, size_t size, void *matrix)
{
    move(mask, sample, size, (size_t)mask->tokens, (size_t)mask->first[sample],
         (size_t)mask->length[sample], matrix);
}

void mgk_mask_apply_keys(const mgk_mask *mask, int32_t sample, size_t size, size_t rows,
                         void *matrix)
{
    move(mask, sample, size, rows, 0, rows, matrix);
}
