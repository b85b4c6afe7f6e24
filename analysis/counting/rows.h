/* SPDX-License-Identifier: MIT */
/* Orthonormal bases of a few long rows, by LAPACK's Householder QR. */
#ifndef MGK_ANALYSIS_ROWS_H
#define MGK_ANALYSIS_ROWS_H

#include <stdbool.h>
#include <stddef.h>

/* Doubles of work for `count` rows. */
enum { MGK_ROWS_WORK = 65 };

/*
 * rows [count, n], count <= n, equal Rᵀ times orthonormal rows; `rows` receives Householder's
 * reflections, r [count, count] receives R, upper triangular. work [MGK_ROWS_WORK count]. False if
 * the rows are not finite.
 */
bool mgk_rows_factor(size_t n, size_t count, double *rows, double *r, double *work);

/* The same; `rows` receives the orthonormal rows. */
bool mgk_rows_orthonormalise(size_t n, size_t count, double *rows, double *r, double *work);

#endif
