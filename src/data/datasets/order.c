/* SPDX-License-Identifier: MIT */
/*
 * A permutation without a table. A balanced Feistel network permutes the smallest domain [0, 4^h)
 * that holds `size`; cycle walking (Black and Rogaway, "Ciphers with arbitrary finite domains",
 * 2002) repeats it until the value is below `size`, fewer than 4 times on average.
 */
#include "base/random.h"
#include "data/datasets/implementation.h"

enum { ROUNDS = 8 };

static uint64_t feistel(uint64_t seed, uint64_t stream, unsigned half_bits, uint64_t x)
{
    uint64_t mask = ((uint64_t)1 << half_bits) - 1;
    uint64_t left = x >> half_bits, right = x & mask;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        mgk_random4 block = mgk_random_block(seed, stream, round << 32 | right);
        uint64_t mixed = left ^ (block.word[0] & mask);
        left = right;
        right = mixed;
    }
    return left << half_bits | right;
}

uint64_t mgk_dataset_order(uint64_t seed, uint64_t epoch, uint64_t position, uint64_t size)
{
    if (size == 0)
        return position;
    unsigned half_bits = 1;
    while (half_bits < 32 && (size - 1) >> (2 * half_bits) > 0)
        half_bits++;
    uint64_t stream = mgk_data_stream(MGK_PURPOSE_ORDER, epoch);
    /* The loop ends: a cycle that starts below `size` returns below it. */
    uint64_t index = position % size;
    do {
        index = feistel(seed, stream, half_bits, index);
    } while (index >= size);
    return index;
}
