/* SPDX-License-Identifier: MIT */
/*
 * Places the squares of singular values: the inertia of AᵀA - x I is the number of those above x.
 * After the product AᵀA, n³ operations or a third of that for causal attention, each shift x takes
 * n³/3 more.
 */
#ifndef MGK_ANALYSIS_GRAM_H
#define MGK_ANALYSIS_GRAM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "kernels/backend.h"

/* The workspace of one thread, for matrices up to n_max; nothing is allocated per matrix. */
typedef struct mgk_gram mgk_gram;

/* #{ σ² > x + δ } <= count <= #{ σ² > x - δ } */
typedef struct mgk_gram_count {
    size_t count;
    double bound; /* δ: rounding errors cannot exceed it */
    /*
     * The expected result of mgk_gram_measure: roundings without a pattern, √n in place of n
     * (Higham & Mary 2019). It only suggests shifts; no certificate depends on it.
     */
    double expected;
} mgk_gram_count;

/* Errors as mgk_inertia_open (kernels/spectral/inertia.h). Close with mgk_gram_close. */
mgk_status mgk_gram_open(size_t n_max, mgk_gram **out);
void mgk_gram_close(mgk_gram *gram); /* NULL is accepted */

/*
 * The same on a device of double precision that has shifted_inertia: matrices are arrays of the
 * device; rows of vectors are on the host. If the device fails, all counts fail, and
 * mgk_gram_status returns the reason.
 */
mgk_status mgk_gram_open_on(mgk_device *device, size_t n_max, mgk_gram **out);
mgk_status mgk_gram_status(const mgk_gram *gram);

/*
 * Loads a finite matrix [n, n], packed, 1 <= n <= n_max, and keeps it until the next mgk_gram_load.
 * The matrix is overwritten by one with the same singular values up to *error, below called A: the
 * direction A 1 = 1 is split off (deflation.h) if it holds most of ‖A‖², and more than `least`.
 */
void mgk_gram_load(mgk_gram *gram, size_t n, double *matrix, double least, double *error);

/* δ at most shifts; mgk_gram_take gives the δ of its own count. */
mgk_gram_count mgk_gram_expect(const mgk_gram *gram);

/* Counts at x > 0; false if the factorisation fails. */
bool mgk_gram_take(mgk_gram *gram, double x, mgk_gram_count *out);

/*
 * The measured δ of the last count (norm_bound.h): at least the rounding errors, except with a
 * probability of MGK_NORM_BOUND_RISK. Measuring stops when δ is at most `enough`, or does not
 * improve. The random vectors depend only on the bits of the matrix and of the factors. Infinite if
 * it cannot be measured.
 */
double mgk_gram_measure(mgk_gram *gram, double enough);

/*
 * out [count, n] = E v of each row v of rows [count, n], none longer than 1, where the last count
 * is exact for AᵀA + E: mgk_gram_measure bounds ‖E‖. The error of each image is at most 2⁻⁵⁰ of
 * itself plus the returned value, which is infinite if E is not available.
 */
double mgk_gram_apply_error(mgk_gram *gram, size_t count, const double *rows, double *out);

/* The x of the last count, whose factors are kept. */
double mgk_gram_shift(const mgk_gram *gram);

/* Replaces each row f of rows [count, n] by (AᵀA - x I)⁻¹ f, with the x of the last count. */
void mgk_gram_solve(mgk_gram *gram, size_t count, double *rows);

/* Replaces each row f of rows [count, n] by AᵀA f. */
void mgk_gram_multiply(mgk_gram *gram, size_t count, double *rows);

/* out [count, n] = A x, or Aᵀ x, of each row x of rows [count, n]. */
void mgk_gram_apply(mgk_gram *gram, bool transposed, size_t count, const double *rows, double *out);

/*
 * out [count, n] = A x of each row x, each sum rounded once: the error is at most 2⁻⁵³ of itself
 * plus the returned value. If α and b were split off, out[0] is 0. Returns infinity if A is not
 * available.
 */
double mgk_gram_apply_exactly(mgk_gram *gram, size_t count, const double *rows, double *out);

/* Rows and columns of A. */
size_t mgk_gram_order(const mgk_gram *gram);

/* α if the direction A 1 = 1 was split off, A = [[α, bᵀ], [0, C]], or 0. */
double mgk_gram_split(const mgk_gram *gram);

/*
 * Memory of the host for n_max² reals, overwritten by a count; NULL if a device counts. Owned by
 * the gram.
 */
double *mgk_gram_memory(mgk_gram *gram);

/* An upper bound of σ₁. */
double mgk_gram_norm(const mgk_gram *gram);

#endif
