#include "analysis/inertia.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

/* Blocks of at most LEAF rows are factored by the definition; updates go by strips of STRIP rows.
 */
enum { LEAF = 32, STRIP = 64 };

typedef struct factor {
    size_t stride; /* between rows of the matrix */
    double *panel; /* scratch of an update: L D */
} factor;

/* The definition, a column at a time. */
static void factor_leaf(size_t n, double *k, size_t stride)
{
    double column[LEAF];
    for (size_t j = 0; j < n; j++) {
        double pivot = k[j * stride + j];
        for (size_t i = j + 1; i < n; i++)
            column[i] = k[i * stride + j];
        for (size_t i = j + 1; i < n; i++) {
            double *row = k + i * stride, l = column[i] / pivot;
            for (size_t t = j + 1; t <= i; t++)
                row[t] -= l * column[t];
            row[j] = l;
        }
    }
}

/* L D becomes L, whose pivots lie on the diagonal of `pivots`; *f keeps L D. */
static void divide_by_pivots(const factor *f, size_t rows, size_t n, const double *pivots,
                             double *l)
{
    for (size_t i = 0; i < rows; i++) {
        double *row = l + i * f->stride, *kept = f->panel + i * n;
        memcpy(kept, row, n * sizeof(*row));
        for (size_t j = 0; j < n; j++)
            row[j] /= pivots[j * f->stride + j];
    }
}

/* The lower triangle of k [n, n] -= L (L D)ᵀ, L [n, depth]. */
static void update(const factor *f, size_t n, size_t depth, const double *l, double *k)
{
    for (size_t first = 0; first < n; first += STRIP) {
        size_t rows = n - first < STRIP ? n - first : STRIP;
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (blasint)rows, (blasint)(first + rows),
                    (blasint)depth, -1, l + first * f->stride, (blasint)f->stride, f->panel,
                    (blasint)depth, 1, k + first * f->stride, (blasint)f->stride);
    }
}

/* About half of the rows of a matrix larger than a leaf; never fewer than are left. */
static size_t upper_part(size_t n)
{
    return (n / 2 + LEAF - 1) / LEAF * LEAF;
}

/* By halves, so that nearly all work is products of matrices. */
static void factor_block(const factor *f, size_t n, double *k)
{
    if (n <= LEAF) {
        factor_leaf(n, k, f->stride);
        return;
    }
    size_t half = upper_part(n), rest = n - half;
    double *below = k + half * f->stride;
    factor_block(f, half, k);
    cblas_dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasUnit, (blasint)rest,
                (blasint)half, 1, k, (blasint)f->stride, below, (blasint)f->stride);
    divide_by_pivots(f, rest, half, k, below);
    update(f, rest, half, below, below + half);
    factor_block(f, rest, below + half);
}

size_t mgk_inertia_scratch(size_t n)
{
    size_t largest = 2 * n;
    for (size_t order = n; order > LEAF; order = upper_part(order)) {
        size_t panel = upper_part(order) * (order - upper_part(order));
        largest = panel > largest ? panel : largest;
    }
    return largest;
}

/* L and D, in place, become F = |L| |D|^½; returns its sum of squares, which no NaN escapes. */
static double take_root(size_t n, double *k, double *roots)
{
    double squares = 0;
    for (size_t i = 0; i < n; i++) {
        double *row = k + i * n;
        roots[i] = sqrt(fabs(row[i]));
        for (size_t j = 0; j < i; j++) {
            row[j] = fabs(row[j]) * roots[j];
            squares += row[j] * row[j];
        }
        row[i] = roots[i];
        squares += roots[i] * roots[i];
    }
    return squares;
}

/*
 * ‖F Fᵀ‖₂ is at most the largest (F Fᵀ x)_i / x_i of any positive x (Collatz 1942), and at most
 * ‖F‖² (Frobenius).
 */
static double bound_growth(size_t n, double *k, double *scratch)
{
    const blasint order = (blasint)n;
    double *x = scratch, *next = scratch + n, largest = 0;
    double squares = take_root(n, k, scratch);
    if (!isfinite(squares))
        return squares;
    for (size_t i = 0; i < n; i++)
        x[i] = 1;
    for (int step = 0; step < 2; step++) {
        memcpy(next, x, n * sizeof(*x));
        cblas_dtrmv(CblasRowMajor, CblasLower, CblasTrans, CblasNonUnit, order, k, order, next, 1);
        cblas_dtrmv(CblasRowMajor, CblasLower, CblasNoTrans, CblasNonUnit, order, k, order, next,
                    1);
        largest = 0;
        for (size_t i = 0; i < n; i++)
            largest = x[i] > 0 ? fmax(largest, next[i] / x[i]) : largest;
        memcpy(x, next, n * sizeof(*x));
    }
    return fmin(squares, largest * (1 + 8 * (double)n * 0x1p-53));
}

mgk_inertia mgk_inertia_count(size_t n, double *k, double *scratch)
{
    const factor f = {.stride = n, .panel = scratch};
    mgk_inertia out = {0};
    factor_block(&f, n, k);
    for (size_t i = 0; i < n; i++)
        out.positive += k[i * n + i] > 0;
    out.growth = bound_growth(n, k, scratch);
    return out;
}
