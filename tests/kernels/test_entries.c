/* SPDX-License-Identifier: MIT */
/* A device's measures of matrix entries, compared with the host's. */
#include <string.h>

#include "analysis/matrices.h"
#include "spectra.h"

static void measure(workspace *space, const batch *b, mgk_entries *out)
{
    assert_ok(space->device->op->spectral->measure_entries(space->device, b->count, b->n, b->orders,
                                                           upload_matrices(space, b), out));
}

/* Compares sums of n numbers up to `scale` in any order. */
static void assert_sum(double actual, double expected, size_t n, double scale)
{
    assert_true(fabs(actual - expected) <= 2 * (double)n * 0x1p-53 * scale);
}

static void assert_entries(const batch *b, size_t i, const mgk_entries *seen)
{
    const double *a = matrix_of(b, i);
    const size_t n = b->orders[i];
    mgk_entries expected = {.column_sum_max = -INFINITY};
    for (size_t row = 0; row < n; row++) {
        double across = 0, down = 0;
        bool zero = true;
        for (size_t k = 0; k < n; k++) {
            uint64_t bits;
            memcpy(&bits, &a[row * n + k], sizeof bits);
            expected.bits |= bits;
            expected.norm += a[row * n + k] * a[row * n + k];
            across += a[row * n + k];
            down += a[k * n + row];
            zero &= a[row * n + k] == 0;
        }
        expected.zero_rows += zero;
        if (!zero)
            expected.row_sum_error = fmax(expected.row_sum_error, fabs(across - 1));
        expected.column_sum_max = fmax(expected.column_sum_max, down);
    }
    assert_true(seen->bits == expected.bits);
    assert_int_equal(seen->zero_rows, expected.zero_rows);
    if (n > 0)
        assert_sum(seen->norm, sqrt(expected.norm), n * n, seen->norm);
    assert_sum(seen->row_sum_error, expected.row_sum_error, n, 1 + expected.row_sum_error);
    if (n > 0)
        assert_sum(seen->column_sum_max, expected.column_sum_max, n, expected.column_sum_max);
}

/* More rows than a block handles, and rows that several blocks share. */
static void entries_are_measured(void **state)
{
    workspace *space = *state;
    const size_t orders[] = {31, 1, 0, 64, 2, 33, 96, 5}, n = 97;
    const size_t count = sizeof orders / sizeof *orders;
    batch b = make_batch(space, count, n);
    mgk_entries seen[sizeof orders / sizeof *orders];
    memset(b.matrices, 0xff, count * n * n * sizeof(double)); /* NaN after each */
    for (size_t i = 0; i < count; i++) {
        put_softmax(&b, i, orders[i]);
        /* rows that sum to 1 would test little */
        for (size_t e = 0; e < orders[i] * orders[i]; e++)
            matrix_of(&b, i)[e] = (double)(float)(matrix_of(&b, i)[e] * (double)(1 + e % 7));
    }
    measure(space, &b, seen);
    for (size_t i = 0; i < count; i++)
        assert_entries(&b, i, &seen[i]);
}

/* Rows of zeros in each thread's share of a matrix, adjacent, first and last; rows whose entries
 * cancel are not rows of zeros. */
static void zero_rows_are_counted(void **state)
{
    workspace *space = *state;
    const size_t n = 70, rows[] = {0, 1, 31, 32, 69};
    batch b = make_batch(space, 3, n);
    mgk_entries seen[3];
    for (size_t i = 0; i < b.count; i++)
        put_softmax(&b, i, n);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        memset(matrix_of(&b, 1) + rows[i] * n, 0, n * sizeof(double));
    memset(matrix_of(&b, 2), 0, n * sizeof(double));
    matrix_of(&b, 2)[3] = 2;
    matrix_of(&b, 2)[66] = -2;
    measure(space, &b, seen);
    for (size_t i = 0; i < b.count; i++)
        assert_entries(&b, i, &seen[i]);
    assert_int_equal(seen[1].zero_rows, 5);
    assert_true(seen[1].row_sum_error < 1e-12 && seen[2].row_sum_error >= 1);
}

/* Entries that are not finite are found anywhere, and only where they are. */
static void bad_entries_are_seen(void **state)
{
    workspace *space = *state;
    const size_t n = 70, places[] = {0, 69, 70 * 35 + 3, 70 * 70 - 1};
    batch b = make_batch(space, 12, n);
    mgk_entries seen[12];
    for (size_t i = 0; i < b.count; i++) {
        put_softmax(&b, i, n);
        if (i % 3 > 0)
            matrix_of(&b, i)[places[i / 3]] = i % 3 == 1 ? (double)NAN : -(double)INFINITY;
    }
    measure(space, &b, seen);
    for (size_t i = 0; i < b.count; i++)
        assert_int_equal(isfinite(seen[i].row_sum_error) != 0, i % 3 == 0);
}

/* A batch that does not fit at once into a device with little memory. */
static void large_batches(void **state)
{
    workspace *space = *state;
    const size_t n = 9, count = 900;
    batch b = make_batch(space, count, n);
    mgk_entries *seen = host_bytes(space, count, sizeof *seen);
    for (size_t i = 0; i < count; i++)
        put_softmax(&b, i, n - i % 4);
    measure(space, &b, seen);
    for (size_t i = 0; i < count; i++)
        assert_entries(&b, i, &seen[i]);
}

static bool has_measures(const mgk_operations *op)
{
    return op->spectral->measure_entries != NULL;
}

int main(void)
{
    workspace space = {0};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate_setup_teardown(entries_are_measured, NULL, release_workspace,
                                                 &space),
        cmocka_unit_test_prestate_setup_teardown(bad_entries_are_seen, NULL, release_workspace,
                                                 &space),
        cmocka_unit_test_prestate_setup_teardown(zero_rows_are_counted, NULL, release_workspace,
                                                 &space),
        cmocka_unit_test_prestate_setup_teardown(large_batches, NULL, release_workspace, &space),
    };
    return run_where(&space, MGK_SINGLE, has_measures, sizeof tests / sizeof *tests, tests);
}
