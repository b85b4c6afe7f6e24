/* SPDX-License-Identifier: MIT */
#include "analysis/measures/scaling.h"

#include <math.h>
#include <stdbool.h>

#include "base/memory.h"
#include "kernels/blas.h"

/* B = -1/2 J D J: subtracts the means of rows and columns, and adds the mean of all. means: [n]. */
static void centre(size_t n, const double *squares, double *means, double *b)
{
    double mean = 0;
    for (size_t i = 0; i < n; i++) {
        means[i] = 0;
        for (size_t j = 0; j < n; j++)
            means[i] += squares[i * n + j] / (double)n;
        mean += means[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            b[i * n + j] = -(squares[i * n + j] - means[i] - means[j] + mean) / 2;
}

/* The coordinates of an axis, into column `axis` of the points. */
static void place(size_t n, double lambda, const double *vector, size_t axis, double *points)
{
    const double length = lambda > 0 ? sqrt(lambda) : 0;
    double farthest = 0;
    for (size_t i = 0; i < n; i++)
        if (fabs(vector[i]) > fabs(farthest))
            farthest = vector[i];
    for (size_t i = 0; i < n; i++)
        points[i * MGK_SCALING_AXES + axis] = (farthest < 0 ? -length : length) * vector[i];
}

/* Takes the axes from eigenvalues lambda [n], ascending, and their vectors [n, n]. What rounding
 * leaves of equal heads, whose squared distances are at most `largest`, is no distance. */
static void take_axes(size_t n, double largest, const double *lambda, const double *vectors,
                      double *points, double *shares)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += fabs(lambda[i]);
    for (size_t axis = 0; axis < MGK_SCALING_AXES; axis++) {
        const bool there = axis < n && largest > 0;
        const size_t i = there ? n - 1 - axis : 0;
        place(n, there ? lambda[i] : 0, vectors + i * n, axis, points);
        shares[axis] = largest > 0 ? (there ? fabs(lambda[i]) / sum : 0) : NAN;
    }
}

mgk_status mgk_classical_scaling(size_t n, const double *squares, double *points, double *shares)
{
    mgk_status status;
    double *b = NULL, *lambda = NULL, *work = NULL, largest = 0;
    size_t area;
    const size_t work_size = 40 * n; /* for blocks of up to 38 columns */
    CHECK(mgk_blas_open());
    CHECK(mgk_multiply(n, n, &area));
    CHECK(mgk_alloc(area, sizeof(double), &b));
    CHECK(mgk_alloc(n, sizeof(double), &lambda));
    CHECK(mgk_alloc(work_size, sizeof(double), &work));
    for (size_t i = 0; i < area; i++)
        largest = fmax(largest, squares[i]);
    centre(n, squares, lambda, b);
    if (mgk_blas.dsyev_work(LAPACK_COL_MAJOR, 'V', 'U', (lapack_int)n, b, (lapack_int)n, lambda,
                            work, (lapack_int)work_size) != 0)
        CHECK(mgk_fail(STATUS_NUMERIC, "no eigenvalues of the distances of %zu heads", n));
    take_axes(n, largest, lambda, b, points, shares);
out:
    mgk_free(b);
    mgk_free(lambda);
    mgk_free(work);
    return status;
}
