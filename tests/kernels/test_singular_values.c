/* SPDX-License-Identifier: MIT */
/* Singular values of batches of matrices on every device. */
#include <string.h>

#include "analysis/matrices.h"
#include "solver_case.h"

enum { LARGEST = 64 };

mgk_status solve(workspace *space, const batch *b)
{
    return space->device->op->spectral->singular_values(space->device, b->count, b->n, b->orders,
                                                        upload_matrices(space, b), b->sigma);
}

static void smaller_matrices_are_padded(void **state)
{
    workspace *space = *state;
    const size_t orders[] = {31, 1, 0, 64, 2, 33, 64, 5};
    const size_t count = sizeof orders / sizeof *orders;
    for (size_t n = LARGEST + 3; n >= LARGEST; n -= 3) { /* the second time in used memory */
        batch b = make_batch(space, count, n);
        memset(b.matrices, 0xff, count * n * n * sizeof(double)); /* NaN after each */
        for (size_t i = 0; i < count; i++)
            put_softmax(&b, i, orders[n > LARGEST ? count - 1 - i : i]);
        assert_ok(solve(space, &b));
        for (size_t i = 0; i < count; i++)
            assert_spectrum(&b, i);
        workspace_release(space);
    }
}

/* Their error is that of the order to which they are padded. */
static void tiny_ones_among_large_ones(void **state)
{
    workspace *space = *state;
    const size_t orders[] = {200, 2, 3, 5, 8, 32}, count = sizeof orders / sizeof *orders;
    batch b = make_batch(space, count, 200);
    for (size_t i = 0; i < count; i++)
        put_softmax(&b, i, orders[i]);
    assert_ok(solve(space, &b));
    for (size_t i = 0; i < count; i++)
        assert_spectrum(&b, i);
}

/* More matrices than a GPU takes at once, of the form [[0, a], [b, 0]]. */
static void many_matrices(void **state)
{
    workspace *space = *state;
    batch b = make_batch(space, space->device->accelerator ? 33001 : 101, 2);
    for (size_t i = 0; i < b.count; i++) {
        b.expected[2 * i] = matrix_of(&b, i)[1] = (double)(i + 1);
        b.expected[2 * i + 1] = matrix_of(&b, i)[2] = 0.5 * (double)(i % 2);
    }
    assert_ok(solve(space, &b));
    for (size_t i = 0; i < b.count; i++)
        assert_spectrum(&b, i);
}

/* A batch whose memory does not fit into a device with little of it. */
static void large_batches(void **state)
{
    workspace *space = *state;
    batch b = make_batch(space, 101, LARGEST);
    for (size_t i = 0; i < b.count; i++)
        put_softmax(&b, i, LARGEST - i % 3);
    assert_ok(solve(space, &b));
    for (size_t i = 0; i < b.count; i++)
        assert_spectrum(&b, i);
}

/* Runs last: large scratch memory is used again, after other operations. */
static void again_after_other_work(void **state)
{
    workspace *space = *state;
    double zero = 0, *sum = upload_bytes(space, sizeof(zero), &zero);
    void *x = upload(space, 1000, random_values(space, 1000));
    for (size_t n = LARGEST; n > 0; n /= 4) {
        batch b = make_batch(space, 3, n);
        for (size_t i = 0; i < b.count; i++)
            put_softmax(&b, i, n);
        assert_ok(solve(space, &b));
        assert_ok(space->device->op->sum_squares(space->device, 1000, x, sum));
        for (size_t i = 0; i < b.count; i++)
            assert_spectrum(&b, i);
    }
}

static int run_on(workspace *space)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate_setup_teardown(known_spectra_come_back, NULL, release_workspace,
                                                 space),
        cmocka_unit_test_prestate_setup_teardown(smaller_matrices_are_padded, NULL,
                                                 release_workspace, space),
        cmocka_unit_test_prestate_setup_teardown(tiny_ones_among_large_ones, NULL,
                                                 release_workspace, space),
        cmocka_unit_test_prestate_setup_teardown(many_matrices, NULL, release_workspace, space),
        cmocka_unit_test_prestate_setup_teardown(large_batches, NULL, release_workspace, space),
        cmocka_unit_test_prestate_setup_teardown(bad_matrices_harm_no_others, NULL,
                                                 release_workspace, space),
        cmocka_unit_test_prestate_setup_teardown(nothing_to_do, NULL, release_workspace, space),
        cmocka_unit_test_prestate_setup_teardown(again_after_other_work, NULL, release_workspace,
                                                 space),
    };
    return cmocka_run_group_tests_name(space->device->name, tests, NULL, NULL);
}

int main(void)
{
    int failures = 0;
    /* On the CPU the function is the same for both. */
    const mgk_precision first = getenv("MGK_TEST_DEVICE") ? MGK_SINGLE : MGK_DOUBLE;
    for (mgk_precision precision = first; precision <= MGK_DOUBLE; precision++)
        for (int threads = 1; threads <= most_threads(); threads += 2) {
            workspace space = {0};
            for (int index = 0; (space.device = open_next_device(&index, precision, threads));) {
                failures += run_on(&space);
                tell_largest_error(space.device);
                mgk_device_close(space.device);
            }
        }
    return failures;
}
