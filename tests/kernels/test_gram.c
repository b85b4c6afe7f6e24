/* SPDX-License-Identifier: MIT */
/* Counts of singular values on a device, against spectra and against the host. */
#include <cblas.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/counting/engine.h"
#include "analysis/counting/gram.h"
#include "analysis/counting/gram_device.h"
#include "analysis/families.h"
#include "analysis/matrices.h"
#include "kernels/spectral/inertia.h"
#include "spectra.h"

static const double tau = 1e-6;

/* One matrix, on the device and on the host. */
typedef struct pair {
    size_t n;
    double *a, *sigma, *there; /* [n, n], [n], [n, n] */
    mgk_gram *device, *host;
    double moved; /* tolerance of the device's singular values against sigma */
} pair;

static pair load(workspace *space, size_t n, const double *a)
{
    pair p = {.n = n, .a = host_array(space, n * n), .sigma = host_array(space, n)};
    double host_moved;
    memcpy(p.a, a, n * n * sizeof *a);
    test_reference_spectrum(n, p.a, p.sigma);
    p.there = upload_bytes(space, n * n * sizeof *a, a);
    assert_ok(mgk_gram_open_on(space->device, n, &p.device));
    assert_ok(mgk_gram_open(n, &p.host));
    mgk_gram_load(p.device, n, p.there, 0, &p.moved);
    mgk_gram_load(p.host, n, p.a, 0, &host_moved);
    assert_ok(mgk_gram_status(p.device));
    assert_close(p.moved, host_moved, 0, 1e-10);
    p.moved += 4 * (double)n * 0x1p-53 * p.sigma[0];
    return p;
}

static void close_pair(const pair *p)
{
    mgk_gram_close(p->device);
    mgk_gram_close(p->host);
}

static size_t count_above(const pair *p, double level)
{
    size_t count = 0;
    while (count < p->n && p->sigma[count] > level)
        count++;
    return count;
}

/* Checks the result at x; returns whether there is one. */
static bool judge(const pair *p, double x)
{
    mgk_gram_count at, host;
    const bool counted = mgk_gram_take(p->device, x, &at);
    assert_ok(mgk_gram_status(p->device));
    if (!counted)
        return false;
    size_t low = count_above(p, sqrt(x + at.bound) + p->moved);
    size_t high = count_above(p, sqrt(fmax(x - at.bound, 0)) - p->moved);
    assert_in_range(at.count, low, high);
    if (mgk_gram_take(p->host, x, &host)) { /* both bound the same norms, from different vectors */
        assert_close(at.bound, host.bound, 0, 0.5);
        assert_close(at.expected, host.expected, 0, 0.5);
        const double measured = mgk_gram_measure(p->device, 0);
        assert_true(measured > 0 && measured < fmax(at.bound, 2 * DBL_MIN));
    }
    return low == high;
}

/*
 * A measured bound is at least some 10⁴ DBL_MIN, because each step allows for underflow
 * (norm_bound.c); δ, about n 2⁻⁵³ x of a matrix that is 0 but for its mean row, is less for an x
 * below this. Singular values that are 0 but for rounding, and their products, depend on LAPACK's
 * kernels.
 */
static const double least_square = 1e-280;

/* Counts between singular values, and at the published threshold. */
static void counts_stand_between(workspace *space, const test_family *family, size_t n,
                                 size_t *asked, size_t *answered)
{
    double *a = host_array(space, n * n);
    family->make(n, n, a);
    const pair p = load(space, n, a);
    *answered += judge(&p, tau * tau);
    for (size_t k = 0; k + 1 < n; k += n / 4 + 1) {
        const double x = p.sigma[k] * p.sigma[k + 1];
        if (x < least_square)
            continue;
        *answered += judge(&p, x);
        ++*asked;
    }
    ++*asked;
    close_pair(&p);
    workspace_release(space);
}

/* Orders around one, two and more leaves; the two largest alternate. */
static void every_family(void **state)
{
    const size_t sizes[][4] = {{2, 32, 33, 70}, {2, 32, 33, 97}};
    size_t asked = 0, answered = 0;
    for (size_t f = 0; f < test_family_count; f++)
        for (size_t s = 0; s < 4 && sizes[f % 2][s] <= 2 * MGK_TEST_LARGEST; s++)
            counts_stand_between(*state, &test_families[f], sizes[f % 2][s], &asked, &answered);
    assert_true(2 * answered > asked);
}

