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

/* The workspace of one thread, for matrices up to n_max; nothing is allocated per matrix. */
typedef struct mgk_gram mgk_gram;

/* #{ σ² > x + δ } <= count <= #{ σ² > x - δ } */
typedef struct mgk_gram_count {
    size_t count;
    double bound; /* δ: no rounding can have done more */
    /*
     * δ of independent roundings: √n in place of n (Higham & Mary 2019), as if every entry were off
     * by that much in one direction, which roundings without a pattern are far from; no proof.
     */
    double estimate;
} mgk_gram_count;

/* Fails as mgk_inertia_open does (kernels/inertia.h). Closed with mgk_gram_close. */
mgk_status mgk_gram_open(size_t n_max, mgk_gram **out);
void mgk_gram_close(mgk_gram *gram); /* NULL is accepted */

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

/* Puts (AᵀA - x I)⁻¹ f, with the x of the last count, in the place of each row f of rows [count,
 * n]. */
void mgk_gram_solve(const mgk_gram *gram, size_t count, double *rows);

/* A [*n, *n], as it is kept. *split: a direction was split off, [[α, bᵀ], [0, C]]. */
const double *mgk_gram_matrix(const mgk_gram *gram, size_t *n, bool *split);

/* Memory for n_max² numbers that a count overwrites. */
double *mgk_gram_memory(mgk_gram *gram);

/* A bound on σ₁. */
double mgk_gram_norm(const mgk_gram *gram);

#endif
