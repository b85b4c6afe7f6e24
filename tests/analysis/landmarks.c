/* SPDX-License-Identifier: MIT */
/* σ₁ and the singular value nearest to the threshold, for known spectra. */
#include "analysis/counting/landmarks.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/counting/extremes.h"
#include "analysis/matrices.h"
#include "base/random.h"
#include "test.h"

enum { N = 150 };

static const double tau = 1e-6;

typedef struct fixture {
    mgk_gram *gram;
    mgk_landmarks *landmarks;
    double *a;
} fixture;

static void open_fixture(fixture *f)
{
    assert_ok(mgk_gram_open(N, &f->gram));
    assert_ok(mgk_landmarks_open(N, &f->landmarks));
    f->a = calloc((size_t)N * N, sizeof(double));
}

static void close_fixture(fixture *f)
{
    mgk_gram_close(f->gram);
    mgk_landmarks_close(f->landmarks);
    free(f->a);
}

/* Finds both landmarks of f->a with `above` singular values above tau, counted at a shift near
 * tau². */
static void find(fixture *f, size_t n, size_t above, double shift, double *largest, double *nearest)
{
    double error;
    mgk_gram_count count;
    mgk_gram_load(f->gram, n, f->a, 0, &error);
    *largest = mgk_landmarks_largest(f->landmarks, f->gram);
    assert_true(mgk_gram_take(f->gram, shift * tau * tau, &count));
    assert_int_equal(count.count, above);
    *nearest = mgk_landmarks_nearest(f->landmarks, f->gram, tau, above);
}

/* One value above tau and one below: finds the nearer one, which squares may order differently. */
static void nearest_on_either_side(void **state)
{
    (void)state;
    static const double over[] = {1.1, 1.4, 1.6, 3, 1e3}, under[] = {0, 0.3, 0.5, 0.95};
    fixture f;
    double sigma[N], largest, nearest;
    open_fixture(&f);
    for (size_t i = 0; i < 5; i++)
        for (size_t j = 0; j < 4; j++) {
            const size_t n = N - i, above = n / 2;
            for (size_t k = 0; k < n; k++)
                sigma[k] = k < above ? 2 * pow(1e-3, (double)k / (double)above) : 0;
            sigma[above - 1] = over[i] * tau;
            sigma[above] = under[j] * tau;
            test_matrix_with_spectrum(i, n, sigma, f.a);
            find(&f, n, above, 1.05, &largest, &nearest);
            double expected = over[i] - 1 < 1 - under[j] ? over[i] : under[j];
            assert_close(fabs(nearest / tau - 1), fabs(expected - 1), 0, 1e-4);
            assert_true((nearest > tau) == (expected > 1));
            assert_close(largest, 2, 0, 5e-7);
        }
    close_fixture(&f);
}

/* All values on one side of tau: the other side has none to find. */
static void none_on_one_side(void **state)
{
    (void)state;
    fixture f;
    double sigma[N], largest, nearest;
    open_fixture(&f);
    for (size_t k = 0; k < N; k++)
        sigma[k] = pow(1e-5, (double)k / (N - 1));
    test_matrix_with_spectrum(5, N, sigma, f.a);
    find(&f, N, N, 1, &largest, &nearest);
    assert_close(nearest, sigma[N - 1], 0, 1e-6);
    for (size_t k = 0; k < N; k++)
        sigma[k] = 0.4 * tau / (double)(k + 1);
    test_matrix_with_spectrum(6, N, sigma, f.a);
    find(&f, N, 0, 1, &largest, &nearest);
    assert_close(nearest, sigma[0], 0, 1e-6);
    assert_close(largest, sigma[0], 0, 5e-7);
    close_fixture(&f);
}

