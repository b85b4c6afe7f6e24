/* SPDX-License-Identifier: MIT */
#include "analysis/counting/lanczos.h"

#include <math.h>
#include <string.h>

#include "analysis/counting/rows.h"
#include "base/memory.h"
#include "base/random.h"
#include "kernels/blas.h"

enum {
    BLOCK = MGK_LANCZOS_BLOCK,
    PAIRS = MGK_LANCZOS_PAIRS,
    STEPS = 12,
    SMALL = 2048,          /* below this, half a block is cheaper */
    SPACE = STEPS * BLOCK, /* dimension of the largest subspace */
    EIGEN_WORK = 1 + 6 * SPACE + 2 * SPACE * SPACE,
    EIGEN_INTEGERS = 3 + 5 * SPACE
};

_Static_assert((int)MGK_ROWS_WORK *PAIRS <= (int)EIGEN_WORK, "one work serves both");

struct mgk_lanczos {
    size_t n, block, steps; /* of the current search */
    mgk_lanczos_operator apply;
    void *state;

    double *basis;     /* Q [SPACE + BLOCK, n_max], orthonormal rows */
    double *vectors;   /* [PAIRS, n_max] */
    double *projected; /* Q B Qᵀ [SPACE, SPACE] */
    double *eigen;     /* its eigenvectors [SPACE, SPACE], each a row */
    double *work;      /* [EIGEN_WORK] */
    double values[SPACE];
    size_t order[SPACE]; /* of values, by magnitude */
    double chosen[PAIRS];
    double share[SPACE * PAIRS]; /* components in the basis: of images, or of eigenvectors */
    double first[PAIRS * PAIRS], coupling[BLOCK * BLOCK];
    lapack_int integers[EIGEN_INTEGERS];
};

mgk_status mgk_lanczos_open(size_t n_max, mgk_lanczos **out)
{
    mgk_status status;
    mgk_lanczos *lanczos = NULL;
    size_t entries;
    *out = NULL;
    CHECK(mgk_blas_open());
    CHECK(mgk_alloc(1, sizeof(*lanczos), &lanczos));
    CHECK(mgk_multiply(n_max, SPACE + BLOCK, &entries));
    CHECK(mgk_alloc(entries, sizeof(double), &lanczos->basis));
    CHECK(mgk_alloc(n_max * PAIRS, sizeof(double), &lanczos->vectors));
    CHECK(mgk_alloc((size_t)SPACE * SPACE, sizeof(double), &lanczos->projected));
    CHECK(mgk_alloc((size_t)SPACE * SPACE, sizeof(double), &lanczos->eigen));
    CHECK(mgk_alloc(EIGEN_WORK, sizeof(double), &lanczos->work));
    *out = lanczos;
    lanczos = NULL;
out:
    mgk_lanczos_close(lanczos);
    return status;
}

void mgk_lanczos_close(mgk_lanczos *lanczos)
{
    if (!lanczos)
        return;
    mgk_free(lanczos->basis);
    mgk_free(lanczos->vectors);
    mgk_free(lanczos->projected);
    mgk_free(lanczos->eigen);
    mgk_free(lanczos->work);
    mgk_free(lanczos);
}

/* Removes the components along the first `size` basis vectors from rows; share [size, block]. */
static void project_out(mgk_lanczos *lanczos, size_t size, double *rows)
{
    const blasint length = (blasint)lanczos->n, count = (blasint)size;
    const blasint block = (blasint)lanczos->block;
    mgk_blas.dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, count, block, length, 1, lanczos->basis,
                   length, rows, length, 0, lanczos->share, block);
    mgk_blas.dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, block, length, count, -1,
                   lanczos->share, block, lanczos->basis, length, 1, rows, length);
}

bool mgk_lanczos_begin(mgk_lanczos *lanczos, size_t n, mgk_lanczos_operator apply, void *state)
{
    mgk_random random = {.seed = n};
    lanczos->n = n;
    lanczos->block = n < SMALL ? BLOCK / 2 : BLOCK;
    lanczos->steps = 0;
    lanczos->apply = apply;
    lanczos->state = state;
    if (n < MGK_LANCZOS_ORDER)
        return false;
    for (size_t i = 0; i < lanczos->block * n; i++)
        lanczos->basis[i] = mgk_random_next_uniform(&random) - 0.5;
    return mgk_rows_orthonormalise(n, lanczos->block, lanczos->basis, lanczos->first,
                                   lanczos->work);
}

/*
 * The next block is the images of the last one without their components in the basis:
 * B Q = Q H + Q' C. Orthogonalises twice, because cancellation leaves the first result not quite
 * orthogonal.
 */
