/* SPDX-License-Identifier: MIT */
/*
 * The first half of singular values by bisection: the bidiagonal form (bisection.cu has the
 * second).
 */
#ifndef MGK_KERNELS_CUDA_BIDIAGONAL_H
#define MGK_KERNELS_CUDA_BIDIAGONAL_H

#include "kernels/cuda/operations.h"

/* Matrices that are solved together; all arrays are in device memory. */
struct mgk_bidiagonal {
    size_t count;
    size_t n;               /* largest order, at most MGK_BISECTION_ORDER */
    size_t pitch;           /* distance of two matrices */
    size_t *orders;         /* [count] */
    const double *matrices; /* [count, pitch], matrix i packed as [orders[i], orders[i]] */
    double
        *bands; /* [count, 2 n]: d_0, e_0, d_1, e_1, … of the bidiagonal form of A / 2^exponent */
    int *exponents; /* [count] */
};

/*
 * Computes bands and exponents; does not change the matrices. An entry that is not finite gives a
 * band of NaN. STATUS_UNSUPPORTED: a matrix of order n does not fit the device's shared memory.
 */
mgk_status mgk_cuda_bidiagonalise(mgk_device *device, const mgk_bidiagonal *batch);

#endif
