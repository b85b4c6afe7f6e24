/* SPDX-License-Identifier: MIT */
/* Singular values by bisection, on devices that support it; small blocks make clusters of many
 * blocks. */
#include <string.h>

#include "analysis/matrices.h"
#include "solver_case.h"

mgk_status solve(workspace *space, const batch *b)
{
    return space->device->op->spectral->bisected_values(space->device, b->count, b->n, b->orders,
                                                        upload_matrices(space, b), b->sigma);
}

static size_t largest_order(const workspace *space)
{
    mgk_device *device = space->device;
    size_t order;
    assert_ok(device->op->spectral->bisection_order(device, &order));
    assert_in_range(order, 1, MGK_BISECTION_ORDER);
    return order;
}

/* More rows than the columns that a warp updates at a time, and than the groups of threads of a
 * step. */
static void a_large_matrix(void **state)
{
    workspace *space = *state;
    const size_t odd = 2 * MGK_TEST_LARGEST + 1, most = largest_order(space);
    const size_t n = odd < most ? odd : most;
    batch b = make_batch(space, 1, n);
    put_softmax(&b, 0, n);
    assert_ok(solve(space, &b));
    assert_spectrum(&b, 0);
}

/* Columns and rows so short, compared with others, that the squares of their lengths lose all
 * digits. */
static void vanishing_columns(void **state)
{
    workspace *space = *state;
    const size_t n = 12;
    batch b = make_batch(space, 2, n);
    for (size_t i = 0; i < b.count; i++) {
        put_softmax(&b, i, n);
        for (size_t k = 1; k < n; k++)
            matrix_of(&b, i)[i == 0 ? k : k * n] = 1e-159 * (double)k;
        matrix_of(&b, i)[0] = 0;
        double copy[12 * 12], *a = matrix_of(&b, i);
        memcpy(copy, a, sizeof copy);
        for (size_t k = 0; k < n; k++) /* exact zeros for the second driver */
            copy[k] *= i == 0 ? 0 : 1, copy[k * n] *= i == 1 ? 0 : 1;
        test_reference_spectrum(n, copy, b.expected + i * n);
    }
    assert_ok(solve(space, &b));
    for (size_t i = 0; i < b.count; i++)
        assert_spectrum(&b, i);
}

/* The singular values of a bidiagonal matrix above x, by quotients of its minors. */
static size_t count_above(size_t n, const double *band, long double x)
{
    long double pivot = -x;
    size_t above = 0;
    for (size_t i = 0; i + 1 < 2 * n; i++) {
        pivot = -x - (long double)band[i] * (long double)band[i] / pivot;
        above += pivot > 0;
    }
    return above;
}

/*
 * The reduction does not change a bidiagonal matrix. So values of very different sizes show the
 * error of bisection alone, which is relative to each of them.
 */
static void small_values_are_accurate(void **state)
{
    workspace *space = *state;
    const size_t n = 45;
    batch b = make_batch(space, 2, n);
    for (size_t i = 0; i < b.count; i++) {
        double *band = host_array(space, 2 * n), *a = matrix_of(&b, i);
        for (size_t k = 0; k < 2 * n; k++)
            band[k] = i == 1 && k % 2 == 1 ? 0 : pow(0.7, (double)k) * (k % 3 == 0 ? -1.3 : 0.8);
        for (size_t k = 0; k < n; k++) {
            a[k * n + k] = band[2 * k];
            if (k + 1 < n)
                a[(k + 1) * n + k] = band[2 * k + 1];
        }
        for (size_t k = 0; k < n; k++) {
            long double low = 0, high = 4;
            for (int halving = 0; halving < 140; halving++) {
                const long double middle = (low + high) / 2;
                *(count_above(n, band, middle) > k ? &low : &high) = middle;
            }
            b.expected[i * n + k] = (double)low;
        }
    }
    assert_ok(solve(space, &b));
    for (size_t i = 0; i < b.count; i++)
        for (size_t k = 0; k < n; k++) {
            const double *expected = b.expected + i * n, *sigma = b.sigma + i * n;
            assert_close(sigma[k], expected[k],
                         3 * (double)n * 0x1p-53 * expected[k] + 0x1p-60 * expected[0], 0);
        }
}

/* A batch that does not fit at once into a device with little memory; equal matrices give equal
 * bits. */
static void large_batches(void **state)
{
    workspace *space = *state;
    const size_t n = 8;
    batch b = make_batch(space, 700, n);
    for (size_t i = 0; i < b.count; i++) {
        put_softmax(&b, i, n);
        if (i >= 350) {
            memcpy(matrix_of(&b, i), matrix_of(&b, i - 350), n * n * sizeof(double));
            memcpy(b.expected + i * n, b.expected + (i - 350) * n, n * sizeof(double));
        }
    }
    assert_ok(solve(space, &b));
    for (size_t i = 0; i < b.count; i++)
        assert_spectrum(&b, i);
    assert_memory_equal(b.sigma, b.sigma + 350 * n, 350 * n * sizeof(double));
}

/* The device takes a matrix of the order that it says, and none that is larger. */
static void the_largest_order(void **state)
{
    workspace *space = *state;
    const size_t order = largest_order(space);
    batch largest = make_batch(space, 1, order), larger = make_batch(space, 1, order + 1);
    put_softmax(&largest, 0, order);
    assert_ok(solve(space, &largest));
    assert_spectrum(&largest, 0);
    assert_int_equal(solve(space, &larger), STATUS_UNSUPPORTED);
}

static bool has_bisection(const mgk_operations *op)
{
    return op->spectral->bisected_values != NULL;
}

int main(void)
{
    workspace space = {0};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate_setup_teardown(known_spectra_come_back, NULL, release_workspace,
                                                 &space),
        cmocka_unit_test_prestate_setup_teardown(a_large_matrix, NULL, release_workspace, &space),
        cmocka_unit_test_prestate_setup_teardown(smaller_matrices_stand_beside, NULL,
                                                 release_workspace, &space),
        cmocka_unit_test_prestate_setup_teardown(any_scale, NULL, release_workspace, &space),
        cmocka_unit_test_prestate_setup_teardown(vanishing_columns, NULL, release_workspace,
                                                 &space),
        cmocka_unit_test_prestate_setup_teardown(small_values_are_accurate, NULL, release_workspace,
                                                 &space),
        cmocka_unit_test_prestate_setup_teardown(bad_matrices_harm_no_others, NULL,
                                                 release_workspace, &space),
        cmocka_unit_test_prestate_setup_teardown(large_batches, NULL, release_workspace, &space),
        cmocka_unit_test_prestate_setup_teardown(nothing_to_do, NULL, release_workspace, &space),
        cmocka_unit_test_prestate_setup_teardown(the_largest_order, NULL, release_workspace,
                                                 &space),
    };
    return run_where(&space, MGK_SINGLE, has_bisection, sizeof tests / sizeof *tests, tests);
}
