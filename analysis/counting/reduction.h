/* SPDX-License-Identifier: MIT */
/*
 * Exact reductions of a matrix to a smaller one with the same non-zero singular values. Keys
 * without attention are columns of zeros, which add nothing to A Aᵀ; repeated queries are equal
 * rows, and k equal rows count in AᵀA like one row times √k. If every query attends to a single
 * key, AᵀA is diagonal.
 */
#ifndef MGK_ANALYSIS_REDUCTION_H
#define MGK_ANALYSIS_REDUCTION_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Reduces `a` [n, n], finite, in place to a packed square matrix; returns its order, at most n. The
 * other singular values of `a` are zeros. `scratch` [3 n] is overwritten. Singular values move by
 * at most the rounding of √k, 2⁻⁵² ‖A‖ (Frobenius).
 */
size_t mgk_reduce(size_t n, double *a, double *scratch);

/* Whether mgk_reduce would change `a`. It may for different rows that look equal. `scratch` [3 n]
 * is overwritten. */
bool mgk_reduces(size_t n, const double *a, double *scratch);

/*
 * Whether every row of `a` [n, n] has at most one non-zero entry; then sigma [n] receives the
 * singular values, the norms of the columns, descending. Squares of entries must neither overflow
 * nor underflow; the error is at most (n + 4) 2⁻⁵³ σ₁.
 */
bool mgk_reduce_single_entries(size_t n, const double *a, double *sigma);

#endif
