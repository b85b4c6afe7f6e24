/* SPDX-License-Identifier: MIT */
#include "base/random.h"

#include <math.h>

double mgk_random_normal(uint64_t seed, uint64_t stream, uint64_t index)
{
    const double two_pi = 6.28318530717958647692;
    /* 1 - u lies in (0, 1], where the logarithm is finite. */
    double radius = sqrt(-2.0 * log(1.0 - mgk_random_uniform(seed, stream, 2 * index)));
    return radius * cos(two_pi * mgk_random_uniform(seed, stream, 2 * index + 1));
}
