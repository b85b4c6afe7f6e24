#include "solver_case.h"

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
