/* SPDX-License-Identifier: MIT */
/* How random words drop elements, the same on all devices. */
#ifndef MGK_KERNELS_DROPOUT_H
#define MGK_KERNELS_DROPOUT_H

#include <math.h>
#include <stdint.h>

/* Words from this one on keep their elements. At rate 1 it would be 2^32: the greatest word is
 * kept, times 0. */
static inline uint32_t mgk_drop_threshold(double rate)
{
    return (uint32_t)fmin(ceil(rate * 0x1p32), UINT32_MAX);
}

/* The factor of elements that are kept. */
static inline double mgk_drop_scale(double rate)
{
    return rate < 1 ? 1 / (1 - rate) : 0;
}

#endif
