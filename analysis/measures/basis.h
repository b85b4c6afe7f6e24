/* SPDX-License-Identifier: MIT */
/* Orthonormal bases of what the weights of a head span. */
#ifndef MGK_ANALYSIS_BASIS_H
#define MGK_ANALYSIS_BASIS_H

#include <stddef.h>

#include "base/status.h"

/*
 * Replaces vectors [count, width] by an orthonormal basis of their span, [*rank, width], from a QR
 * decomposition with pivots (Golub 1965). Directions shorter than MGK_BASIS_TOLERANCE times the
 * longest vector are left out; *rank is 0 if all vectors are 0. Needs mgk_blas_open.
 * STATUS_MEMORY; STATUS_NUMERIC: LAPACK refuses the vectors.
 */
mgk_status mgk_basis_make(size_t count, size_t width, double *vectors, size_t *rank);

#define MGK_BASIS_TOLERANCE 1e-6

#endif
