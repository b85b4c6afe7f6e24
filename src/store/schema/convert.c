#include "store/schema/convert.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

size_t mgk_real_size(mgk_store_real real)
{
    return real == STORE_F16 ? 2 : real == STORE_F32 ? 4 : 8;
}

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

/*
 * binary32 has 8 exponent bits (bias 127) and 23 fraction bits, binary16 has 5 (bias
 * 15) and 10: 13 fraction bits go, and the exponent moves by 112.
 */
static uint16_t half_from_float(float value)
{
    const uint32_t infinity = 0x7c00, smallest_normal = (127 - 14) << 23;
    uint32_t bits = bits_of(value);
    uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff, half;
    if (magnitude > 0x7f800000) {
        half = infinity | 0x0200; /* not a number */
    } else if (magnitude >= (127 + 16) << 23) {
        half = infinity;
    } else if (magnitude < smallest_normal) {
        /* A multiple of 2^-24, the unit in the last place of 0.5f: the addition rounds to it. */
        half = bits_of(fabsf(value) + 0.5f) - bits_of(0.5f);
    } else {
        /* Adding just under half a unit, or half of one where the last bit kept is odd, carries
         * as rounding to even does; the carry may run into the exponent, up to infinity. */
        uint32_t odd = magnitude >> 13 & 1;
        half = (magnitude + 0x0fff + odd - (112u << 23)) >> 13;
    }
    return (uint16_t)(sign | half);
}

/* The 13 fraction bits and the 112 of the exponent come back; a subnormal counts 2^-24. */
static float float_from_half(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, magnitude = half & 0x7fff, bits;
    float value;
    if (magnitude < 0x0400) {
        value = (float)magnitude * 0x1p-24f;
        bits = bits_of(value);
    } else {
        /* Infinity and NaN have the greatest exponent in both: 31 becomes 255. */
        bits = (magnitude << 13) + ((magnitude < 0x7c00 ? 112u : 224u) << 23);
    }
    bits |= sign;
    memcpy(&value, &bits, sizeof(bits));
    return value;
}

/*
 * Rounding twice, to binary32 and then to binary16, is wrong next to ties; it is right when the
 * first step rounds to odd (Boldo and Melquiond 2008): cut off, and set the last bit if inexact.
 */
static float round_to_odd(double value)
{
    float nearest = (float)value;
    if ((double)nearest == value)
        return nearest;
    uint32_t bits = bits_of(nearest);
    if (fabs((double)nearest) > fabs(value))
        bits--;
    bits |= 1;
    memcpy(&nearest, &bits, sizeof(bits));
    return nearest;
}

static void widen_halves(mgk_store_real to, size_t count, const uint16_t *values, void *out)
{
    for (size_t i = 0; i < count; i++) {
        float value = float_from_half(values[i]);
        if (to == STORE_F32)
            ((float *)out)[i] = value;
        else
            ((double *)out)[i] = (double)value;
    }
}

void mgk_convert_reals(mgk_store_real from, mgk_store_real to, size_t count, const void *values,
                       void *out)
{
    const float *single = values;
    const double *wide = values;
    if (from == to)
        memcpy(out, values, count * mgk_real_size(to));
    else if (from == STORE_F16)
        widen_halves(to, count, values, out);
    else if (from == STORE_F32 && to == STORE_F64)
        for (size_t i = 0; i < count; i++)
            ((double *)out)[i] = (double)single[i];
    else if (from == STORE_F64 && to == STORE_F32)
        for (size_t i = 0; i < count; i++)
            ((float *)out)[i] = (float)wide[i];
    else if (from == STORE_F32)
        for (size_t i = 0; i < count; i++)
            ((uint16_t *)out)[i] = half_from_float(single[i]);
    else
        for (size_t i = 0; i < count; i++)
            ((uint16_t *)out)[i] = half_from_float(round_to_odd(wide[i]));
}
