/* SPDX-License-Identifier: MIT */
#include "solver_case.h"

#include <string.h>

static const size_t sizes[] = {1, 2, 31, 33, 64};
enum { SIZES = sizeof sizes / sizeof *sizes };

void known_spectra_come_back(void **state)
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

void bad_matrices_harm_no_others(void **state)
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

void nothing_to_do(void **state)
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

void smaller_matrices_stand_beside(void **state)
{
    workspace *space = *state;
    const size_t orders[] = {31, 1, 0, 40, 2, 33, 5}, n = 43;
    const size_t count = sizeof orders / sizeof *orders;
    batch b = make_batch(space, count, n);
    memset(b.matrices, 0xff, count * n * n * sizeof(double)); /* NaN after each */
    for (size_t i = 0; i < count; i++)
        put_softmax(&b, i, orders[i]);
    assert_ok(solve(space, &b));
    for (size_t i = 0; i < count; i++)
        assert_spectrum(&b, i);
}

/* Squares of these entries would overflow or vanish. */
void any_scale(void **state)
{
    workspace *space = *state;
    const double scales[] = {1e300, 1e-300, 1e-323};
    const size_t n = 20, count = sizeof scales / sizeof *scales;
    batch b = make_batch(space, count, n);
    for (size_t i = 0; i < count; i++) {
        put_softmax(&b, i, n);
        for (size_t e = 0; e < n * n; e++)
            matrix_of(&b, i)[e] *= scales[i] * 10;
        /* hardly a digit is left: the expected value comes from the single entry */
        if (i == count - 1)
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
