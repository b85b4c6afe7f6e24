/* SPDX-License-Identifier: MIT */
#include "base/numpy_random.h"

enum { WORDS = MGK_MT19937_WORDS, APART = 397 };

void mgk_numpy_seed(mgk_numpy_random *random, uint32_t seed)
{
    random->used = WORDS;
    random->words[0] = seed;
    for (uint32_t i = 1; i < WORDS; i++) {
        const uint32_t last = random->words[i - 1];
        random->words[i] = 1812433253U * (last ^ last >> 30) + i;
    }
}

/* Replaces all words by the next ones. */
static void twist(mgk_numpy_random *random)
{
    uint32_t *words = random->words;
    for (int i = 0; i < WORDS; i++) {
        const uint32_t joined = (words[i] & 0x80000000U) | (words[(i + 1) % WORDS] & 0x7fffffffU);
        words[i] = words[(i + APART) % WORDS] ^ joined >> 1 ^ (joined & 1 ? 0x9908b0dfU : 0);
    }
    random->used = 0;
}

static uint32_t next(mgk_numpy_random *random)
{
    if (random->used == WORDS)
        twist(random);
    uint32_t y = random->words[random->used++];
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680U;
    y ^= y << 15 & 0xefc60000U;
    return y ^ y >> 18;
}

/* A number up to `most`, by drawing as many bits as it has until they are not more. */
static uint32_t next_up_to(mgk_numpy_random *random, uint32_t most)
{
    uint32_t mask = most, drawn;
    for (int shift = 1; shift < 32; shift *= 2)
        mask |= mask >> shift;
    do
        drawn = next(random) & mask;
    while (drawn > most);
    return drawn;
}

void mgk_numpy_shuffle(mgk_numpy_random *random, int32_t *numbers, int count)
{
    for (int i = count - 1; i > 0; i--) {
        const uint32_t other = next_up_to(random, (uint32_t)i);
        const int32_t number = numbers[i];
        numbers[i] = numbers[other];
        numbers[other] = number;
    }
}
