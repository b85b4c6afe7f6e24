/* SPDX-License-Identifier: MIT */
/* The inertia of symmetric matrices, and the factors that remain, at every level. */
#include "test.h"

#include <cblas.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/matrices.h"
#include "base/random.h"
#include "kernels/cpu/spectral/reductions.h"
#include "kernels/spectral/inertia.h"

static const char *const levels[] = {MGK_CPU_LEVEL_NAMES};
enum { LEVELS = sizeof levels / sizeof *levels };

/* Several blocks, and an update with strips longer than the minimum. */
enum { LARGEST = 3 * MGK_FACTOR_LARGEST + 46 };

typedef struct fixture {
    mgk_inertia_work *work[LEVELS];
} fixture;

static int open_fixture(void **state)
{
    fixture *f = calloc(1, sizeof(*f));
    *state = f;
    for (size_t l = 0; l < LEVELS; l++) {
        setenv("MGK_CPU_LEVEL", levels[l], 1);
        assert_ok(mgk_inertia_open(LARGEST, &f->work[l]));
    }
    unsetenv("MGK_CPU_LEVEL");
    return 0;
}

static int close_fixture(void **state)
{
    fixture *f = *state;
    for (size_t l = 0; l < LEVELS; l++)
        mgk_inertia_close(f->work[l]);
    free(f);
    return 0;
}

/* V diag(lambda) Vᵀ with a random orthogonal V, lower triangle; the upper triangle must not be
 * read. */
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
    const fixture *f = *state;
    for (size_t n = 1; n < 140; n += n < 70 ? 1 : 23) {
        double *lambda = calloc(n, sizeof(double)), *k = calloc(n * n, sizeof(double));
        double *copy = calloc(n * n, sizeof(double)), norm = 0;
        size_t positive = 0;
        for (size_t i = 0; i < n; i++) {
            lambda[i] = mgk_random_normal(n, 5, i);
            positive += lambda[i] > 0;
            norm = fmax(norm, fabs(lambda[i]));
        }
        make_symmetric(n, n, lambda, k);
        for (size_t l = 0; l < LEVELS; l++) {
            memcpy(copy, k, n * n * sizeof(double));
            mgk_inertia inertia = mgk_inertia_count(f->work[l], n, copy, n);
            assert_int_equal(inertia.positive, positive);
            assert_true(inertia.growth >= norm * (1 - 1e-12));
        }
        free(lambda);
        free(k);
        free(copy);
    }
}

/* ‖ |L| |D| |Lᵀ| ‖₂ by definition, from L and D. */
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
    const fixture *f = *state;
    enum { N = 100 };
    double *k = calloc((size_t)N * N, sizeof(double)), lambda[N];
    double *copy = calloc((size_t)N * N, sizeof(double));
    for (uint64_t seed = 0; seed < 5; seed++) {
        for (size_t i = 0; i < N; i++)
            lambda[i] = fabs(mgk_random_normal(seed, 6, i)) - (seed < 3 ? 0 : 0.5);
        make_symmetric(seed, N, lambda, k);
        double growth = growth_of(N, k);
        for (size_t l = 0; l < LEVELS; l++) {
            memcpy(copy, k, (size_t)N * N * sizeof(double));
            mgk_inertia inertia = mgk_inertia_count(f->work[l], N, copy, N);
            assert_true(inertia.growth >= growth * (1 - 1e-8));
            assert_true(seed >= 3 || inertia.growth < 2 * growth);
        }
    }
    free(k);
    free(copy);
}

/* The largest | L D Lᵀ − K |; what is between rows must still be NaN. */
static double residual(size_t n, const double *k, const double *factors, size_t stride)
{
    double largest = 0, *scaled = calloc(n, sizeof(double));
    for (size_t i = 0; i < n; i++) {
        const double *row = factors + i * stride;
        for (size_t t = 0; t <= i; t++)
            scaled[t] = (t < i ? row[t] : 1) * factors[t * stride + t];
        for (size_t j = 0; j <= i; j++) {
            const double *other = factors + j * stride;
            long double sum = scaled[j] - (long double)k[i * n + j];
            for (size_t t = 0; t < j; t++)
                sum += (long double)scaled[t] * other[t];
            largest = fmax(largest, (double)fabsl(sum));
            assert_true(isfinite(sum));
        }
        for (size_t j = n; j < stride; j++)
            assert_true(isnan(row[j]));
    }
    free(scaled);
    return largest;
}

