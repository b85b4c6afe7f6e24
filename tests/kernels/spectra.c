/* SPDX-License-Identifier: MIT */
#include "spectra.h"

#include <float.h>

#include "analysis/matrices.h"

/* The tolerance of the table of operations; references and the construction of matrices have errors
 * as large. */
static double tolerance(size_t n, double sigma_1)
{
    return 2 * (2 * (double)n + MGK_SOLVER_CONSTANT) * 0x1p-53 * sigma_1;
}

batch make_batch(workspace *space, size_t count, size_t n)
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

double *matrix_of(const batch *b, size_t i)
{
    return b->matrices + i * b->n * b->n;
}

double *upload_matrices(workspace *space, const batch *b)
{
    return upload_bytes(space, b->count * b->n * b->n * sizeof(double), b->matrices);
}

void assert_spectrum(const batch *b, size_t i)
{
    const double *sigma = b->sigma + i * b->n, *expected = b->expected + i * b->n;
    for (size_t k = 0; k < b->n; k++) {
        if (k >= b->orders[i])
            assert_true(sigma[k] == 0);
        assert_close(sigma[k], expected[k], tolerance(b->n, expected[0]), 0);
        workspace_largest_error =
            fmax(workspace_largest_error,
                 fabs(sigma[k] - expected[k]) / fmax(tolerance(b->n, expected[0]), DBL_MIN));
        assert_true(sigma[k] >= 0 && (k == 0 || sigma[k] <= sigma[k - 1]));
    }
}

void put_softmax(const batch *b, size_t i, size_t order)
{
    b->orders[i] = order;
    test_matrix_softmax(i, order, 2, i % 2 == 1, matrix_of(b, i));
    if (order > 0)
        test_reference_spectrum(order, matrix_of(b, i), b->expected + i * b->n);
}

batch make_known_spectra(workspace *space, uint64_t seed, size_t n)
{
    batch b = make_batch(space, 5, n);
    for (size_t k = 0; k < n; k++)
        b.expected[k] = pow(10, -12 * (double)k / (double)n);
    test_matrix_with_spectrum(seed, n, b.expected, b.matrices);
    put_softmax(&b, 1, n);
    for (size_t e = 0; e < n * n; e++)
        matrix_of(&b, 3)[e] = 1 / (double)n;
    b.expected[3 * n] = 1;
    for (size_t k = 0; k < n; k++) {
        matrix_of(&b, 4)[k * n + k] = (k % 2 ? -1 : 1) * (double)(k + 1);
        b.expected[4 * n + k] = (double)(n - k);
    }
    return b;
}

void spoil_matrices(const batch *b)
{
    const size_t entries = b->n * b->n;
    for (size_t i = 1; i < b->count; i += 2)
        for (size_t e = 0; e < entries; e++)
            if (i % 6 == 5)
                matrix_of(b, i)[e] = 1.7e308;
            else if (e == (i % 6 == 1 ? entries / 2 : entries - 1))
                matrix_of(b, i)[e] = i % 6 == 1 ? (double)NAN : -(double)INFINITY;
}

void assert_not_finite(const batch *b, size_t i)
{
    size_t finite = 0;
    for (size_t k = 0; k < b->orders[i]; k++)
        finite += isfinite(b->sigma[i * b->n + k]) != 0;
    assert_true(finite < b->orders[i]);
}

int release_workspace(void **state)
{
    workspace_release(*state);
    return 0;
}

int run_where(workspace *space, mgk_precision precision, able *has, size_t count,
              const struct CMUnitTest *tests)
{
    int failures = 0, index = 0;
    bool ran = false;
    while ((space->device = open_next_device(&index, precision, 1))) {
        if (has(space->device->op)) {
            failures += _cmocka_run_group_tests(space->device->name, tests, count, NULL, NULL);
            tell_largest_error(space->device);
            ran = true;
        }
        mgk_device_close(space->device);
    }
    return ran ? failures : EXIT_SKIPPED;
}
