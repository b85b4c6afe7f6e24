/* SPDX-License-Identifier: MIT */
#include "analysis/counting/extremes.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "kernels/blas.h"

enum { SPACE = 96 }; /* dimension of the largest subspace */

struct mgk_extremes {
    size_t n, steps; /* of the current search */
    bool ended;
    mgk_lanczos_operator apply;
    void *state;

    double *basis;                         /* Q [SPACE + 1, n_max], orthonormal rows */
    double *vector;                        /* [n_max] */
    double diagonal[SPACE], beside[SPACE]; /* Q B Qᵀ; beside[k] couples k and k + 1 */
    double share[SPACE];
    double eigen[2][SPACE]; /* of the ends */
};

mgk_status mgk_extremes_open(size_t n_max, mgk_extremes **out)
{
    mgk_status status;
    mgk_extremes *extremes = NULL;
    size_t entries;
    *out = NULL;
    CHECK(mgk_blas_open());
    CHECK(mgk_alloc(1, sizeof(*extremes), &extremes));
    CHECK(mgk_multiply(n_max, SPACE + 1, &entries));
    CHECK(mgk_alloc(entries, sizeof(double), &extremes->basis));
    CHECK(mgk_alloc(n_max, sizeof(double), &extremes->vector));
    *out = extremes;
    extremes = NULL;
out:
    mgk_extremes_close(extremes);
    return status;
}

void mgk_extremes_close(mgk_extremes *extremes)
{
    if (!extremes)
        return;
    mgk_free(extremes->basis);
    mgk_free(extremes->vector);
    mgk_free(extremes);
}

void mgk_extremes_begin(mgk_extremes *extremes, size_t n, mgk_lanczos_operator apply, void *state)
{
    mgk_random random = {.seed = n};
    extremes->n = n;
    extremes->steps = 0;
    extremes->ended = false;
    extremes->apply = apply;
    extremes->state = state;
    for (size_t i = 0; i < n; i++)
        extremes->basis[i] = mgk_random_next_uniform(&random);
    mgk_blas.dscal((blasint)n, 1 / mgk_blas.dnrm2((blasint)n, extremes->basis, 1), extremes->basis,
                   1);
}

/*
 * Removes the components along the first `size` basis vectors from a vector, and stores them in
 * share.
 */
static void project_out(mgk_extremes *x, size_t size, double *vector)
{
    const blasint length = (blasint)x->n, count = (blasint)size;
    mgk_blas.dgemv(CblasRowMajor, CblasNoTrans, count, length, 1, x->basis, length, vector, 1, 0,
                   x->share, 1);
    mgk_blas.dgemv(CblasRowMajor, CblasTrans, count, length, -1, x->basis, length, x->share, 1, 1,
                   vector, 1);
}

/*
 * Adds a vector, B q = … + beside q', orthogonalised twice: if little is left, most of it was
 * rounding. The search ends if no new direction is left.
 */
static bool extend(mgk_extremes *x)
{
    const size_t n = x->n, at = x->steps;
    double *next = x->basis + (at + 1) * n;
    memcpy(next, x->basis + at * n, n * sizeof(*next));
    x->apply(x->state, 1, next);
    const double image = mgk_blas.dnrm2((blasint)n, next, 1);
    project_out(x, at + 1, next);
    x->diagonal[at] = x->share[at];
    project_out(x, at + 1, next);
    const double left = mgk_blas.dnrm2((blasint)n, next, 1);
    if (!isfinite(image) || !isfinite(left))
        return false;
    x->steps++;
    x->beside[at] = left;
    x->ended = x->steps == SPACE || x->steps == n || left <= 0x1p-48 * image;
    if (!x->ended)
        mgk_blas.dscal((blasint)n, 1 / left, next, 1);
    return true;
}

bool mgk_extremes_step(mgk_extremes *extremes)
{
    /* Eigenvalues of the subspace cost as much as a step or two of a small operator. */
    const size_t more = 2 + extremes->steps / 4;
    if (extremes->ended)
        return false;
    for (size_t k = 0; k < more && !extremes->ended; k++)
        if (!extend(extremes))
            return false;
    return true;
}

mgk_extreme mgk_extremes_look(mgk_extremes *extremes, mgk_end end)
{
    mgk_extremes *x = extremes;
    double diagonal[SPACE], beside[SPACE], values[SPACE], work[5 * SPACE];
    double *eigen = x->eigen[end];
    lapack_int found, integers[5 * SPACE], failed[SPACE];
    const lapack_int size = (lapack_int)x->steps, which = end == MGK_HIGHEST ? size : 1;
    memcpy(diagonal, x->diagonal, sizeof(diagonal));
    memcpy(beside, x->beside, sizeof(beside));
    if (mgk_blas.dstevx_work(LAPACK_COL_MAJOR, 'V', 'I', size, diagonal, beside, 0, 0, which, which,
                             0, &found, values, eigen, size, work, integers, failed) != 0)
        return (mgk_extreme){NAN, NAN};
    return (mgk_extreme){.value = values[0],
                         .residual = fabs(eigen[size - 1]) * x->beside[size - 1]};
}

/* Applies the operator once more, as in lanczos.c. */
const double *mgk_extremes_vector(mgk_extremes *extremes, mgk_end end)
{
    const blasint length = (blasint)extremes->n, size = (blasint)extremes->steps;
    mgk_blas.dgemv(CblasRowMajor, CblasTrans, size, length, 1, extremes->basis, length,
                   extremes->eigen[end], 1, 0, extremes->vector, 1);
    extremes->apply(extremes->state, 1, extremes->vector);
    mgk_blas.dscal(length, 1 / mgk_blas.dnrm2(length, extremes->vector, 1), extremes->vector, 1);
    return extremes->vector;
}