/* The whole count: certified ranks are right, and almost as many are certified as on the host. */
static void certificates_are_those_of_the_host(void **state)
{
    workspace *space = *state;
    const mgk_engine_task task = {.threshold_count = 1, .thresholds = &tau, .count_only = true};
    enum { ORDER = 80 };
    mgk_engine *device, *host;
    size_t there = 0, here = 0;
    assert_ok(mgk_engine_open_on(space->device, ORDER, &device));
    assert_ok(mgk_engine_open(ORDER, true, &host));
    for (size_t f = 0; f < 2 * test_family_count; f += TEST_STEP) {
        double *a = host_array(space, ORDER * ORDER), *sigma = host_array(space, ORDER), moved;
        test_families[f / 2].make(f, ORDER, a);
        mgk_rank_row row = {0}, plain;
        mgk_rank_count count, expected;
        mgk_ladder ladder = {0};
        bool certain;
        assert_ok(mgk_rank_measure_entries(ORDER, a, MGK_FLOAT_F64, NULL, sigma, &row));
        plain = row;
        double *copy = upload_bytes(space, ORDER * ORDER * sizeof *a, a);
        assert_ok(mgk_engine_certify(device, &task, copy, &row, &count, &moved, &certain));
        assert_ok(mgk_engine_rank(host, &task, &ladder, a, &plain, &expected, sigma));
        there += certain;
        here += plain.method == MGK_METHOD_GRAM;
        if (certain) {
            assert_int_equal(row.method, MGK_METHOD_GRAM);
            assert_close(row.sigma_max, plain.sigma_max, 0, 1e-6);
            assert_close(fmax(count.nearest, tau / 8), fmax(expected.nearest, tau / 8), 1e-3 * tau,
                         1e-3);
            assert_int_equal(count.rank, expected.rank);
            assert_true(count.certificate != MGK_CERTIFICATE_NONE);
        }
        workspace_release(space);
    }
    mgk_engine_close(device);
    mgk_engine_close(host);
    assert_true(here > 0 && there + 2 >= here);
}

/* Distance of rows [count, n] from the others, relative to the others' largest magnitude. */
static double distance(size_t count, const double *rows, const double *others)
{
    double largest = 0, difference = 0;
    for (size_t i = 0; i < count; i++) {
        largest = fmax(largest, fabs(others[i]));
        difference = fmax(difference, fabs(rows[i] - others[i]));
    }
    return difference / largest;
}

/* With and without splitting off α: (AᵀA - x I) y = f, and products equal those of the host. */
static void vectors_go_through_the_matrix(void **state)
{
    workspace *space = *state;
    enum { COUNT = 5, ORDER = 66 };
    for (size_t f = 0; f < test_family_count; f += TEST_STEP) {
        double *a = host_array(space, ORDER * ORDER), *y = host_array(space, COUNT * ORDER);
        double *images = host_array(space, COUNT * ORDER), *back = host_array(space, COUNT * ORDER);
        const double *rows = random_values(space, COUNT * ORDER);
        mgk_gram_count at;
        test_families[f].make(f, ORDER, a);
        const pair p = load(space, ORDER, a);
        const double x = 0.3 * p.sigma[0] * p.sigma[0];
        if (mgk_gram_take(p.device, x, &at)) {
            memcpy(y, rows, COUNT * ORDER * sizeof *y);
            mgk_gram_solve(p.device, COUNT, y);
            mgk_gram_apply(p.host, false, COUNT, y, images);
            mgk_gram_apply(p.host, true, COUNT, images, back);
            for (size_t e = 0; e < COUNT * ORDER; e++)
                back[e] -= x * y[e];
            assert_true(distance(COUNT * ORDER, back, rows) < 1e-9);
        }
        mgk_gram_apply(p.device, false, COUNT, rows, back);
        mgk_gram_apply(p.host, false, COUNT, rows, images);
        assert_true(distance(COUNT * ORDER, back, images) < 1e-13);
        mgk_gram_apply(p.device, true, COUNT, rows, back);
        mgk_gram_apply(p.host, true, COUNT, rows, images);
        assert_true(distance(COUNT * ORDER, back, images) < 1e-13);
        memcpy(back, rows, COUNT * ORDER * sizeof *back);
        memcpy(images, rows, COUNT * ORDER * sizeof *images);
        mgk_gram_multiply(p.device, COUNT, back);
        mgk_gram_multiply(p.host, COUNT, images);
        assert_true(distance(COUNT * ORDER, back, images) < 1e-12);
        assert_ok(mgk_gram_status(p.device));
        close_pair(&p);
        workspace_release(space);
    }
}

