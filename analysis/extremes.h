/*
 * The lowest and the highest eigenvalue of a symmetric operator: Lanczos from one random vector
 * with full orthogonalisation. Where no more than one pair is wanted it is cheaper than blocks
 * (lanczos.h), and there is no smallest n.
 */
#ifndef MGK_ANALYSIS_EXTREMES_H
#define MGK_ANALYSIS_EXTREMES_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/lanczos.h"
#include "base/status.h"

/* An end of the spectrum: `value` of the subspace, and the true end lies no further in. */
typedef struct mgk_extreme {
    double value;
    double residual; /* an eigenvalue of the operator is within this of it */
    /*
     * residual² / gap, or the residual if that is less: how far the end is off if no other
     * eigenvalue lies within the gap (Parlett, The Symmetric Eigenvalue Problem, §11.7), which is
     * that of the subspace.
     */
    double error;
    size_t pair; /* for mgk_extremes_vector */
} mgk_extreme;

/* The workspace of one thread, for operators up to n_max; it holds one search at a time. */
typedef struct mgk_extremes mgk_extremes;

/* STATUS_MEMORY. Closed with mgk_extremes_close. */
mgk_status mgk_extremes_open(size_t n_max, mgk_extremes **out);
void mgk_extremes_close(mgk_extremes *extremes); /* NULL is accepted */

/*
 * Begins a search, n >= 1. The first vector is random (the same for the same n) and has no negative
 * entry. `apply` gets one vector at a time; `state` lives until the search ends.
 */
void mgk_extremes_begin(mgk_extremes *extremes, size_t n, mgk_lanczos_operator apply, void *state);

/* A few steps further. False where the search has ended, or images are not finite. */
bool mgk_extremes_step(mgk_extremes *extremes, mgk_extreme *lowest, mgk_extreme *highest);

/* The vector [n], of length 1, of an end that the last step found; overwritten by the next. */
const double *mgk_extremes_vector(mgk_extremes *extremes, const mgk_extreme *end);

#endif
