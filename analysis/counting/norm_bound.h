/* SPDX-License-Identifier: MIT */
/*
 * An upper bound of the norm of a symmetric operator E, from images of vectors alone.
 *
 * Let λ be its eigenvalue of largest magnitude and q the eigenvector, and let the entries of s
 * random vectors w be independent and uniform in [-1/2, 1/2]. For any unit vector q, qᵀw has a
 * density of at most √2 (Ball 1986), so |qᵀw| < t has a probability of at most 2√2 t, and (2√2 t)^s
 * for all s vectors. Otherwise the component of q in one of the unit vectors v₀ = w / ‖w‖ is at
 * least t / ‖w‖, and grows in Lanczos' recurrence
 *     E v_k = β_k v_(k-1) + α_k v_k + β_(k+1) v_(k+1):
 * with c_k = qᵀv_k,
 *     λ c_k = β_k c_(k-1) + α_k c_k + β_(k+1) c_(k+1).
 * A unit vector has no component above 1, so any λ that would give one is not an eigenvalue of E.
 * The bound is the largest λ that is not excluded. It is the best bound from these images (over all
 * polynomials of E the one that is largest at λ), holds for every number of steps at once, and does
 * not need orthogonal vectors. The only assumption is that E does not depend on the random vectors.
 */
#ifndef MGK_ANALYSIS_NORM_BOUND_H
#define MGK_ANALYSIS_NORM_BOUND_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* The probability of a wrong bound, at most; with s = MGK_RESIDUAL_VECTORS. */
#define MGK_NORM_BOUND_RISK 1e-10

/* Replaces each of MGK_RESIDUAL_VECTORS vectors, mgk_reduction_pitch(n) apart, by its image. */
typedef void (*mgk_norm_operator)(void *state, double *vectors);

/* The workspace of one thread, for operators up to n_max. */
typedef struct mgk_norm_bound mgk_norm_bound;

/* STATUS_MEMORY; STATUS_DEVICE as mgk_blas_open. Closed with mgk_norm_bound_close. */
mgk_status mgk_norm_bound_open(size_t n_max, mgk_norm_bound **out);
void mgk_norm_bound_close(mgk_norm_bound *bound); /* NULL is accepted */

/* Draws the vectors for an operator of order n. */
void mgk_norm_bound_begin(mgk_norm_bound *bound, size_t n, uint64_t seed);

/*
 * An upper bound of ‖E‖, wrong with a probability of at most MGK_NORM_BOUND_RISK. The error of the
 * image of a unit vector is at most `noise` plus 2⁻⁵⁰ of the image. Each step improves the bound;
 * it stops when the bound is at most `enough`, or after two steps that each gained less than a
 * hundredth. A later call for the same E continues. Infinite if images are not finite.
 */
double mgk_norm_bound_find(mgk_norm_bound *bound, mgk_norm_operator apply, void *state,
                           double noise, double enough);

#endif
