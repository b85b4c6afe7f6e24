/* Singular values of batches of matrices on every device. */
#include <string.h>

#include "analysis/matrices.h"
#include "spectra.h"

static const size_t sizes[] = {1, 2, 31, 33, 64};
enum { SIZES = sizeof sizes / sizeof *sizes, LARGEST = 64 };

static mgk_status solve(const workspace *space, const batch *b)
{
    return space->device->op->singular_values(space->device, b->count, b->n, b->orders, b->matrices,
                                              b->sigma);
}

static void known_spectra_come_back(void **state)
{
    workspace *space = *state;
    for (size_t s = 0; s < SIZES; s++) {
        batch b = make_known_spectra(space, s, sizes[s]);
        assert_ok(solve(space, &b));
        for (size_t i = 0; i < b.count; i++)
            assert_spectrum(&b, i);
        workspace_release(space);
    }
}

static void smaller_matrices_are_padded(void **state)
{
    workspace *space = *state;
    const size_t orders[] = {31, 1, 0, 64, 2, 33, 64, 5};
    const size_t count = sizeof orders / sizeof *orders;
    for (size_t n = LARGEST + 3; n >= LARGEST; n -= 3) { /* then where others have been */
        batch b = make_batch(space, count, n);
        memset(b.matrices, 0xff, count * n * n * sizeof(double)); /* NaN behind each */
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

/* More than a device takes at once, of the form [[0, a], [b, 0]]. */
static void many_matrices(void **state)
{
    workspace *space = *state;
    batch b = make_batch(space, 33001, 2);
    for (size_t i = 0; i < b.count; i++) {
        b.expected[2 * i] = matrix_of(&b, i)[1] = (double)(i + 1);
        b.expected[2 * i + 1] = matrix_of(&b, i)[2] = 0.5 * (double)(i % 2);
    }
    assert_ok(solve(space, &b));
    for (size_t i = 0; i < b.count; i++)
        assert_spectrum(&b, i);
}

/* Enough of them that their memory matters to a device that has little. */
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

static void bad_matrices_harm_no_others(void **state)
{
    workspace *space = *state;
    for (size_t s = 1; s < SIZES; s++) {
        batch b = make_batch(space, 7, sizes[s]);
        for (size_t i = 0; i < b.count; i++)
            put_softmax(&b, i, b.n);
        spoil_matrices(&b);
        assert_ok(solve(space, &b));
        for (size_t i = 0; i < b.count; i++)
            if (i % 2 == 1)
                assert_not_finite(&b, i);
            else
                assert_spectrum(&b, i);
        workspace_release(space);
    }
}

static void nothing_to_do(void **state)
{
    workspace *space = *state;
    batch none = make_batch(space, 0, 3), empty = make_batch(space, 2, 3);
    batch flat = make_batch(space, 2, 0);
    empty.orders[0] = empty.orders[1] = 0;
    assert_ok(solve(space, &none));
    assert_ok(solve(space, &flat));
    assert_ok(solve(space, &empty));
    for (size_t k = 0; k < 6; k++)
        assert_true(empty.sigma[k] == 0);
}

/* After all others: scratch memory that was large is used again, other operations come between. */
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

static int release(void **state)
{
    workspace_release(*state);
    return 0;
}

static int run_on(workspace *space)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate_setup_teardown(known_spectra_come_back, NULL, release, space),
        cmocka_unit_test_prestate_setup_teardown(smaller_matrices_are_padded, NULL, release, space),
        cmocka_unit_test_prestate_setup_teardown(tiny_ones_among_large_ones, NULL, release, space),
        cmocka_unit_test_prestate_setup_teardown(many_matrices, NULL, release, space),
        cmocka_unit_test_prestate_setup_teardown(large_batches, NULL, release, space),
        cmocka_unit_test_prestate_setup_teardown(bad_matrices_harm_no_others, NULL, release, space),
        cmocka_unit_test_prestate_setup_teardown(nothing_to_do, NULL, release, space),
        cmocka_unit_test_prestate_setup_teardown(again_after_other_work, NULL, release, space),
    };
    return cmocka_run_group_tests_name(space->device->name, tests, NULL, NULL);
}

int main(void)
{
    int failures = 0;
    for (mgk_precision precision = MGK_SINGLE; precision <= MGK_DOUBLE; precision++)
        for (int threads = 1; threads <= 3; threads += 2) {
            workspace space = {0};
            for (int index = 0; (space.device = open_next_device(&index, precision, threads));) {
                failures += run_on(&space);
                mgk_device_close(space.device);
            }
        }
    return failures;
}
