/* SPDX-License-Identifier: MIT */
/* Counted ranks equal the ranks from singular values, and their certificates hold. */
#include "analysis/counting/engine.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/counting/gram.h"
#include "analysis/families.h"
#include "analysis/matrices.h"
#include "analysis/traps.h"
#include "test.h"

enum { N = 96 };

static double tau = 1e-6; /* tests that change it restore it */

/* An engine that may not change the matrix gives the same singular values. */
static void check_kept(mgk_engine *engine, size_t n, const double *a, mgk_rank_row row,
                       const double *sigma)
{
    double *kept = calloc(n * n, sizeof(double)), *copy = calloc(n * n, sizeof(double));
    double *again = calloc(n, sizeof(double));
    const mgk_engine_task task = {.threshold_count = 1, .thresholds = &tau, .copy = copy};
    mgk_ladder ladder = {0};
    mgk_rank_count count;
    memcpy(kept, a, n * n * sizeof(double));
    assert_ok(mgk_engine_rank(engine, &task, &ladder, kept, &row, &count, again));
    assert_memory_equal(kept, a, n * n * sizeof(double));
    assert_memory_equal(again, sigma, n * sizeof(double));
    free(kept);
    free(copy);
    free(again);
}

/* Ranks a copy of `a`; singular values are NaN if they were not computed. */
static mgk_rank_count rank_of(mgk_engine *engine, bool count_only, mgk_float_format format,
                              size_t n, const double *a, mgk_ladder *ladder, mgk_rank_row *row)
{
    const mgk_engine_task task = {
        .threshold_count = 1, .thresholds = &tau, .count_only = count_only};
    double *copy = calloc(n * n, sizeof(double)), *sigma = calloc(n, sizeof(double));
    mgk_rank_count count;
    memcpy(copy, a, n * n * sizeof(double));
    *row = (mgk_rank_row){0};
    assert_ok(mgk_rank_measure_entries(n, copy, format, NULL, sigma, row));
    assert_ok(mgk_engine_rank(engine, &task, ladder, copy, row, &count, sigma));
    if (!count_only)
        check_kept(engine, n, a, *row, sigma);
    free(copy);
    free(sigma);
    return count;
}

static void families_agree(mgk_engine *counting, mgk_engine *computing, const test_family *family)
{
    mgk_ladder ladder = {0};
    mgk_rank_row row, reference_row;
    size_t counted = 0;
    double *a = calloc((size_t)N * N, sizeof(double));
    for (int seed = 0; seed < test_repetitions(12); seed++) {
        size_t n = (size_t)(N - (seed % 3) * 17);
        family->make((uint64_t)seed, n, a);
        for (size_t i = 0; seed % 2 && i < n * n; i++)
            a[i] = (double)(float)a[i];
        mgk_rank_count count = rank_of(counting, true, MGK_FLOAT_F64, n, a, &ladder, &row);
        mgk_rank_count reference =
            rank_of(computing, false, MGK_FLOAT_F64, n, a, &ladder, &reference_row);
        counted += row.method == MGK_METHOD_GRAM;
        assert_close(row.sigma_max, reference_row.sigma_max, 0, 5e-6);
        assert_close(row.stable_rank, reference_row.stable_rank, 0, 1e-5);
        /* Singular values far below tau are lost in the rounding of AᵀA. */
        if (count.nearest > tau / 4 || reference.nearest > tau / 4)
            assert_close(fabs(count.nearest - tau), fabs(reference.nearest - tau), 1e-12 * tau,
                         1e-4);
        assert_int_equal(reference_row.method, MGK_METHOD_SVD);
        assert_true(count.rank_low <= count.rank && count.rank <= count.rank_high);
        if (reference.certificate == MGK_CERTIFICATE_NONE)
            assert_true(row.method == MGK_METHOD_SVD);
        else
            assert_int_equal(count.rank, reference.rank);
    }
    if (counted == 0)
        print_message("%s: nothing counted\n", family->name);
    free(a);
}

static void every_family(void **state)
{
    (void)state;
    mgk_engine *counting, *computing;
    assert_ok(mgk_engine_open(N, true, &counting));
    assert_ok(mgk_engine_open(N, false, &computing));
    for (size_t f = 0; f < test_family_count; f++)
        families_agree(counting, computing, &test_families[f]);
    mgk_engine_close(counting);
    mgk_engine_close(computing);
}

