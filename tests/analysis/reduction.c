/* SPDX-License-Identifier: MIT */
/* Steps that shrink matrices before counting: exact reductions, and splitting off a direction. */
#include "kernels/blas.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/counting/deflation.h"
#include "analysis/counting/reduction.h"
#include "analysis/matrices.h"
#include "base/random.h"

static void zero_columns_and_equal_rows_go(void **state)
{
    (void)state;
    enum { N = 6 };
    double a[N * N] = {0}, expected[N] = {0}, sigma[N] = {0}, scratch[3 * N];
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++)
            a[i * N + j] = j == 2 || j == 5 ? 0 : mgk_random_uniform(3, i % 3, j);
    test_reference_spectrum(N, a, expected);
    assert_true(mgk_reduces(N, a, scratch));
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
    assert_false(mgk_reduces(3, a, scratch));
    assert_int_equal(mgk_reduce(3, a, scratch), 3);
    assert_memory_equal(a, before, sizeof(a));
    assert_true(mgk_reduces(3, zeros, scratch));
    assert_int_equal(mgk_reduce(3, zeros, scratch), 0);
    double equal_rows[] = {1, 2, 3, 4, 5, 6, 1, 2, 3}, empty_column[] = {1, 2, 0, 4, 5, 0, 7, 8, 0};
    assert_true(mgk_reduces(3, equal_rows, scratch));
    assert_true(mgk_reduces(3, empty_column, scratch));
    assert_false(mgk_reduces(0, NULL, scratch));
    /* More rows than columns. */
    double tall[] = {1, 0, 0, 2, 0, 0, 3, 0, 0}, sigma[3];
    assert_int_equal(mgk_reduce(3, tall, scratch), 3);
    test_reference_spectrum(3, tall, sigma);
    assert_close(sigma[0], sqrt(14), 0, 1e-15);
    assert_close(sigma[1], 0, 1e-15, 0);
}

/* Hard attention: singular values are the norms of the columns, in any order. */
static void single_entries(void **state)
{
    (void)state;
    enum { N = 40 };
    double a[N * N] = {0}, expected[N], sigma[N];
    for (size_t i = 1; i < N; i++) /* and a row of zeros */
        a[i * N + i * i % 7 * 5] = 1 + 0.1 * (double)i;
    assert_true(mgk_reduce_single_entries(N, a, sigma));
    a[7 * N + 3] = 1e-300;
    double unused[N];
    assert_false(mgk_reduce_single_entries(N, a, unused));
    a[7 * N + 3] = 0;
    test_reference_spectrum(N, a, expected);
    for (size_t i = 0; i < N; i++)
        assert_close(sigma[i], expected[i], 1e-15 * expected[0], 1e-14);
}

/* The transformed matrix has the stated form and the same singular values. */
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

static int load_blas(void **state)
{
    (void)state;
    return mgk_blas_open() != STATUS_OK;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zero_columns_and_equal_rows_go),
        cmocka_unit_test(nothing_to_reduce),
        cmocka_unit_test(single_entries),
        cmocka_unit_test(one_direction_is_split_off),
    };
    return cmocka_run_group_tests(tests, load_blas, NULL);
}
