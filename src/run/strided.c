/* SPDX-License-Identifier: MIT */
#include "run/strided.h"

#include <stdint.h>
#include <string.h>

#include "base/half.h"

bool mgk_strided_format(const char *dtype, mgk_float_format *format)
{
    for (int f = 0; dtype && f < MGK_FLOAT_COUNT; f++)
        if (strcmp(dtype, mgk_float_format_names[f]) == 0) {
            *format = (mgk_float_format)f;
            return true;
        }
    return false;
}

static double read_number(const char *from, mgk_float_format format)
{
    double whole;
    float narrow;
    uint16_t half;
    switch (format) {
    case MGK_FLOAT_F64:
        memcpy(&whole, from, sizeof(whole));
        return whole;
    case MGK_FLOAT_F32:
        memcpy(&narrow, from, sizeof(narrow));
        return (double)narrow;
    case MGK_FLOAT_F16:
    case MGK_FLOAT_BF16:
        break;
    }
    memcpy(&half, from, sizeof(half));
    return (double)(format == MGK_FLOAT_F16 ? mgk_float_from_f16(half) : mgk_float_from_bf16(half));
}

void mgk_copy_strided(const char *from, ptrdiff_t stride, mgk_float_format format, size_t n,
                      double *out)
{
    for (size_t j = 0; j < n; j++)
        out[j] = read_number(from + (ptrdiff_t)j * stride, format);
}
