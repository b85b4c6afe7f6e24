/* Singular values by bisection, where a device has it; small blocks make clusters of many. */
#include <string.h>

#include "analysis/matrices.h"
#include "spectra.h"

static const size_t sizes[] = {1, 2, 31, 33, 64};
enum { SIZES = sizeof sizes / sizeof *sizes };

static mgk_status solve(const workspace *space, const batch *b)
{
    return space->device->op->bisected_values(space->device, b->count, b->n, b->orders, b->matrices,
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

/* Of more rows than a warp updates at a time has columns, and than a step's groups of threads. */
static void a_large_matrix(void **state)
{
    workspace *space = *state;
    const size_t n = 2 * MGK_TEST_LARGEST + 1;
    batch b = make_batch(space, 1, n);
    put_softmax(&b, 0, n);
    assert_ok(solve(space, &b));
    assert_spectrum(&b, 0);
}

static void smaller_matrices_stand_beside(void **state)
{
    workspace *space = *state;
    const size_t orders[] = {31, 1, 0, 40, 2, 33, 5}, n = 43;
    const size_t count = sizeof orders / sizeof *orders;
    batch b = make_batch(space, count, n);
    memset(b.matrices, 0xff, count * n * n * sizeof(double)); /* NaN behind each */
    for (size_t i = 0; i < count; i++)
        put_softmax(&b, i, orders[i]);
    assert_ok(solve(space, &b));
    for (size_t i = 0; i < count; i++)
        assert_spectrum(&b, i);
}

/* Squares of these entries would overflow or vanish. */
static void any_scale(void **state)
{
    workspace *space = *state;
    const double scales[] = {1e300, 1e-300, 1e-323};
    const size_t n = 20, count = sizeof scales / sizeof *scales;
    batch b = make_batch(space, count, n);
    for (size_t i = 0; i < count; i++) {
        put_softmax(&b, i, n);
        for (size_t e = 0; e < n * n; e++)
            matrix_of(&b, i)[e] *= scales[i] * 10;
        if (i == count - 1) /* hardly a digit is left: one entry alone says what is right */
            memset(matrix_of(&b, i) + 1, 0, (n * n - 1) * sizeof(double));
        for (size_t k = 0; k < n; k++)
            b.expected[i * n + k] *= scales[i] * 10;
    }
    const double last = matrix_of(&b, count - 1)[0];
    assert_ok(solve(space, &b));
    for (size_t i = 0; i < count - 1; i++)
        assert_spectrum(&b, i);
    assert_true(b.sigma[(count - 1) * n] == last && b.sigma[(count - 1) * n + 1] == 0);
}

/* Columns and rows so short beside others that the squares of their lengths have no digits left. */
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
        for (size_t k = 0; k < n; k++) /* exact zeros there, for the second driver */
            copy[k] *= i == 0 ? 0 : 1, copy[k * n] *= i == 1 ? 0 : 1;
        test_reference_spectrum(n, copy, b.expected + i * n);
    }
    assert_ok(solve(space, &b));
    for (size_t i = 0; i < b.count; i++)
        assert_spectrum(&b, i);
}

static void bad_matrices_harm_no_others(void **state)
{
    workspace *space = *state;
    for (size_t s = 1; s < SIZES - 1; s++) {
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

/* More than fit at once into a device that has little memory; the same matrix, the same bits. */
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

static void too_large_or_nothing(void **state)
{
    workspace *space = *state;
    batch none = make_batch(space, 0, 3), empty = make_batch(space, 2, 3);
    batch flat = make_batch(space, 2, 0), large = make_batch(space, 1, MGK_BISECTION_ORDER + 1);
    empty.orders[0] = empty.orders[1] = 0;
    assert_ok(solve(space, &none));
    assert_ok(solve(space, &flat));
    assert_ok(solve(space, &empty));
    for (size_t k = 0; k < 6; k++)
        assert_true(empty.sigma[k] == 0);
    assert_int_equal(solve(space, &large), STATUS_UNSUPPORTED);
}

static int release(void **state)
{
    workspace_release(*state);
    return 0;
}

int main(void)
{
    workspace space = {0};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate_setup_teardown(known_spectra_come_back, NULL, release, &space),
        cmocka_unit_test_prestate_setup_teardown(a_large_matrix, NULL, release, &space),
        cmocka_unit_test_prestate_setup_teardown(smaller_matrices_stand_beside, NULL, release,
                                                 &space),
        cmocka_unit_test_prestate_setup_teardown(any_scale, NULL, release, &space),
        cmocka_unit_test_prestate_setup_teardown(vanishing_columns, NULL, release, &space),
        cmocka_unit_test_prestate_setup_teardown(bad_matrices_harm_no_others, NULL, release,
                                                 &space),
        cmocka_unit_test_prestate_setup_teardown(large_batches, NULL, release, &space),
        cmocka_unit_test_prestate_setup_teardown(too_large_or_nothing, NULL, release, &space),
    };
    int failures = 0, index = 0;
    bool ran = false;
    while ((space.device = open_next_device(&index, MGK_SINGLE, 1))) {
        if (space.device->op->bisected_values) {
            failures += cmocka_run_group_tests_name(space.device->name, tests, NULL, NULL);
            ran = true;
        }
        mgk_device_close(space.device);
    }
    return ran ? failures : EXIT_SKIPPED;
}
