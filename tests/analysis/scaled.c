/* SPDX-License-Identifier: MIT */
/* Measures that do not depend on the scale equal those of the same matrix at a usual scale. */
#include "analysis/counting/scaled.h"

#include <math.h>

#include "test.h"

enum { N = 60, RANK = 41 };

/* Small integers, so that multiples by powers of two are exact; RANK rows are independent. */
static void fill(double a[N * N])
{
    uint32_t state = 1;
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++) {
            state = state * 1664525 + 1013904223;
            a[i * N + j] = i < RANK ? state >> 30 : a[(i - RANK) * N + j];
        }
}

/* Ranks the matrix times 2^exponent, counted or by singular values. */
static mgk_rank_count rank_at(int exponent, bool counts, bool relative, double tau,
                              mgk_rank_row *row, double sigma[N])
{
    static double a[N * N];
    const double threshold = relative ? tau : ldexp(tau, exponent);
    const mgk_engine_task task = {
        .threshold_count = 1, .thresholds = &threshold, .relative = relative, .count_only = counts};
    mgk_engine *engine;
    mgk_ladder ladder = {0};
    mgk_rank_count count;
    fill(a);
    for (size_t i = 0; i < N * N; i++)
        a[i] = ldexp(a[i], exponent);
    *row = (mgk_rank_row){0};
    assert_ok(mgk_engine_open(N, counts, &engine));
    assert_ok(mgk_rank_measure_entries(N, a, MGK_FLOAT_F64, NULL, sigma, row));
    assert_ok(mgk_scaled_rank(engine, &task, &ladder, a, row, &count, sigma));
    mgk_engine_close(engine);
    return count;
}

static void measures_hold_at_any_scale(void **state)
{
    (void)state;
    static const int exponents[] = {-1074, -1060, -800, 400, 1010};
    for (int way = 0; way < 4; way++)
        for (size_t e = 0; e < sizeof(exponents) / sizeof(exponents[0]); e++) {
            const bool counts = way & 1, relative = way & 2;
            const double tau = relative ? 0.02 : 1, down = ldexp(1, exponents[e] - 2);
            double sigma[N], usual_sigma[N];
            mgk_rank_row row, usual;
            mgk_rank_count expected = rank_at(0, counts, relative, tau, &usual, usual_sigma);
            mgk_rank_count found = rank_at(exponents[e], counts, relative, tau, &row, sigma);
            assert_int_equal(found.rank, expected.rank);
            assert_int_equal(found.rank_low, expected.rank_low);
            assert_int_equal(found.rank_high, expected.rank_high);
            assert_true(found.rank > N / 2 && found.rank <= RANK);
            assert_int_equal(found.certificate, expected.certificate);
            assert_close(row.stable_rank, usual.stable_rank, 0, 1e-12);
            /* Within the precision of a double of that size. */
            assert_close(row.sigma_max, ldexp(usual.sigma_max, exponents[e]), 4 * down, 1e-12);
            assert_close(row.frobenius, ldexp(usual.frobenius, exponents[e]), 4 * down, 1e-12);
            assert_int_equal(row.method, usual.method);
            if (mgk_rank_method_counts(row.method))
                continue;
            assert_close(row.effective_rank, usual.effective_rank, 0, 1e-12);
            assert_close(row.sigma_ratio, usual.sigma_ratio, 0, 1e-12);
            for (int k = 0; k < MGK_ENERGIES; k++)
                assert_close(row.energy[k], usual.energy[k], 0, 1e-12);
            for (size_t i = 0; i < RANK; i++)
                assert_close(sigma[i], ldexp(usual_sigma[i], exponents[e]), 4 * down, 1e-11);
        }
}

/* A threshold out of range at the matrix's scale separates none of its values. */
static void distant_thresholds(void **state)
{
    (void)state;
    double sigma[N];
    mgk_rank_row row;
    mgk_rank_count count = rank_at(-1074, false, false, ldexp(1, 1074 - 20), &row, sigma);
    assert_int_equal(count.rank, 0);
    assert_int_equal(count.certificate, MGK_CERTIFICATE_BOUND);
    assert_true(count.nearest == row.sigma_max);
    count = rank_at(900, false, false, ldexp(1, -960), &row, sigma);
    assert_true(count.rank >= RANK && count.rank_low < count.rank_high);
}

static void zeros(void **state)
{
    (void)state;
    double a[9] = {0}, sigma[3], tau = 1e-6;
    const mgk_engine_task task = {.threshold_count = 1, .thresholds = &tau};
    mgk_engine *engine;
    mgk_ladder ladder = {0};
    mgk_rank_count count;
    mgk_rank_row row = {0};
    assert_ok(mgk_engine_open(3, false, &engine));
    assert_ok(mgk_rank_measure_entries(3, a, MGK_FLOAT_F64, NULL, sigma, &row));
    assert_ok(mgk_scaled_rank(engine, &task, &ladder, a, &row, &count, sigma));
    assert_int_equal(count.rank, 0);
    assert_true(row.sigma_max == 0);
    mgk_engine_close(engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measures_hold_at_any_scale),
        cmocka_unit_test(distant_thresholds),
        cmocka_unit_test(zeros),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
