/* SPDX-License-Identifier: MIT */
/* Ranks of cross-attention: matrices with fewer queries than keys, or more, against LAPACK's
 * singular values of the rectangle. */
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/counting/rectangle.h"
#include "analysis/matrices.h"
#include "analysis/run/run.h"
#include "analysis/source.h"
#include "base/random.h"

enum { HEADS = 4, LARGEST = 130 };

/* Queries and keys of each sample. */
static const size_t shapes[][2] = {{1, 9},   {9, 1},    {1, 1},    {7, 31},   {31, 7},
                                   {12, 13}, {9, 9},    {60, 130}, {130, 60}, {2, 64},
                                   {64, 3},  {100, 51}, {48, 49}};
enum { SHAPES = sizeof(shapes) / sizeof(*shapes) };

/* Which rows of a sample are zeros in head 3; SIZE_MAX: none. */
static size_t zero_row = SIZE_MAX;

static void sides_of(const void *context, size_t i, size_t *queries, size_t *keys)
{
    (void)context;
    *queries = shapes[i / HEADS][0];
    *keys = shapes[i / HEADS][1];
}

/* Head 0 has full rank; head 1 few directions; in head 2 every other row is the first one; in head
 * 3 each query attends to one of five keys. */
static void fill_packed(size_t i, size_t queries, size_t keys, double *a)
{
    const size_t head = i % HEADS;
    test_rectangle_softmax(i, queries, keys, 1, a);
    for (size_t r = 0; r < queries && head == 1; r++)
        for (size_t j = 0; j < keys; j++)
            a[r * keys + j] = r < 3 ? a[r * keys + j] : (a[j] + a[r % 3 * keys + j]) / 2;
    for (size_t r = 0; r < queries && head == 2; r += 2)
        memcpy(a + r * keys, a, keys * sizeof(*a));
    for (size_t r = 0; r < queries && head == 3; r++)
        for (size_t j = 0; j < keys; j++)
            a[r * keys + j] = j == r % 5 % keys && r != zero_row;
}

static void fill(const void *context, size_t i, size_t n, double *data)
{
    size_t queries, keys;
    sides_of(context, i, &queries, &keys);
    double *packed = calloc(queries * keys, sizeof(double));
    fill_packed(i, queries, keys, packed);
    for (size_t k = 0; k < n * n; k++)
        data[k] = k < queries * n ? 0 : (double)NAN; /* nothing reads what is after the queries */
    for (size_t r = 0; r < queries; r++)
        memcpy(data + r * n, packed + r * keys, keys * sizeof(*data));
    free(packed);
}

static mgk_status run(const mgk_rank_run_options *options, mgk_rank_table *table)
{
    test_source s = {.count = SHAPES * HEADS,
                     .heads = HEADS,
                     .layers = 1,
                     .n_max = LARGEST,
                     .sides = sides_of,
                     .fill = fill,
                     .failing = SIZE_MAX};
    const mgk_source source = test_source_of(&s);
    mgk_status status = mgk_rank_run(&source, options, table);
    assert_false(s.misused);
    return status;
}

static double norm_of(size_t count, const double *a)
{
    double sum = 0;
    for (size_t k = 0; k < count; k++)
        sum += a[k] * a[k];
    return sqrt(sum);
}

/* The row of the table, and sigma if it is known, of matrix r. */
static void compare(const mgk_rank_table *table, size_t r, bool computed)
{
    const size_t queries = shapes[r / HEADS][0], keys = shapes[r / HEADS][1];
    const size_t values = queries < keys ? queries : keys, thresholds = table->threshold_count;
    const mgk_rank_row *row = &table->rows[r];
    double *a = calloc(queries * keys, sizeof(double)), *sigma = calloc(values, sizeof(double));
    fill_packed(r, queries, keys, a);
    test_rectangle_spectrum(queries, keys, a, sigma);
    assert_int_equal(row->n, values);
    assert_close(row->frobenius, norm_of(queries * keys, a), 1e-13, 0);
    assert_close(row->row_sum_error, 0, 1e-13, 0);
    if (!isnan(row->sigma_max)) /* otherwise it is counted */
        assert_close(row->sigma_max, sigma[0], 1e-5, 0);
    for (size_t t = 0; t < thresholds; t++) {
        const mgk_rank_count *count = &table->counts[r * thresholds + t];
        size_t above = 0;
        while (above < values && sigma[above] >= table->thresholds[t])
            above++;
        assert_int_equal(count->rank, above);
        assert_int_equal(count->rank_high, above);
        assert_int_not_equal(count->certificate, MGK_CERTIFICATE_NONE);
    }
    for (size_t i = 0; i < values && computed; i++)
        assert_close(table->spectra[r * table->n_max + i], sigma[i], 1e-13, 0);
    for (size_t i = values; i < table->n_max && computed; i++)
        assert_true(isnan(table->spectra[r * table->n_max + i]));
    if (computed)
        assert_close(row->sigma_min, sigma[values - 1], 1e-13, 0);
    free(sigma);
    free(a);
}

