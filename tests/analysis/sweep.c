/* SPDX-License-Identifier: MIT */
#include "test.h"

#include <string.h>

#include "analysis/measures/sweep.h"
#include "base/memory.h"

enum { N = 4, MATRICES = 3 };

/* Matrices of n = 4 and 3 with the same nonzero singular values, and an empty matrix. */
static mgk_rank_table with_spectra(double scale)
{
    const double tau = 0.5;
    mgk_rank_table table;
    assert_ok(mgk_rank_table_make(1, &tau, N, &table));
    for (size_t r = 0; r < MATRICES; r++) {
        const double sigma[N] = {scale, 2e-3 * scale, 3e-7 * scale, 0};
        assert_ok(mgk_rank_table_append(&table));
        table.rows[r].n = r < 2 ? N - r : 0;
        memcpy(table.spectra + r * N, sigma, table.rows[r].n * sizeof(*sigma));
    }
    return table;
}

static void spectra_are_counted(void **state)
{
    (void)state;
    for (int relative = 0; relative <= 1; relative++) {
        mgk_rank_table table = with_spectra(relative ? 10 : 1);
        table.settings.relative = relative;
        assert_ok(mgk_rank_table_sweep(&table));
        assert_int_equal(table.threshold_count, MGK_SWEEP_THRESHOLDS);
        assert_close(table.thresholds[0], 1e-8, 0, 1e-14);
        assert_close(table.thresholds[2], 1e-8 * sqrt(10), 0, 1e-14);
        assert_close(table.thresholds[24], 1e-2, 0, 1e-14);
        for (size_t t = 0; t < MGK_SWEEP_THRESHOLDS; t++) {
            double tau = table.thresholds[t];
            size_t expected = tau <= 3e-7 ? 3 : tau <= 2e-3 ? 2 : 1;
            for (size_t r = 0; r < MATRICES; r++)
                assert_int_equal(table.counts[r * MGK_SWEEP_THRESHOLDS + t].rank,
                                 r < 2 ? expected : 0);
        }
        mgk_rank_table_free(&table);
    }
}

static void zeros_have_rank_zero(void **state)
{
    (void)state;
    mgk_rank_table table = with_spectra(0);
    table.settings.relative = true;
    assert_ok(mgk_rank_table_sweep(&table));
    for (size_t i = 0; i < MATRICES * MGK_SWEEP_THRESHOLDS; i++)
        assert_int_equal(table.counts[i].rank, 0);
    mgk_rank_table_free(&table);
}

/* A table of two matrices without spectra: matrix r has rank 10 r + t at threshold t. */
static mgk_rank_table without_spectra(size_t count, const double *thresholds)
{
    mgk_rank_table table;
    assert_ok(mgk_rank_table_make(count, thresholds, 0, &table));
    for (size_t r = 0; r < 2; r++) {
        assert_ok(mgk_rank_table_append(&table));
        for (size_t t = 0; t < count; t++)
            table.counts[r * count + t].rank = 10 * r + t;
    }
    return table;
}

static void thresholds_are_sorted(void **state)
{
    (void)state;
    const double thresholds[] = {1e-4, 1e-8, 1, 1e-6};
    static const size_t order[] = {1, 3, 0, 2};
    mgk_rank_table table = without_spectra(4, thresholds);
    assert_ok(mgk_rank_table_sweep(&table));
    for (size_t t = 0; t < 4; t++) {
        assert_true(table.thresholds[t] == thresholds[order[t]]);
        for (size_t r = 0; r < 2; r++)
            assert_int_equal(table.counts[r * 4 + t].rank, 10 * r + order[t]);
    }
    mgk_rank_table_free(&table);
}

static void tables_without_a_sweep(void **state)
{
    (void)state;
    const double few[] = {1e-6, 1e-4}, twice[] = {1e-6, 1e-4, 1e-6}, zero[] = {1e-6, 0, 1e-4},
                 none[] = {1e-6, (double)NAN, 1e-4};
    const struct {
        const double *thresholds;
        size_t count;
        mgk_status status;
        const char *message;
    } cases[] = {{few, 1, STATUS_SHAPE, "1 threshold: a sweep needs"},
                 {few, 2, STATUS_SHAPE, "(option spectrum of mgk-rank, .h5) or 3 thresholds"},
                 {twice, 3, STATUS_FORMAT, "1e-06 occurs twice"},
                 {zero, 3, STATUS_FORMAT, "threshold 0, expected above 0"},
                 {none, 3, STATUS_FORMAT, "nan, expected above 0"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        mgk_rank_table table = without_spectra(cases[i].count, cases[i].thresholds);
        assert_fails(mgk_rank_table_sweep(&table), cases[i].status);
        assert_non_null(strstr(mgk_fail_message(), cases[i].message));
        mgk_rank_table_free(&table);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spectra_are_counted),
        cmocka_unit_test(zeros_have_rank_zero),
        cmocka_unit_test(thresholds_are_sorted),
        cmocka_unit_test(tables_without_a_sweep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
