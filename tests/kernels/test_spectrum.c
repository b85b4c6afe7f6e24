/* SPDX-License-Identifier: MIT */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/matrices.h"
#include "base/random.h"
#include "kernels/backend.h"
#include "kernels/spectral/spectrum.h"
#include "spectrum_case.h"

/* A level that this machine lacks is replaced by the next lower one. */
static const char *const levels[] = {MGK_CPU_LEVEL_NAMES};
enum { LEVELS = sizeof levels / sizeof *levels };

/* Every size up to EVERY, and those of `larger`. The last of these take two steps and are compared
 * with known spectra. */
enum { EVERY = 48, LARGEST = 641 };

static const size_t larger[] = {64, 65, 96, 97, 129, 257, 608, 609, 640};
enum { LARGER = sizeof larger / sizeof *larger, AGAINST_LAPACK = LARGER - 3 };

typedef struct fixture {
    mgk_spectrum *workspace[LEVELS];
    double *a, *copy, *sigma, *expected;
} fixture;

static int open_fixture(void **state)
{
    fixture *f = calloc(1, sizeof(*f));
    f->a = calloc((size_t)LARGEST * LARGEST, sizeof(double));
    f->copy = calloc((size_t)LARGEST * LARGEST, sizeof(double));
    f->sigma = calloc(LARGEST, sizeof(double));
    f->expected = calloc(LARGEST, sizeof(double));
    *state = f;
    for (size_t l = 0; l < LEVELS; l++) {
        setenv("MGK_CPU_LEVEL", levels[l], 1);
        if (mgk_spectrum_open(LARGEST, &f->workspace[l]) != STATUS_OK)
            return 1;
    }
    unsetenv("MGK_CPU_LEVEL");
    return 0;
}

static int close_fixture(void **state)
{
    fixture *f = *state;
    for (size_t l = 0; l < LEVELS; l++)
        mgk_spectrum_close(f->workspace[l]);
    free(f->a);
    free(f->copy);
    free(f->sigma);
    free(f->expected);
    free(f);
    return 0;
}

/* Each solver errs by at most about n u sigma_1, so they may differ by twice that. */
static void assert_spectrum(const fixture *f, size_t n)
{
    for (size_t l = 0; l < LEVELS; l++) {
        memcpy(f->copy, f->a, n * n * sizeof(double));
        assert_ok(mgk_spectrum_compute(f->workspace[l], n, f->copy, f->sigma));
        double tolerance = 4 * (double)n * 0x1p-53 * f->expected[0];
        for (size_t i = 0; i < n; i++) {
            assert_close(f->sigma[i], f->expected[i], tolerance, 0);
            assert_true(f->sigma[i] >= 0 && (i == 0 || f->sigma[i] <= f->sigma[i - 1]));
        }
    }
}

static void agrees_with_lapack(void **state)
{
    fixture *f = *state;
    for (size_t s = 1; s <= EVERY + AGAINST_LAPACK; s++) {
        size_t n = s <= EVERY ? s : larger[s - EVERY - 1];
        for (size_t k = 0; k < SPECTRUM_CASES; k++) {
            spectrum_case((spectrum_kind)k, n, f->a);
            test_reference_spectrum(n, f->a, f->expected);
            assert_spectrum(f, n);
        }
    }
}

static void prescribed_spectra_come_back(void **state)
{
    fixture *f = *state;
    for (size_t s = 0; s < LARGER; s++) {
        size_t n = larger[s];
        for (size_t i = 0; i < n; i++)
            f->expected[i] = pow(10, -12 * (double)i / (double)n);
        test_matrix_with_spectrum(s, n, f->expected, f->a);
        assert_spectrum(f, n);
    }
}

/* All singular values of a permutation are 1; the matrix of 1/n has one, 1. */
static void permutation_and_uniform(void **state)
{
    fixture *f = *state;
    for (size_t n = 1; n <= EVERY; n++) {
        for (size_t i = 0; i < n; i++)
            f->expected[i] = 1;
        spectrum_case(SPECTRUM_PERMUTATION, n, f->a);
        assert_spectrum(f, n);
        for (size_t i = 1; i < n; i++)
            f->expected[i] = 0;
        spectrum_case(SPECTRUM_UNIFORM, n, f->a);
        assert_spectrum(f, n);
    }
}