/* One singular value at tau (1 ± 10^-k): the rank is right or without a certificate. */
static void one_value_near_the_threshold(void **state)
{
    (void)state;
    double *a = calloc((size_t)N * N, sizeof(double)), sigma[N];
    mgk_ladder ladder = {0};
    mgk_rank_row row;
    mgk_engine *engine;
    assert_ok(mgk_engine_open(N, true, &engine));
    for (int k = 1; k <= test_repetitions(12); k++)
        for (int side = -1; side <= 1; side += 2) {
            for (size_t i = 0; i < N; i++)
                sigma[i] = i < N / 2 ? 1 : i == N / 2 ? tau * (1 + side * pow(10, -k)) : 1e-9;
            test_matrix_with_spectrum((uint64_t)k, N, sigma, a);
            mgk_rank_count count = rank_of(engine, true, MGK_FLOAT_F64, N, a, &ladder, &row);
            if (count.certificate != MGK_CERTIFICATE_NONE)
                assert_int_equal(count.rank, N / 2 + (side > 0));
            /* Far from the threshold a certificate must exist; below the error of the matrix itself
             * none may. */
            assert_true(k > 6 || count.certificate != MGK_CERTIFICATE_NONE);
            assert_true(k < 11 || count.certificate == MGK_CERTIFICATE_NONE);
        }
    mgk_engine_close(engine);
    free(a);
}

/* If counting never saves time, the ladder hardly tries it any more. */
static void ladders_learn(void **state)
{
    (void)state;
    enum { MATRICES = 64 };
    double *a = calloc((size_t)N * N, sizeof(double)), sigma[N];
    mgk_ladder ladder = {0};
    mgk_rank_row row;
    mgk_engine *engine;
    for (size_t i = 0; i < N; i++)
        sigma[i] = i < N / 2 ? 1 : tau * (1 + ((double)i - 0.75 * N) * 1e-9);
    test_matrix_with_spectrum(8, N, sigma, a);
    assert_ok(mgk_engine_open(N, true, &engine));
    for (int i = 0; i < MATRICES; i++) {
        rank_of(engine, true, MGK_FLOAT_F64, N, a, &ladder, &row);
        assert_int_equal(row.method, MGK_METHOD_SVD);
    }
    assert_int_equal(ladder.matrices, MATRICES);
    assert_true(ladder.tried[0] + ladder.tried[1] < MATRICES / 4);
    mgk_engine_close(engine);
    free(a);
}

/* Known ranks, with roundings of one sign or many values at the threshold. Several of these seeds
 * were certified with a wrong rank while δ was estimated from the vectors that were found. */
static void traps(void **state)
{
    (void)state;
    static const struct {
        size_t trap, n;
        uint64_t seed;
    } known[] = {{0, 529, 508}, {0, 539, 542}, {0, 527, 657}, {3, 541, 392}, {3, 518, 594}};
    enum { LARGEST = 560, KNOWN = sizeof(known) / sizeof(*known) };
    double *a = calloc((size_t)LARGEST * LARGEST, sizeof(double));
    size_t counted = 0;
    mgk_engine *engine;
    assert_ok(mgk_engine_open(LARGEST, true, &engine));
    for (size_t k = 0; k < KNOWN + 6 * test_trap_count; k += TEST_STEP) {
        const size_t trap = k < KNOWN ? known[k].trap : k % test_trap_count;
        const size_t n = k < KNOWN ? known[k].n : k % 2 ? 512 + k : 256 - k;
        const uint64_t seed = k < KNOWN ? known[k].seed : k;
        mgk_ladder ladder = {0};
        mgk_rank_row row;
        const size_t rank = test_traps[trap].make(seed, n, tau, a);
        const mgk_rank_count count = rank_of(engine, true, MGK_FLOAT_F64, n, a, &ladder, &row);
        if (count.certificate != MGK_CERTIFICATE_NONE)
            assert_int_equal(count.rank, rank);
        counted += row.method == MGK_METHOD_GRAM;
    }
    assert_true(TEST_STEP * counted > KNOWN);
    mgk_engine_close(engine);
    free(a);
}

/* #{ σ² > x + δ } <= count <= #{ σ² > x - δ }, at shifts close to singular values. */
static void counts_keep_their_word(void **state)
{
    (void)state;
    const size_t step = 4 * N / (size_t)test_repetitions(4 * N);
    double *a = calloc((size_t)N * N, sizeof(double)), sigma[N], moved;
    mgk_gram *gram;
    assert_ok(mgk_gram_open(N, &gram));
    for (size_t f = 0; f < test_family_count; f++) {
        test_families[f].make(f, N, a);
        test_reference_spectrum(N, a, sigma);
        mgk_gram_load(gram, N, a, 0, &moved);
        assert_true(moved < 1e-10);
        for (size_t i = 0; i < 4 * (size_t)N; i += step) {
            double x = sigma[i / 4] * sigma[i / 4] * (1 + ((double)(i % 4) - 1.5) * 1e-9);
            mgk_gram_count count;
            if (!mgk_gram_take(gram, x, &count))
                continue;
            const double delta = mgk_gram_measure(gram, i % 2 ? 0 : INFINITY);
            size_t low = 0, high = 0;
            for (size_t k = 0; k < N; k++) {
                double square = sigma[k] * sigma[k], off = 2 * moved * sigma[k];
                low += square - off > x + delta;
                high += square + off > x - delta;
            }
            assert_in_range(count.count, low, high);
            assert_true(count.expected < count.bound);
            assert_true(i % 2 == 0 || delta < 8 * count.bound); /* may be six times the bound */
        }
    }
    mgk_gram_close(gram);
    free(a);
}

