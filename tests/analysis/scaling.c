/* SPDX-License-Identifier: MIT */
/* Classical scaling, against points whose distances are known, and against Jacobi's eigenvalues. */
#include "analysis/measures/scaling.h"

#include <string.h>

#include "test.h"

enum { MOST = 30, AXES = MGK_SCALING_AXES };

static double draw(unsigned *seed)
{
    *seed = *seed * 1103515245u + 12345u;
    return (double)(*seed >> 8) / (1 << 24) - 0.5;
}

/* Squared distances of points [n, dim]. */
static void measure(size_t n, size_t dim, const double *points, double *squares)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            squares[i * n + j] = 0;
            for (size_t d = 0; d < dim; d++)
                squares[i * n + j] += pow(points[i * dim + d] - points[j * dim + d], 2);
        }
}

/* Points of a plane, far from 0 and askew, keep their distances. */
static void a_plane_is_shown_whole(void **state)
{
    (void)state;
    static const size_t sizes[] = {3, 7, MOST};
    for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
        const size_t n = sizes[s];
        double points[MOST * 3], squares[MOST * MOST], found[MOST * AXES], shares[AXES],
            again[MOST * MOST];
        unsigned seed = (unsigned)n;
        for (size_t i = 0; i < n; i++) {
            const double x = draw(&seed), y = draw(&seed) / 2;
            const double point[3] = {5 + x, y + x, y - 2 * x};
            memcpy(points + 3 * i, point, sizeof(point));
        }
        measure(n, 3, points, squares);
        assert_ok(mgk_classical_scaling(n, squares, found, shares));
        measure(n, AXES, found, again);
        for (size_t i = 0; i < n * n; i++)
            assert_close(again[i], squares[i], 1e-13, 0);
        assert_close(shares[0] + shares[1], 1, 1e-13, 0);
        assert_true(shares[0] > shares[1] && shares[1] > 1e-4);
        for (size_t axis = 0; axis < AXES; axis++) {
            double mean = 0, farthest = 0;
            for (size_t i = 0; i < n; i++) {
                const double x = found[i * AXES + axis];
                mean += x / (double)n;
                farthest = fabs(x) > fabs(farthest) ? x : farthest;
            }
            assert_close(mean, 0, 1e-14, 0);
            assert_true(farthest > 0);
        }
    }
}

/* ---- any distances --------------------------------------------------------------------------- */

/* Rotates rows and columns p and q of m [n, n] so that m_pq becomes 0, and rows p and q of v. */
static void rotate(size_t n, long double *m, long double *v, size_t p, size_t q)
{
    const long double angle = atan2l(2 * m[p * n + q], m[q * n + q] - m[p * n + p]) / 2;
    const long double c = cosl(angle), t = sinl(angle);
    for (size_t k = 0; k < n; k++) {
        const long double x = m[k * n + p], y = m[k * n + q];
        m[k * n + p] = c * x - t * y;
        m[k * n + q] = t * x + c * y;
    }
    for (size_t k = 0; k < n; k++) {
        const long double x = m[p * n + k], y = m[q * n + k], a = v[p * n + k], b = v[q * n + k];
        m[p * n + k] = c * x - t * y;
        m[q * n + k] = t * x + c * y;
        v[p * n + k] = c * a - t * b;
        v[q * n + k] = t * a + c * b;
    }
}

/* The definition: B = -1/2 J D J, and its eigenvalues [n] and vectors, the rows of v. */
static void decompose(size_t n, const double *squares, long double *lambda, long double *v)
{
    static long double j[MOST * MOST], product[MOST * MOST], b[MOST * MOST];
    memset(product, 0, sizeof(product));
    memset(b, 0, sizeof(b));
    for (size_t i = 0; i < n * n; i++) {
        j[i] = (i / n == i % n) - 1 / (long double)n;
        v[i] = i / n == i % n;
    }
    for (size_t i = 0; i < n * n; i++)
        for (size_t k = 0; k < n; k++)
            product[i] += j[i / n * n + k] * squares[k * n + i % n];
    for (size_t i = 0; i < n * n; i++)
        for (size_t k = 0; k < n; k++)
            b[i] -= product[i / n * n + k] * j[k * n + i % n] / 2;
    for (int sweep = 0; sweep < 30; sweep++)
        for (size_t p = 0; p < n; p++)
            for (size_t q = p + 1; q < n; q++)
                rotate(n, b, v, p, q);
    for (size_t i = 0; i < n; i++)
        lambda[i] = b[i * n + i];
}

/* The place of the largest eigenvalue but those that are smaller than none of `below`. */
static size_t largest_below(size_t n, const long double *lambda, long double below)
{
    size_t best = n;
    for (size_t i = 0; i < n; i++)
        if (lambda[i] < below && (best == n || lambda[i] > lambda[best]))
            best = i;
    return best;
}

/* Random squared distances are those of no points: some eigenvalues are negative. */
static void axes_are_those_of_the_definition(void **state)
{
    (void)state;
    enum { N = 12 };
    static double squares[N * N];
    static long double lambda[N], v[N * N];
    double points[N * AXES], shares[AXES];
    unsigned seed = 3;
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < i; j++)
            squares[i * N + j] = squares[j * N + i] = 0.5 + draw(&seed);
    decompose(N, squares, lambda, v);
    assert_ok(mgk_classical_scaling(N, squares, points, shares));
    long double sum = 0, below = INFINITY, negative = 0;
    for (size_t i = 0; i < N; i++) {
        sum += fabsl(lambda[i]);
        negative = fminl(negative, lambda[i]);
    }
    assert_true(negative < -0.1);
    for (size_t axis = 0; axis < AXES; axis++) {
        const size_t at = largest_below(N, lambda, below);
        below = lambda[at];
        assert_close(shares[axis], (double)(lambda[at] / sum), 1e-13, 0);
        for (size_t i = 0; i < N; i++)
            for (size_t j = 0; j < N; j++)
                assert_close(points[i * AXES + axis] * points[j * AXES + axis],
                             (double)(lambda[at] * v[at * N + i] * v[at * N + j]), 1e-13, 0);
    }
}

/* ---- few and equal heads --------------------------------------------------------------------- */

static void equal_heads_are_one_point(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 2, 9};
    static const double zeros[81] = {0};
    double points[9 * AXES], shares[AXES];
    for (size_t s = 0; s < 3; s++) {
        assert_ok(mgk_classical_scaling(sizes[s], zeros, points, shares));
        for (size_t i = 0; i < sizes[s] * AXES; i++)
            assert_true(points[i] == 0);
        assert_true(isnan(shares[0]) && isnan(shares[1]));
    }
}

static void two_heads_are_on_a_line(void **state)
{
    (void)state;
    static const double squares[] = {0, 9, 9, 0};
    double points[2 * AXES], shares[AXES];
    assert_ok(mgk_classical_scaling(2, squares, points, shares));
    assert_close(fabs(points[0]), 1.5, 1e-14, 0);
    assert_close(points[2], -points[0], 1e-14, 0);
    assert_close(points[1], 0, 1e-7, 0); /* the root of what rounding leaves */
    assert_close(shares[0], 1, 1e-14, 0);
    assert_close(shares[1], 0, 1e-14, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plane_is_shown_whole),
        cmocka_unit_test(axes_are_those_of_the_definition),
        cmocka_unit_test(equal_heads_are_one_point),
        cmocka_unit_test(two_heads_are_on_a_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
