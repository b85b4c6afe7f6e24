/* SPDX-License-Identifier: MIT */
/* Singular values of a bidiagonal matrix, by counting the values above a point. */
#ifndef MGK_KERNELS_BISECTION_H
#define MGK_KERNELS_BISECTION_H

#include "base/status.h"
#include "kernels/cpu/spectral/reductions.h"

typedef struct mgk_bisection mgk_bisection;

/* Creates a workspace for orders up to n_max. STATUS_MEMORY. */
mgk_status mgk_bisection_open(size_t n_max, mgk_bisection **out);

/* Releases the workspace; NULL is accepted. */
void mgk_bisection_close(mgk_bisection *bisection);

/*
 * All singular values of the upper bidiagonal matrix with diagonal [n] and superdiagonal [n − 1],
 * finite and with finite sums, in sigma [n], descending; sigma may be one of the inputs. Each is
 * within a few units of 2^-53 sigma_1 of the exact value; smaller ones may be 0.
 */
void mgk_bisection_run(mgk_bisection *bisection, const mgk_reductions *reductions, size_t n,
                       const double *diagonal, const double *superdiagonal, double *sigma);

#endif
