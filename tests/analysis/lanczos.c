/* SPDX-License-Identifier: MIT */
/* Block Lanczos on operators whose eigenvalues are known. */
#include "analysis/counting/lanczos.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "test.h"

enum { N = MGK_LANCZOS_ORDER + 7 };

/* H diag(values) H with a reflection H = I - 2 w wᵀ. */
typedef struct reflected {
    double w[N], values[N];
} reflected;

static void reflect(const double *w, double *x)
{
    cblas_daxpy(N, -2 * cblas_ddot(N, w, 1, x, 1), w, 1, x, 1);
}

static void apply(void *state, size_t count, double *rows)
{
    const reflected *r = state;
    for (size_t k = 0; k < count; k++) {
        double *x = rows + k * N;
        reflect(r->w, x);
        for (size_t i = 0; i < N; i++)
            x[i] *= r->values[i];
        reflect(r->w, x);
    }
}

static void start(reflected *r)
{
    mgk_random random = {.seed = 5};
    for (size_t i = 0; i < N; i++)
        r->w[i] = mgk_random_next_uniform(&random) - 0.5;
    cblas_dscal(N, 1 / cblas_dnrm2(N, r->w, 1), r->w, 1);
    /* The inverse of values on both sides of 0 that come closer and closer to it. */
    for (size_t i = 0; i < N; i++)
        r->values[i] = (i % 2 ? -1 : 1) / (1 + 0.3 * (double)i);
}

/* Residuals are small, no eigenvalue is missed, and no remaining one is larger than `next`. */
static void check(mgk_lanczos *lanczos, reflected *r, const mgk_lanczos_pairs *pairs)
{
    const double *vectors = mgk_lanczos_vectors(lanczos, pairs);
    size_t larger = 0;
    for (size_t i = 0; i < N; i++)
        larger += fabs(r->values[i]) > pairs->next;
    assert_in_range(pairs->count, larger, MGK_LANCZOS_PAIRS / 2);
    for (size_t k = 0; k < pairs->count; k++) {
        double image[N];
        cblas_dcopy(N, vectors + k * N, 1, image, 1);
        apply(r, 1, image);
        double value = cblas_ddot(N, image, 1, vectors + k * N, 1), closest = INFINITY;
        for (size_t i = 0; i < N; i++)
            closest = fmin(closest, fabs(r->values[i] - pairs->values[k]));
        assert_true(closest < 1e-5 * fabs(pairs->values[k]));
        cblas_daxpy(N, -value, vectors + k * N, 1, image, 1);
        assert_true(cblas_dnrm2(N, image, 1) < 1e-3 * fabs(value));
        for (size_t j = 0; j <= k; j++) {
            double product = cblas_ddot(N, vectors + j * N, 1, vectors + k * N, 1);
            assert_true(fabs(product - (j == k)) < 1e-13);
        }
    }
}

/* Takes steps until all other eigenvalues are below `least`. */
static bool find(mgk_lanczos *lanczos, reflected *r, double least, mgk_lanczos_pairs *pairs)
{
    bool more = mgk_lanczos_begin(lanczos, N, apply, r);
    while (more) {
        more = mgk_lanczos_step(lanczos, pairs);
        if (more && pairs->next < least)
            return true;
    }
    return false;
}

static void largest_on_both_sides(void **state)
{
    (void)state;
    static reflected r;
    mgk_lanczos *lanczos;
    mgk_lanczos_pairs pairs;
    start(&r);
    assert_ok(mgk_lanczos_open(N, &lanczos));
    for (int wanted = 1; wanted <= 8; wanted *= 2) {
        assert_true(find(lanczos, &r, fabs(r.values[wanted]), &pairs));
        assert_true(pairs.count >= (size_t)wanted);
        check(lanczos, &r, &pairs);
    }
    /* More eigenvalues than Lanczos looks for. */
    assert_false(find(lanczos, &r, fabs(r.values[MGK_LANCZOS_PAIRS / 2]), &pairs));
    mgk_lanczos_close(lanczos);
}

/* Equal eigenvalues are all found if they fit in a block; of more, some are found, and
 * none twice. */
static void equal_eigenvalues(void **state)
{
    (void)state;
    static reflected r;
    mgk_lanczos *lanczos;
    mgk_lanczos_pairs pairs;
    assert_ok(mgk_lanczos_open(N, &lanczos));
    start(&r);
    for (size_t i = 0; i < 12; i++)
        r.values[i] = 4;
    assert_true(find(lanczos, &r, 2, &pairs));
    assert_true(pairs.count >= 12);
    check(lanczos, &r, &pairs);
    for (size_t i = 0; i < MGK_LANCZOS_BLOCK / 2 + 4; i++)
        r.values[i] = 4;
    assert_true(find(lanczos, &r, 2, &pairs));
    assert_in_range(pairs.count, MGK_LANCZOS_BLOCK / 2, MGK_LANCZOS_BLOCK / 2 + 4);
    mgk_lanczos_close(lanczos);
}

static void what_is_not_finite(void **state)
{
    (void)state;
    static reflected r;
    mgk_lanczos *lanczos;
    mgk_lanczos_pairs pairs;
    assert_ok(mgk_lanczos_open(N, &lanczos));
    start(&r);
    r.values[3] = NAN;
    assert_false(find(lanczos, &r, 0.1, &pairs));
    r.values[3] = INFINITY;
    assert_false(find(lanczos, &r, 0.1, &pairs));
    assert_false(mgk_lanczos_begin(lanczos, MGK_LANCZOS_ORDER - 1, apply, &r));
    mgk_lanczos_close(lanczos);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(largest_on_both_sides),
        cmocka_unit_test(equal_eigenvalues),
        cmocka_unit_test(what_is_not_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
