/*
 * Where the squares of singular values lie: the inertia of AᵀA - x I counts those above x. Once the
 * product AᵀA is made, n³ operations or a third of that where attention is causal, each shift x
 * takes n³/3 more.
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
    double bound; /* δ: no rounding can have done more */
    /*
     * What may be expected of mgk_gram_measure: roundings without a pattern, √n in place of n
     * (Higham & Mary 2019). It says where to look; nothing rests on it.
     */
    double expected;
} mgk_gram_count;

/* Fails as mgk_inertia_open does (kernels/spectral/inertia.h). Closed with mgk_gram_close. */
mgk_status mgk_gram_open(size_t n_max, mgk_gram **out);
void mgk_gram_close(mgk_gram *gram); /* NULL is accepted */

/*
 * The same on a device of double precision that has shifted_inertia: matrices are arrays of it,
 * rows of vectors lie in the host's memory all the same. Where the device fails, nothing can be
 * counted, and mgk_gram_status says why.
 */
mgk_status mgk_gram_open_on(mgk_device *device, size_t n_max, mgk_gram **out);
mgk_status mgk_gram_status(const mgk_gram *gram);

/*
 * Takes a finite matrix [n, n], packed, 1 <= n <= n_max, and keeps it until the next one is loaded.
 * It is overwritten by one with the same singular values up to *error, A below: the direction
 * A 1 = 1 is split off (deflation.h) where it has most of ‖A‖², and more than `least`.
 */
void mgk_gram_load(mgk_gram *gram, size_t n, double *matrix, double least, double *error);

/* δ of most shifts; a count's own is known when it is there. */
mgk_gram_count mgk_gram_expect(const mgk_gram *gram);

/* Counts at x > 0; false where nothing can be said. */
bool mgk_gram_take(mgk_gram *gram, double x, mgk_gram_count *out);

/*
 * δ of the last count as it was measured (norm_bound.h): not less than what rounding did, but with
 * a probability of MGK_NORM_BOUND_RISK. It is measured until it is `enough`, or cannot be told
 * better. The vectors depend on every bit of the matrix and of the factors, and on nothing else.
 * Infinite where it cannot be measured.
 */
double mgk_gram_measure(mgk_gram *gram, double enough);

/*
 * out [count, n] = E v of each row v of rows [count, n], none longer than 1, where the last count
 * is exact for AᵀA + E: δ is what was measured of E. Each image is off by 2⁻⁵⁰ of itself and by
 * what is returned. Infinite where that cannot be had.
 */
double mgk_gram_apply_error(mgk_gram *gram, size_t count, const double *rows, double *out);

/* The x of the last count, whose factors are kept. */
double mgk_gram_shift(const mgk_gram *gram);

/* Puts (AᵀA - x I)⁻¹ f, with that x, in the place of each row f of rows [count, n]. */
void mgk_gram_solve(mgk_gram *gram, size_t count, double *rows);

/* The same with AᵀA f. */
void mgk_gram_multiply(mgk_gram *gram, size_t count, double *rows);

/* out [count, n] = A x, or Aᵀ x, of each row x of rows [count, n]. */
void mgk_gram_apply(mgk_gram *gram, bool transposed, size_t count, const double *rows, double *out);

/*
 * out [count, n] = A x, each sum rounded once: off by 2⁻⁵³ of itself and by what is returned. Where
 * α and b were split off, out[0] is 0. Infinite where that cannot be had.
 */
double mgk_gram_apply_exactly(mgk_gram *gram, size_t count, const double *rows, double *out);

/* Rows and columns of A. */
size_t mgk_gram_order(const mgk_gram *gram);

/* α if the direction A 1 = 1 was split off, A = [[α, bᵀ], [0, C]], or 0. */
double mgk_gram_split(const mgk_gram *gram);

/* Memory of the host for n_max² numbers that a count overwrites; NULL where a device counts. */
double *mgk_gram_memory(mgk_gram *gram);

/* A bound on σ₁. */
double mgk_gram_norm(const mgk_gram *gram);

#endif
