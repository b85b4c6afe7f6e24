/* SPDX-License-Identifier: MIT */
#include "base/twister.h"

enum { WORDS = MGK_TWISTER_WORDS, APART = 397 };

void mgk_twister_seed(mgk_twister *twister, uint32_t seed)
{
    twister->used = WORDS;
    twister->words[0] = seed;
    for (uint32_t i = 1; i < WORDS; i++) {
        const uint32_t last = twister->words[i - 1];
        twister->words[i] = 1812433253U * (last ^ last >> 30) + i;
    }
}

/* Replaces all words by the next ones. */
static void twist(mgk_twister *twister)
{
    uint32_t *words = twister->words;
    for (int i = 0; i < WORDS; i++) {
        const uint32_t joined = (words[i] & 0x80000000U) | (words[(i + 1) % WORDS] & 0x7fffffffU);
        words[i] = words[(i + APART) % WORDS] ^ joined >> 1 ^ (joined & 1 ? 0x9908b0dfU : 0);
    }
    twister->used = 0;
}

uint32_t mgk_twister_draw(mgk_twister *twister)
{
    if (twister->used == WORDS)
        twist(twister);
    uint32_t y = twister->words[twister->used++];
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680U;
    y ^= y << 15 & 0xefc60000U;
    return y ^ y >> 18;
}
