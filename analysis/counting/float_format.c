/* SPDX-License-Identifier: MIT */
#include "analysis/counting/float_format.h"

#include <string.h>

/* Bits of the significand after the leading one. */
static const struct {
    int bits;
    double roundoff;
} formats[MGK_FLOAT_COUNT] = {
    [MGK_FLOAT_F64] = {52, 0x1p-53},
    [MGK_FLOAT_F32] = {23, 0x1p-24},
    [MGK_FLOAT_F16] = {10, 0x1p-11},
    [MGK_FLOAT_BF16] = {7, 0x1p-8},
};

const char *const mgk_float_format_names[MGK_FLOAT_COUNT] = {[MGK_FLOAT_F64] = "f64",
                                                             [MGK_FLOAT_F32] = "f32",
                                                             [MGK_FLOAT_F16] = "f16",
                                                             [MGK_FLOAT_BF16] = "bf16"};

double mgk_float_format_roundoff(mgk_float_format format)
{
    return formats[format].roundoff;
}

uint64_t mgk_float_format_bits(size_t count, const double *entries)
{
    uint64_t used = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, &entries[i], sizeof(bits));
        used |= bits;
    }
    return used;
}

mgk_float_format mgk_float_format_of_bits(uint64_t used)
{
    used &= (UINT64_C(1) << 52) - 1;
    if (used == 0)
        return MGK_FLOAT_F64;
    int needed = 52 - __builtin_ctzll(used);
    mgk_float_format format = MGK_FLOAT_BF16;
    while (formats[format].bits < needed)
        format--;
    return format;
}

mgk_float_format mgk_float_format_detect(size_t count, const double *entries)
{
    return mgk_float_format_of_bits(mgk_float_format_bits(count, entries));
}
