/* SPDX-License-Identifier: MIT */
/*
 * The lowest and the highest eigenvalue of a symmetric operator: Lanczos from one random vector
 * with full orthogonalisation. For a single pair it is cheaper than blocks (lanczos.h), and it has
 * no smallest n.
 */
#ifndef MGK_ANALYSIS_EXTREMES_H
#define MGK_ANALYSIS_EXTREMES_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/counting/lanczos.h"
#include "base/status.h"

typedef enum mgk_end { MGK_LOWEST, MGK_HIGHEST } mgk_end;

/* An end of the spectrum in a subspace: the true end is at least as far out. */
typedef struct mgk_extreme {
    double value;
    double residual; /* distance to an eigenvalue of the operator, at most */
} mgk_extreme;

/* The workspace of one thread, for operators up to n_max; it holds one search at a time. */
typedef struct mgk_extremes mgk_extremes;

/* STATUS_MEMORY; STATUS_DEVICE as mgk_blas_open. Closed with mgk_extremes_close. */
mgk_status mgk_extremes_open(size_t n_max, mgk_extremes **out);
void mgk_extremes_close(mgk_extremes *extremes); /* NULL is accepted */

/*
 * Starts a search, n >= 1. The first vector is random (the same for the same n) without negative
 * entries. `apply` receives one vector at a time; `state` must live until the search ends.
 */
void mgk_extremes_begin(mgk_extremes *extremes, size_t n, mgk_lanczos_operator apply, void *state);

/* Does a few more steps. False if the search has ended, or images are not finite. */
bool mgk_extremes_step(mgk_extremes *extremes);

/* The current approximation of an end; NaN if LAPACK fails. */
mgk_extreme mgk_extremes_look(mgk_extremes *extremes, mgk_end end);

/*
 * The unit vector [n] of an end after mgk_extremes_look; owned by the workspace, overwritten by the
 * next call.
 */
const double *mgk_extremes_vector(mgk_extremes *extremes, mgk_end end);

#endif
