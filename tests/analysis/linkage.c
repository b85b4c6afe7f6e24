/* SPDX-License-Identifier: MIT */
/* Average linkage, against joining the nearest two clusters again and again by their definition. */
#include "analysis/measures/linkage.h"

#include <stdbool.h>
#include <string.h>

#include "test.h"

enum { MOST = 41 };

/* Symmetric distances without ties. */
static void draw_distances(size_t n, unsigned seed, double *out)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            seed = seed * 1103515245u + 12345u;
            out[i * n + j] = out[j * n + i] = i == j ? 0 : (double)(seed >> 8) / (1 << 24);
        }
}

/* The mean distance between the heads of two clusters; cluster [n] of each head. */
static double between(size_t n, const double *distances, const size_t *cluster, size_t a, size_t b)
{
    double sum = 0, count = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            if (cluster[i] == a && cluster[j] == b) {
                sum += distances[i * n + j];
                count++;
            }
    return count > 0 ? sum / count : INFINITY;
}

/* heights [n, n]: where two heads come into one cluster. */
static void reference(size_t n, const double *distances, double *heights)
{
    size_t cluster[MOST];
    for (size_t i = 0; i < n; i++)
        cluster[i] = i;
    for (size_t k = 0; k + 1 < n; k++) {
        double least = INFINITY;
        size_t a = 0, b = 0;
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < i; j++) {
                const double d = between(n, distances, cluster, i, j);
                if (d < least) {
                    least = d;
                    a = i;
                    b = j;
                }
            }
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                if (cluster[i] == a && cluster[j] == b)
                    heights[i * n + j] = heights[j * n + i] = least;
        for (size_t i = 0; i < n; i++)
            cluster[i] = cluster[i] == a ? b : cluster[i];
    }
}

/* The same heights from merges; the heads of each cluster stand together in `order`. */
static void heights_of(size_t n, const mgk_merge *merges, const size_t *order, double *heights)
{
    static bool member[2 * MOST][MOST];
    memset(member, 0, sizeof(member));
    for (size_t i = 0; i < n; i++)
        member[i][i] = true;
    for (size_t k = 0; k + 1 < n; k++) {
        assert_true(merges[k].first < n + k && merges[k].second < n + k);
        for (size_t i = 0; i < n; i++) {
            const bool first = member[merges[k].first][i], second = member[merges[k].second][i];
            assert_false(first && second);
            member[n + k][i] = first || second;
            for (size_t j = 0; j < n && first; j++)
                if (member[merges[k].second][j])
                    heights[i * n + j] = heights[j * n + i] = merges[k].height;
        }
        size_t changes = 0;
        for (size_t i = 0; i + 1 < n; i++)
            changes += member[n + k][order[i]] != member[n + k][order[i + 1]];
        assert_true(changes <= 2 &&
                    changes == (size_t)(!member[n + k][order[0]] + !member[n + k][order[n - 1]]));
    }
}

static void joins_as_the_definition_says(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 2, 3, 8, MOST};
    static double distances[MOST * MOST], expected[MOST * MOST], heights[MOST * MOST];
    mgk_merge merges[MOST];
    size_t order[MOST];
    for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
        const size_t n = sizes[s];
        bool listed[MOST] = {false};
        draw_distances(n, (unsigned)n, distances);
        memset(expected, 0, sizeof(expected));
        memset(heights, 0, sizeof(heights));
        reference(n, distances, expected);
        assert_ok(mgk_average_linkage(n, distances, merges, order));
        assert_int_equal(order[0], 0); /* the part with the lowest head comes first */
        for (size_t i = 0; i < n; i++) {
            assert_true(order[i] < n && !listed[order[i]]);
            listed[order[i]] = true;
        }
        heights_of(n, merges, order, heights);
        for (size_t i = 0; i < n * n; i++)
            assert_close(heights[i], expected[i], 1e-12, 0);
    }
}

/* Equal distances have no nearest pair, and the search ends all the same. */
static void ties_end(void **state)
{
    (void)state;
    static double distances[MOST * MOST];
    mgk_merge merges[MOST];
    size_t order[MOST];
    for (size_t i = 0; i < MOST * MOST; i++)
        distances[i] = i / MOST == i % MOST ? 0 : 0.25;
    assert_ok(mgk_average_linkage(MOST, distances, merges, order));
    for (size_t k = 0; k + 1 < MOST; k++)
        assert_close(merges[k].height, 0.25, 1e-12, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joins_as_the_definition_says),
        cmocka_unit_test(ties_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
