/* Orthonormal bases of a few long rows, by LAPACK's Householder QR. */
#ifndef MGK_ANALYSIS_ROWS_H
#define MGK_ANALYSIS_ROWS_H

#include <stdbool.h>
#include <stddef.h>

/* Doubles of work for `count` rows. */
enum { MGK_ROWS_WORK = 65 };

/*
 * Rows [count, n], count <= n, become Rᵀ times orthonormal ones, of which `rows` then holds
 * Householder's reflections; r [count, count] takes R, upper triangular. work [MGK_ROWS_WORK
 * count]. False where they are not finite.
 */
bool mgk_rows_factor(size_t n, size_t count, double *rows, double *r, double *work);

/* The same, and the orthonormal rows take the place of the others. */
bool mgk_rows_orthonormalise(size_t n, size_t count, double *rows, double *r, double *work);

#endif
