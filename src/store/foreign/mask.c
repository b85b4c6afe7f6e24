/* SPDX-License-Identifier: MIT */
#include "store/foreign/mask.h"

#include <stdio.h>
#include <string.h>

#include "base/half.h"
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
    size_t arrays; /* number of arrays that suit as well */
    int axes;
    uint64_t shape[AXES];
} found;

enum { OF_FLOATS = 1, OF_INTEGERS };

/*
 * How well an array suits; 0: not at all. "attention_mask" goes before "mask", this before other
 * names; of these integers and booleans go before floats, which may be anything. HDF5 has no
 * booleans: h5py stores them as an enumeration, "other".
 */
static int rank_of(const mgk_store_entry *entry)
{
    static const char *const types[] = {"int", "uint", "bool", "other"};
    int rank = strncmp(entry->type, "float", strlen("float")) == 0 ? OF_FLOATS : 0;
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
        if (strncmp(entry->type, types[i], strlen(types[i])) == 0)
            rank = OF_INTEGERS;
    if (rank == 0 || entry->rank < 1 || entry->rank > AXES)
        return 0;
    return strcmp(entry->name, "attention_mask") == 0 ? 4
           : strcmp(entry->name, "mask") == 0         ? 3
                                                      : rank;
}

static mgk_status visit(void *context, const mgk_store_entry *entry)
{
    found *f = context;
    const int rank = rank_of(entry);
    f->arrays += rank > 0 && rank == f->rank;
    if (f->rank >= rank)
        return STATUS_OK;
    mgk_free(f->name);
    f->rank = rank;
    f->arrays = 1;
    f->axes = entry->rank;
    for (int i = 0; i < entry->rank; i++)
        f->shape[i] = entry->shape[i];
    return mgk_copy_string(entry->name, &f->name);
}

static mgk_status find(const char *path, found *f)
{
    TRY(mgk_store_list_arrays(path, visit, f));
    if (f->arrays == 0)
        return mgk_fail(STATUS_FORMAT, "%s: no array of numbers [samples, tokens], as a mask is",
                        path);
    if (f->arrays > 1)
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

static signed char bit_of_real(double value)
{
    return value == 0 ? 0 : value == 1 ? 1 : -1;
}

/* Whether an element of NumPy is 0 or 1: -1 if neither. */
static signed char bit_of(const mgk_npy *array, const unsigned char *bytes)
{
    const size_t size = array->element_size;
    unsigned char ordered[sizeof(double)] = {0}; /* from the lowest byte on */
    uint16_t half;
    float single;
    double real;
    for (size_t i = 0; i < size; i++)
        ordered[i] = bytes[array->big_endian ? size - 1 - i : i];
    memcpy(&half, ordered, sizeof(half));
    memcpy(&single, ordered, sizeof(single));
    memcpy(&real, ordered, sizeof(real));
    if (array->kind == 'f')
        return bit_of_real(size == sizeof(half)     ? (double)mgk_float_from_f16(half)
                           : size == sizeof(single) ? (double)single
                                                    : real);
    for (size_t i = 1; i < sizeof(ordered); i++)
        if (ordered[i] > 0)
            return -1;
    return bit_of_real(ordered[0]);
}

static mgk_status refuse_changed(const char *path)
{
    return mgk_fail(STATUS_FORMAT, "%s: has changed while it was read", path);
}

static mgk_status read_numpy(const char *path, const char *name, mgk_numpy *file, size_t count,
                             signed char *out)
{
    size_t index = 0;
    unsigned char *bytes;
    while (index < mgk_numpy_count(file) && strcmp(mgk_numpy_at(file, index)->name, name) != 0)
        index++;
    if (index == mgk_numpy_count(file) || mgk_numpy_at(file, index)->header.count != count)
        return refuse_changed(path);
    const mgk_npy *array = &mgk_numpy_at(file, index)->header;
    const size_t size = array->element_size, columns = array->shape[array->rank - 1],
                 rows = count / columns;
    if (!strchr("biuf", array->kind) || size < 1 || size > sizeof(double))
        return mgk_fail(STATUS_FORMAT, "%s: the mask is not of usual numbers or booleans", path);
    TRY(mgk_alloc(count, size, &bytes));
    mgk_status status = mgk_numpy_read(file, index, 0, count * size, bytes);
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        const size_t at = array->fortran_order ? i % columns * rows + i / columns : i;
        out[i] = bit_of(array, bytes + at * size);
    }
    mgk_free(bytes);
    return status;
}

/* h5py's booleans are an enumeration, which HDF5 converts to integers alone. */
static mgk_status read_enumeration(const mgk_h5_file *file, const char *name, hid_t dataset,
                                   size_t count, signed char *out)
{
    int64_t *values;
    mgk_status status = mgk_alloc(count, sizeof(*values), &values);
    if (status == STATUS_OK &&
        H5Dread(dataset, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0)
        status = mgk_h5_fail(STATUS_FORMAT, file, "cannot read \"%s\" as integers", name);
    for (size_t i = 0; i < count && status == STATUS_OK; i++)
        out[i] = values[i] == 0 || values[i] == 1 ? (signed char)values[i] : -1;
    mgk_free(values);
    return status;
}

static mgk_status read_dataset(const mgk_h5_file *file, const char *name, size_t count,
                               signed char *out)
{
    static const H5T_class_t classes[] = {H5T_INTEGER, H5T_FLOAT, H5T_ENUM};
    const hsize_t start[AXES] = {0};
    hsize_t shape[AXES];
    hid_t dataset;
    size_t elements = 1;
    int rank, kind = 0;
    double *values = NULL;
    mgk_status status = mgk_h5_open_dataset(file, name, classes[0], AXES, &dataset, &rank, shape);
    while (status == STATUS_FORMAT && kind < 2)
        status = mgk_h5_open_dataset(file, name, classes[++kind], AXES, &dataset, &rank, shape);
    if (status == STATUS_FORMAT)
        return mgk_fail(status, "%s: the mask is not of usual numbers or booleans", file->path);
    TRY(status);
    for (int i = 0; i < rank; i++) /* an axis that is too long is enough */
        elements = shape[i] > count ? 0 : elements * shape[i];
    if (elements != count)
        CHECK(refuse_changed(file->path));
    if (classes[kind] == H5T_ENUM) {
        CHECK(read_enumeration(file, name, dataset, count, out));
        goto out;
    }
    CHECK(mgk_alloc(count, sizeof(*values), &values));
    CHECK(mgk_h5_read_box(file, name, dataset, rank, start, shape, H5T_NATIVE_DOUBLE, values));
    for (size_t i = 0; i < count; i++)
        out[i] = bit_of_real(values[i]);
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
