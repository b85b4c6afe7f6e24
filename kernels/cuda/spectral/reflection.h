/* SPDX-License-Identifier: MIT */
/* Householder reflections of vectors whose entries are at most about 1. */
#ifndef MGK_KERNELS_CUDA_REFLECTION_H
#define MGK_KERNELS_CUDA_REFLECTION_H

#include <math.h>

#include "kernels/cuda/cuda.h"

/*
 * Squared lengths below this, of entries up to 1, may have lost digits to underflow. Such short
 * vectors are dropped, which moves singular values by at most 1e-140.
 */
__device__ static const double mgk_shortest_squared = 1e-280;

/* I - τ w wᵀ, w = [1, scale·tail], maps [head, tail] to [value, 0]. */
struct mgk_reflection {
    double value, tau, scale;
};

__device__ static inline mgk_reflection mgk_reflect(double head, double tail_squares)
{
    if (!(tail_squares > mgk_shortest_squared))
        return {head, 0, 0};
    const double length = sqrt(head * head + tail_squares), value = head > 0 ? -length : length;
    return {value, (value - head) / value, 1 / (head - value)};
}

#endif