/* L and D remain: L D Lᵀ equals the matrix within the bound. NaN elsewhere has no influence. */
static void factors_are_left(void **state)
{
    const fixture *f = *state;
    for (size_t n = 1; n <= LARGEST; n += n < 35 ? 1 : n < 140 ? 31 : 131) {
        const size_t stride = n + n % 5;
        double *lambda = calloc(n, sizeof(double)), *k = calloc(n * n, sizeof(double));
        double *factors = calloc(n * stride, sizeof(double));
        /* The test itself rounds once more. */
        const double terms = (double)(n + 3) * 0x1p-53;
        for (size_t i = 0; i < n; i++)
            lambda[i] = mgk_random_normal(n, 7, i);
        make_symmetric(n, n, lambda, k);
        for (size_t l = 0; l < LEVELS; l++) {
            for (size_t i = 0; i < n; i++)
                for (size_t j = 0; j < stride; j++)
                    factors[i * stride + j] = j <= i ? k[i * n + j] : (double)NAN;
            mgk_inertia inertia = mgk_inertia_count(f->work[l], n, factors, stride);
            assert_true(residual(n, k, factors, stride) <= terms / (1 - terms) * inertia.growth);
        }
        free(lambda);
        free(k);
        free(factors);
    }
}

/* Checks CᵀC; rows are not multiples of the vector length, and NaN fills the gaps. */
static void assert_square(const fixture *f, size_t n, bool causal)
{
    const size_t stride = n + 1, product_stride = n + 2;
    double *c = calloc(n * stride, sizeof(double)),
           *product = calloc(n * product_stride, sizeof(double));
    const double terms = (double)(n + 2) * 0x1p-53; /* the test itself rounds once */
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++)
            c[i * stride + j] = causal && j > i ? 0 : mgk_random_normal(n, i, j);
        c[i * stride + n] = NAN;
    }
    for (size_t l = 0; l < LEVELS; l++) {
        for (size_t i = 0; i < n * product_stride; i++)
            product[i] = NAN;
        mgk_inertia_square(f->work[l], n, causal, c, stride, product, product_stride);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j <= i; j++) {
                long double sum = 0, size = 0;
                for (size_t t = causal ? i : 0; t < n; t++) {
                    long double term = (long double)c[t * stride + i] * c[t * stride + j];
                    sum += term;
                    size += fabsl(term);
                }
                assert_true(fabsl(product[i * product_stride + j] - sum) <=
                            terms / (1 - terms) * size);
            }
        for (size_t i = 0; i < n; i++)
            assert_true(isnan(product[i * product_stride + n]));
    }
    free(c);
    free(product);
}

static void products_are_made(void **state)
{
    const size_t orders[] = {1, 7, 15, 16, 17, 23, 30, 64, 101, 255, 256, 257, 300};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        assert_square(*state, orders[i], true);
        assert_square(*state, orders[i], false);
    }
}

/* A vanishing pivot or NaN gives no result, and this is reported. */
static void vanished_pivots_are_reported(void **state)
{
    const fixture *f = *state;
    for (size_t l = 0; l < LEVELS; l++) {
        double k[] = {0, NAN, 1, 0}, last[] = {1, NAN, 1, 1};
        mgk_inertia inertia = mgk_inertia_count(f->work[l], 2, k, 2);
        assert_true(!(inertia.growth < (double)INFINITY));
        inertia = mgk_inertia_count(f->work[l], 2, last, 2);
        assert_int_equal(inertia.positive, 1);
        assert_close(inertia.growth, 2, 1e-9, 0);
    }
}

/* The same at every position of matrices of more than one block: K = I except for one entry. */
static void nothing_is_said_of_what_is_no_number(void **state)
{
    const fixture *f = *state;
    const size_t orders[] = {13, MGK_FACTOR_LARGEST + 13};
    double *k = calloc((size_t)LARGEST * LARGEST, sizeof(double));
    for (size_t c = 0; c < 2; c++)
        for (size_t place = 0, n = orders[c]; place < n; place += n / 13)
            for (size_t l = 0; l < LEVELS; l++)
                for (int nan = 0; nan < 2; nan++) {
                    for (size_t i = 0; i < n * n; i++)
                        k[i] = i % (n + 1) == 0;
                    /* A vanishing pivot needs an entry below it: the last one may be 0. */
                    k[place * n + place] = nan ? (double)NAN : 0;
                    k[(n - 1) * n + place] += place < n - 1;
                    mgk_inertia inertia = mgk_inertia_count(f->work[l], n, k, n);
                    assert_true(!(inertia.growth < (double)INFINITY) || (place == n - 1 && !nan));
                }
    free(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(positive_eigenvalues_are_counted),
        cmocka_unit_test(growth_is_bounded),
        cmocka_unit_test(factors_are_left),
        cmocka_unit_test(products_are_made),
        cmocka_unit_test(vanished_pivots_are_reported),
        cmocka_unit_test(nothing_is_said_of_what_is_no_number),
    };
    return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