static void ranks_are_those_of_the_rectangle(void **state)
{
    (void)state;
    const double thresholds[] = {1e-6, 0.02};
    for (int kept = 0; kept < 2; kept++) {
        const mgk_rank_run_options options = {.threshold_count = 2,
                                              .thresholds = thresholds,
                                              .keep_spectra = kept,
                                              .count_only = !kept,
                                              .threads = 2};
        mgk_rank_table table;
        bool counted = false;
        assert_ok(run(&options, &table));
        assert_int_equal(table.row_count, SHAPES * HEADS);
        for (size_t r = 0; r < table.row_count; r++) {
            compare(&table, r, kept);
            counted |= mgk_rank_method_counts(table.rows[r].method);
        }
        assert_int_equal(counted, !kept);
        mgk_rank_table_free(&table);
    }
}

/* Rows of zeros are found among the queries alone: those after them are padding. */
static void rows_of_zeros_are_those_of_queries(void **state)
{
    (void)state;
    const double tau = 1e-6;
    mgk_rank_run_options options = {.threshold_count = 1, .thresholds = &tau, .threads = 1};
    mgk_rank_table table;
    zero_row = 30;
    assert_fails(run(&options, &table), STATUS_UNSUPPORTED);
    assert_non_null(strstr(mgk_fail_message(), "sample 4, layer 0, head 3: row 30 is all zeros"));
    options.allow_zero_rows = true;
    assert_ok(run(&options, &table));
    for (size_t r = 0; r < table.row_count; r++)
        assert_int_equal(table.rows[r].zero_rows, r % HEADS == 3 && shapes[r / HEADS][0] > 30);
    zero_row = SIZE_MAX;
    mgk_rank_table_free(&table);
}

/* A singular value at the threshold: the rank has a certificate only if the errors of the
 * factorisation and of the solver are smaller than its distance. */
static void values_at_the_threshold_are_not_certified(void **state)
{
    (void)state;
    enum { ROWS = 20, COLUMNS = 90, N = COLUMNS };
    static const struct {
        double off; /* from the threshold, of itself */
        bool certified;
    } cases[] = {{1e-3, true}, {-1e-3, true}, {1e-7, false}, {-1e-7, false}};
    const double tau = 1e-6;
    const mgk_extent extent = {.rows = ROWS, .columns = COLUMNS, .n = N};
    double *square = calloc(N * N, sizeof(double)), *a = calloc(N * N, sizeof(double));
    double sigma[N], work[(64 + 1) * N];
    mgk_engine *engine;
    assert_int_equal(mgk_rectangle_work(N), sizeof(work) / sizeof(*work));
    assert_ok(mgk_engine_open(N, false, &engine));
    for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
        const mgk_engine_task task = {.threshold_count = 1, .thresholds = &tau};
        mgk_ladder ladder = {0};
        mgk_rank_row row = {0};
        mgk_rank_count count;
        double column_sums[N], orthogonal[N];
        /* Rows of an orthogonal matrix, scaled. */
        for (size_t i = 0; i < N; i++)
            orthogonal[i] = 1;
        test_matrix_with_spectrum(3, N, orthogonal, square);
        memset(a, 0, N * N * sizeof(*a));
        for (size_t i = 0; i < ROWS; i++)
            for (size_t j = 0; j < COLUMNS; j++)
                a[i * N + j] = square[i * N + j] * (i == 7 ? tau * (1 + cases[c].off) : 1);
        assert_ok(mgk_rank_measure_rectangle(ROWS, COLUMNS, N, a, MGK_FLOAT_F64, NULL, column_sums,
                                             &row));
        assert_ok(
            mgk_rectangle_rank(engine, &task, &ladder, &extent, a, work, &row, &count, sigma));
        assert_int_equal(count.certificate != MGK_CERTIFICATE_NONE, cases[c].certified);
        assert_int_equal(count.rank_low < count.rank_high, !cases[c].certified);
        if (cases[c].certified)
            assert_int_equal(count.rank, ROWS - (cases[c].off < 0));
        assert_int_equal(row.n, ROWS);
        assert_close(sigma[ROWS - 1], tau * (1 + cases[c].off), 1e-15, 0);
    }
    mgk_engine_close(engine);
    free(square);
    free(a);
}

/* The floor of a square matrix is that of both sides; a rectangle's is between those of its sides.
 */
static void storage_moves_rectangles_by_both_sides(void **state)
{
    (void)state;
    const double square = mgk_rank_noise_floor(64, 64, 3, MGK_FLOAT_F32);
    assert_close(square, 0.82 * 0x1p-24 * 3 / 8, 0, 1e-15);
    assert_close(mgk_rank_noise_floor(64, 16, 3, MGK_FLOAT_F32), 1.5 * square, 0, 1e-15);
    assert_close(mgk_rank_noise_floor(16, 64, 3, MGK_FLOAT_F32), 1.5 * square, 0, 1e-15);
    assert_true(mgk_rectangle_error(&(mgk_extent){5, 5, 5}, 2) == 0);
    assert_true(mgk_rectangle_error(&(mgk_extent){5, 3, 5}, 2) == 30 * 0x1p-53);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_are_those_of_the_rectangle),
        cmocka_unit_test(rows_of_zeros_are_those_of_queries),
        cmocka_unit_test(values_at_the_threshold_are_not_certified),
        cmocka_unit_test(storage_moves_rectangles_by_both_sides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