static bool extend(mgk_lanczos *lanczos)
{
    const size_t n = lanczos->n, block = lanczos->block;
    const size_t at = lanczos->steps * block, size = at + block;
    const blasint width = (blasint)block;
    double *rows = lanczos->basis + size * n, *h = lanczos->projected, second[BLOCK * BLOCK];
    memcpy(rows, lanczos->basis + at * n, block * n * sizeof(*rows));
    lanczos->apply(lanczos->state, block, rows);
    project_out(lanczos, size, rows);
    for (size_t i = 0; i < size; i++)
        for (size_t j = 0; j < block; j++)
            h[i * SPACE + at + j] = h[(at + j) * SPACE + i] = lanczos->share[i * block + j];
    if (!mgk_rows_orthonormalise(n, block, rows, lanczos->first, lanczos->work))
        return false;
    project_out(lanczos, size, rows);
    if (!mgk_rows_orthonormalise(n, block, rows, second, lanczos->work))
        return false;
    mgk_blas.dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, width, width, width, 1, second, width,
                   lanczos->first, width, 0, lanczos->coupling, width);
    return true;
}

/* Eigenvalues in the subspace, sorted by magnitude. */
static bool diagonalise(mgk_lanczos *lanczos, size_t size)
{
    double *eigen = lanczos->eigen, *values = lanczos->values;
    for (size_t i = 0; i < size; i++)
        memcpy(eigen + i * size, lanczos->projected + i * SPACE, size * sizeof(*eigen));
    if (mgk_blas.dsyevd_work(LAPACK_COL_MAJOR, 'V', 'L', (lapack_int)size, eigen, (lapack_int)size,
                             values, lanczos->work, EIGEN_WORK, lanczos->integers,
                             EIGEN_INTEGERS) != 0)
        return false;
    /* Eigenvalues ascend: the largest magnitudes are at the ends. */
    for (size_t k = 0, low = 0, high = size - 1; k < size; k++)
        lanczos->order[k] = fabs(values[low]) > fabs(values[high]) ? low++ : high--;
    return true;
}

/* ‖B v - μ v‖ of an eigenpair of the subspace: the component of B v in the next block. */
static double residual(const mgk_lanczos *lanczos, size_t size, size_t pair)
{
    const size_t block = lanczos->block;
    const double *last = lanczos->eigen + pair * size + size - block;
    double squares = 0;
    for (size_t i = 0; i < block; i++) {
        double sum = mgk_blas.ddot((blasint)block, lanczos->coupling + i * block, 1, last, 1);
        squares += sum * sum;
    }
    return sqrt(squares);
}

/* More pairs would cost more than they gain. */
static size_t most_pairs(const mgk_lanczos *lanczos)
{
    return PAIRS / BLOCK * lanczos->block;
}

/*
 * How many of the largest eigenvalues have converged; *next: a bound of the other magnitudes. A
 * relative residual of 1e-3 suffices, because errors of eigenvectors count squared.
 */
static size_t converged(const mgk_lanczos *lanczos, size_t size, double *next)
{
    static const double precise = 1e-3;
    for (size_t k = 0; k < size; k++) {
        const size_t pair = lanczos->order[k];
        const double magnitude = fabs(lanczos->values[pair]);
        const double off = residual(lanczos, size, pair);
        *next = magnitude + off;
        if (!(off <= precise * magnitude) || k == most_pairs(lanczos))
            return k;
    }
    return 0;
}

bool mgk_lanczos_step(mgk_lanczos *lanczos, mgk_lanczos_pairs *out)
{
    const size_t size = (lanczos->steps + 1) * lanczos->block;
    if (lanczos->steps == STEPS || !extend(lanczos) || !diagonalise(lanczos, size))
        return false;
    lanczos->steps++;
    out->count = converged(lanczos, size, &out->next);
    if (lanczos->steps == 1)
        out->next = INFINITY; /* after one step the largest may still be missing */
    for (size_t k = 0; k < out->count; k++)
        lanczos->chosen[k] = lanczos->values[lanczos->order[k]];
    out->values = lanczos->chosen;
    out->full = out->count == most_pairs(lanczos);
    return true;
}

/*
 * Applies the operator once more, which suppresses rounding errors in directions of small
 * magnitude.
 */
const double *mgk_lanczos_vectors(mgk_lanczos *lanczos, const mgk_lanczos_pairs *pairs)
{
    const size_t n = lanczos->n, size = lanczos->steps * lanczos->block;
    if (pairs->count == 0)
        return lanczos->vectors;
    for (size_t k = 0; k < pairs->count; k++)
        memcpy(lanczos->share + k * size, lanczos->eigen + lanczos->order[k] * size,
               size * sizeof(*lanczos->share));
    mgk_blas.dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (blasint)pairs->count, (blasint)n,
                   (blasint)size, 1, lanczos->share, (blasint)size, lanczos->basis, (blasint)n, 0,
                   lanczos->vectors, (blasint)n);
    lanczos->apply(lanczos->state, pairs->count, lanczos->vectors);
    return mgk_rows_orthonormalise(n, pairs->count, lanczos->vectors, lanczos->first, lanczos->work)
               ? lanczos->vectors
               : NULL;
}
