/* SPDX-License-Identifier: MIT */
/* Element types of tensors in files, and their conversion from and to double. */
#ifndef MGK_MODEL_TENSOR_DTYPE_H
#define MGK_MODEL_TENSOR_DTYPE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* Type, name in safetensors, bytes of an element. */
#define MGK_DTYPE_LIST(X)        \
    X(MGK_DTYPE_F64, "F64", 8)   \
    X(MGK_DTYPE_F32, "F32", 4)   \
    X(MGK_DTYPE_F16, "F16", 2)   \
    X(MGK_DTYPE_BF16, "BF16", 2) \
    X(MGK_DTYPE_I64, "I64", 8)   \
    X(MGK_DTYPE_I32, "I32", 4)   \
    X(MGK_DTYPE_I16, "I16", 2)   \
    X(MGK_DTYPE_I8, "I8", 1)     \
    X(MGK_DTYPE_U8, "U8", 1)     \
    X(MGK_DTYPE_BOOL, "BOOL", 1)

typedef enum mgk_dtype {
#define MGK_DTYPE_ENUM(dtype, name, size) dtype,
    MGK_DTYPE_LIST(MGK_DTYPE_ENUM)
#undef MGK_DTYPE_ENUM
} mgk_dtype;

/* The name as listed above; never NULL. */
const char *mgk_dtype_name(mgk_dtype dtype);

/* Bytes of one element. */
size_t mgk_dtype_size(mgk_dtype dtype);

/* Whether the type holds real numbers: F64, F32, F16, BF16. */
bool mgk_dtype_is_real(mgk_dtype dtype);

/*
 * Finds the type of this name. STATUS_UNSUPPORTED: F8 types and others that are not listed above.
 */
mgk_status mgk_dtype_parse(const char *name, mgk_dtype *dtype);

/* The real number at `bytes` (little-endian, any alignment), including infinities and NaN. */
double mgk_dtype_decode(mgk_dtype dtype, const unsigned char *bytes);

/*
 * Stores a real number, rounded once to nearest even. False, with nothing stored, if the value is
 * not finite or rounds beyond the type's range.
 */
bool mgk_dtype_encode(mgk_dtype dtype, double value, unsigned char *bytes);

#endif
