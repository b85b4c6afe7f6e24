/*
 * Taking out the one direction that every attention matrix has. Rows that sum to one mean A 1 = 1,
 * and where all rows look alike nearly all of A lies in that direction. Reflections on either side,
 * H e₁ = 1/√n and Q A H e₁ = α e₁, give
 *     Q A H = [[α, bᵀ], [0, C]],
 * and for 0 < x < α² the matrix AᵀA - x I has one positive eigenvalue more than
 *     CᵀC - x I - x / (α² - x) b bᵀ,
 * its Schur complement. So singular values can be counted in CᵀC, whose rounding errors are those
 * of ‖C‖², not of ‖A‖² = σ₁².
 */
#ifndef MGK_ANALYSIS_DEFLATION_H
#define MGK_ANALYSIS_DEFLATION_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Transforms `a` [n, n], packed, n >= 1, in place: afterwards α is a[0], bᵀ the rest of row 0 and C
 * what is below it; the zeros below α are written. `scratch` [2 n] is overwritten. Returns how far
 * singular values may have moved.
 */
double mgk_deflate(size_t n, double *a, double *scratch);

/* The share of ‖A‖² (Frobenius) that C would have, without transforming anything. */
double mgk_deflation_remainder(size_t n, const double *a, double *scratch);

/*
 * Whether it is worth it: the direction holds most of ‖A‖² = `squares`, so that what is left rounds
 * less, and more than `least`.
 */
bool mgk_deflation_pays(double remainder, double squares, double least);

/*
 * The pieces of mgk_deflate, for those who do it elsewhere. mgk_reflector makes x [n] into w with
 * (I - 2 w wᵀ / wᵀw) x = [mgk_reflected(x), 0, …]; the sign is the one that adds. Returns 2 / wᵀw,
 * or 0 if x is 0. mgk_deflation_error is how far singular values may move, `squares` being ‖A‖².
 */
double mgk_reflector(size_t n, double *x);
double mgk_reflected(size_t n, const double *x);
double mgk_deflation_error(size_t n, double squares);

#endif
