/*
 * Exact reductions of a matrix: a smaller one with the same non-zero singular values. Keys that
 * nobody attends to are columns of zeros, which add nothing to A Aᵀ; repeated queries are equal
 * rows, of which k count in AᵀA as one times √k. Where every query attends to one key alone, AᵀA
 * is diagonal.
 */
#ifndef MGK_ANALYSIS_REDUCTION_H
#define MGK_ANALYSIS_REDUCTION_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Reduces `a` [n, n], finite, in place to a packed matrix of the order that is returned, at most n;
 * the other singular values of `a` are zeros. `scratch` [3 n] is overwritten. Singular values move
 * by no more than the rounding of √k, 2⁻⁵² ‖A‖ (Frobenius).
 */
size_t mgk_reduce(size_t n, double *a, double *scratch);

/*
 * Whether no row of `a` [n, n] has more than one entry that is not 0; then sigma [n] gets the
 * singular values, the norms of the columns, descending. Squares of entries must neither overflow
 * nor underflow; the values are off by at most (n + 4) 2⁻⁵³ σ₁.
 */
bool mgk_reduce_single_entries(size_t n, const double *a, double *sigma);

#endif
