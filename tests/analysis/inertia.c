/* The pieces of counting: inertia, exact reductions, the deflation of one direction. */
#include "test.h"

#include <cblas.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/deflation.h"
#include "analysis/inertia.h"
#include "analysis/matrices.h"
#include "analysis/reduction.h"
#include "base/random.h"

/* V diag(lambda) Vᵀ of a random orthogonal V, lower triangle; the upper one is not to be read. */
static void make_symmetric(uint64_t seed, size_t n, const double *lambda, double *k)
{
    double *ones = calloc(n, sizeof(double)), *v = calloc(n * n, sizeof(double));
    double *scaled = calloc(n * n, sizeof(double));
    for (size_t i = 0; i < n; i++)
        ones[i] = 1;
    test_matrix_with_spectrum(seed, n, ones, v);
    for (size_t i = 0; i < n * n; i++)
        scaled[i] = v[i] * lambda[i % n];
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)n, (int)n, (int)n, 1, scaled, (int)n,
                v, (int)n, 0, k, (int)n);
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++)
            k[i * n + j] = NAN;
    free(ones);
    free(v);
    free(scaled);
}

static void positive_eigenvalues_are_counted(void **state)
{
    (void)state;
    for (size_t n = 1; n < 140; n += n < 70 ? 1 : 23) {
        double *lambda = calloc(n, sizeof(double)), *k = calloc(n * n, sizeof(double));
        double *scratch = calloc(mgk_inertia_scratch(n), sizeof(double)), norm = 0;
        size_t positive = 0;
        for (size_t i = 0; i < n; i++) {
            lambda[i] = mgk_random_normal(n, 5, i);
            positive += lambda[i] > 0;
            norm = fmax(norm, fabs(lambda[i]));
        }
        make_symmetric(n, n, lambda, k);
        mgk_inertia inertia = mgk_inertia_count(n, k, n, scratch);
        assert_int_equal(inertia.positive, positive);
        assert_true(inertia.growth >= norm * (1 - 1e-12));
        free(lambda);
        free(k);
        free(scratch);
    }
}

/* ‖ |L| |D| |Lᵀ| ‖₂ by the definition of L and D. */
static double growth_of(size_t n, const double *k)
{
    double *f = calloc(n * n, sizeof(double)), *sigma = calloc(n, sizeof(double));
    for (size_t i = 0; i < n; i++)
        memcpy(f + i * n, k + i * n, (i + 1) * sizeof(double));
    for (size_t j = 0; j < n; j++)
        for (size_t i = n - 1; i > j; i--) {
            for (size_t t = j + 1; t <= i; t++)
                f[i * n + t] -= f[i * n + j] * f[t * n + j] / f[j * n + j];
        }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            f[i * n + j] = fabs(f[i * n + j]) / sqrt(fabs(f[j * n + j]));
    for (size_t i = 0; i < n; i++)
        f[i * n + i] = sqrt(fabs(f[i * n + i]));
    test_reference_spectrum(n, f, sigma);
    double growth = sigma[0] * sigma[0];
    free(f);
    free(sigma);
    return growth;
}

static void growth_is_bounded(void **state)
{
    (void)state;
    enum { N = 100 };
    double *k = calloc((size_t)N * N, sizeof(double)), lambda[N];
    double *scratch = calloc(mgk_inertia_scratch(N), sizeof(double));
    for (uint64_t seed = 0; seed < 5; seed++) {
        for (size_t i = 0; i < N; i++)
            lambda[i] = fabs(mgk_random_normal(seed, 6, i)) - (seed < 3 ? 0 : 0.5);
        make_symmetric(seed, N, lambda, k);
        double growth = growth_of(N, k);
        mgk_inertia inertia = mgk_inertia_count(N, k, N, scratch);
        assert_true(inertia.growth >= growth * (1 - 1e-8));
        assert_true(seed >= 3 || inertia.growth < 2 * growth);
    }
    free(k);
    free(scratch);
}

