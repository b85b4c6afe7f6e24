/* SPDX-License-Identifier: MIT */
/*
 * Error bounds of rounding to nearest in double precision, which certify ranks. They are in one
 * file, so that the proofs of host and device use the same constants.
 */
#ifndef MGK_KERNELS_ROUNDING_H
#define MGK_KERNELS_ROUNDING_H

#include <stddef.h>

#include "base/random.h"

/* The unit roundoff u. */
#define MGK_ROUNDOFF 0x1p-53

/*
 * γ(k) = k u / (1 − k u). k successive roundings multiply by 1 + θ, |θ| <= γ(k), so the error of a
 * sum of k products in any order is at most γ(k) times the sum of their magnitudes (Higham,
 * Accuracy and Stability of Numerical Algorithms, 2002, Lemma 3.1 and (3.5)).
 */
MGK_HOST_DEVICE static inline double mgk_gamma(double roundings)
{
    return roundings * MGK_ROUNDOFF / (1 - roundings * MGK_ROUNDOFF);
}

/*
 * The largest eigenvalue of a matrix M without negative entries is at most the largest ratio
 * (M x)_i / x_i for any positive x (Collatz 1942). Returns an upper bound of that ratio, where
 * `largest` was computed by two or three products of n terms and a division.
 */
MGK_HOST_DEVICE static inline double mgk_collatz_bound(double largest, size_t n)
{
    return largest * (1 + 8 * (double)n * MGK_ROUNDOFF);
}

#endif
