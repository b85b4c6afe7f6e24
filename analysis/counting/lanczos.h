/* SPDX-License-Identifier: MIT */
/*
 * Eigenvalues of largest magnitude of a symmetric operator: block Lanczos with full
 * orthogonalisation (Golub & Underwood 1977). For the inverse of a shifted matrix they give its
 * eigenvalues nearest to the shift, after a few steps.
 */
#ifndef MGK_ANALYSIS_LANCZOS_H
#define MGK_ANALYSIS_LANCZOS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/*
 * The most vectors of a block, and pairs of a search. If more eigenvalues are equal than a block
 * has vectors, some can be missed: a caller who needs all must know their number.
 */
enum { MGK_LANCZOS_BLOCK = 32, MGK_LANCZOS_PAIRS = 2 * MGK_LANCZOS_BLOCK };

/* The smallest n for which a search pays. */
enum { MGK_LANCZOS_ORDER = 512 };

/* Replaces each of `count` vectors, rows [count, n], by its image. */
typedef void (*mgk_lanczos_operator)(void *state, size_t count, double *rows);

/* The converged pairs. */
typedef struct mgk_lanczos_pairs {
    size_t count;         /* at most MGK_LANCZOS_PAIRS, half of that for n < 2048 */
    const double *values; /* [count], descending by magnitude */
    double next;          /* other magnitudes are expected below this; infinite in early steps */
    bool full;            /* the search cannot find more pairs */
} mgk_lanczos_pairs;

/* The workspace of one thread, for operators up to n_max; it holds one search at a time. */
typedef struct mgk_lanczos mgk_lanczos;

/* STATUS_MEMORY; STATUS_DEVICE as mgk_blas_open. Closed with mgk_lanczos_close. */
mgk_status mgk_lanczos_open(size_t n_max, mgk_lanczos **out);
void mgk_lanczos_close(mgk_lanczos *lanczos); /* NULL is accepted */

/*
 * Starts a search, n >= MGK_LANCZOS_ORDER. The first block is random (the same for the same n): a
 * missed eigenvector would have to be almost orthogonal to all its vectors. `state` is passed to
 * `apply` and must live until the search ends. False for smaller n, or if LAPACK fails.
 */
bool mgk_lanczos_begin(mgk_lanczos *lanczos, size_t n, mgk_lanczos_operator apply, void *state);

/* Does one more step. False after the last step, or if images are not finite. */
bool mgk_lanczos_step(mgk_lanczos *lanczos, mgk_lanczos_pairs *out);

/*
 * Eigenvectors of the pairs of the last step, rows [count, n], orthonormal; owned by the workspace,
 * overwritten by the next call. NULL if images are not finite.
 */
const double *mgk_lanczos_vectors(mgk_lanczos *lanczos, const mgk_lanczos_pairs *pairs);

#endif
