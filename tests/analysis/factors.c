/* SPDX-License-Identifier: MIT */
/* Ranks from thin factors equal those of the product matrix. */
#include "analysis/counting/factors.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/matrices.h"
#include "base/random.h"
#include "test.h"

enum { LARGEST = 256, THRESHOLDS = 3 };

static const double thresholds[THRESHOLDS] = {1e-6, 1e-3, 0.1};
static const mgk_engine_task task = {.threshold_count = THRESHOLDS, .thresholds = thresholds};

/* Results from a pair of factors and from their product. */
typedef struct outcome {
    mgk_rank_row row;
    mgk_rank_count counts[THRESHOLDS];
    double sigma[LARGEST];
} outcome;

/* [2, n, depth], L and R, with columns that decay like decay^c, and rows of L R' that sum to 1. */
static double *make_pair(uint64_t seed, size_t n, size_t depth, double decay)
{
    double *pair = calloc(2 * n * depth, sizeof(double)), *sums = calloc(depth, sizeof(double));
    for (size_t side = 0; side < 2; side++)
        for (size_t i = 0; i < n * depth; i++)
            pair[side * n * depth + i] = exp(mgk_random_normal(seed, side, i)) *
                                         (side ? pow(decay, (double)(i % depth)) : 1);
    for (size_t i = 0; i < n * depth; i++)
        sums[i % depth] += pair[n * depth + i];
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t c = 0; c < depth; c++)
            sum += pair[i * depth + c] * sums[c];
        for (size_t c = 0; c < depth; c++)
            pair[i * depth + c] /= sum;
    }
    free(sums);
    return pair;
}

static outcome by_factors(size_t n, size_t depth, const double *pair, mgk_float_format format)
{
    outcome out = {0};
    mgk_factors *factors;
    double *copy = calloc(2 * n * depth + 1, sizeof(double));
    memcpy(copy, pair, 2 * n * depth * sizeof(double));
    assert_ok(mgk_factors_open(LARGEST, depth, &factors));
    assert_ok(mgk_factors_rank(factors, &task, n, copy, format, &out.row, out.counts, out.sigma));
    mgk_factors_close(factors);
    free(copy);
    return out;
}

static outcome by_entries(size_t n, size_t depth, const double *pair)
{
    outcome out = {0};
    mgk_engine *engine;
    mgk_ladder ladder = {0};
    double *a = calloc(n * n + 1, sizeof(double));
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            for (size_t c = 0; c < depth; c++)
                a[i * n + j] += pair[i * depth + c] * pair[(n + j) * depth + c];
    assert_ok(mgk_engine_open(LARGEST, false, &engine));
    assert_ok(mgk_rank_measure_entries(n, a, MGK_FLOAT_F64, NULL, out.sigma, &out.row));
    assert_ok(mgk_engine_rank(engine, &task, &ladder, a, &out.row, out.counts, out.sigma));
    mgk_engine_close(engine);
    free(a);
    return out;
}

static void assert_alike(const outcome *f, const outcome *e)
{
    const size_t n = e->row.n;
    assert_int_equal(f->row.n, n);
    assert_int_equal(f->row.method, MGK_METHOD_FACTORS);
    for (size_t i = 0; i < n; i++)
        assert_close(f->sigma[i], e->sigma[i], 1e-13 * e->sigma[0], 0);
    for (size_t t = 0; t < THRESHOLDS; t++) {
        assert_int_equal(e->counts[t].certificate, MGK_CERTIFICATE_BOUND);
        assert_int_equal(f->counts[t].certificate, MGK_CERTIFICATE_BOUND);
        assert_int_equal(f->counts[t].rank, e->counts[t].rank);
    }
    assert_close(f->row.frobenius, e->row.frobenius, 0, 1e-13);
    assert_close(f->row.column_sum_max, e->row.column_sum_max, 0, 1e-13);
    assert_int_equal(f->row.zero_rows, e->row.zero_rows);
    assert_close(f->row.row_sum_error, e->row.row_sum_error, 1e-13, 0);
    assert_close(f->row.effective_rank, e->row.effective_rank, 0, 1e-10);
    assert_close(f->row.stable_rank, e->row.stable_rank, 0, 1e-10);
}

static void the_spectrum_is_that_of_the_product(void **state)
{
    (void)state;
    static const size_t orders[] = {1, 2, 33, 64, 256}, depths[] = {1, 2, 9, 33, 65};
    static const double decays[] = {1, 0.7, 0.2};
    size_t ranks = 0;
    for (size_t i = 0; i < 5 * 5 * 3; i++) {
        size_t n = orders[i % 5], depth = depths[i / 5 % 5];
        double *pair = make_pair(i, n, depth, decays[i / 25]);
        outcome found = by_factors(n, depth, pair, MGK_FLOAT_F64);
        outcome expected = by_entries(n, depth, pair);
        assert_alike(&found, &expected);
        assert_true(found.counts[0].rank <= (depth < n ? depth : n));
        for (size_t k = depth; k < n; k++)
            assert_true(found.sigma[k] == 0);
        ranks += found.counts[0].rank < depth && depth < n;
        free(pair);
    }
    assert_true(ranks > 0); /* some ranks are below the maximum */
}

/* Columns of any size, if those of L compensate those of R: S is not much above σ₁. */
static void columns_of_any_size(void **state)
{
    (void)state;
    enum { ORDER = 96, COLUMNS = 17 };
    double *pair = make_pair(5, ORDER, COLUMNS, 0.5);
    const outcome expected = by_entries(ORDER, COLUMNS, pair);
    for (size_t i = 0; i < ORDER * COLUMNS; i++) {
        int shift = 40 * ((int)(i % COLUMNS) - COLUMNS / 2);
        pair[i] = ldexp(pair[i], shift);
        pair[ORDER * COLUMNS + i] = ldexp(pair[ORDER * COLUMNS + i], -shift);
    }
    const outcome found = by_factors(ORDER, COLUMNS, pair, MGK_FLOAT_F64);
    assert_alike(&found, &expected);
    free(pair);
}

