/* SPDX-License-Identifier: MIT */
/*
 * The generator is MT19937 (Matsumoto and Nishimura 1998), seeded with the lower 32 bits. Normal
 * numbers are those of Box and Muller (1958). Fewer than 16 are drawn one after the other; more are
 * made of uniform ones in blocks of 16, of which 8 become lengths and 8 angles, and a rest draws
 * the last 16 anew.
 */
#include "model/formats/torch_normal.h"

#include <math.h>

enum { STATE = 624, SHIFT = 397, BLOCK = 16, HALF = BLOCK / 2 };

typedef struct twister {
    uint32_t state[STATE];
    size_t used; /* words of the state that are drawn */
} twister;

static void begin(twister *t, int64_t seed)
{
    t->state[0] = (uint32_t)(uint64_t)seed;
    for (uint32_t i = 1; i < STATE; i++)
        t->state[i] = 1812433253U * (t->state[i - 1] ^ t->state[i - 1] >> 30) + i;
    t->used = STATE;
}

static void twist(twister *t)
{
    for (size_t i = 0; i < STATE; i++) {
        const uint32_t next = t->state[(i + 1) % STATE];
        const uint32_t mixed = (t->state[i] & 0x80000000U) | (next & 0x7fffffffU);
        t->state[i] = t->state[(i + SHIFT) % STATE] ^ mixed >> 1 ^ (mixed & 1 ? 0x9908b0dfU : 0);
    }
    t->used = 0;
}

static uint32_t draw(twister *t)
{
    if (t->used == STATE)
        twist(t);
    uint32_t y = t->state[t->used++];
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680U;
    y ^= y << 15 & 0xefc60000U;
    return y ^ y >> 18;
}

/* In [0, 1): 24 bits of a word, or 53 of two. */
static double uniform(twister *t, mgk_torch_precision precision)
{
    if (precision == MGK_TORCH_SINGLE)
        return (draw(t) & 0xffffffU) * 0x1p-24;
    const uint64_t high = draw(t);
    return (double)((high << 32 | draw(t)) & 0x1fffffffffffffU) * 0x1p-53;
}

/* Few numbers are drawn in double precision in any case. */
static void fill_few(twister *t, size_t count, double *values)
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
    twister t;
    begin(&t, seed);
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
