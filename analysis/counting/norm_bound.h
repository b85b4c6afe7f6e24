/*
 * A bound on the norm of a symmetric operator E, of which only images of vectors are known.
 *
 * Let λ be its eigenvalue of largest magnitude and q the eigenvector, and let the s entries of
 * random vectors w be independent and uniform in [-1/2, 1/2]. For whatever unit vector q is, qᵀw
 * has a density of at most √2 (Ball 1986), so |qᵀw| < t has a probability of at most 2√2 t, and
 * (2√2 t)^s of all s vectors. Otherwise the share of q in one of the unit vectors v₀ = w / ‖w‖ is
 * at least t / ‖w‖, and grows from there in Lanczos' recurrence
 *     E v_k = β_k v_(k-1) + α_k v_k + β_(k+1) v_(k+1):
 * with c_k = qᵀv_k,
 *     λ c_k = β_k c_(k-1) + α_k c_k + β_(k+1) c_(k+1).
 * No unit vector has a share above 1, so any λ for which one would is none of E's. Of the numbers
 * that are left the largest is the bound. That is the best that these images tell (of all
 * polynomials of E the one that is largest at λ), holds for every number of steps at once, and does
 * not ask that the vectors be orthogonal. Nothing is assumed of E but that it was there before the
 * vectors were drawn.
 */
#ifndef MGK_ANALYSIS_NORM_BOUND_H
#define MGK_ANALYSIS_NORM_BOUND_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* How likely a bound is to be wrong, at most; with s = MGK_RESIDUAL_VECTORS. */
#define MGK_NORM_BOUND_RISK 1e-10

/*
 * Puts the images of MGK_RESIDUAL_VECTORS vectors in their place; they are mgk_reduction_pitch(n)
 * apart.
 */
typedef void (*mgk_norm_operator)(void *state, double *vectors);

/* The workspace of one thread, for operators up to n_max. */
typedef struct mgk_norm_bound mgk_norm_bound;

/* STATUS_MEMORY; STATUS_DEVICE as mgk_blas_open. Closed with mgk_norm_bound_close. */
mgk_status mgk_norm_bound_open(size_t n_max, mgk_norm_bound **out);
void mgk_norm_bound_close(mgk_norm_bound *bound); /* NULL is accepted */

/* Draws the vectors for an operator of order n. */
void mgk_norm_bound_begin(mgk_norm_bound *bound, size_t n, uint64_t seed);

/*
 * At least ‖E‖, but with a probability of MGK_NORM_BOUND_RISK; images of vectors of length 1 are
 * off by `noise` at most, and by 2⁻⁵⁰ of themselves. It gets better with each image: there are no
 * more as soon as it is `enough`, or when two have gained less than a hundredth each. Asked again
 * for a better one of the same E it goes on from there. Infinite where images are not finite.
 */
double mgk_norm_bound_find(mgk_norm_bound *bound, mgk_norm_operator apply, void *state,
                           double noise, double enough);

#endif
