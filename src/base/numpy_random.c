/* SPDX-License-Identifier: MIT */
#include "base/numpy_random.h"

/* A number up to `most`, by drawing as many bits as it has until they are not more. */
static uint32_t next_up_to(mgk_twister *random, uint32_t most)
{
    uint32_t mask = most, drawn;
    for (int shift = 1; shift < 32; shift *= 2)
        mask |= mask >> shift;
    do
        drawn = mgk_twister_draw(random) & mask;
    while (drawn > most);
    return drawn;
}

void mgk_numpy_shuffle(mgk_twister *random, int32_t *numbers, int count)
{
    for (int i = count - 1; i > 0; i--) {
        const uint32_t other = next_up_to(random, (uint32_t)i);
        const int32_t number = numbers[i];
        numbers[i] = numbers[other];
        numbers[other] = number;
    }
}
