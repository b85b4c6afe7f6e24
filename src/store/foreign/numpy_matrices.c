/* SPDX-License-Identifier: MIT */
#include "store/foreign/numpy_matrices.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "store/schema/convert.h"

enum { LABEL_SIZE = 208 };

mgk_status mgk_numpy_matrices_open(const char *path, mgk_numpy_matrices *out)
{
    *out = (mgk_numpy_matrices){.path = path};
    return mgk_numpy_open(path, &out->file);
}

void mgk_numpy_matrices_close(mgk_numpy_matrices *matrices)
{
    mgk_numpy_close(matrices->file);
    mgk_free(matrices->matrix);
    mgk_free(matrices->row);
    *matrices = (mgk_numpy_matrices){.file = NULL};
}

/* A single array matches any name, because .npy files contain none. */
static mgk_status find_name(const mgk_numpy_matrices *matrices, const char *name, size_t *index)
{
    size_t count = mgk_numpy_count(matrices->file);
    for (size_t i = 0; i < count; i++) {
        const char *found = mgk_numpy_at(matrices->file, i)->name;
        if (!*found || strcmp(found, name) == 0) {
            *index = i;
            return STATUS_OK;
        }
    }
    return mgk_fail(STATUS_FORMAT, "%s: no array \"%s\"", matrices->path, name);
}

/* Writes the name of an array for messages. */
static void label_of(const mgk_numpy_array *array, char out[LABEL_SIZE])
{
    if (*array->name)
        snprintf(out, LABEL_SIZE, "\"%.200s\"", array->name);
    else
        snprintf(out, LABEL_SIZE, "the array");
}

/* Several matrices whose first axes vary fastest are spread over the whole array. */
static bool is_spread(const mgk_npy *array)
{
    size_t leading = 1;
    for (int i = 0; i + 2 < array->rank; i++)
        leading *= array->shape[i];
    return array->fortran_order && leading > 1;
}

mgk_status mgk_numpy_matrices_find(const mgk_numpy_matrices *matrices, const char *name,
                                   size_t *index, mgk_store_real *storage)
{
    char type[MGK_NPY_TYPE], label[LABEL_SIZE];
    TRY(find_name(matrices, name, index));
    const mgk_npy *array = &mgk_numpy_at(matrices->file, *index)->header;
    size_t size = array->element_size;
    label_of(mgk_numpy_at(matrices->file, *index), label);
    mgk_npy_type(array, type);
    if (array->kind != 'f' || (size != 2 && size != 4 && size != 8))
        return mgk_fail(STATUS_UNSUPPORTED, "%s: %s holds %s, expected float16, float32 or float64",
                        matrices->path, label, type);
    const unsigned char *elements;
    mgk_status status =
        is_spread(array) ? mgk_numpy_map(matrices->file, *index, &elements) : STATUS_OK;
    if (status == STATUS_UNSUPPORTED)
        return mgk_fail(status, "%s: %s is in Fortran order, which is read from .npy files only",
                        matrices->path, label);
    TRY(status);
    *storage = size == 2 ? STORE_F16 : size == 4 ? STORE_F32 : STORE_F64;
    return STATUS_OK;
}

/* Elements from one place to the next along each axis. */
static void strides_of(const mgk_npy *array, size_t strides[MGK_NPY_AXES])
{
    size_t stride = 1;
    for (int i = 0; i < array->rank; i++) {
        int axis = array->fortran_order ? i : array->rank - 1 - i;
        strides[axis] = stride;
        stride *= array->shape[axis];
    }
}

static mgk_status reserve(unsigned char **buffer, size_t *size, size_t needed)
{
    if (*size >= needed)
        return STATUS_OK;
    mgk_free(*buffer);
    *size = 0;
    TRY(mgk_alloc(needed, 1, buffer));
    *size = needed;
    return STATUS_OK;
}

/* Copies elements that are `stride` bytes apart into consecutive ones of native byte order. */
static void gather(const unsigned char *from, size_t stride, size_t count, size_t size, bool swap,
                   unsigned char *out)
{
    if (stride == size)
        memcpy(out, from, count * size);
    else
        for (size_t i = 0; i < count; i++)
            memcpy(out + i * size, from + i * stride, size);
    for (unsigned char *end = out + count * size; swap && out < end; out += size)
        for (size_t i = 0; i < size / 2; i++) {
            unsigned char byte = out[i];
            out[i] = out[size - 1 - i];
            out[size - 1 - i] = byte;
        }
}

mgk_status mgk_numpy_matrices_read(mgk_numpy_matrices *matrices, size_t index,
                                   const unsigned long long *coordinates, mgk_store_real type,
                                   void *out)
{
    const mgk_npy *array = &mgk_numpy_at(matrices->file, index)->header;
    size_t size = array->element_size, strides[MGK_NPY_AXES], place = 0;
    size_t rows = array->shape[array->rank - 2], columns = array->shape[array->rank - 1];
    mgk_store_real storage = size == 2 ? STORE_F16 : size == 4 ? STORE_F32 : STORE_F64;
    strides_of(array, strides);
    for (int i = 0; i + 2 < array->rank; i++)
        place += coordinates[i] * strides[i];
    const unsigned char *elements;
    if (is_spread(array)) {
        TRY(mgk_numpy_map(matrices->file, index, &elements));
        elements += place * size;
    } else {
        TRY(reserve(&matrices->matrix, &matrices->matrix_size, rows * columns * size));
        TRY(mgk_numpy_read(matrices->file, index, place * size, rows * columns * size,
                           matrices->matrix));
        elements = matrices->matrix;
    }
    TRY(reserve(&matrices->row, &matrices->row_size, columns * size));
    for (size_t i = 0; i < rows; i++) {
        gather(elements + i * strides[array->rank - 2] * size, strides[array->rank - 1] * size,
               columns, size, array->big_endian, matrices->row);
        mgk_convert_reals(storage, type, columns, matrices->row,
                          (unsigned char *)out + i * columns * mgk_real_size(type));
    }
    return STATUS_OK;
}