/* Repeated or zero columns add nothing. */
static void the_rank_may_be_below_the_depth(void **state)
{
    (void)state;
    enum { ORDER = 128, COLUMNS = 33, DISTINCT = 5 };
    double *pair = make_pair(8, ORDER, COLUMNS, 1);
    for (size_t i = 0; i < 2 * (size_t)ORDER; i++)
        for (size_t c = DISTINCT; c < COLUMNS; c++)
            pair[i * COLUMNS + c] = c == COLUMNS - 1 ? 0 : pair[i * COLUMNS + c % DISTINCT];
    outcome found = by_factors(ORDER, COLUMNS, pair, MGK_FLOAT_F64);
    assert_int_equal(found.counts[0].rank, DISTINCT);
    assert_false(found.counts[0].undecided);
    assert_int_equal(found.counts[0].certificate, MGK_CERTIFICATE_BOUND);
    assert_close(found.row.sigma_max, by_entries(ORDER, COLUMNS, pair).row.sigma_max, 0, 1e-13);
    memset(pair, 0, 2 * (size_t)ORDER * COLUMNS * sizeof(double));
    found = by_factors(ORDER, COLUMNS, pair, MGK_FLOAT_F64);
    assert_int_equal(found.counts[0].rank, 0);
    assert_true(found.row.frobenius == 0 && found.row.noise_floor == 0);
    found = by_factors(0, COLUMNS, pair, MGK_FLOAT_F64);
    assert_int_equal(found.counts[0].rank, 0);
    assert_true(isnan(found.row.sigma_max) && isnan(found.row.frobenius));
    free(pair);
}

/* Rounding the factors shifts singular values by at most the floor, and some by a part of it. */
static void rounding_stays_below_the_floor(void **state)
{
    (void)state;
    enum { ORDER = 200, COLUMNS = 33 };
    double worst = 0;
    for (uint64_t seed = 0; seed < 8; seed++) {
        double *pair = make_pair(seed, ORDER, COLUMNS, 0.8);
        const outcome exact = by_factors(ORDER, COLUMNS, pair, MGK_FLOAT_F64);
        for (size_t i = 0; i < 2 * (size_t)ORDER * COLUMNS; i++)
            pair[i] = (double)(float)pair[i];
        const outcome rounded = by_factors(ORDER, COLUMNS, pair, MGK_FLOAT_F64);
        assert_int_equal(rounded.row.format, MGK_FLOAT_F32);
        assert_close(rounded.row.noise_floor, rounded.row.sigma_max * 0x1p-23, 0, 1e-6);
        for (size_t i = 0; i < ORDER; i++)
            worst = fmax(worst, fabs(rounded.sigma[i] - exact.sigma[i]) / rounded.row.noise_floor);
        free(pair);
    }
    assert_in_range((uint64_t)(worst * 1e6), 1e3, 1e6);
}

static void rows_of_zeros_are_found(void **state)
{
    (void)state;
    enum { ORDER = 20, COLUMNS = 3 };
    mgk_factors *factors;
    double *pair = make_pair(3, ORDER, COLUMNS, 1);
    assert_ok(mgk_factors_open(ORDER, COLUMNS, &factors));
    assert_int_equal(mgk_factors_zero_row(factors, ORDER, pair), ORDER);
    /* R has zeros in the columns in which row 7 of L is not zero. */
    pair[7 * COLUMNS] = pair[7 * COLUMNS + 2] = 0;
    assert_int_equal(mgk_factors_zero_row(factors, ORDER, pair), ORDER);
    for (size_t j = 0; j < ORDER; j++)
        pair[(ORDER + j) * COLUMNS + 1] = 0;
    assert_int_equal(mgk_factors_zero_row(factors, ORDER, pair), 7);
    assert_int_equal(by_factors(ORDER, COLUMNS, pair, MGK_FLOAT_F64).row.zero_rows, 1);
    pair[7 * COLUMNS + 2] = 1e-300;
    assert_int_equal(mgk_factors_zero_row(factors, ORDER, pair), ORDER);
    mgk_factors_close(factors);
    free(pair);
}

static void refuse(size_t place, double entry, const char *message)
{
    enum { ORDER = 4, COLUMNS = 3 };
    outcome out = {0};
    mgk_factors *factors;
    double *pair = make_pair(1, ORDER, COLUMNS, 1);
    pair[place] = entry;
    assert_ok(mgk_factors_open(ORDER, COLUMNS, &factors));
    assert_int_equal(mgk_factors_rank(factors, &task, ORDER, pair, MGK_FLOAT_F64, &out.row,
                                      out.counts, out.sigma),
                     STATUS_NUMERIC);
    assert_non_null(strstr(mgk_fail_message(), message));
    mgk_factors_close(factors);
    free(pair);
}

static void what_is_no_attention_is_refused(void **state)
{
    (void)state;
    refuse(4, (double)NAN, "entry [1, 1] of the left factor is nan");
    refuse(12 + 2, (double)INFINITY, "entry [0, 2] of the right factor is inf");
    refuse(12, -1, "entry [0, 0] of the right factor is -1");
    refuse(0, 1.7e308, "the sum of row 0 overflows");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_spectrum_is_that_of_the_product),
        cmocka_unit_test(columns_of_any_size),
        cmocka_unit_test(the_rank_may_be_below_the_depth),
        cmocka_unit_test(rounding_stays_below_the_floor),
        cmocka_unit_test(rows_of_zeros_are_found),
        cmocka_unit_test(what_is_no_attention_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
