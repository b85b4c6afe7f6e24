/* SPDX-License-Identifier: MIT */
/*
 * 16-bit floats as bits: f16 (IEEE 754 binary16: 5 bits of exponent with bias 15, 10 of fraction)
 * and bf16 (the upper half of a float: 8 bits of exponent, 7 of fraction). Widening is exact.
 * Narrowing rounds to nearest, ties to even; overflow gives infinity.
 */
#ifndef MGK_BASE_HALF_H
#define MGK_BASE_HALF_H

#include <stdint.h>
#include <string.h>

static inline float mgk_float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static inline uint32_t mgk_bits_of_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

/*
 * Exponent and fraction, shifted to their position in a float, are the number times 2^(15 - 127),
 * the difference of the biases, even if it is subnormal. No branches: loops become vector code.
 */
static inline float mgk_float_from_f16(uint16_t half)
{
    const uint32_t sign = (half & 0x8000u) << 16, magnitude = (half & 0x7fffu) << 13;
    const uint32_t finite = mgk_bits_of_float(mgk_float_of_bits(magnitude) * 0x1p112f);
    return mgk_float_of_bits(sign |
                             ((half & 0x7c00u) == 0x7c00u ? magnitude | 0x7f800000u : finite));
}

static inline float mgk_float_from_bf16(uint16_t half)
{
    return mgk_float_of_bits((uint32_t)half << 16);
}

uint16_t mgk_f16_from_float(float value);
uint16_t mgk_f16_from_double(double value);
uint16_t mgk_bf16_from_float(float value);
uint16_t mgk_bf16_from_double(double value);

#endif