/* Attention whose common direction was split off before squaring. */
static void what_was_split(void **state)
{
    (void)state;
    fixture f;
    double sigma[N], largest, nearest, error;
    open_fixture(&f);
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++)
            f.a[i * N + j] = j == 3 ? 1 - 1e-3 : j == (7 * i + i * i) % N ? 1e-3 : 1e-9 * (double)i;
    test_reference_spectrum(N, f.a, sigma);
    size_t above = 0;
    while (above < N && sigma[above] >= tau)
        above++;
    mgk_gram_load(f.gram, N, f.a, 0, &error);
    assert_true(mgk_gram_split(f.gram) > 1);
    largest = mgk_landmarks_largest(f.landmarks, f.gram);
    mgk_gram_count count;
    assert_true(mgk_gram_take(f.gram, tau * tau, &count));
    assert_int_equal(count.count, above);
    nearest = mgk_landmarks_nearest(f.landmarks, f.gram, tau, above);
    assert_close(largest, sigma[0], 0, 5e-7);
    double closest = sigma[0];
    for (size_t i = 1; i < N; i++)
        closest = fabs(sigma[i] - tau) < fabs(closest - tau) ? sigma[i] : closest;
    assert_close(fabs(nearest - tau), fabs(closest - tau), 0, 1e-4);
    close_fixture(&f);
}

/* The initial random vector is almost orthogonal to the vector of σ₁: σ₁ is found nevertheless. */
static void late_comers(void **state)
{
    (void)state;
    static const double part = 1e-4;
    mgk_random random = {.seed = N};
    fixture f;
    double error;
    open_fixture(&f);
    for (size_t i = 0; i < N; i++)
        f.a[i * N + i] = i == 2 ? 0.98 : 0.9 * pow(1e-3, (double)i / N);
    /* Orthogonal to the first two entries of the vector, up to `part`. */
    double x = mgk_random_next_uniform(&random), y = mgk_random_next_uniform(&random);
    const double length = hypot(x, y);
    x /= length;
    y /= length;
    const double first = -y + part * x, second = x + part * y;
    f.a[0] = first;
    f.a[1] = second;
    f.a[N] = -0.5 * second;
    f.a[N + 1] = 0.5 * first;
    mgk_gram_load(f.gram, N, f.a, 0, &error);
    assert_close(mgk_landmarks_largest(f.landmarks, f.gram), 1, 1e-6, 0);
    close_fixture(&f);
}

/* A diagonal of values [size]. */
typedef struct diagonal {
    size_t size;
    const double *values;
} diagonal;

static void apply(void *state, size_t count, double *rows)
{
    const diagonal *d = state;
    for (size_t k = 0; k < count; k++)
        for (size_t i = 0; i < d->size; i++)
            rows[k * d->size + i] *= d->values[i];
}

/* Finds both ends, with true error bounds, and in no more steps than the diagonal has values. */
static void ends_of_a_diagonal(void **state)
{
    (void)state;
    static const double values[] = {3, -5, 1, 1, 2, 0.5, -4.5, 2.9};
    mgk_extremes *extremes;
    assert_ok(mgk_extremes_open(8, &extremes));
    for (size_t n = 1; n <= 8; n++) {
        diagonal d = {n, values};
        mgk_extreme lowest = {0}, highest = {0};
        size_t looks = 0;
        mgk_extremes_begin(extremes, n, apply, &d);
        while (mgk_extremes_step(extremes)) {
            lowest = mgk_extremes_look(extremes, MGK_LOWEST);
            highest = mgk_extremes_look(extremes, MGK_HIGHEST);
            assert_true(++looks <= n);
            assert_true(highest.value <= 3 * (1 + 1e-15) && lowest.value >= -5 * (1 + 1e-15));
        }
        assert_close(highest.value, 3, 0, 1e-12);
        assert_close(lowest.value, n > 1 ? -5 : 3, 0, 1e-12);
        assert_true(highest.residual < 1e-6 && lowest.residual < 1e-6);
        assert_close(fabs(mgk_extremes_vector(extremes, MGK_LOWEST)[n > 1]), 1, 1e-12, 0);
    }
    mgk_extremes_close(extremes);
}

static void what_is_not_finite(void **state)
{
    (void)state;
    static const double values[] = {1, 2, INFINITY, 4};
    diagonal d = {4, values};
    mgk_extremes *extremes;
    assert_ok(mgk_extremes_open(4, &extremes));
    mgk_extremes_begin(extremes, 4, apply, &d);
    assert_false(mgk_extremes_step(extremes));
    mgk_extremes_close(extremes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nearest_on_either_side), cmocka_unit_test(none_on_one_side),
        cmocka_unit_test(what_was_split),         cmocka_unit_test(ends_of_a_diagonal),
        cmocka_unit_test(what_is_not_finite),     cmocka_unit_test(late_comers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