/* The identity has no eigenvalue left at x = 1, so no pivot to divide by. */
static void vanished_pivots_say_nothing(void **state)
{
    workspace *space = *state;
    const size_t sizes[] = {2, 33, 65};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const size_t n = sizes[s];
        double *a = host_array(space, n * n);
        mgk_gram_count at;
        for (size_t i = 0; i < n; i++)
            a[i * n + i] = 1;
        const pair p = load(space, n, a);
        assert_false(mgk_gram_take(p.device, 1, &at));
        assert_ok(mgk_gram_status(p.device));
        assert_true(mgk_gram_take(p.device, 0.25, &at));
        assert_int_equal(at.count, n);
        close_pair(&p);
        workspace_release(space);
    }
}

/* K = P - x I - scale b bᵀ; only the lower triangle of P is a number. */
typedef struct shifted {
    size_t n;
    double *product, *b, *k; /* P [n, n], [n], K [n, n] */
    double x, scale;
} shifted;

static shifted make_shifted(workspace *space, size_t n, double x)
{
    shifted s = {.n = n,
                 .product = host_array(space, n * n),
                 .b = random_values(space, n),
                 .k = host_array(space, n * n),
                 .x = x,
                 .scale = 0.5};
    const double *c = random_values(space, n * n);
    cblas_dsyrk(CblasRowMajor, CblasLower, CblasTrans, (int)n, (int)n, 1, c, (int)n, 0, s.product,
                (int)n);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            if (j > i)
                s.product[i * n + j] = (double)NAN;
            else
                s.k[i * n + j] =
                    s.product[i * n + j] - s.scale * s.b[i] * s.b[j] - (i == j ? s.x : 0);
    return s;
}

/* The largest | L D Lᵀ − K |. */
static double residual(size_t n, const double *k, const double *factors)
{
    double largest = 0, *scaled = calloc(n, sizeof *scaled);
    for (size_t i = 0; i < n; i++) {
        const double *row = factors + i * n;
        for (size_t t = 0; t <= i; t++)
            scaled[t] = (t < i ? row[t] : 1) * factors[t * (n + 1)];
        for (size_t j = 0; j <= i; j++) {
            long double sum = scaled[j] - (long double)k[i * n + j];
            for (size_t t = 0; t < j; t++)
                sum += (long double)scaled[t] * factors[j * n + t];
            largest = fmax(largest, (double)fabsl(sum));
        }
    }
    free(scaled);
    return largest;
}

/* The factors of K, an array of the device. */
static double *factor_there(workspace *space, const shifted *m, mgk_inertia *out)
{
    mgk_device *device = space->device;
    const size_t bytes = m->n * m->n * sizeof(double);
    double *factors = upload_bytes(space, bytes, m->product); /* NaN above the diagonal */
    assert_ok(device->op->spectral->shifted_inertia(
        device, m->n, upload_bytes(space, bytes, m->product),
        upload_bytes(space, m->n * sizeof(double), m->b), m->x, m->scale, factors, &out->positive,
        &out->growth));
    return factors;
}

