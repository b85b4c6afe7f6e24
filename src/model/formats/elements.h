/* SPDX-License-Identifier: MIT */
/* Reads elements of tensors in files as float or double, converted and checked. */
#ifndef MGK_MODEL_ELEMENTS_H
#define MGK_MODEL_ELEMENTS_H

#include <stddef.h>

#include "base/status.h"
#include "model/containers/tensor_dtype.h"

/* The location of a tensor's elements, in row-major order. */
typedef struct mgk_elements {
    const char *path; /* the file and the tensor, for messages */
    const char *name;
    mgk_dtype dtype;
    /* Reads bytes first ... first + count - 1 of the elements to `bytes`. */
    mgk_status (*read)(const void *context, size_t first, size_t count, void *bytes);
    const void *context;
} mgk_elements;

/*
 * Reads elements first ... first + count - 1 as float or double (type: F32 or F64) to values
 * [count]. STATUS_NUMERIC: one is NaN, infinite, or beyond the range of float; STATUS_UNSUPPORTED:
 * their type is not real. Both name file and tensor.
 */
mgk_status mgk_elements_read(const mgk_elements *elements, size_t first, size_t count,
                             mgk_dtype type, void *values);

#endif
