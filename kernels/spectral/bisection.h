/* Singular values of a bidiagonal matrix by counting how many lie above a point. */
#ifndef MGK_KERNELS_BISECTION_H
#define MGK_KERNELS_BISECTION_H

#include "base/status.h"
#include "kernels/cpu/spectral/reductions.h"

typedef struct mgk_bisection mgk_bisection;

/* A workspace for orders up to n_max. STATUS_MEMORY. */
mgk_status mgk_bisection_open(size_t n_max, mgk_bisection **out);

/* Releases it; NULL is accepted. */
void mgk_bisection_close(mgk_bisection *bisection);

/*
 * All singular values of the upper bidiagonal matrix of diagonal [n] and superdiagonal [n − 1],
 * finite numbers with sums that are finite, into sigma [n], descending; sigma may be one of them.
 * Each is within a few units of 2^-53 sigma_1 of the exact one; what is smaller than that may be 0.
 */
void mgk_bisection_run(mgk_bisection *bisection, const mgk_reductions *reductions, size_t n,
                       const double *diagonal, const double *superdiagonal, double *sigma);

#endif