/* Orders around one panel of columns, and one strip of rows below it. */
static void factors_are_left(void **state)
{
    workspace *space = *state;
    mgk_device *device = space->device;
    const size_t sizes[] = {1, 31, 33, 255, 256, 257, 300, 769, 801};
    mgk_inertia_work *work;
    assert_ok(mgk_inertia_open(801, &work));
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const size_t n = sizes[s], bytes = n * n * sizeof(double);
        const shifted m = make_shifted(space, n, 0.25 * (double)n); /* of both signs */
        double *factors = host_array(space, n * n);
        mgk_inertia found;
        const double *there = factor_there(space, &m, &found);
        assert_ok(device->op->download(device, factors, there, bytes));
        /* K, and its copy here, are rounded three times; the test rounds once more. */
        const double terms = (double)(n + 9) * 0x1p-53;
        assert_true(residual(n, m.k, factors) <= terms * found.growth);
        const mgk_inertia expected = mgk_inertia_count(work, n, m.k, n);
        assert_int_equal(found.positive, expected.positive);
        assert_true(n < 31 || (found.positive > 0 && found.positive < n));
        assert_close(found.growth, expected.growth, 0, 0.5);
        workspace_release(space);
    }
    mgk_inertia_close(work);
}

/* K y = f, for one vector and many; orders around one block of rows, and several. */
static void systems_are_solved(void **state)
{
    workspace *space = *state;
    mgk_device *device = space->device;
    const size_t sizes[] = {1, 63, 65, 256, 257, 641}, counts[] = {1, 5, MGK_GRAM_ROWS};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t c = 0; c < 3; c++) {
            const size_t n = sizes[s], count = counts[c], bytes = count * n * sizeof(double);
            const shifted m = make_shifted(space, n, -(double)n); /* definite */
            const double *f = random_values(space, count * n);
            double *back = host_array(space, count * n), *y = host_array(space, count * n);
            mgk_inertia unused;
            const double *factors = factor_there(space, &m, &unused);
            double *rows = upload_bytes(space, bytes, f);
            assert_ok(device->op->spectral->solve_factored(device, n, factors, count, rows));
            assert_ok(device->op->download(device, y, rows, bytes));
            cblas_dsymm(CblasRowMajor, CblasRight, CblasLower, (int)count, (int)n, 1, m.k, (int)n,
                        y, (int)n, 0, back, (int)n);
            assert_true(distance(count * n, back, f) < 1e-13);
            workspace_release(space);
        }
}

/* Rows with gaps; matrices with entries that are not finite have no bound. */
static void squares_are_bounded(void **state)
{
    workspace *space = *state;
    const size_t n = 67, stride = 71;
    double *a = host_array(space, n * stride), *square = host_array(space, n * n), bound;
    memset(a, 0xff, n * stride * sizeof *a); /* NaN between the rows */
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            a[i * stride + j] = i % 5 == 4 ? 0 : sin((double)(i * n + j));
    for (size_t e = 0; e < n * n; e++)
        square[e] = fabs(a[e / n * stride + e % n]);
    double *sigma = host_array(space, n);
    test_reference_spectrum(n, square, sigma);
    mgk_device *device = space->device;
    assert_ok(device->op->spectral->bound_square(
        device, n, stride, upload_bytes(space, n * stride * sizeof *a, a), &bound));
    assert_true(bound >= sigma[0] * sigma[0] * (1 - 1e-13));
    assert_true(bound <= sigma[0] * sigma[0] * 1.5);
    a[66 * stride + 3] = (double)NAN;
    assert_ok(device->op->spectral->bound_square(
        device, n, stride, upload_bytes(space, n * stride * sizeof *a, a), &bound));
    assert_true(!isfinite(bound));
}

static bool has_inertia(const mgk_operations *op)
{
    return op->spectral->shifted_inertia != NULL;
}

int main(void)
{
    workspace space = {0};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate_setup_teardown(every_family, NULL, release_workspace, &space),
        cmocka_unit_test_prestate_setup_teardown(certificates_are_those_of_the_host, NULL,
                                                 release_workspace, &space),
        cmocka_unit_test_prestate_setup_teardown(vectors_go_through_the_matrix, NULL,
                                                 release_workspace, &space),
        cmocka_unit_test_prestate_setup_teardown(vanished_pivots_say_nothing, NULL,
                                                 release_workspace, &space),
        cmocka_unit_test_prestate_setup_teardown(factors_are_left, NULL, release_workspace, &space),
        cmocka_unit_test_prestate_setup_teardown(systems_are_solved, NULL, release_workspace,
                                                 &space),
        cmocka_unit_test_prestate_setup_teardown(squares_are_bounded, NULL, release_workspace,
                                                 &space),
    };
    return run_where(&space, MGK_DOUBLE, has_inertia, sizeof tests / sizeof *tests, tests);
}
