/* SPDX-License-Identifier: MIT */
#include "kernels/blas.h"
#include "test.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/matrices.h"
#include "analysis/measures/rank.h"
#include "kernels/spectral/spectrum.h"

static void counts_include_the_threshold(void **state)
{
    (void)state;
    const double sigma[] = {2, 1, 0.5, 0.5, 0};
    mgk_rank_count count = mgk_rank_count_at(5, sigma, 0.5, 0, 0.1);
    assert_int_equal(count.rank, 4);
    assert_int_equal(count.rank_low, 2);
    assert_int_equal(count.rank_high, 4);
    assert_true(count.undecided);
    assert_true(count.nearest == 0.5);
    assert_int_equal(count.certificate, MGK_CERTIFICATE_NONE);
}

static void far_values_are_decided(void **state)
{
    (void)state;
    const double sigma[] = {1, 1e-3, 1e-9};
    mgk_rank_count count = mgk_rank_count_at(3, sigma, 1e-6, 1e-9, 1e-8);
    assert_int_equal(count.rank, 2);
    assert_false(count.undecided);
    assert_true(count.nearest == 1e-9);
    assert_int_equal(count.certificate, MGK_CERTIFICATE_BOUND);
}

/* An error above the threshold leaves even a zero open; a zero matrix still has rank 0. */
static void error_above_the_threshold(void **state)
{
    (void)state;
    const double sigma[] = {1, 0}, zero[] = {0, 0};
    mgk_rank_count count = mgk_rank_count_at(2, sigma, 1e-6, 0, 1e-3);
    assert_int_equal(count.rank, 1);
    assert_int_equal(count.rank_high, 2);
    assert_true(count.undecided);
    count = mgk_rank_count_at(2, zero, 0, 1e-3, 0);
    assert_int_equal(count.rank, 0);
    assert_false(count.undecided);
}

static void nothing_has_rank_zero(void **state)
{
    (void)state;
    mgk_rank_row row = {0};
    mgk_rank_count count = mgk_rank_count_at(0, NULL, 1e-6, 0, 0);
    assert_int_equal(count.rank_high, 0);
    assert_true(isnan(count.nearest));
    assert_ok(mgk_rank_measure_entries(0, NULL, MGK_FLOAT_F32, NULL, NULL, &row));
    mgk_rank_measure_spectrum(0, NULL, &row);
    assert_true(isnan(row.sigma_max) && isnan(row.effective_rank) && isnan(row.row_sum_error));
    assert_true(isnan(row.sigma_ratio) && isnan(row.energy[0]) && isnan(row.energy[3]));
}

/* k equal values have effective and stable rank k; p = (1/2, 1/4, 1/4) has entropy 1.5 ln 2. */
static void effective_and_stable_rank(void **state)
{
    (void)state;
    const double equal[] = {3, 3, 3, 0, 0}, unequal[] = {2, 1, 1};
    mgk_rank_row row = {0};
    mgk_rank_measure_spectrum(5, equal, &row);
    assert_close(row.effective_rank, 3, 0, 1e-14);
    assert_close(row.stable_rank, 3, 0, 1e-14);
    assert_true(row.sigma_max == 3 && row.sigma_min == 0);
    mgk_rank_measure_spectrum(3, unequal, &row);
    assert_close(row.effective_rank, pow(2, 1.5), 0, 1e-14);
    assert_close(row.stable_rank, 1.5, 0, 1e-14);
}

/* With sigma_i^2 = 4, 1, 1, ... the first k have the share (k + 3) / (n + 3); from k = n on all. */
static void ratio_and_energy(void **state)
{
    (void)state;
    enum { MOST = 100 };
    static const size_t sizes[] = {1, 2, 5, 16, 17, MOST};
    double sigma[MOST] = {2};
    for (size_t i = 1; i < MOST; i++)
        sigma[i] = 1;
    for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
        size_t n = sizes[s];
        mgk_rank_row row = {0};
        mgk_rank_measure_spectrum(n, sigma, &row);
        if (n == 1)
            assert_true(isnan(row.sigma_ratio));
        else
            assert_true(row.sigma_ratio == 0.5);
        for (size_t e = 0; e < MGK_ENERGIES; e++) {
            size_t k = mgk_energy_counts[e];
            if (k >= n)
                assert_true(row.energy[e] == 1);
            else
                assert_close(row.energy[e], (double)(k + 3) / (double)(n + 3), 0, 1e-14);
        }
    }
    const double zero[] = {0, 0};
    mgk_rank_row row = {.energy = {7, 7, 7, 7}};
    mgk_rank_measure_spectrum(2, zero, &row);
    assert_true(row.sigma_max == 0 && isnan(row.sigma_ratio) && isnan(row.energy[0]));
}

