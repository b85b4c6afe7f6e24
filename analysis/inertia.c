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
    size_t largest = 3 * n;
    for (size_t order = n; order > LEAF; order = upper_part(order)) {
        size_t panel = upper_part(order) * (order - upper_part(order));
        largest = panel > largest ? panel : largest;
    }
    return largest;
}

/* Σ |row_j| x_j */
static double row_times(size_t n, const double *row, const double *x)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t j = 0; j < n; j++)
        sum += fabs(row[j]) * x[j];
    return sum;
}

/* y_j += |row_j| x */
static void add_row(size_t n, const double *row, double x, double *y)
{
#pragma omp simd
    for (size_t j = 0; j < n; j++)
        y[j] += fabs(row[j]) * x;
}

/* y = |D| y */
static void times_pivots(const factor *f, size_t n, const double *k, double *y)
{
    for (size_t j = 0; j < n; j++)
        y[j] *= fabs(k[j * f->stride + j]);
}

/*
 * ‖G‖₂, G = |L| |D| |Lᵀ|, is at most the largest (G x)_i / x_i of any positive x (Collatz 1942);
 * x = G 1 here. The triangle is read three times for two products: an entry of the first, as soon
 * as it is known, is multiplied by the row it comes from.
 */
static double bound_growth(const factor *f, size_t n, const double *k, double *scratch)
{
    double *y = scratch, *x = y + n, *next = x + n, largest = 0, sum = 0;
    memset(y, 0, n * sizeof(*y));
    memset(next, 0, n * sizeof(*next));
    for (size_t i = 0; i < n; i++) {
        add_row(i, k + i * f->stride, 1, y);
        y[i] += 1;
    }
    times_pivots(f, n, k, y);
    for (size_t i = 0; i < n; i++) {
        x[i] = row_times(i, k + i * f->stride, y) + y[i];
        add_row(i, k + i * f->stride, x[i], next);
        next[i] += x[i];
    }
    times_pivots(f, n, k, next);
    for (size_t i = 0; i < n; i++) {
        double product = row_times(i, k + i * f->stride, next) + next[i];
        largest = x[i] > 0 ? fmax(largest, product / x[i]) : largest;
        sum += product; /* which no NaN escapes */
    }
    return isfinite(sum) ? largest * (1 + 8 * (double)n * 0x1p-53) : sum;
}

mgk_inertia mgk_inertia_count(size_t n, double *k, size_t stride, double *scratch)
{
    const factor f = {.stride = stride, .panel = scratch};
    mgk_inertia out = {0};
    factor_block(&f, n, k);
    for (size_t i = 0; i < n; i++)
        out.positive += k[i * stride + i] > 0;
    out.growth = bound_growth(&f, n, k, scratch);
    return out;
}
