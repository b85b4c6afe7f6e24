/* SPDX-License-Identifier: MIT */
/*
 * The inertia of a symmetric matrix: the number of its positive eigenvalues. By Sylvester's law
 * K = L D Lᵀ has as many as D, so one factorisation, n³/3 operations, places every eigenvalue on
 * one side of zero. In float64, on the calling thread of the host.
 */
#ifndef MGK_KERNELS_INERTIA_H
#define MGK_KERNELS_INERTIA_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* The workspace of one thread, for matrices up to n_max; nothing is allocated per matrix. */
typedef struct mgk_inertia_work mgk_inertia_work;

typedef struct mgk_inertia {
    size_t positive; /* positive eigenvalues of K + E, the matrix of the computed factors */
    /*
     * An upper bound of ‖ |L| |D| |Lᵀ| ‖₂, so that ‖E‖₂ <= γ · growth with
     * γ = (n + 2) 2⁻⁵³ / (1 - (n + 2) 2⁻⁵³) (Higham, Accuracy and Stability, §11.1, with one more
     * rounding: pivots are inverted). There is no pivoting: growth is near ‖K‖ for matrices that
     * are almost positive semidefinite, and larger for others. Not finite if a pivot but the last
     * is 0; then nothing is known. (The last one divides nothing.)
     */
    double growth;
} mgk_inertia;

/*
 * Creates a workspace. STATUS_SHAPE: n_max is above 32768; STATUS_MEMORY; STATUS_USAGE,
 * STATUS_DEVICE: see kernels/cpu/variant.h.
 */
mgk_status mgk_inertia_open(size_t n_max, mgk_inertia_work **out);

/* Releases the workspace; NULL is accepted. */
void mgk_inertia_close(mgk_inertia_work *work);

/*
 * The lower triangle of CᵀC [n, n] for c [n, n], n <= n_max; the rest of `product` is undefined.
 * causal: c is zero right of the diagonal, which saves two thirds of the operations. Rows are
 * stride >= n and product_stride >= n apart. The error of each entry is at most
 * (n + 1) 2⁻⁵³ / (1 - (n + 1) 2⁻⁵³) times the entry of |C|ᵀ|C|.
 */
void mgk_inertia_square(const mgk_inertia_work *work, size_t n, bool causal, const double *c,
                        size_t stride, double *product, size_t product_stride);

/*
 * Factors the lower triangle of k [n, n], n <= n_max, rows `stride` >= n apart, in place: D
 * replaces the diagonal, the unit lower L the entries below it. Entries above the diagonal have
 * no influence and are undefined afterwards. Magnitudes must be below 2^1000; underflow adds about
 * n 2^-1022 to E.
 */
mgk_inertia mgk_inertia_count(mgk_inertia_work *work, size_t n, double *k, size_t stride);

#endif
