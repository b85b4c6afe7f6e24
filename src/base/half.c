/* SPDX-License-Identifier: MIT */
#include "base/half.h"

#include <math.h>

uint16_t mgk_f16_from_float(float value)
{
    const uint32_t infinity = 0x7c00, smallest_normal = (127 - 14) << 23;
    const uint32_t bits = mgk_bits_of_float(value);
    const uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
    uint32_t half;
    if (magnitude > 0x7f800000) {
        half = infinity | 0x0200; /* NaN */
    } else if (magnitude >= (127 + 16) << 23) {
        half = infinity;
    } else if (magnitude < smallest_normal) {
        /*
         * The result is a multiple of 2^-24, the unit in the last place of 0.5f: the addition
         * rounds to it.
         */
        half = mgk_bits_of_float(fabsf(value) + 0.5f) - mgk_bits_of_float(0.5f);
    } else {
        /*
         * Drops 13 bits of fraction and shifts the exponent by 112. Adding just under half a unit,
         * or half a unit if the last kept bit is odd, rounds to nearest even; the carry may reach
         * the exponent, up to infinity.
         */
        const uint32_t odd = magnitude >> 13 & 1;
        half = (magnitude + 0x0fff + odd - (112u << 23)) >> 13;
    }
    return (uint16_t)(sign | half);
}

uint16_t mgk_bf16_from_float(float value)
{
    const uint32_t bits = mgk_bits_of_float(value), odd = bits >> 16 & 1;
    if (isnan(value))
        return (uint16_t)(bits >> 16 | 0x0040);
    return (uint16_t)((bits + 0x7fff + odd) >> 16);
}

/*
 * Rounding twice, to float and then to 16 bits, is wrong near ties; it is correct if the first step
 * rounds to odd (Boldo and Melquiond 2008): truncate, and set the last bit if inexact.
 */
static float round_to_odd(double value)
{
    const float nearest = (float)value;
    uint32_t bits = mgk_bits_of_float(nearest);
    if ((double)nearest == value || isnan(value))
        return nearest;
    if (fabs((double)nearest) > fabs(value))
        bits--;
    return mgk_float_of_bits(bits | 1);
}

uint16_t mgk_f16_from_double(double value)
{
    return mgk_f16_from_float(round_to_odd(value));
}

uint16_t mgk_bf16_from_double(double value)
{
    return mgk_bf16_from_float(round_to_odd(value));
}
