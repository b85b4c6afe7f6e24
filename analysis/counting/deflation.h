/* SPDX-License-Identifier: MIT */
/*
 * Splits off the one direction that every attention matrix has. Rows that sum to one mean A 1 = 1;
 * if all rows are similar, nearly all of A lies in that direction. Reflections on either side,
 * H e₁ = 1/√n and Q A H e₁ = α e₁, give
 *     Q A H = [[α, bᵀ], [0, C]],
 * and for 0 < x < α² the matrix AᵀA - x I has one positive eigenvalue more than its Schur
 * complement
 *     CᵀC - x I - x / (α² - x) b bᵀ.
 * So singular values can be counted in CᵀC, whose rounding errors are relative to ‖C‖², not to
 * ‖A‖² = σ₁².
 */
#ifndef MGK_ANALYSIS_DEFLATION_H
#define MGK_ANALYSIS_DEFLATION_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Transforms `a` [n, n], packed, n >= 1, in place: α is written to a[0], bᵀ to the rest of row 0,
 * zeros below α, and C to the remaining block. `scratch` [2 n] is overwritten. Returns how far
 * singular values may have moved.
 */
double mgk_deflate(size_t n, double *a, double *scratch);

/* ‖C‖² / ‖A‖² (Frobenius) as mgk_deflate would leave it; does not change `a`. scratch [2 n]. */
double mgk_deflation_remainder(size_t n, const double *a, double *scratch);

/*
 * Whether deflation reduces rounding errors enough: the direction holds most of ‖A‖² = `squares`,
 * and more than `least`.
 */
bool mgk_deflation_pays(double remainder, double squares, double least);

/*
 * The parts of mgk_deflate, for an implementation on a device. mgk_reflector replaces x [n] by w
 * with (I - 2 w wᵀ / wᵀw) x = [mgk_reflected(x), 0, …], with the sign that avoids cancellation, and
 * returns 2 / wᵀw, or 0 if x is 0. mgk_deflation_error: how far singular values may move, for
 * ‖A‖² = `squares`.
 */
double mgk_reflector(size_t n, double *x);
double mgk_reflected(size_t n, const double *x);
double mgk_deflation_error(size_t n, double squares);

#endif
