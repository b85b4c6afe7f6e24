/* SPDX-License-Identifier: MIT */
/* The steps from a matrix to its bidiagonal form, at sizes where computing a spectrum skips some of
 * them. */
#include "test.h"

#include <lapacke.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/matrices.h"
#include "base/memory.h"
#include "kernels/blas.h"
#include "kernels/cpu/variant.h"
#include "spectrum_case.h"

/* Every size up to EVERY, and those of `larger`. */
enum { EVERY = 34, LARGEST = 161 };

static const size_t larger[] = {63, 64, 65, 96, 97, 128, 161};
enum { LARGER = sizeof larger / sizeof *larger };

static const size_t widths[] = {32, 64};

static const char *const levels[] = {MGK_CPU_LEVEL_NAMES};
enum { LEVELS = sizeof levels / sizeof *levels };

typedef struct fixture {
    const mgk_reductions *reductions[LEVELS];
    double *a, *copy, *band, *work, *diagonal, *superdiagonal, *expected;
} fixture;

static int open_fixture(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    *state = f;
    for (size_t l = 0; l < LEVELS; l++) {
        mgk_cpu_variant variant;
        setenv("MGK_CPU_LEVEL", levels[l], 1);
        assert_ok(mgk_blas_open());
        assert_ok(mgk_cpu_choose_variant(&variant));
        f->reductions[l] = variant.reductions;
    }
    unsetenv("MGK_CPU_LEVEL");
    assert_ok(mgk_alloc(LARGEST * LARGEST, sizeof(double), &f->a));
    assert_ok(mgk_alloc(LARGEST * (LARGEST + 3), sizeof(double), &f->copy));
    assert_ok(mgk_alloc(mgk_band_size(LARGEST, 64), sizeof(double), &f->band));
    assert_ok(mgk_alloc(mgk_band_work(LARGEST, 64), sizeof(double), &f->work));
    assert_ok(mgk_alloc(LARGEST, sizeof(double), &f->diagonal));
    assert_ok(mgk_alloc(LARGEST, sizeof(double), &f->superdiagonal));
    assert_ok(mgk_alloc(LARGEST, sizeof(double), &f->expected));
    return 0;
}

static int close_fixture(void **state)
{
    fixture *f = *state;
    mgk_free(f->a);
    mgk_free(f->copy);
    mgk_free(f->band);
    mgk_free(f->work);
    mgk_free(f->diagonal);
    mgk_free(f->superdiagonal);
    mgk_free(f->expected);
    free(f);
    return 0;
}

/* Both steps, through a band; rows have gaps of 3 numbers. */
static void assert_two_steps(const fixture *f, size_t l, size_t n, size_t width)
{
    const size_t pitch = n + 3;
    for (size_t j = 0; j < n; j++)
        memcpy(f->copy + j * pitch, f->a + j * n, n * sizeof(double));
    memset(f->band, 0, mgk_band_size(n, width) * sizeof(double));
    /* Work memory may hold anything from an earlier matrix. */
    for (size_t i = 0; i < mgk_band_work(n, width); i++)
        f->work[i] = NAN;
    f->reductions[l]->dense_to_band(n, width, f->copy, pitch, f->band, f->work);
    f->reductions[l]->chase_band(n, width, f->band, f->diagonal, f->superdiagonal);
    for (size_t i = 0; i < n; i++)
        assert_true(isfinite(f->diagonal[i]) && (i + 1 == n || isfinite(f->superdiagonal[i])));
    assert_int_equal(LAPACKE_dbdsqr(LAPACK_COL_MAJOR, 'U', (int)n, 0, 0, 0, f->diagonal,
                                    f->superdiagonal, NULL, 1, NULL, 1, NULL, 1),
                     0);
    double tolerance = 4 * (double)n * 0x1p-53 * f->expected[0];
    for (size_t i = 0; i < n; i++)
        assert_close(f->diagonal[i], f->expected[i], tolerance, 0);
}

static void two_steps_keep_singular_values(void **state)
{
    const fixture *f = *state;
    for (size_t s = 1; s <= EVERY + LARGER; s++) {
        size_t n = s <= EVERY ? s : larger[s - EVERY - 1];
        for (size_t k = 0; k < SPECTRUM_CASES; k++) {
            spectrum_case((spectrum_kind)k, n, f->a);
            test_reference_spectrum(n, f->a, f->expected);
            for (size_t l = 0; l < LEVELS; l++)
                for (size_t w = 0; w < 2; w++)
                    assert_two_steps(f, l, n, widths[w]);
        }
    }
}

/* A matrix that is already a band, and one with all entries 1. */
static void bands_become_bidiagonal(void **state)
{
    const fixture *f = *state;
    const size_t n = 101, width = 32, stride = mgk_band_stride(width);
    for (size_t k = 0; k < 2 * LEVELS; k++) {
        const size_t reach = k % 2 ? width : 1;
        memset(f->band, 0, mgk_band_size(n, width) * sizeof(double));
        memset(f->a, 0, n * n * sizeof(double));
        for (size_t c = 0; c < n; c++)
            for (size_t r = c < reach ? 0 : c - reach; r <= c; r++) {
                f->band[2 * width + r + c * stride] = 1;
                f->a[r * n + c] = 1;
            }
        test_reference_spectrum(n, f->a, f->expected);
        f->reductions[k / 2]->chase_band(n, width, f->band, f->diagonal, f->superdiagonal);
        for (size_t i = 0; i + 1 < n && reach == 1; i++)
            assert_true(f->diagonal[i] == 1 && f->superdiagonal[i] == 1);
        assert_int_equal(LAPACKE_dbdsqr(LAPACK_COL_MAJOR, 'U', (int)n, 0, 0, 0, f->diagonal,
                                        f->superdiagonal, NULL, 1, NULL, 1, NULL, 1),
                         0);
        for (size_t i = 0; i < n; i++)
            assert_close(f->diagonal[i], f->expected[i], 4e-16 * (double)n * f->expected[0], 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_steps_keep_singular_values),
        cmocka_unit_test(bands_become_bidiagonal),
    };
    return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
