/* SPDX-License-Identifier: MIT */
/*
 * Householder reflectors: H = I − tau u uᵀ with u_0 = 1 maps x to (beta, 0, …, 0). The vectors
 * belong to matrices whose largest entry is between 2^-300 and 2^300.
 */
#ifndef MGK_KERNELS_CPU_REFLECTOR_H
#define MGK_KERNELS_CPU_REFLECTOR_H

#include <math.h>

typedef struct mgk_reflector {
    double beta, tau, scale; /* u_i = scale x_i for i > 0 */
} mgk_reflector;

/*
 * From x_0 and the sum of squares of the other entries. Sums below 2^-900 are treated as 0: their
 * rounding errors would make H far from orthogonal, and the dropped entries are below 2^-150 of the
 * largest entry.
 */
static inline mgk_reflector mgk_reflector_make(double first, double squares)
{
    if (squares < 0x1p-900)
        return (mgk_reflector){.beta = first};
    double beta = -copysign(sqrt(first * first + squares), first);
    return (mgk_reflector){beta, (beta - first) / beta, 1 / (first - beta)};
}

#endif