/* Singular values known to equal tau: the rank is right or has no certificate. */
static void values_at_the_threshold(void **state)
{
    (void)state;
    const double x = 0.8343492589257195;
    double one[] = {x}, three[] = {x, x, x / 2, 2 * x, x / 2, -x / 2, 2 * x, -x, x / 4};
    mgk_ladder ladder = {0};
    mgk_rank_row row;
    mgk_engine *engine;
    assert_ok(mgk_engine_open(3, false, &engine));
    tau = x;
    mgk_rank_count count = rank_of(engine, false, MGK_FLOAT_F64, 1, one, &ladder, &row);
    assert_int_equal(count.rank, 1);
    assert_true(row.sigma_max == x);
    tau = 3 * x; /* the columns are orthogonal, the first one has length 3 x */
    count = rank_of(engine, false, MGK_FLOAT_F64, 3, three, &ladder, &row);
    assert_int_equal(count.certificate, MGK_CERTIFICATE_NONE);
    tau = 1e-6;
    mgk_engine_close(engine);
}

/* Scales at which squares lose their digits: nothing is counted. */
static void far_scales(void **state)
{
    (void)state;
    double *a = calloc((size_t)N * N, sizeof(double));
    mgk_engine *engine;
    assert_ok(mgk_engine_open(N, true, &engine));
    for (int exponent = -300; exponent <= 140; exponent += 20) {
        double scale = pow(10, exponent);
        mgk_ladder ladder = {0};
        mgk_rank_row row;
        for (size_t i = 0; i < (size_t)N * N; i++)
            a[i] = scale * (1 + (i % (N + 1) == 0)); /* σ = scale (N + 1), scale, scale … */
        tau = scale * 0.5;
        assert_int_equal(rank_of(engine, true, MGK_FLOAT_F64, N, a, &ladder, &row).rank, N);
        tau = scale * 2;
        assert_int_equal(rank_of(engine, true, MGK_FLOAT_F64, N, a, &ladder, &row).rank, 1);
    }
    tau = 1e-6;
    mgk_engine_close(engine);
    free(a);
}

/* Close to the threshold, at scales whose fourth powers overflow or underflow. */
static void far_scales_near_the_threshold(void **state)
{
    (void)state;
    static const int exponents[] = {-90, -85, -82, -79, -70, -50, 50, 70, 76, 90};
    double *a = calloc((size_t)N * N, sizeof(double)), sigma[N];
    mgk_engine *engine;
    assert_ok(mgk_engine_open(N, true, &engine));
    for (size_t e = 0; e < sizeof(exponents) / sizeof(*exponents); e++)
        for (int seed = 0; seed < test_repetitions(8); seed++) {
            mgk_ladder ladder = {0};
            mgk_rank_row row;
            for (size_t i = 0; i < N; i++)
                sigma[i] = pow(10, exponents[e] - 5 * (double)i / N);
            tau = pow(10, exponents[e] - 6);
            sigma[N - 1] = tau * (1 + (seed % 2 ? 1e-7 : -1e-7));
            test_matrix_with_spectrum((uint64_t)seed, N, sigma, a);
            mgk_rank_count count = rank_of(engine, true, MGK_FLOAT_F64, N, a, &ladder, &row);
            assert_true(count.certificate == MGK_CERTIFICATE_NONE ||
                        (int)count.rank == N - 1 + seed % 2);
        }
    tau = 1e-6;
    mgk_engine_close(engine);
    free(a);
}

static void nothing_and_too_much(void **state)
{
    (void)state;
    mgk_engine *engine;
    mgk_ladder ladder = {0};
    mgk_rank_row row;
    double zeros[64 * 64] = {0};
    assert_fails(mgk_engine_open(32769, false, &engine), STATUS_SHAPE);
    assert_ok(mgk_engine_open(64, true, &engine));
    assert_int_equal(rank_of(engine, true, MGK_FLOAT_F64, 64, zeros, &ladder, &row).rank, 0);
    assert_int_equal(rank_of(engine, true, MGK_FLOAT_F64, 0, zeros, &ladder, &row).rank, 0);
    zeros[0] = 1;
    assert_int_equal(rank_of(engine, true, MGK_FLOAT_F64, 64, zeros, &ladder, &row).rank, 1);
    mgk_engine_close(engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_family),
        cmocka_unit_test(one_value_near_the_threshold),
        cmocka_unit_test(ladders_learn),
        cmocka_unit_test(counts_keep_their_word),
        cmocka_unit_test(traps),
        cmocka_unit_test(nothing_and_too_much),
        cmocka_unit_test(values_at_the_threshold),
        cmocka_unit_test(far_scales),
        cmocka_unit_test(far_scales_near_the_threshold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
