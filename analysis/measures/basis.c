/* SPDX-License-Identifier: MIT */
#include "analysis/measures/basis.h"

#include <math.h>

#include "base/memory.h"
#include "kernels/blas.h"

/* Columns that LAPACK processes together, at most. */
enum { BLOCK = 64 };

/* The diagonal of R, of falling magnitude, says how long each further direction is. */
static size_t count_directions(size_t most, size_t width, const double *r)
{
    size_t rank = 0;
    while (rank < most && fabs(r[rank * width + rank]) > MGK_BASIS_TOLERANCE * fabs(r[0]))
        rank++;
    return rank;
}

/* Row-major vectors [count, width] are the columns of a matrix [width, count] for LAPACK. */
mgk_status mgk_basis_make(size_t count, size_t width, double *vectors, size_t *rank)
{
    mgk_status status;
    lapack_int *pivots = NULL;
    double *factors = NULL, *work = NULL;
    const size_t most = count < width ? count : width, work_size = BLOCK * (count + 1);
    const lapack_int rows = (lapack_int)width;
    *rank = 0;
    CHECK(mgk_alloc(count, sizeof(*pivots), &pivots));
    CHECK(mgk_alloc(most, sizeof(double), &factors));
    CHECK(mgk_alloc(work_size, sizeof(double), &work));
    if (mgk_blas.dgeqp3_work(LAPACK_COL_MAJOR, rows, (lapack_int)count, vectors, rows, pivots,
                             factors, work, (lapack_int)work_size) != 0)
        CHECK(mgk_fail(STATUS_NUMERIC, "no basis of %zu vectors", count));
    const size_t found = count_directions(most, width, vectors);
    if (found > 0 &&
        mgk_blas.dorgqr_work(LAPACK_COL_MAJOR, rows, (lapack_int)found, (lapack_int)found, vectors,
                             rows, factors, work, (lapack_int)work_size) != 0)
        CHECK(mgk_fail(STATUS_NUMERIC, "no basis of %zu vectors", count));
    *rank = found;
out:
    mgk_free(pivots);
    mgk_free(factors);
    mgk_free(work);
    return status;
}
