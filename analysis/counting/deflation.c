/* SPDX-License-Identifier: MIT */
#include "analysis/counting/deflation.h"
#include "kernels/blas.h"
#include "kernels/spectral/rounding.h"

#include <math.h>

double mgk_reflector(size_t n, double *x)
{
    double norm = sqrt(mgk_blas.ddot((blasint)n, x, 1, x, 1));
    if (norm == 0)
        return 0;
    x[0] += copysign(norm, x[0]);
    return 2 / mgk_blas.ddot((blasint)n, x, 1, x, 1);
}

double mgk_reflected(size_t n, const double *x)
{
    return -copysign(sqrt(mgk_blas.ddot((blasint)n, x, 1, x, 1)), x[0]);
}

/*
 * Reflections are backward stable: each is exact for a matrix within 16 n 2⁻⁵³ ‖A‖ (Frobenius;
 * Higham, Accuracy and Stability, §19.3), and no singular value moves further.
 */
double mgk_deflation_error(size_t n, double squares)
{
    return 2 * 16 * (double)n * MGK_ROUNDOFF * sqrt(squares);
}

double mgk_deflate(size_t n, double *a, double *scratch)
{
    const blasint order = (blasint)n;
    double *left = scratch, *right = scratch + n, factor;
    double squares = mgk_blas.ddot(order * order, a, 1, a, 1);
    for (size_t j = 0; j < n; j++)
        right[j] = 1;
    factor = mgk_reflector(n, right);
    mgk_blas.dgemv(CblasRowMajor, CblasNoTrans, order, order, 1, a, order, right, 1, 0, left, 1);
    mgk_blas.dger(CblasRowMajor, order, order, -factor, left, 1, right, 1, a, order);

    mgk_blas.dcopy(order, a, order, left, 1);
    double alpha = mgk_reflected(n, left);
    factor = mgk_reflector(n, left);
    mgk_blas.dgemv(CblasRowMajor, CblasTrans, order, order, 1, a, order, left, 1, 0, right, 1);
    mgk_blas.dger(CblasRowMajor, order, order, -factor, left, 1, right, 1, a, order);
    a[0] = alpha;
    for (size_t i = 1; i < n; i++)
        a[i * n] = 0;
    return mgk_deflation_error(n, squares);
}

/* ‖C‖² = ‖A‖² - ‖q‖² with q = Aᵀ u, where u is the direction of A 1. */
double mgk_deflation_remainder(size_t n, const double *a, double *scratch)
{
    const blasint order = (blasint)n;
    double *left = scratch, *right = scratch + n;
    double squares = mgk_blas.ddot(order * order, a, 1, a, 1);
    for (size_t j = 0; j < n; j++)
        right[j] = 1;
    mgk_blas.dgemv(CblasRowMajor, CblasNoTrans, order, order, 1, a, order, right, 1, 0, left, 1);
    double norm = sqrt(mgk_blas.ddot(order, left, 1, left, 1));
    if (!(norm > 0))
        return 1;
    mgk_blas.dgemv(CblasRowMajor, CblasTrans, order, order, 1 / norm, a, order, left, 1, 0, right,
                   1);
    return 1 - mgk_blas.ddot(order, right, 1, right, 1) / squares;
}

bool mgk_deflation_pays(double remainder, double squares, double least)
{
    static const double most = 0.75;
    const double share = 1 - remainder;
    return share > most && share * squares > least;
}
