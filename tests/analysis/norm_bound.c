/* SPDX-License-Identifier: MIT */
/* Bounds on the norms of known operators from images of random vectors. */
#include "analysis/counting/norm_bound.h"

#include <cblas.h>
#include <math.h>

#include "base/random.h"
#include "kernels/cpu/spectral/reductions.h"
#include "test.h"

enum { N = 67 };

/* H diag(values) H with a reflection H = I - 2 u uᵀ, and the error of each image. */
typedef struct reflected {
    size_t n;
    double u[N], values[N], off;
    size_t images; /* requested images */
} reflected;

static void reflect(const reflected *r, double *x)
{
    const blasint n = (blasint)r->n;
    cblas_daxpy(n, -2 * cblas_ddot(n, r->u, 1, x, 1), r->u, 1, x, 1);
}

static void apply(void *state, double *vectors)
{
    reflected *r = state;
    r->images++;
    for (size_t v = 0; v < MGK_RESIDUAL_VECTORS; v++) {
        double *x = vectors + v * mgk_reduction_pitch(r->n);
        reflect(r, x);
        for (size_t i = 0; i < r->n; i++)
            x[i] *= r->values[i];
        reflect(r, x);
        for (size_t i = 0; i < r->n; i++)
            x[i] += r->off / sqrt((double)r->n);
    }
}

static reflected begin(uint64_t seed, size_t n)
{
    reflected r = {.n = n};
    for (size_t i = 0; i < n; i++)
        r.u[i] = mgk_random_normal(seed, 1, i);
    cblas_dscal((blasint)n, 1 / cblas_dnrm2((blasint)n, r.u, 1), r.u, 1);
    return r;
}

static double find(mgk_norm_bound *bound, reflected *r, uint64_t seed, double noise, double enough)
{
    mgk_norm_bound_begin(bound, r->n, seed);
    return mgk_norm_bound_find(bound, apply, r, noise, enough);
}

/* A single eigenvalue: images show only the random vectors' components along its eigenvector. */
static void single_eigenvalues(void **state)
{
    (void)state;
    mgk_norm_bound *bound;
    assert_ok(mgk_norm_bound_open(N, &bound));
    for (uint64_t seed = 0; seed < 20000; seed++) {
        reflected r = begin(seed % 50, 1 + seed % 9);
        r.values[seed % r.n] = seed % 2 ? -3e-17 : 3e-17;
        const double found = find(bound, &r, seed, 1e-30, 0);
        assert_true(found >= 3e-17 && found <= 1.2 * 3e-17);
    }
    mgk_norm_bound_close(bound);
}

/* Many eigenvalues: the bound shrinks with each step, and stops once it suffices. */
static void crowded_spectra(void **state)
{
    (void)state;
    mgk_norm_bound *bound;
    assert_ok(mgk_norm_bound_open(N, &bound));
    for (uint64_t seed = 0; seed < 200; seed++) {
        reflected r = begin(seed, N);
        for (size_t i = 0; i < N; i++)
            r.values[i] = cos((double)(i + seed));
        r.values[3] = -1;
        const double first = find(bound, &r, seed, 1e-12, INFINITY);
        const double best = find(bound, &r, seed, 1e-12, 0);
        assert_true(best >= 1 && best <= 1.5);
        assert_true(first > 100 && best < first);
        const double some = find(bound, &r, seed, 1e-12, 2 * best);
        assert_true(some >= best && some <= 2 * best);
        assert_true(mgk_norm_bound_find(bound, apply, &r, 1e-12, 0) == best);
    }
    mgk_norm_bound_close(bound);
}

/* If one eigenvalue dominates, a few images suffice, and no more are requested. */
static void images_end(void **state)
{
    (void)state;
    mgk_norm_bound *bound;
    assert_ok(mgk_norm_bound_open(N, &bound));
    for (uint64_t seed = 0; seed < 200; seed++) {
        reflected r = begin(seed, N);
        for (size_t i = 0; i < N; i++)
            r.values[i] = 1e-3 * cos((double)(i + seed));
        r.values[seed % N] = 1;
        const double first = find(bound, &r, seed, 1e-12, 1.5);
        assert_true(first >= 1 && first <= 1.5 && r.images <= 6);
        const double best = mgk_norm_bound_find(bound, apply, &r, 1e-12, 0);
        const size_t all = r.images;
        assert_true(best >= 1 && best <= first && all <= 8);
        assert_true(mgk_norm_bound_find(bound, apply, &r, 1e-12, 0) == best && r.images == all);
    }
    mgk_norm_bound_close(bound);
}

/* Images with errors as large as the bound assumes. */
static void noise_is_counted(void **state)
{
    (void)state;
    mgk_norm_bound *bound;
    assert_ok(mgk_norm_bound_open(N, &bound));
    for (uint64_t seed = 0; seed < 200; seed++) {
        reflected r = begin(seed, N);
        r.values[seed % N] = 1;
        const double clean = find(bound, &r, seed, 1e-12, 0);
        assert_true(find(bound, &r, seed, 1e-3, 0) > clean);
        r.off = 1e-3;
        assert_true(find(bound, &r, seed, 1e-3, 0) >= 1);
    }
    reflected nothing = begin(1, N);
    assert_true(find(bound, &nothing, 1, 1e-20, 0) < 1e-12);
    assert_true(find(bound, &nothing, 1, 0, 0) < 1e-300); /* and a bound is found */
    mgk_norm_bound_close(bound);
}

static void what_is_not_finite(void **state)
{
    (void)state;
    mgk_norm_bound *bound;
    assert_ok(mgk_norm_bound_open(N, &bound));
    reflected r = begin(1, N);
    r.values[5] = NAN;
    assert_true(isinf(find(bound, &r, 1, 1e-12, 0)));
    r.values[5] = INFINITY;
    assert_true(isinf(find(bound, &r, 1, 1e-12, 0)));
    mgk_norm_bound_close(bound);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(single_eigenvalues), cmocka_unit_test(crowded_spectra),
        cmocka_unit_test(images_end),         cmocka_unit_test(noise_is_counted),
        cmocka_unit_test(what_is_not_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
