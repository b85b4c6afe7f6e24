/* SPDX-License-Identifier: MIT */
/* Proofs of full rank, on devices that support them: proofs are true, and most matrices get one. */
#include <string.h>

#include "analysis/matrices.h"
#include "spectra.h"

static const double tau = 1e-6;

/* A batch with arrays for its results. */
typedef struct question {
    batch matrices;
    double *levels;
    int *proven;
} question;

static question ask_about(workspace *space, size_t count, size_t n)
{
    question q = {.matrices = make_batch(space, count, n), .levels = host_array(space, count)};
    q.proven = host_bytes(space, count, sizeof(int));
    for (size_t i = 0; i < count; i++) {
        q.levels[i] = tau;
        q.proven[i] = -1;
    }
    return q;
}

/* The matrices must stay unchanged. */
static mgk_status ask(workspace *space, const question *q)
{
    const batch *b = &q->matrices;
    const size_t bytes = b->count * b->n * b->n * sizeof(double);
    double *matrices = upload_matrices(space, b), *after = host_bytes(space, bytes, 1);
    TRY(space->device->op->spectral->prove_full_rank(space->device, b->count, b->n, b->orders,
                                                     matrices, q->levels, q->proven));
    TRY(space->device->op->download(space->device, after, matrices, bytes));
    assert_memory_equal(after, b->matrices, bytes);
    return STATUS_OK;
}

/* Singular values from 1 down to `smallest`. */
static void put_spectrum(const batch *b, size_t i, size_t n, double smallest)
{
    double *expected = b->expected + i * b->n;
    b->orders[i] = n;
    for (size_t k = 0; k < n; k++)
        expected[k] = n > 1 ? pow(smallest, (double)k / (double)(n - 1)) : smallest;
    test_matrix_with_spectrum(i, n, expected, matrix_of(b, i));
}

/* The closer the smallest value is to the level, the fewer proofs; a false proof never occurs. */
static void values_near_the_level(void **state)
{
    workspace *space = *state;
    const size_t sizes[] = {1, 2, 17, 40};
    enum { STEPS = 13 };
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        question q = ask_about(space, 2 * STEPS, sizes[s]);
        for (size_t i = 0; i < 2 * STEPS; i++)
            put_spectrum(&q.matrices, i, sizes[s],
                         tau * (1 + (i % 2 ? 1 : -1) * pow(10, -(double)(i / 2))));
        assert_ok(ask(space, &q));
        for (size_t i = 0; i < 2 * STEPS; i++)
            assert_true(q.proven[i] == 0 || (q.proven[i] == 1 && i % 2 == 1));
        assert_int_equal(q.proven[1], 1); /* twice the level */
        workspace_release(space);
    }
}

static void softmax_matrices(void **state)
{
    workspace *space = *state;
    const size_t n = 40, count = 24;
    question q = ask_about(space, count, n);
    size_t proven = 0, full = 0;
    for (size_t i = 0; i < count; i++) {
        put_softmax(&q.matrices, i, n - i % 5);
        if (i % 3 == 0) /* two equal rows, so not of full rank */
            memcpy(matrix_of(&q.matrices, i), matrix_of(&q.matrices, i) + n - i % 5,
                   (n - i % 5) * sizeof(double));
    }
    assert_ok(ask(space, &q));
    for (size_t i = 0; i < count; i++) {
        const double smallest = q.matrices.expected[i * n + n - i % 5 - 1];
        const bool is_full = i % 3 != 0 && smallest > tau;
        assert_true(q.proven[i] == 0 || (q.proven[i] == 1 && is_full));
        proven += q.proven[i] == 1;
        full += is_full && smallest > 2 * tau;
    }
    assert_true(full >= count / 3 && proven >= full);
}

/* Each matrix has its own level; level 0 asks for nonzero singular values. */
static void levels_differ(void **state)
{
    workspace *space = *state;
    question q = ask_about(space, 4, 9);
    for (size_t i = 0; i < 4; i++)
        put_spectrum(&q.matrices, i, 9, 1e-3);
    q.levels[0] = 2e-3;
    q.levels[1] = 0;
    q.levels[2] = 0.9e-3;
    q.levels[3] = 2;
    assert_ok(ask(space, &q));
    assert_int_equal(q.proven[0], 0);
    assert_int_equal(q.proven[1], 1);
    assert_int_equal(q.proven[2], 1);
    assert_int_equal(q.proven[3], 0);
}

static void bad_matrices_prove_nothing(void **state)
{
    workspace *space = *state;
    question q = ask_about(space, 13, 20);
    for (size_t i = 0; i < q.matrices.count; i++)
        put_spectrum(&q.matrices, i, 20, 1e-2);
    spoil_matrices(&q.matrices);
    memset(matrix_of(&q.matrices, 12), 0, 400 * sizeof(double));
    q.matrices.orders[10] = 0;
    assert_ok(ask(space, &q));
    for (size_t i = 0; i < q.matrices.count; i++)
        assert_int_equal(q.proven[i], i % 2 == 0 && i < 10);
}

/* A batch that does not fit at once into a device with little memory. */
static void large_batches(void **state)
{
    workspace *space = *state;
    const size_t n = 12, count = 501;
    question q = ask_about(space, count, n);
    for (size_t i = 0; i < count; i++)
        put_spectrum(&q.matrices, i, n - i % 4, i % 3 ? 1e-4 : 1e-7);
    assert_ok(ask(space, &q));
    for (size_t i = 0; i < count; i++)
        assert_int_equal(q.proven[i], i % 3 != 0);
}

static void nothing_to_do(void **state)
{
    workspace *space = *state;
    question none = ask_about(space, 0, 3), flat = ask_about(space, 2, 0);
    assert_ok(ask(space, &none));
    assert_ok(ask(space, &flat));
    assert_true(flat.proven[0] == 0 && flat.proven[1] == 0);
}

static bool has_proofs(const mgk_operations *op)
{
    return op->spectral->prove_full_rank != NULL;
}

int main(void)
{
    workspace space = {0};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate_setup_teardown(values_near_the_level, NULL, release_workspace,
                                                 &space),
        cmocka_unit_test_prestate_setup_teardown(softmax_matrices, NULL, release_workspace, &space),
        cmocka_unit_test_prestate_setup_teardown(levels_differ, NULL, release_workspace, &space),
        cmocka_unit_test_prestate_setup_teardown(bad_matrices_prove_nothing, NULL,
                                                 release_workspace, &space),
        cmocka_unit_test_prestate_setup_teardown(large_batches, NULL, release_workspace, &space),
        cmocka_unit_test_prestate_setup_teardown(nothing_to_do, NULL, release_workspace, &space),
    };
    return run_where(&space, MGK_SINGLE, has_proofs, sizeof tests / sizeof *tests, tests);
}
