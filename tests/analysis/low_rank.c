/* SPDX-License-Identifier: MIT */
/* Counts by a thin basis equal those of singular values, and matrices without low rank are
 * refused. */
#include "analysis/counting/low_rank.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/counting/engine.h"
#include "analysis/matrices.h"
#include "test.h"

enum { N = 512 };

static const double tau = 1e-6;

typedef struct fixture {
    mgk_low_rank *low_rank;
    mgk_spectrum *spectrum;
    double *a, *rest, sigma[N];
    size_t used;
    double largest;
    mgk_rank_count count;
} fixture;

static void open_fixture(fixture *f)
{
    assert_ok(mgk_low_rank_open(N, &f->low_rank));
    assert_ok(mgk_spectrum_open(N, &f->spectrum));
    f->a = calloc((size_t)N * N, sizeof(double));
    f->rest = calloc((size_t)N * N, sizeof(double));
}

static void close_fixture(fixture *f)
{
    mgk_low_rank_close(f->low_rank);
    mgk_spectrum_close(f->spectrum);
    free(f->a);
    free(f->rest);
}

static bool count_of(fixture *f, size_t n, size_t columns, double storage)
{
    return mgk_low_rank_count(f->low_rank, f->spectrum, n, f->a, columns, tau, 0, storage, f->rest,
                              &f->used, &f->largest, &f->count);
}

static void make(fixture *f, size_t n, size_t rank, double near, double tail)
{
    for (size_t i = 0; i < n; i++)
        f->sigma[i] = i < rank ? pow(1e-4, (double)i / (double)rank) : tail / (double)(i + 1);
    if (near > 0)
        f->sigma[rank] = near;
    test_matrix_with_spectrum(rank, n, f->sigma, f->a);
}

/* One singular value at tau (1 ± 10^-k) above a tail: counted correctly, or not at all. */
static void near_the_threshold(void **state)
{
    (void)state;
    fixture f;
    size_t told = 0;
    open_fixture(&f);
    for (int k = 1; k <= 12; k++)
        for (int side = -1; side <= 1; side += 2) {
            make(&f, N, 20, tau * (1 + side * pow(10, -k)), 1e-8);
            bool held = count_of(&f, N, 8, 0);
            assert_true(held || k > 3);
            assert_true(!held || k < 10);
            if (held) {
                assert_int_equal(f.count.rank, 20 + (side > 0));
                assert_close(f.largest, 1, 1e-12, 0);
                if (!isnan(f.count.nearest))
                    assert_close(f.count.nearest, f.sigma[20], pow(10, -k - 2) * tau, 0);
                told += isnan(f.count.nearest) ? 0 : 1;
                assert_int_equal(f.count.certificate, MGK_CERTIFICATE_BOUND);
                assert_true(!f.count.undecided);
                assert_in_range(f.used, 21, N / MGK_LOW_RANK_SHARE);
            }
        }
    assert_true(told > 0);
    close_fixture(&f);
}

/* Values that storage leaves open are counted on both sides; columns grow as needed. */
static void sizes_and_storage(void **state)
{
    (void)state;
    fixture f;
    open_fixture(&f);
    for (size_t n = N; n > N - 40; n -= 13)
        for (size_t rank = 1; rank <= 33; rank += 8) {
            make(&f, n, rank, 1.02 * tau, 1e-9);
            assert_true(count_of(&f, n, rank % 2 ? 1 : 40, 0.05 * tau));
            assert_int_equal(f.count.rank, rank + 1);
            assert_int_equal(f.count.rank_low, rank);
            assert_int_equal(f.count.rank_high, rank + 1);
            assert_true(f.count.undecided);
        }
    close_fixture(&f);
}

static void what_is_not_low(void **state)
{
    (void)state;
    fixture f;
    open_fixture(&f);
    make(&f, N, 80, 0, 0);
    assert_false(count_of(&f, N, 32, 0));
    make(&f, N, 10, 0, 1e-3); /* a large tail */
    assert_false(count_of(&f, N, 32, 0));
    memset(f.a, 0, sizeof(double) * N * N);
    assert_true(count_of(&f, N, 32, 0));
    assert_int_equal(f.count.rank, 0);
    assert_true(f.largest == 0 && f.count.nearest == 0);
    close_fixture(&f);
}

/* If storage may have shifted values by more than the threshold, all n of them may be above it. */
static void storage_beyond_the_threshold(void **state)
{
    (void)state;
    fixture f;
    open_fixture(&f);
    make(&f, N, 6, 0, 0);
    assert_false(count_of(&f, N, 32, 2 * tau));
    close_fixture(&f);
}

/* An engine tries a thin basis from a head's second matrix on, if the first one's rank was low. */
static void engines_learn(void **state)
{
    (void)state;
    enum { LARGE = 800 };
    const mgk_engine_task task = {.threshold_count = 1, .thresholds = &tau, .count_only = true};
    mgk_ladder ladder = {0};
    mgk_engine *engine;
    double *a = calloc((size_t)LARGE * LARGE, sizeof(double)), sigma[LARGE];
    assert_ok(mgk_engine_open(LARGE, true, &engine));
    for (int i = 0; i < 4; i++) {
        mgk_rank_row row = {0};
        mgk_rank_count count;
        for (size_t k = 0; k < LARGE; k++)
            sigma[k] = k < 12 ? 1 / (double)(k + 1) : 0;
        test_matrix_with_spectrum((uint64_t)i, LARGE, sigma, a);
        assert_ok(mgk_rank_measure_entries(LARGE, a, MGK_FLOAT_F64, NULL, sigma, &row));
        assert_ok(mgk_engine_rank(engine, &task, &ladder, a, &row, &count, sigma));
        assert_int_equal(count.rank, 12);
        assert_true((row.method == MGK_METHOD_LOW_RANK) == (i > 0));
        assert_close(row.sigma_max, 1, i > 0 ? 1e-12 : 5e-7, 0);
        assert_close(count.nearest, 0, 1e-9, 0);
    }
    mgk_engine_close(engine);
    free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(near_the_threshold), cmocka_unit_test(sizes_and_storage),
        cmocka_unit_test(what_is_not_low),    cmocka_unit_test(storage_beyond_the_threshold),
        cmocka_unit_test(engines_learn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
