/*
 * The lowest and the highest eigenvalue of a symmetric operator: Lanczos from one random vector
 * with full orthogonalisation. Where no more than one pair is wanted it is cheaper than blocks
 * (lanczos.h), and there is no smallest n.
 */
#ifndef MGK_ANALYSIS_EXTREMES_H
#define MGK_ANALYSIS_EXTREMES_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/counting/lanczos.h"
#include "base/status.h"

typedef enum mgk_end { MGK_LOWEST, MGK_HIGHEST } mgk_end;

/* An end of the spectrum, in a subspace: the true end lies no further in. */
typedef struct mgk_extreme {
    double value;
    double residual; /* an eigenvalue of the operator is within this of it */
} mgk_extreme;

/* The workspace of one thread, for operators up to n_max; it holds one search at a time. */
typedef struct mgk_extremes mgk_extremes;

/* STATUS_MEMORY; STATUS_DEVICE as mgk_blas_open. Closed with mgk_extremes_close. */
mgk_status mgk_extremes_open(size_t n_max, mgk_extremes **out);
void mgk_extremes_close(mgk_extremes *extremes); /* NULL is accepted */

/*
 * Begins a search, n >= 1. The first vector is random (the same for the same n) and has no negative
 * entry. `apply` gets one vector at a time; `state` lives until the search ends.
 */
void mgk_extremes_begin(mgk_extremes *extremes, size_t n, mgk_lanczos_operator apply, void *state);

/* A few steps further. False where the search has ended, or images are not finite. */
bool mgk_extremes_step(mgk_extremes *extremes);

/* What the steps have found; NaN where LAPACK fails. */
mgk_extreme mgk_extremes_look(mgk_extremes *extremes, mgk_end end);

/* The vector [n], of length 1, of an end that was looked at; overwritten by the next. */
const double *mgk_extremes_vector(mgk_extremes *extremes, mgk_end end);

#endif
