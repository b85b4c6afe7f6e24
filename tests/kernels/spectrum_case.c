/* SPDX-License-Identifier: MIT */
#include "spectrum_case.h"

#include <math.h>
#include <string.h>

#include "analysis/matrices.h"
#include "base/random.h"

static void fill_normal(size_t n, double *a)
{
    for (size_t i = 0; i < n * n; i++)
        a[i] = mgk_random_normal(n, 0, i);
}

static void fill_softmax(size_t n, double *a)
{
    test_matrix_softmax(n, n, 3, 0, a);
}

static void fill_causal(size_t n, double *a)
{
    test_matrix_softmax(n, n, 3, 1, a);
}

/* The upper triangle, with a zero on the diagonal. */
static void fill_upper(size_t n, double *a)
{
    fill_normal(n, a);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < (i == n / 2 ? i + 1 : i); j++)
            a[i * n + j] = 0;
}

/* Rows and columns that shrink from 1 to 1e-18. */
static void fill_graded(size_t n, double *a)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            a[i * n + j] =
                pow(10, -9 * (double)(i + j) / (double)n) * mgk_random_normal(n, 0, i * n + j);
}

static void fill_deficient(size_t n, double *a)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            a[i * n + j] = sin((double)(i + 1)) * cos((double)j) + 0.1 * (double)(i % 3);
}

static void fill_identity(size_t n, double *a)
{
    for (size_t i = 0; i < n * n; i++)
        a[i] = i % (n + 1) == 0;
}

static void fill_zero(size_t n, double *a)
{
    memset(a, 0, n * n * sizeof(double));
}

static void fill_permutation(size_t n, double *a)
{
    for (size_t i = 0; i < n * n; i++)
        a[i] = i % n == n - 1 - i / n;
}

static void fill_uniform(size_t n, double *a)
{
    for (size_t i = 0; i < n * n; i++)
        a[i] = 1 / (double)n;
}

/* One entry only: all other reflections are of zero vectors. */
static void fill_corner(size_t n, double *a)
{
    fill_zero(n, a);
    a[n * n - 1] = -3;
}

/* Entries whose squares are subnormal, among others. */
static void fill_faint(size_t n, double *a)
{
    for (size_t i = 0; i < n * n; i++)
        a[i] = mgk_random_normal(n, 0, i) * (i / n % 2 ? 1 : 1e-160);
}

static void (*const kinds[SPECTRUM_CASES])(size_t, double *) = {
    [SPECTRUM_NORMAL] = fill_normal,           [SPECTRUM_SOFTMAX] = fill_softmax,
    [SPECTRUM_CAUSAL] = fill_causal,           [SPECTRUM_UPPER] = fill_upper,
    [SPECTRUM_GRADED] = fill_graded,           [SPECTRUM_DEFICIENT] = fill_deficient,
    [SPECTRUM_IDENTITY] = fill_identity,       [SPECTRUM_ZERO] = fill_zero,
    [SPECTRUM_PERMUTATION] = fill_permutation, [SPECTRUM_UNIFORM] = fill_uniform,
    [SPECTRUM_CORNER] = fill_corner,           [SPECTRUM_FAINT] = fill_faint};

void spectrum_case(spectrum_kind kind, size_t n, double *a)
{
    kinds[kind](n, a);
}
