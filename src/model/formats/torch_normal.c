/* SPDX-License-Identifier: MIT */
/*
 * The generator is seeded with the lower 32 bits. Normal numbers are those of Box and Muller
 * (1958). Fewer than 16 are drawn one after the other; more are made of uniform ones in blocks of
 * 16, of which 8 become lengths and 8 angles, and a rest draws the last 16 anew.
 */
#include "model/formats/torch_normal.h"

#include <math.h>

#include "base/twister.h"

enum { BLOCK = 16, HALF = BLOCK / 2 };

/* In [0, 1): 24 bits of a word, or 53 of two. */
static double uniform(mgk_twister *t, mgk_torch_precision precision)
{
    if (precision == MGK_TORCH_SINGLE)
        return (mgk_twister_draw(t) & 0xffffffU) * 0x1p-24;
    const uint64_t high = mgk_twister_draw(t);
    return (double)((high << 32 | mgk_twister_draw(t)) & 0x1fffffffffffffU) * 0x1p-53;
}

/* Few numbers are drawn in double precision in any case. */
static void fill_few(mgk_twister *t, size_t count, double *values)
{
    for (size_t i = 0; i < count; i += 2) {
        const double angle = 2 * M_PI * uniform(t, MGK_TORCH_DOUBLE);
        const double length = sqrt(-2 * log1p(-uniform(t, MGK_TORCH_DOUBLE)));
        values[i] = length * cos(angle);
        if (i + 1 < count)
            values[i + 1] = length * sin(angle);
    }
}

/* Uniform numbers become normal ones. */
static void turn_block(double values[BLOCK])
{
    for (size_t i = 0; i < HALF; i++) {
        const double length = sqrt(-2 * log(1 - values[i])), angle = 2 * M_PI * values[i + HALF];
        values[i] = length * cos(angle);
        values[i + HALF] = length * sin(angle);
    }
}

void mgk_torch_normal(int64_t seed, mgk_torch_precision precision, size_t count, double *values)
{
    mgk_twister t;
    mgk_twister_seed(&t, (uint32_t)(uint64_t)seed);
    if (count < BLOCK) {
        fill_few(&t, count, values);
        return;
    }
    for (size_t i = 0; i < count; i++)
        values[i] = uniform(&t, precision);
    for (size_t i = 0; i + BLOCK <= count; i += BLOCK)
        turn_block(values + i);
    if (count % BLOCK == 0)
        return;
    for (size_t i = count - BLOCK; i < count; i++)
        values[i] = uniform(&t, precision);
    turn_block(values + count - BLOCK);
}
