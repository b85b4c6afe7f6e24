/*
 * The inertia of a symmetric matrix: how many of its eigenvalues are positive. By Sylvester's law
 * K = L D Lᵀ has as many as D, so one factorisation, n³/3 operations, places every eigenvalue on
 * one side of zero or the other. In float64, on the calling thread of the host.
 */
#ifndef MGK_KERNELS_INERTIA_H
#define MGK_KERNELS_INERTIA_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* The workspace of one thread, for matrices up to n_max; nothing is allocated per matrix. */
typedef struct mgk_inertia_work mgk_inertia_work;

typedef struct mgk_inertia {
    size_t positive; /* eigenvalues above 0 of the matrix that was factored in truth, K + E */
    /*
     * At least ‖ |L| |D| |Lᵀ| ‖₂, so that ‖E‖₂ <= γ · growth with γ = (n + 2) 2⁻⁵³ / (1 - (n + 2)
     * 2⁻⁵³) (Higham, Accuracy and Stability, §11.1, and one rounding more: pivots are inverted).
     * There is no pivoting: growth is near ‖K‖ for matrices that are almost positive semidefinite,
     * and tells when it is not. Infinite or NaN if a pivot vanished, and then nothing is known.
     */
    double growth;
} mgk_inertia;

/*
 * Creates a workspace. STATUS_SHAPE: n_max is above 32768; STATUS_MEMORY; STATUS_USAGE,
 * STATUS_DEVICE: see kernels/cpu/variant.h.
 */
mgk_status mgk_inertia_open(size_t n_max, mgk_inertia_work **out);

/* Releases it; NULL is accepted. */
void mgk_inertia_close(mgk_inertia_work *work);

/*
 * The lower triangle of the product CᵀC [n, n] of c [n, n], n <= n_max, whose singular values are
 * to be placed; causal: c has nothing right of its diagonal, a third of the work. Rows are stride
 * and product_stride >= n apart. The rest of the product is undefined. No entry is further off than
 * (n + 1) 2⁻⁵³ / (1 - (n + 1) 2⁻⁵³) times that of |C|ᵀ|C|.
 */
void mgk_inertia_square(const mgk_inertia_work *work, size_t n, bool causal, const double *c,
                        size_t stride, double *product, size_t product_stride);

/*
 * Factors the lower triangle of k [n, n], n <= n_max, whose rows are `stride` >= n apart, in place:
 * D is left on the diagonal, L, whose own diagonal is 1, below it. What is above is neither read
 * nor written. Magnitudes are below 2^1000; what underflows adds some n 2^-1022 to E.
 */
mgk_inertia mgk_inertia_count(mgk_inertia_work *work, size_t n, double *k, size_t stride);

#endif
