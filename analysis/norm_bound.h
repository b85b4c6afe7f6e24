/*
 * A bound on the norm of a symmetric operator E, of which only images of vectors are known.
 *
 * Let λ be its eigenvalue of largest magnitude and q the eigenvector, and let the s entries of
 * random vectors w be independent and uniform in [-1/2, 1/2]. For whatever unit vector q is, qᵀw
 * has a density of at most √2 (Ball 1986), so |qᵀw| < t has a probability of at most 2√2 t, and
 * (2√2 t)^s of all s vectors. Otherwise one of them has |qᵀ E^m w| = |λ|^m |qᵀw| >= |λ|^m t, and
 *     |λ| <= max (‖E^m w‖ / t)^(1 / m)        for every m at once.
 * Nothing is assumed of E but that it was there before the vectors were drawn.
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

/*
 * At least ‖E‖ of order n, but with a probability of MGK_NORM_BOUND_RISK; images of vectors of
 * length 1 are off by `noise` at most. It gets better with each image, and as soon as it is
 * `enough` there are no more. `seed` draws the vectors. Infinite where images are not finite.
 */
double mgk_norm_bound_find(mgk_norm_bound *bound, size_t n, mgk_norm_operator apply, void *state,
                           uint64_t seed, double noise, double enough);

#endif
