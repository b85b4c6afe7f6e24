/* SPDX-License-Identifier: MIT */
#include "model/formats/elements.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/half.h"

enum {
    CHUNK = 1 << 14,     /* elements converted at a time: they fit the cache */
    F32_TOP = 0x7f800000 /* the exponent of infinity and NaN */
};
static const uint64_t f64_top = 0x7ff0000000000000;

/*
 * The loops check for finite numbers only at the end, without a branch inside, so that the compiler
 * vectorizes them.
 */
static bool finite_floats(const float *values, size_t count)
{
    uint32_t bad = 0, bits;
    for (size_t i = 0; i < count; i++) {
        memcpy(&bits, &values[i], sizeof(bits));
        bad |= (bits & F32_TOP) == F32_TOP;
    }
    return !bad;
}

static bool finite_doubles(const double *values, size_t count)
{
    uint64_t bad = 0, bits;
    for (size_t i = 0; i < count; i++) {
        memcpy(&bits, &values[i], sizeof(bits));
        bad |= (bits & f64_top) == f64_top;
    }
    return !bad;
}

static bool from_bf16(const uint16_t *halves, size_t count, float *values)
{
    for (size_t i = 0; i < count; i++)
        values[i] = mgk_float_from_bf16(halves[i]);
    return finite_floats(values, count);
}

static bool from_f16(const uint16_t *halves, size_t count, float *values)
{
    for (size_t i = 0; i < count; i++)
        values[i] = mgk_float_from_f16(halves[i]);
    return finite_floats(values, count);
}

static bool from_f64(const double *doubles, size_t count, float *values)
{
    for (size_t i = 0; i < count; i++)
        values[i] = (float)doubles[i];
    return finite_floats(values, count);
}

/* Converts at most CHUNK stored elements to float. */
static bool to_floats(mgk_dtype dtype, const void *stored, size_t count, float *values)
{
    switch (dtype) {
    case MGK_DTYPE_F32:
        memcpy(values, stored, count * sizeof(*values));
        return finite_floats(values, count);
    case MGK_DTYPE_F16:
        return from_f16(stored, count, values);
    case MGK_DTYPE_BF16:
        return from_bf16(stored, count, values);
    default:
        return from_f64(stored, count, values);
    }
}

/* All narrower types are exact in float. */
static bool to_doubles(mgk_dtype dtype, const void *stored, size_t count, double *values)
{
    float floats[CHUNK];
    bool finite = to_floats(dtype, stored, count, floats);
    for (size_t i = 0; i < count; i++)
        values[i] = (double)floats[i];
    return finite;
}

/* Names the stored element that does not fit `type`. */
static mgk_status fail_number(const mgk_elements *elements, const unsigned char *stored,
                              size_t first, size_t count, mgk_dtype type)
{
    size_t size = mgk_dtype_size(elements->dtype), i = 0;
    double value = 0;
    for (; i < count; i++) {
        value = mgk_dtype_decode(elements->dtype, stored + i * size);
        if (!isfinite(value) || (type == MGK_DTYPE_F32 && !isfinite((float)value)))
            break;
    }
    if (!isfinite(value))
        return mgk_fail(STATUS_NUMERIC, "%s: tensor \"%.200s\": element %zu is not finite",
                        elements->path, elements->name, first + i);
    return mgk_fail(STATUS_NUMERIC,
                    "%s: tensor \"%.200s\": element %zu, %g, is beyond the range of float",
                    elements->path, elements->name, first + i, value);
}

/* Reads at most CHUNK elements; those of the requested type are read in place. */
static mgk_status read_chunk(const mgk_elements *elements, size_t first, size_t count,
                             mgk_dtype type, void *values)
{
    double buffer[CHUNK];
    size_t size = mgk_dtype_size(elements->dtype);
    void *stored = elements->dtype == type ? values : buffer;
    bool finite;
    TRY(elements->read(elements->context, first * size, count * size, stored));
    if (stored == values)
        finite =
            type == MGK_DTYPE_F32 ? finite_floats(values, count) : finite_doubles(values, count);
    else if (type == MGK_DTYPE_F32)
        finite = to_floats(elements->dtype, stored, count, values);
    else
        finite = to_doubles(elements->dtype, stored, count, values);
    return finite ? STATUS_OK : fail_number(elements, stored, first, count, type);
}

mgk_status mgk_elements_read(const mgk_elements *elements, size_t first, size_t count,
                             mgk_dtype type, void *values)
{
    unsigned char *next = values;
    if (!mgk_dtype_is_real(elements->dtype))
        return mgk_fail(STATUS_UNSUPPORTED,
                        "%s: tensor \"%.200s\" is of type %s, expected a real one", elements->path,
                        elements->name, mgk_dtype_name(elements->dtype));
    while (count > 0) {
        size_t step = count < CHUNK ? count : CHUNK;
        TRY(read_chunk(elements, first, step, type, next));
        first += step;
        count -= step;
        next += step * mgk_dtype_size(type);
    }
    return STATUS_OK;
}
