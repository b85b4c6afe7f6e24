#include "model/containers/tensor_dtype.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

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

/* A 16-bit float: sign, exponent, mantissa; its exponent bias is 2^(exponent_bits - 1) - 1. */
typedef struct half_layout {
    int exponent_bits, mantissa_bits;
} half_layout;

static const half_layout f16 = {5, 10}, bf16 = {8, 7};

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

/* value = (-1)^s 2^(max(e, 1) - bias - mantissa_bits) (m + 2^mantissa_bits where e > 0). */
static double decode_half(half_layout layout, unsigned bits)
{
    int top = (1 << layout.exponent_bits) - 1, bias = top / 2;
    int exponent = (int)(bits >> layout.mantissa_bits) & top;
    int mantissa = (int)(bits & ((1u << layout.mantissa_bits) - 1));
    double magnitude;
    if (exponent == top)
        magnitude = mantissa ? (double)NAN : (double)INFINITY;
    else if (exponent == 0)
        magnitude = ldexp(mantissa, 1 - bias - layout.mantissa_bits);
    else
        magnitude =
            ldexp(mantissa + (1 << layout.mantissa_bits), exponent - bias - layout.mantissa_bits);
    return bits >> 15 ? -magnitude : magnitude;
}

/* The inverse: the value in units of its last place, rounded to an integer. */
static bool encode_half(half_layout layout, double value, uint16_t *bits)
{
    int top = (1 << layout.exponent_bits) - 1, bias = top / 2;
    int exponent;
    frexp(value, &exponent); /* |value| in [2^(exponent - 1), 2^exponent) */
    int unit = (value == 0 || exponent < 2 - bias ? 2 - bias : exponent) - 1 - layout.mantissa_bits;
    int32_t places = (int32_t)nearbyint(ldexp(fabs(value), -unit));
    /* Exponent and mantissa are one integer: a carry out of the mantissa raises the exponent. */
    int32_t lowest = unit + layout.mantissa_bits + bias - 1;
    int32_t magnitude = lowest * (1 << layout.mantissa_bits) + places;
    if (magnitude >= top << layout.mantissa_bits)
        return false;
    *bits = (uint16_t)(magnitude | (signbit(value) ? 0x8000 : 0));
    return true;
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
        return decode_half(dtype == MGK_DTYPE_F16 ? f16 : bf16, half);
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
    case MGK_DTYPE_BF16:
        if (!encode_half(dtype == MGK_DTYPE_F16 ? f16 : bf16, value, &half))
            return false;
        memcpy(bytes, &half, sizeof(half));
        return true;
    default:
        return false;
    }
}