static void entries_are_measured(void **state)
{
    (void)state;
    const double a[] = {0.5, 0.5, 0, 0.75, 0.25, 0, 1, 0, 0.125};
    double scratch[3];
    mgk_rank_row row = {0};
    assert_ok(mgk_rank_measure_entries(3, a, MGK_FLOAT_F32, NULL, scratch, &row));
    assert_int_equal(row.n, 3);
    assert_close(row.row_sum_error, 0.125, 0, 0);
    assert_close(row.column_sum_max, 2.25, 0, 0);
    assert_int_equal(row.format, MGK_FLOAT_BF16);
    double frobenius = sqrt(0.25 + 0.25 + 0.5625 + 0.0625 + 1 + 0.015625);
    assert_close(row.noise_floor, 0.82 * 0x1p-8 * frobenius / sqrt(3), 0, 1e-14);
}

/* The norm and the rank of a matrix whose entries cannot be squared. */
static void norms_do_not_overflow(void **state)
{
    (void)state;
    static const double sizes[] = {1e155, 1e300, 1, 1e-155, 1e-300};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        const double a[] = {3 * sizes[i], 4 * sizes[i], -4 * sizes[i], 3 * sizes[i]};
        double scratch[2];
        mgk_rank_row row = {0};
        assert_ok(mgk_rank_measure_entries(2, a, MGK_FLOAT_F64, NULL, scratch, &row));
        assert_close(row.frobenius, sqrt(50) * sizes[i], 0, 1e-14);
        assert_true(row.noise_floor == mgk_rank_noise_floor(2, 2, row.frobenius, row.format));
    }
}

static void rows_of_zeros_are_found(void **state)
{
    (void)state;
    double a[] = {0, 1, 0, 1, -1, 0, 0, -0.0, 0};
    assert_int_equal(mgk_rank_zero_row(0, 0, NULL), 0);
    assert_int_equal(mgk_rank_zero_row(3, 3, a), 2);
    a[8] = (double)NAN;
    assert_int_equal(mgk_rank_zero_row(3, 3, a), 3);
    a[1] = 0;
    assert_int_equal(mgk_rank_zero_row(3, 3, a), 0);
}

static void not_finite_is_named(void **state)
{
    (void)state;
    double a[] = {0.5, 0.5, 0.5, 0.5}, scratch[2];
    mgk_rank_row row = {0};
    a[2] = (double)NAN;
    assert_fails(mgk_rank_measure_entries(2, a, MGK_FLOAT_F64, NULL, scratch, &row),
                 STATUS_NUMERIC);
    assert_non_null(strstr(mgk_fail_message(), "[1, 0]"));
    a[2] = 0.5;
    a[1] = -(double)INFINITY;
    assert_fails(mgk_rank_measure_entries(2, a, MGK_FLOAT_F64, NULL, scratch, &row),
                 STATUS_NUMERIC);
    assert_non_null(strstr(mgk_fail_message(), "[0, 1]"));
    a[0] = a[1] = DBL_MAX;
    assert_fails(mgk_rank_measure_entries(2, a, MGK_FLOAT_F64, NULL, scratch, &row),
                 STATUS_NUMERIC);
    assert_non_null(strstr(mgk_fail_message(), "overflows"));
}

