/* SPDX-License-Identifier: MIT */
#include "base/hash.h"

#include <sys/random.h>
#include <time.h>

uint64_t mgk_hash_seed(void)
{
    uint64_t seed;
    struct timespec now = {0};
    if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed)) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        seed = mgk_mix((uint64_t)now.tv_nsec ^ (uint64_t)now.tv_sec << 30) ^ (uintptr_t)&now;
    }
    return seed ? seed : 1;
}
