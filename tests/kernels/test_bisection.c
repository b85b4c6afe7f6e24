/* SPDX-License-Identifier: MIT */
/* Singular values of bidiagonal matrices of kinds that dense matrices seldom lead to. */
#include "test.h"

#include <lapacke.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "kernels/blas.h"
#include "kernels/cpu/variant.h"
#include "kernels/spectral/bisection.h"

static const char *const levels[] = {MGK_CPU_LEVEL_NAMES};
enum { LEVELS = sizeof levels / sizeof *levels, LARGEST = 203 };

static const size_t sizes[] = {1, 2, 3, 7, 8, 9, 16, 17, 32, 33, 100, LARGEST};
enum { SIZES = sizeof sizes / sizeof *sizes };

typedef void fill(size_t n, double *d, double *e);

static void fill_random(size_t n, double *d, double *e)
{
    for (size_t i = 0; i < n; i++) {
        d[i] = mgk_random_normal(n, 0, i);
        e[i] = mgk_random_normal(n, 1, i);
    }
}

static void fill_constant(size_t n, double *d, double *e)
{
    for (size_t i = 0; i < n; i++)
        d[i] = e[i] = 1;
}

/* Only repeated values. */
static void fill_diagonal(size_t n, double *d, double *e)
{
    for (size_t i = 0; i < n; i++) {
        d[i] = (double)(i % 3) - 1;
        e[i] = 0;
    }
}

/* Blocks of two, whose pairs of values are far closer to each other than to the rest. */
static void fill_pairs(size_t n, double *d, double *e)
{
    for (size_t i = 0; i < n; i++) {
        d[i] = 1 + (double)(i / 2) / (double)n;
        e[i] = i % 2 ? 1e-7 : 1e-10;
    }
}

/* Values down to far below any rounding, and in reverse order. */
static void fill_graded(size_t n, double *d, double *e)
{
    for (size_t i = 0; i < n; i++)
        d[i] = e[i] = pow(10, -300 * (double)i / (double)n);
}

static void fill_upwards(size_t n, double *d, double *e)
{
    for (size_t i = 0; i < n; i++)
        d[i] = e[i] = pow(10, -300 * (double)(n - 1 - i) / (double)n);
}

/* Off-diagonal entries between zeros: every second step of the recurrence loses most digits. */
static void fill_bare(size_t n, double *d, double *e)
{
    for (size_t i = 0; i < n; i++) {
        d[i] = i % 5 ? 0 : 1;
        e[i] = i % 2 ? 1e-30 : 1;
    }
}

static void fill_zero(size_t n, double *d, double *e)
{
    memset(d, 0, n * sizeof *d);
    memset(e, 0, n * sizeof *e);
}

static fill *const kinds[] = {fill_random, fill_constant, fill_diagonal, fill_pairs,
                              fill_graded, fill_upwards,  fill_bare,     fill_zero};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* LAPACK's values are within about n u sigma_1 of the exact ones. */
static void assert_agrees(const mgk_reductions *reductions, mgk_bisection *bisection, fill *kind,
                          size_t n)
{
    double d[LARGEST], e[LARGEST], expected[LARGEST], rest[LARGEST];
    kind(n, d, e);
    memcpy(expected, d, sizeof d);
    memcpy(rest, e, sizeof e);
    assert_int_equal(LAPACKE_dbdsqr(LAPACK_COL_MAJOR, 'U', (int)n, 0, 0, 0, expected, rest, NULL, 1,
                                    NULL, 1, NULL, 1),
                     0);
    /* The result may replace the diagonal. */
    mgk_bisection_run(bisection, reductions, n, d, e, d);
    for (size_t i = 0; i < n; i++) {
        assert_close(d[i], expected[i], (double)(n + 3) * 0x1p-53 * expected[0], 0);
        assert_true(d[i] >= 0 && (i == 0 || d[i] <= d[i - 1]));
    }
}

static void agrees_with_lapack(void **state)
{
    (void)state;
    mgk_bisection *bisection;
    assert_ok(mgk_bisection_open(LARGEST, &bisection));
    for (size_t l = 0; l < LEVELS; l++) {
        mgk_cpu_variant variant;
        setenv("MGK_CPU_LEVEL", levels[l], 1);
        assert_ok(mgk_blas_open());
        assert_ok(mgk_cpu_choose_variant(&variant));
        for (size_t k = 0; k < KINDS; k++)
            for (size_t s = 0; s < SIZES; s++)
                assert_agrees(variant.reductions, bisection, kinds[k], sizes[s]);
    }
    unsetenv("MGK_CPU_LEVEL");
    mgk_bisection_close(bisection);
}

/* With ones on both diagonals the values are 2 cos(k pi / (2 n + 1)). */
static void known_values_come_back(void **state)
{
    (void)state;
    mgk_bisection *bisection;
    mgk_cpu_variant variant;
    double d[LARGEST], e[LARGEST];
    assert_ok(mgk_cpu_choose_variant(&variant));
    assert_ok(mgk_bisection_open(LARGEST, &bisection));
    for (size_t s = 0; s < SIZES; s++) {
        size_t n = sizes[s];
        fill_constant(n, d, e);
        mgk_bisection_run(bisection, variant.reductions, n, d, e, d);
        for (size_t k = 0; k < n; k++)
            assert_close(d[k], 2 * cos((double)(k + 1) * acos(-1) / (double)(2 * n + 1)), 2e-15, 0);
    }
    mgk_bisection_close(bisection);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_lapack),
        cmocka_unit_test(known_values_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