/* Rank of a [n, n], computed as the run does. */
static mgk_rank_count rank_of(size_t n, double *a, mgk_float_format format, double tau,
                              mgk_rank_row *row)
{
    mgk_spectrum *workspace;
    double *sigma = calloc(n, sizeof(double));
    assert_ok(mgk_spectrum_open(n, &workspace));
    assert_ok(mgk_rank_measure_entries(n, a, format, NULL, sigma, row));
    assert_ok(mgk_spectrum_compute(workspace, n, a, sigma));
    mgk_rank_measure_spectrum(n, sigma, row);
    mgk_rank_count count = mgk_rank_count_at(
        n, sigma, tau, mgk_rank_solver_error(row->sigma_max, n), row->noise_floor);
    mgk_spectrum_close(workspace);
    free(sigma);
    return count;
}

/* In float64 a value one part in a thousand from the threshold is decided. */
static void values_near_the_threshold(void **state)
{
    (void)state;
    enum { N = 257, ABOVE = 100 };
    double *a = calloc((size_t)N * N, sizeof(double)), sigma[N] = {0};
    mgk_rank_row row = {0};
    for (size_t i = 0; i < N; i++)
        sigma[i] = i < ABOVE - 20 ? 1 - (double)i / N
                   : i < ABOVE    ? 1e-6 * (1 + 1e-3)
                                  : 1e-6 * (1 - 1e-3);
    test_matrix_with_spectrum(1, N, sigma, a);
    mgk_rank_count count = rank_of(N, a, MGK_FLOAT_F64, 1e-6, &row);
    assert_int_equal(row.format, MGK_FLOAT_F64);
    assert_int_equal(count.rank, ABOVE);
    assert_false(count.undecided);
    assert_close(count.nearest, 1e-6, 1.001e-9, 0);
    free(a);
}

/* In float32 the same value is undecided, and is reported so. */
static void float32_cannot_tell(void **state)
{
    (void)state;
    enum { N = 65 };
    double a[N * N], sigma[N];
    mgk_rank_row row = {0};
    for (size_t i = 0; i < N; i++)
        sigma[i] = i < 20 ? 1 : 1e-6;
    test_matrix_with_spectrum(2, N, sigma, a);
    for (size_t i = 0; i < (size_t)N * N; i++)
        a[i] = (double)(float)a[i];
    mgk_rank_count count = rank_of(N, a, MGK_FLOAT_F64, 1e-6, &row);
    assert_int_equal(row.format, MGK_FLOAT_F32);
    assert_true(count.undecided);
    assert_in_range(count.rank_low, 20, 25);
    assert_int_equal(count.rank_high, N);
}

/* The floor estimates the spectral norm of a softmax matrix's rounding within a factor 2. */
static void noise_floor_is_the_size_of_the_noise(void **state)
{
    (void)state;
    enum { N = 129 };
    double *a = calloc((size_t)N * N, sizeof(double)), *e = calloc((size_t)N * N, sizeof(double));
    double scratch[N], sigma[N];
    mgk_rank_row row = {0};
    test_matrix_softmax(3, N, 1, 0, a);
    for (size_t i = 0; i < (size_t)N * N; i++) {
        e[i] = (double)(float)a[i] - a[i];
        a[i] += e[i];
    }
    assert_ok(mgk_rank_measure_entries(N, a, MGK_FLOAT_F32, NULL, scratch, &row));
    test_reference_spectrum(N, e, sigma);
    assert_true(sigma[0] > 0);
    assert_true(row.noise_floor <= 2 * sigma[0]);
    assert_true(sigma[0] <= 2 * row.noise_floor);
    free(a);
    free(e);
}

static int load_blas(void **state)
{
    (void)state;
    return mgk_blas_open() != STATUS_OK;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_include_the_threshold),
        cmocka_unit_test(far_values_are_decided),
        cmocka_unit_test(error_above_the_threshold),
        cmocka_unit_test(nothing_has_rank_zero),
        cmocka_unit_test(effective_and_stable_rank),
        cmocka_unit_test(ratio_and_energy),
        cmocka_unit_test(entries_are_measured),
        cmocka_unit_test(not_finite_is_named),
        cmocka_unit_test(norms_do_not_overflow),
        cmocka_unit_test(rows_of_zeros_are_found),
        cmocka_unit_test(values_near_the_threshold),
        cmocka_unit_test(float32_cannot_tell),
        cmocka_unit_test(noise_floor_is_the_size_of_the_noise),
    };
    return cmocka_run_group_tests(tests, load_blas, NULL);
}
