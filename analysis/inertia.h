/*
 * The inertia of a symmetric matrix: how many of its eigenvalues are positive. By Sylvester's law
 * K = L D Lᵀ has as many as D, so one factorisation, n³/3 operations, places every eigenvalue on
 * one side of zero or the other.
 */
#ifndef MGK_ANALYSIS_INERTIA_H
#define MGK_ANALYSIS_INERTIA_H

#include <stddef.h>

typedef struct mgk_inertia {
    size_t positive; /* eigenvalues above 0 of the matrix that was factored in truth, K + E */
    /*
     * At least ‖ |L| |D| |Lᵀ| ‖₂, so that ‖E‖₂ <= γ · growth with γ = (n + 1) 2⁻⁵³ / (1 - (n + 1)
     * 2⁻⁵³) (Higham, Accuracy and Stability, §11.1). There is no pivoting: growth is near ‖K‖ for
     * matrices that are almost positive semidefinite, and tells when it is not. Infinite or NaN if
     * a pivot vanished, and then nothing is known.
     */
    double growth;
} mgk_inertia;

/* Doubles of scratch memory for matrices up to [n, n]. */
size_t mgk_inertia_scratch(size_t n);

/*
 * Factors the lower triangle of k [n, n], whose rows are `stride` >= n apart, in place: D is left
 * on the diagonal, L, whose own diagonal is 1, below it. What is above is neither read nor written.
 */
mgk_inertia mgk_inertia_count(size_t n, double *k, size_t stride, double *scratch);

#endif