/* What is left is L and D: L D Lᵀ is the matrix within the bound, and nothing else was touched. */
static void factors_are_left(void **state)
{
    (void)state;
    for (size_t n = 1; n < 140; n += n < 35 ? 1 : 31) {
        const size_t stride = n + n % 5;
        double *lambda = calloc(n, sizeof(double)), *k = calloc(n * n, sizeof(double));
        double *factors = malloc(n * stride * sizeof(double));
        double *scratch = calloc(mgk_inertia_scratch(n), sizeof(double)), largest = 0;
        for (size_t i = 0; i < n; i++)
            lambda[i] = mgk_random_normal(n, 7, i);
        make_symmetric(n, n, lambda, k);
        for (size_t i = 0; i < n * stride; i++)
            factors[i] = i % stride <= i / stride ? k[i / stride * n + i % stride] : (double)NAN;
        mgk_inertia inertia = mgk_inertia_count(n, factors, stride, scratch);
        const double u = 0x1p-53, size = (double)(n + 1) * u;
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < stride; j++) {
                const double *row = factors + i * stride, *other = factors + j * stride;
                long double sum = 0;
                if (j > i) {
                    assert_true(isnan(row[j]));
                    continue;
                }
                for (size_t t = 0; t <= j; t++)
                    sum += (long double)(t < i ? row[t] : 1) * factors[t * stride + t] *
                           (t < j ? other[t] : 1);
                largest = fmax(largest, (double)fabsl(sum - k[i * n + j]));
            }
        assert_true(largest <= size / (1 - size) * inertia.growth);
        free(lambda);
        free(k);
        free(factors);
        free(scratch);
    }
}

/* Nothing can be said where a pivot vanishes, and that is not kept quiet. */
static void vanished_pivots_are_told(void **state)
{
    (void)state;
    double k[] = {0, NAN, 1, 0}, last[] = {1, NAN, 1, 1}, scratch[64];
    mgk_inertia inertia = mgk_inertia_count(2, k, 2, scratch);
    assert_true(!(inertia.growth < (double)INFINITY));
    inertia = mgk_inertia_count(2, last, 2, scratch);
    assert_int_equal(inertia.positive, 1);
    assert_close(inertia.growth, 2, 1e-9, 0);
}

static void zero_columns_and_equal_rows_go(void **state)
{
    (void)state;
    enum { N = 6 };
    double a[N * N] = {0}, expected[N] = {0}, sigma[N] = {0}, scratch[3 * N];
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++)
            a[i * N + j] = j == 2 || j == 5 ? 0 : mgk_random_uniform(3, i % 3, j);
    test_reference_spectrum(N, a, expected);
    size_t order = mgk_reduce(N, a, scratch);
    assert_int_equal(order, 4); /* 3 rows and 4 columns */
    test_reference_spectrum(order, a, sigma);
    for (size_t i = 0; i < N; i++)
        assert_close(sigma[i], expected[i], 1e-14, 0);
}

static void nothing_to_reduce(void **state)
{
    (void)state;
    double zeros[9] = {0}, scratch[9];
    double a[] = {1, 2, 3, 4, 5, 6, 7, 8, 10}, before[9];
    memcpy(before, a, sizeof(a));
    assert_int_equal(mgk_reduce(3, a, scratch), 3);
    assert_memory_equal(a, before, sizeof(a));
    assert_int_equal(mgk_reduce(3, zeros, scratch), 0);
    /* More rows than columns. */
    double tall[] = {1, 0, 0, 2, 0, 0, 3, 0, 0}, sigma[3];
    assert_int_equal(mgk_reduce(3, tall, scratch), 3);
    test_reference_spectrum(3, tall, sigma);
    assert_close(sigma[0], sqrt(14), 0, 1e-15);
    assert_close(sigma[1], 0, 1e-15, 0);
}

/* The transformed matrix has the form that is claimed and the same singular values. */
static void one_direction_is_split_off(void **state)
{
    (void)state;
    enum { N = 50 };
    double *a = calloc((size_t)N * N, sizeof(double)), expected[N], sigma[N], scratch[2 * N];
    test_matrix_softmax(4, N, 0.01, 0, a);
    test_reference_spectrum(N, a, expected);
    double remainder = mgk_deflation_remainder(N, a, scratch), squares = 0, rest = 0;
    double moved = mgk_deflate(N, a, scratch);
    for (size_t i = 0; i < (size_t)N * N; i++)
        squares += a[i] * a[i];
    for (size_t i = 1; i < N; i++) {
        assert_true(a[i * N] == 0);
        for (size_t j = 1; j < N; j++)
            rest += a[i * N + j] * a[i * N + j];
    }
    assert_close(remainder, rest / squares, 1e-12, 0);
    assert_close(fabs(a[0]), 1, 1e-14, 0);
    test_reference_spectrum(N, a, sigma);
    for (size_t i = 0; i < N; i++)
        assert_close(sigma[i], expected[i], moved / 10, 0);
    assert_true(moved < 1e-11);
    free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(positive_eigenvalues_are_counted),
        cmocka_unit_test(growth_is_bounded),
        cmocka_unit_test(factors_are_left),
        cmocka_unit_test(vanished_pivots_are_told),
        cmocka_unit_test(zero_columns_and_equal_rows_go),
        cmocka_unit_test(nothing_to_reduce),
        cmocka_unit_test(one_direction_is_split_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
