/* The two halves of singular values by bisection: bidiagonal form, then its values. */
#ifndef MGK_KERNELS_CUDA_BIDIAGONAL_H
#define MGK_KERNELS_CUDA_BIDIAGONAL_H

#include "kernels/cuda/operations.h"

/* Matrices that are solved together; all arrays lie in device memory. */
struct mgk_bidiagonal {
    size_t count;
    size_t n;               /* the largest of the orders, at most MGK_BISECTION_ORDER */
    size_t pitch;           /* entries from one matrix to the next */
    size_t *orders;         /* [count] */
    const double *matrices; /* [count, pitch], matrix i packed as [orders[i], orders[i]] */
    double
        *bands; /* [count, 2 n]: d_0, e_0, d_1, e_1, … of the bidiagonal form of A / 2^exponent */
    int *exponents; /* [count] */
};

/*
 * Makes bands and exponents; the matrices are not changed. An entry that is not finite makes a band
 * of NaN. STATUS_UNSUPPORTED: the device's shared memory has no room for a matrix of order n.
 */
mgk_status mgk_cuda_bidiagonalise(mgk_device *device, const mgk_bidiagonal *batch);

#endif
