/* SPDX-License-Identifier: MIT */
/* Orders in which heads are removed. */
#include "analysis/measures/removal.h"

#include <stdbool.h>
#include <string.h>

#include "test.h"

static void assert_order(size_t count, const size_t *order, const size_t *expected)
{
    for (size_t i = 0; i < count; i++)
        if (order[i] != expected[i])
            fail_msg("removed %zu as number %zu, expected %zu", order[i], i, expected[i]);
}

static void the_least_important_goes_first(void **state)
{
    (void)state;
    const double importance[] = {0.5, -1, NAN, 0.5, 3, NAN};
    const size_t expected[] = {1, 0, 3, 4, 2, 5};
    size_t order[6];
    mgk_removal_by_importance(6, importance, order);
    assert_order(6, order, expected);
    mgk_removal_by_importance(0, importance, order);
}

/* Two layers of three heads: distances of the pairs (0, 1), (0, 2), (1, 2) of each. */
static void fill(const double pairs[2][3], double distances[2][3][3])
{
    static const int first[] = {0, 0, 1}, second[] = {1, 2, 2};
    for (int l = 0; l < 2; l++)
        for (int p = 0; p < 3; p++)
            distances[l][first[p]][second[p]] = distances[l][second[p]][first[p]] = pairs[l][p];
    for (int l = 0; l < 2; l++)
        for (int h = 0; h < 3; h++)
            distances[l][h][h] = 0;
}

static void one_of_the_closest_two_goes_first(void **state)
{
    (void)state;
    const double importance[] = {1, 2, 3, 4, 5, 0};
    /* Heads 3 and 4 are closest; of them 4 is closer to 5. Then 3 and 5 are at 0.6, farther than 0
     * and 2 at 0.4, of which 2 is closer to 1. Then 0 and 1 at 0.55, of equal distance to none:
     * the less important 0; then 3 and 5: 5. 1 and 3 have no neighbour: by importance. */
    const double pairs[2][3] = {{0.55, 0.4, 0.45}, {0.1, 0.6, 0.3}};
    const size_t expected[] = {4, 2, 0, 5, 1, 3};
    double distances[2][3][3];
    size_t order[6];
    fill(pairs, distances);
    assert_ok(mgk_removal_by_redundancy(2, 3, &distances[0][0][0], importance, order));
    assert_order(6, order, expected);
}

static void heads_without_distances_go_last(void **state)
{
    (void)state;
    const double importance[] = {1, 2, 3, 4, 0, 5};
    const double pairs[2][3] = {{NAN, NAN, 0.9}, {NAN, NAN, NAN}};
    const size_t expected[] = {1, 4, 0, 2, 3, 5};
    double distances[2][3][3];
    size_t order[6];
    fill(pairs, distances);
    assert_ok(mgk_removal_by_redundancy(2, 3, &distances[0][0][0], importance, order));
    assert_order(6, order, expected);
    /* layers of one head */
    const double alone[] = {0, 0, 0};
    const size_t by_importance[] = {0, 1, 2};
    assert_ok(mgk_removal_by_redundancy(3, 1, alone, importance, order));
    assert_order(3, order, by_importance);
}

enum { HEADS = 5, DRAWS = 4000 };

/* Every order is a permutation; every head comes first as often as others; seeds differ. */
static void random_orders_are_fair(void **state)
{
    (void)state;
    size_t order[HEADS], again[HEADS], first[HEADS] = {0};
    int differing = 0;
    for (uint64_t draw = 0; draw < DRAWS; draw++) {
        bool seen[HEADS] = {false};
        mgk_removal_at_random(3, draw, HEADS, order);
        mgk_removal_at_random(3, draw, HEADS, again);
        assert_memory_equal(order, again, sizeof(order));
        mgk_removal_at_random(4, draw, HEADS, again);
        differing += memcmp(order, again, sizeof(order)) != 0;
        for (size_t i = 0; i < HEADS; i++) {
            assert_true(order[i] < HEADS && !seen[order[i]]);
            seen[order[i]] = true;
        }
        first[order[0]]++;
    }
    assert_true(differing > DRAWS * 9 / 10);
    for (size_t i = 0; i < HEADS; i++) /* five standard deviations */
        assert_true(fabs((double)first[i] - DRAWS / HEADS) < 5 * sqrt(DRAWS * 0.2 * 0.8));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_important_goes_first),
        cmocka_unit_test(one_of_the_closest_two_goes_first),
        cmocka_unit_test(heads_without_distances_go_last),
        cmocka_unit_test(random_orders_are_fair),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
