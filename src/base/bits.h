/* SPDX-License-Identifier: MIT */
#ifndef MGK_BASE_BITS_H
#define MGK_BASE_BITS_H

/* An amount of information in bits, from the same in nats. */
static inline double mgk_bits(double nats)
{
    return nats / 0.69314718055994531; /* ln 2 */
}

#endif
