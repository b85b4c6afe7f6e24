#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/matrices.h"
#include "kernels/spectrum.h"

enum { LARGEST = 257 };

static const size_t sizes[] = {1, 2, 31, 33, 257};
enum { SIZES = sizeof(sizes) / sizeof(*sizes) };

typedef struct fixture {
    mgk_spectrum *workspace;
    double *a, *sigma, *expected;
} fixture;

static int open_fixture(void **state)
{
    fixture *f = calloc(1, sizeof(*f));
    f->a = calloc((size_t)LARGEST * LARGEST, sizeof(double));
    f->sigma = calloc(LARGEST, sizeof(double));
    f->expected = calloc(LARGEST, sizeof(double));
    *state = f;
    return mgk_spectrum_open(LARGEST, &f->workspace);
}

static int close_fixture(void **state)
{
    fixture *f = *state;
    mgk_spectrum_close(f->workspace);
    free(f->a);
    free(f->sigma);
    free(f->expected);
    free(f);
    return 0;
}

/* Both solvers err by at most about n u sigma_1; twice that may lie between them. */
static void assert_same_spectrum(const fixture *f, size_t n)
{
    double tolerance = 4 * (double)n * 0x1p-53 * f->expected[0];
    for (size_t i = 0; i < n; i++) {
        assert_close(f->sigma[i], f->expected[i], tolerance, 0);
        assert_true(i == 0 || f->sigma[i] <= f->sigma[i - 1]);
    }
}

static void prescribed_spectra_come_back(void **state)
{
    fixture *f = *state;
    for (size_t k = 0; k < SIZES; k++) {
        size_t n = sizes[k];
        for (size_t i = 0; i < n; i++)
            f->expected[i] = pow(10, -12 * (double)i / (double)n);
        test_matrix_with_spectrum(k, n, f->expected, f->a);
        assert_ok(mgk_spectrum_compute(f->workspace, n, f->a, f->sigma));
        assert_same_spectrum(f, n);
    }
}

static void softmax_agrees_with_the_second_driver(void **state)
{
    fixture *f = *state;
    for (size_t k = 0; k < 2 * SIZES; k++) {
        size_t n = sizes[k / 2];
        test_matrix_softmax(k, n, 3, k % 2 == 1, f->a);
        test_reference_spectrum(n, f->a, f->expected);
        assert_ok(mgk_spectrum_compute(f->workspace, n, f->a, f->sigma));
        assert_true(f->sigma[0] >= 1 - 1e-12);
        assert_same_spectrum(f, n);
    }
}

/* All singular values of a permutation are 1; 1/n everywhere has one, and it is 1. */
static void permutation_and_uniform(void **state)
{
    fixture *f = *state;
    for (size_t k = 0; k < SIZES; k++) {
        size_t n = sizes[k];
        memset(f->a, 0, n * n * sizeof(double));
        for (size_t i = 0; i < n; i++) {
            f->a[i * n + (i * 2 + 1) % n] = 1; /* a permutation for odd n */
            f->expected[i] = 1;
        }
        if (n % 2 == 1) {
            assert_ok(mgk_spectrum_compute(f->workspace, n, f->a, f->sigma));
            assert_same_spectrum(f, n);
        }
        for (size_t i = 0; i < n * n; i++)
            f->a[i] = 1 / (double)n;
        for (size_t i = 1; i < n; i++)
            f->expected[i] = 0;
        assert_ok(mgk_spectrum_compute(f->workspace, n, f->a, f->sigma));
        assert_same_spectrum(f, n);
    }
}

static void nothing_and_too_much(void **state)
{
    fixture *f = *state;
    mgk_spectrum *workspace;
    assert_ok(mgk_spectrum_compute(f->workspace, 0, NULL, NULL));
    assert_fails(mgk_spectrum_compute(f->workspace, LARGEST + 1, f->a, f->sigma), STATUS_SHAPE);
    assert_fails(mgk_spectrum_open(32769, &workspace), STATUS_SHAPE);
    assert_null(workspace);
    assert_ok(mgk_spectrum_open(0, &workspace));
    mgk_spectrum_close(workspace);
    mgk_spectrum_close(NULL);
}

/* Finite entries whose singular values do not fit a double. */
static void overflow_is_refused(void **state)
{
    fixture *f = *state;
    for (size_t i = 0; i < 9; i++)
        f->a[i] = 1.7e308;
    assert_fails(mgk_spectrum_compute(f->workspace, 3, f->a, f->sigma), STATUS_NUMERIC);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prescribed_spectra_come_back),
        cmocka_unit_test(softmax_agrees_with_the_second_driver),
        cmocka_unit_test(permutation_and_uniform),
        cmocka_unit_test(nothing_and_too_much),
        cmocka_unit_test(overflow_is_refused),
    };
    return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
