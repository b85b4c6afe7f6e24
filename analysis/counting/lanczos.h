/*
 * Eigenvalues of largest magnitude of a symmetric operator: block Lanczos with full
 * orthogonalisation (Golub & Underwood 1977). Given the inverse of a shifted matrix they are its
 * eigenvalues nearest to the shift, and a few steps find them.
 */
#ifndef MGK_ANALYSIS_LANCZOS_H
#define MGK_ANALYSIS_LANCZOS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/*
 * Most vectors of a block, and pairs that are found. Where more eigenvalues are equal than a block
 * has vectors some of them can be missed: whoever must have all knows how many there are.
 */
enum { MGK_LANCZOS_BLOCK = 32, MGK_LANCZOS_PAIRS = 2 * MGK_LANCZOS_BLOCK };

/* The smallest n that is of use. */
enum { MGK_LANCZOS_ORDER = 512 };

/* Puts the images of `count` vectors, rows [count, n], in their place. */
typedef void (*mgk_lanczos_operator)(void *state, size_t count, double *rows);

/* What has converged. */
typedef struct mgk_lanczos_pairs {
    size_t count;         /* at most MGK_LANCZOS_PAIRS, below n = 2048 half of that */
    const double *values; /* [count], by magnitude, the largest first */
    double next; /* others are expected below this magnitude; infinite where that is early */
    bool full;   /* no more than these can be found */
} mgk_lanczos_pairs;

/* The workspace of one thread, for operators up to n_max; it holds one search at a time. */
typedef struct mgk_lanczos mgk_lanczos;

/* STATUS_MEMORY; STATUS_DEVICE as mgk_blas_open. Closed with mgk_lanczos_close. */
mgk_status mgk_lanczos_open(size_t n_max, mgk_lanczos **out);
void mgk_lanczos_close(mgk_lanczos *lanczos); /* NULL is accepted */

/*
 * Begins a search, n >= MGK_LANCZOS_ORDER. The first block is random (the same for the same n): an
 * eigenvector that is missed would have to be almost orthogonal to all of its vectors. `state` is
 * given to `apply` and lives until the search ends.
 */
bool mgk_lanczos_begin(mgk_lanczos *lanczos, size_t n, mgk_lanczos_operator apply, void *state);

/* One step further. False after the last one, or where images are not finite. */
bool mgk_lanczos_step(mgk_lanczos *lanczos, mgk_lanczos_pairs *out);

/*
 * Eigenvectors of the pairs of the last step, rows [count, n], orthonormal; they are the
 * workspace's, until they are asked for again. NULL where images are not finite.
 */
const double *mgk_lanczos_vectors(mgk_lanczos *lanczos, const mgk_lanczos_pairs *pairs);

#endif
