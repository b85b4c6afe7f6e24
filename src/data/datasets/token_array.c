/* SPDX-License-Identifier: MIT */
#include "data/datasets/token_array.h"

#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/numpy.h"

static bool is_integer(const mgk_npy *array)
{
    size_t size = array->element_size;
    return (array->kind == 'i' || array->kind == 'u') &&
           (size == 1 || size == 2 || size == 4 || size == 8);
}

/* Chooses "input_ids" or the only integer array; a file with one array gives that array. */
static mgk_status choose_array(const char *path, const mgk_numpy *file, size_t *out)
{
    size_t count = mgk_numpy_count(file), integers = 0;
    for (size_t i = 0; i < count; i++) {
        const mgk_numpy_array *array = mgk_numpy_at(file, i);
        bool named = strcmp(array->name, "input_ids") == 0;
        if (!named && count > 1 && !is_integer(&array->header))
            continue;
        *out = i;
        integers++;
        if (named)
            return STATUS_OK;
    }
    if (integers == 1)
        return STATUS_OK;
    return mgk_fail(STATUS_SHAPE,
                    "%s: %zu arrays of integers, expected one of them or one named \"input_ids\"",
                    path, integers);
}

static mgk_status check_array(const char *path, const mgk_npy *array)
{
    char type[MGK_NPY_TYPE], shape[200];
    mgk_npy_type(array, type);
    if (!is_integer(array))
        return mgk_fail(STATUS_UNSUPPORTED,
                        "%s: the array holds %s, expected token ids, which are integers", path,
                        type);
    mgk_shape_text(array->rank, array->shape, shape, sizeof(shape));
    if (array->rank != 1 && array->rank != 2)
        return mgk_fail(STATUS_SHAPE, "%s: the array is %s, expected [samples, length] or [length]",
                        path, shape);
    if (array->count == 0)
        return mgk_fail(STATUS_SHAPE, "%s: the array is empty: %s", path, shape);
    if (array->count > MGK_MOST_TOKEN_IDS)
        return mgk_fail(STATUS_SHAPE, "%s: the array is %s, expected at most %d token ids", path,
                        shape, MGK_MOST_TOKEN_IDS);
    return STATUS_OK;
}

static int64_t load(const unsigned char *bytes, const mgk_npy *array)
{
    uint64_t value = 0;
    size_t size = array->element_size;
    for (size_t i = 0; i < size; i++)
        value = value << 8 | bytes[array->big_endian ? i : size - 1 - i];
    if (array->kind == 'i' && size < 8 && value >> (8 * size - 1))
        value |= ~(uint64_t)0 << (8 * size);
    return (int64_t)value;
}

/* Reads in pieces, in file order: compressed data may expand a thousandfold. */
static mgk_status load_all(mgk_numpy *file, size_t index, const mgk_token_array *out)
{
    enum { PIECE = 1 << 12, LARGEST = 8 };
    unsigned char bytes[PIECE * LARGEST];
    const mgk_npy *array = &mgk_numpy_at(file, index)->header;
    size_t size = array->element_size;
    for (size_t first = 0; first < array->count; first += PIECE) {
        size_t left = array->count - first, count = left < PIECE ? left : PIECE;
        TRY(mgk_numpy_read(file, index, first * size, count * size, bytes));
        for (size_t i = 0; i < count; i++) {
            size_t place = first + i;
            if (array->fortran_order)
                place = place % out->rows * out->columns + place / out->rows;
            out->ids[place] = load(bytes + i * size, array);
        }
    }
    return STATUS_OK;
}

static mgk_status read_array(const char *path, mgk_numpy *file, mgk_token_array *out)
{
    size_t index = 0;
    TRY(choose_array(path, file, &index));
    const mgk_npy *array = &mgk_numpy_at(file, index)->header;
    TRY(check_array(path, array));
    out->rows = array->rank == 2 ? array->shape[0] : 1;
    out->columns = array->shape[array->rank - 1];
    out->flat = array->rank == 1;
    out->is_unsigned = array->kind == 'u';
    TRY(mgk_alloc(array->count, sizeof(*out->ids), &out->ids));
    return load_all(file, index, out);
}

mgk_status mgk_token_array_read(const char *path, mgk_token_array *out)
{
    mgk_numpy *file;
    *out = (mgk_token_array){.ids = NULL};
    TRY(mgk_numpy_open(path, &file));
    mgk_status status = read_array(path, file, out);
    mgk_numpy_close(file);
    if (status != STATUS_OK) {
        mgk_free(out->ids);
        out->ids = NULL;
    }
    return status;
}
