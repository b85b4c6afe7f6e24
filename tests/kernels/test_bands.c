/* SPDX-License-Identifier: MIT */
/* Singular values in two steps: a device reduces matrices to bands, and the host computes their
 * values. */
#include "analysis/matrices.h"
#include "kernels/spectral/spectrum.h"
#include "solver_case.h"

/* Computes the bands [count, mgk_band_entries(n)] of a batch; the workspace owns the memory. */
static mgk_status reduce(workspace *space, const batch *b, double **bands)
{
    mgk_device *device = space->device;
    const size_t count = b->count * mgk_band_entries(b->n), bytes = count * sizeof(double);
    *bands = host_array(space, count);
    for (size_t i = 0; i < count; i++)
        (*bands)[i] = (double)NAN; /* reveals entries that are not written */
    double *there = upload_bytes(space, bytes, *bands);
    TRY(device->op->spectral->reduce_to_bands(device, b->count, b->n, b->orders,
                                              upload_matrices(space, b), there));
    return device->op->download(device, *bands, there, bytes);
}

mgk_status solve(workspace *space, const batch *b)
{
    mgk_spectrum *spectrum;
    double *bands;
    TRY(reduce(space, b, &bands));
    TRY(mgk_spectrum_open_for_bands(b->n, &spectrum));
    for (size_t i = 0; i < b->count; i++) {
        const size_t order = b->orders[i];
        double *sigma = b->sigma + i * b->n;
        for (size_t k = 0; k < b->n; k++)
            sigma[k] = 0;
        mgk_status status =
            mgk_spectrum_compute_band(spectrum, order, bands + i * mgk_band_entries(b->n), sigma);
        if (status == STATUS_NUMERIC)
            sigma[0] = (double)NAN;
        else
            assert_ok(status);
    }
    mgk_spectrum_close(spectrum);
    return STATUS_OK;
}

/* Several panels; the last ones have few rows. */
static void large_matrices(void **state)
{
    workspace *space = *state;
    const size_t orders[] = {2 * MGK_TEST_LARGEST + 1, 8 * MGK_TEST_LARGEST - 15};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        batch b = make_batch(space, 1, orders[i]);
        put_softmax(&b, 0, orders[i]);
        assert_ok(solve(space, &b));
        assert_spectrum(&b, 0);
        workspace_release(space);
    }
}

/* Rank one, where nearly all reflections are of zero vectors; and zeros. */
static void low_ranks(void **state)
{
    workspace *space = *state;
    const size_t n = 67;
    batch b = make_batch(space, 2, n);
    double left = 0, right = 0;
    for (size_t i = 0; i < n; i++) {
        left += 1.0 / (double)((i + 1) * (i + 1));
        right += (double)(i * i);
        for (size_t j = 0; j < n; j++)
            matrix_of(&b, 0)[i * n + j] = (double)j / (double)(i + 1);
    }
    b.expected[0] = sqrt(left * right);
    assert_ok(solve(space, &b));
    for (size_t i = 0; i < b.count; i++)
        assert_spectrum(&b, i);
    assert_true(b.sigma[n] == 0);
}

/* A batch that does not fit at once, because nearly all memory is taken, gives the same bits. This
 * test comes first, because memory used by other tests stays reserved. */
static void large_batches(void **state)
{
    workspace *space = *state;
    mgk_device *device = space->device;
    const size_t n = 40, little = (size_t)64 << 20, room = 600000; /* bytes */
    batch b = make_batch(space, 5, n);
    size_t left, total;
    double *divided, *whole;
    void *taken;
    for (size_t i = 0; i < b.count; i++)
        put_softmax(&b, i, n);
    assert_ok(device->op->memory(device, &left, &total));
    assert_ok(device->op->allocate(device, left < little ? left - room : 0, &taken));
    assert_ok(reduce(space, &b, &divided));
    device->op->release(device, taken);
    assert_ok(reduce(space, &b, &whole));
    assert_memory_equal(divided, whole, b.count * mgk_band_entries(n) * sizeof(double));
}

static bool has_bands(const mgk_operations *op)
{
    return op->spectral->reduce_to_bands != NULL;
}

int main(void)
{
    workspace space = {0};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate_setup_teardown(large_batches, NULL, release_workspace, &space),
        cmocka_unit_test_prestate_setup_teardown(known_spectra_come_back, NULL, release_workspace,
                                                 &space),
        cmocka_unit_test_prestate_setup_teardown(large_matrices, NULL, release_workspace, &space),
        cmocka_unit_test_prestate_setup_teardown(smaller_matrices_stand_beside, NULL,
                                                 release_workspace, &space),
        cmocka_unit_test_prestate_setup_teardown(any_scale, NULL, release_workspace, &space),
        cmocka_unit_test_prestate_setup_teardown(low_ranks, NULL, release_workspace, &space),
        cmocka_unit_test_prestate_setup_teardown(bad_matrices_harm_no_others, NULL,
                                                 release_workspace, &space),
        cmocka_unit_test_prestate_setup_teardown(nothing_to_do, NULL, release_workspace, &space),
    };
    return run_where(&space, MGK_SINGLE, has_bands, sizeof tests / sizeof *tests, tests);
}
