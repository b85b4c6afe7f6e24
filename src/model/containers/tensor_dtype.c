/* SPDX-License-Identifier: MIT */
#include "model/containers/tensor_dtype.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/half.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "files are read and written in place");

static const struct {
    const char *name;
    size_t size;
} dtypes[] = {
#define DTYPE_ROW(dtype, name, size) [dtype] = {name, size},
    MGK_DTYPE_LIST(DTYPE_ROW)
#undef DTYPE_ROW
};
#define DTYPE_COUNT (sizeof(dtypes) / sizeof(dtypes[0]))

const char *mgk_dtype_name(mgk_dtype dtype)
{
    return dtypes[dtype].name;
}

size_t mgk_dtype_size(mgk_dtype dtype)
{
    return dtypes[dtype].size;
}

bool mgk_dtype_is_real(mgk_dtype dtype)
{
    return dtype == MGK_DTYPE_F64 || dtype == MGK_DTYPE_F32 || dtype == MGK_DTYPE_F16 ||
           dtype == MGK_DTYPE_BF16;
}

mgk_status mgk_dtype_parse(const char *name, mgk_dtype *dtype)
{
    for (size_t i = 0; i < DTYPE_COUNT; i++) {
        if (strcmp(dtypes[i].name, name) == 0) {
            *dtype = (mgk_dtype)i;
            return STATUS_OK;
        }
    }
    return mgk_fail(STATUS_UNSUPPORTED, "dtype \"%.16s\" is not supported", name);
}

double mgk_dtype_decode(mgk_dtype dtype, const unsigned char *bytes)
{
    double f64;
    float f32;
    uint16_t half;
    switch (dtype) {
    case MGK_DTYPE_F64:
        memcpy(&f64, bytes, sizeof(f64));
        return f64;
    case MGK_DTYPE_F32:
        memcpy(&f32, bytes, sizeof(f32));
        return f32;
    case MGK_DTYPE_F16:
    case MGK_DTYPE_BF16:
        memcpy(&half, bytes, sizeof(half));
        return (double)(dtype == MGK_DTYPE_F16 ? mgk_float_from_f16(half)
                                               : mgk_float_from_bf16(half));
    default:
        return (double)NAN;
    }
}

bool mgk_dtype_encode(mgk_dtype dtype, double value, unsigned char *bytes)
{
    float f32;
    uint16_t half;
    if (!isfinite(value))
        return false;
    switch (dtype) {
    case MGK_DTYPE_F64:
        memcpy(bytes, &value, sizeof(value));
        return true;
    case MGK_DTYPE_F32:
        f32 = (float)value;
        if (!isfinite(f32))
            return false;
        memcpy(bytes, &f32, sizeof(f32));
        return true;
    case MGK_DTYPE_F16:
        half = mgk_f16_from_double(value);
        if (!isfinite(mgk_float_from_f16(half)))
            return false;
        memcpy(bytes, &half, sizeof(half));
        return true;
    case MGK_DTYPE_BF16:
        half = mgk_bf16_from_double(value);
        if (!isfinite(mgk_float_from_bf16(half)))
            return false;
        memcpy(bytes, &half, sizeof(half));
        return true;
    default:
        return false;
    }
}