/* A power of two changes only the scale of a spectrum, as long as nothing underflows. */
static void scale_does_not_matter(void **state)
{
    fixture *f = *state;
    const size_t sizes[] = {1, 3, 33, 129};
    const double scales[] = {0x1p-1000, 0x1p-500, 0x1p500, 0x1p1000};
    for (size_t k = 0; k < 16; k++) {
        size_t n = sizes[k / 4];
        spectrum_case(SPECTRUM_SOFTMAX, n, f->a);
        test_reference_spectrum(n, f->a, f->expected);
        for (size_t i = 0; i < n * n; i++)
            f->a[i] *= scales[k % 4];
        for (size_t i = 0; i < n; i++)
            f->expected[i] *= scales[k % 4];
        assert_spectrum(f, n);
    }
    /* The smallest positive number. */
    f->a[0] = 0x1p-1074;
    f->expected[0] = 0x1p-1074;
    assert_spectrum(f, 1);
}

static void nothing_and_too_much(void **state)
{
    fixture *f = *state;
    mgk_spectrum *workspace;
    assert_ok(mgk_spectrum_compute(f->workspace[0], 0, NULL, NULL));
    assert_fails(mgk_spectrum_compute(f->workspace[0], LARGEST + 1, f->a, f->sigma), STATUS_SHAPE);
    assert_fails(mgk_spectrum_open(32769, &workspace), STATUS_SHAPE);
    assert_null(workspace);
    assert_ok(mgk_spectrum_open(0, &workspace));
    mgk_spectrum_close(workspace);
    mgk_spectrum_close(NULL);
}

/* Finite entries with singular values beyond the range of double; entries that are not finite. */
static void overflow_is_refused(void **state)
{
    fixture *f = *state;
    const double bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < 9; i++)
        f->a[i] = 1.7e308;
    assert_fails(mgk_spectrum_compute(f->workspace[0], 3, f->a, f->sigma), STATUS_NUMERIC);
    for (size_t n = 1; n <= 17; n += 4)
        for (size_t at = 0; at < n * n; at++) {
            spectrum_case(SPECTRUM_SOFTMAX, n, f->a);
            f->a[at] = bad[at % 3];
            assert_fails(mgk_spectrum_compute(f->workspace[0], n, f->a, f->sigma), STATUS_NUMERIC);
        }
}

/* The singular values of a band equal those of its matrix, at any scale; bad bands are refused. */
static void bands_as_their_matrices(void **state)
{
    fixture *f = *state;
    const size_t sizes[] = {1, 2, 32, 33, 34, 97};
    const double scales[] = {1, 1e307, 1e-307};
    const size_t entries = mgk_band_entries(97);
    mgk_spectrum *workspace;
    double band[128 * (MGK_BAND_WIDTH + 1)];
    mgk_random random = {.seed = 5};
    assert_true(entries <= sizeof band / sizeof *band);
    assert_ok(mgk_spectrum_open_for_bands(97, &workspace));
    for (size_t s = 0; s < 6; s++) {
        const size_t n = sizes[s];
        memset(f->a, 0, n * n * sizeof(double));
        for (size_t i = 0; i < n * n; i++)
            if (i % n >= i / n && i % n <= i / n + MGK_BAND_WIDTH)
                f->a[i] = mgk_random_next_uniform(&random) - 0.5;
        test_reference_spectrum(n, f->a, f->expected);
        for (size_t k = 0; k < 3; k++) {
            memset(band, 0, sizeof band);
            for (size_t r = 0; r < n; r++)
                for (size_t c = r; c < n && c <= r + MGK_BAND_WIDTH; c++)
                    band[r * (MGK_BAND_WIDTH + 1) + c - r] = scales[k] * f->a[r * n + c];
            assert_ok(mgk_spectrum_compute_band(workspace, n, band, f->sigma));
            const double largest = scales[k] * f->expected[0];
            for (size_t i = 0; i < n; i++)
                assert_close(f->sigma[i], scales[k] * f->expected[i],
                             4 * (double)n * 0x1p-53 * largest, 0);
        }
    }
    band[0] = (double)NAN;
    assert_fails(mgk_spectrum_compute_band(workspace, 97, band, f->sigma), STATUS_NUMERIC);
    assert_fails(mgk_spectrum_compute_band(workspace, 98, band, f->sigma), STATUS_SHAPE);
    mgk_spectrum_close(workspace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_lapack),      cmocka_unit_test(prescribed_spectra_come_back),
        cmocka_unit_test(permutation_and_uniform), cmocka_unit_test(scale_does_not_matter),
        cmocka_unit_test(nothing_and_too_much),    cmocka_unit_test(overflow_is_refused),
        cmocka_unit_test(bands_as_their_matrices),
    };
    return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
