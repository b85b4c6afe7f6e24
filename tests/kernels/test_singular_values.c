/* Singular values of batches of matrices on every device. */
#include <string.h>

#include "analysis/matrices.h"
#include "workspace.h"

static const size_t sizes[] = {1, 2, 31, 33, 64};
enum { SIZES = sizeof sizes / sizeof *sizes, LARGEST = 64 };

/* What the table allows; references and the making of matrices err by as much. */
static double tolerance(size_t n, double sigma_1)
{
    return 2 * (2 * (double)n + MGK_SOLVER_CONSTANT) * 0x1p-53 * sigma_1;
}

/* A batch, and the spectra that are expected of it. */
typedef struct batch {
    size_t count, n, *orders;            /* orders [count] */
    double *matrices, *sigma, *expected; /* [count, n, n], [count, n], [count, n] */
} batch;

static batch make_batch(workspace *space, size_t count, size_t n)
{
    batch b = {.count = count, .n = n, .orders = host_bytes(space, count, sizeof(size_t))};
    b.matrices = host_array(space, count * n * n);
    b.sigma = host_array(space, count * n);
    b.expected = host_array(space, count * n);
    for (size_t i = 0; i < count; i++)
        b.orders[i] = n;
    for (size_t i = 0; i < count * n; i++)
        b.sigma[i] = -1;
    return b;
}

static double *matrix_of(const batch *b, size_t i)
{
    return b->matrices + i * b->n * b->n;
}

static mgk_status solve(const workspace *space, const batch *b)
{
    return space->device->op->singular_values(space->device, b->count, b->n, b->orders, b->matrices,
                                              b->sigma);
}

static void assert_spectrum(const batch *b, size_t i)
{
    const double *sigma = b->sigma + i * b->n, *expected = b->expected + i * b->n;
    for (size_t k = 0; k < b->n; k++) {
        if (k >= b->orders[i])
            assert_true(sigma[k] == 0);
        assert_close(sigma[k], expected[k], tolerance(b->n, expected[0]), 0);
        assert_true(sigma[k] >= 0 && (k == 0 || sigma[k] <= sigma[k - 1]));
    }
}

/* A softmax matrix with its spectrum by a second driver. */
static void put_softmax(const batch *b, size_t i, size_t order)
{
    b->orders[i] = order;
    test_matrix_softmax(i, order, 2, i % 2 == 1, matrix_of(b, i));
    if (order > 0)
        test_reference_spectrum(order, matrix_of(b, i), b->expected + i * b->n);
}

/* Prescribed down to 1e-12, a softmax, 0, 1/n everywhere (one value, 1), a diagonal. */
static void known_spectra_come_back(void **state)
{
    workspace *space = *state;
    for (size_t s = 0; s < SIZES; s++) {
        const size_t n = sizes[s];
        batch b = make_batch(space, 5, n);
        for (size_t k = 0; k < n; k++)
            b.expected[k] = pow(10, -12 * (double)k / (double)n);
        test_matrix_with_spectrum(s, n, b.expected, b.matrices);
        put_softmax(&b, 1, n);
        for (size_t e = 0; e < n * n; e++)
            matrix_of(&b, 3)[e] = 1 / (double)n;
        b.expected[3 * n] = 1;
        for (size_t k = 0; k < n; k++) {
            matrix_of(&b, 4)[k * n + k] = (k % 2 ? -1 : 1) * (double)(k + 1);
            b.expected[4 * n + k] = (double)(n - k);
        }
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

static bool all_finite(const batch *b, size_t i)
{
    for (size_t k = 0; k < b->orders[i]; k++)
        if (!isfinite(b->sigma[i * b->n + k]))
            return false;
    return true;
}

/* NaN, infinity, and finite entries whose singular values do not fit a double. */
static void bad_matrices_harm_no_others(void **state)
{
    workspace *space = *state;
    for (size_t s = 1; s < SIZES; s++) {
        const size_t n = sizes[s];
        batch b = make_batch(space, 7, n);
        for (size_t i = 0; i < b.count; i++)
            put_softmax(&b, i, n);
        matrix_of(&b, 1)[n * n / 2] = (double)NAN;
        matrix_of(&b, 3)[n * n - 1] = -(double)INFINITY;
        for (size_t e = 0; e < n * n; e++)
            matrix_of(&b, 5)[e] = 1.7e308;
        assert_ok(solve(space, &b));
        for (size_t i = 0; i < b.count; i++)
            if (i % 2 == 1)
                assert_false(all_finite(&b, i));
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
