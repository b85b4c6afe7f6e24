/* SPDX-License-Identifier: MIT */
#include "test.h"

#include <string.h>

#include "analysis/run/selection.h"

static const int32_t numbers[] = {0, 1, 2};

enum { SAMPLES = 31, LAYERS = 3, HEADS = 3 };

/* Walks over groups of up to `most` heads and checks that each is chosen, in order. */
static void walk(size_t wanted, size_t most)
{
    mgk_selection selection;
    mgk_group group = {.n = 77};
    size_t passed[LAYERS] = {0}, last = 0, count = 0;
    assert_ok(mgk_selection_make(5, SAMPLES, LAYERS, numbers, HEADS, wanted, &selection));
    while (mgk_selection_next(&selection, most, &group)) {
        assert_in_range(group.count, 1, most);
        assert_int_equal(group.n, 77); /* is unchanged */
        for (size_t which = 0; which < group.count; which++) {
            size_t head = (size_t)group.heads[which];
            size_t place = (group.sample * LAYERS + group.layer) * HEADS + head;
            assert_true(count++ == 0 || place > last);
            last = place;
            assert_int_equal(selection.chosen[group.layer * wanted + passed[group.layer]++],
                             group.sample * HEADS + head);
        }
    }
    for (size_t layer = 0; layer < LAYERS; layer++)
        assert_int_equal(passed[layer], wanted);
    assert_false(mgk_selection_next(&selection, most, &group));
    mgk_selection_free(&selection);
}

static void exactly_k_of_each_layer(void **state)
{
    (void)state;
    const size_t wanted[] = {1, 7, 92, 93};
    for (size_t i = 0; i < 4; i++)
        for (size_t most = 1; most <= HEADS; most++)
            walk(wanted[i], most);
}

/* All matrices: samples in order, within each its layers, all heads of a layer at once. */
static void groups_are_whole_layers_of_samples(void **state)
{
    (void)state;
    mgk_selection selection;
    mgk_group group;
    assert_ok(mgk_selection_make(5, 4, 2, numbers, 3, 0, &selection));
    for (size_t i = 0; i < 8; i++) {
        assert_true(mgk_selection_next(&selection, SIZE_MAX, &group));
        assert_int_equal(group.sample, i / 2);
        assert_int_equal(group.layer, i % 2);
        assert_int_equal(group.count, 3);
        for (int head = 0; head < 3; head++)
            assert_int_equal(group.heads[head], head);
    }
    assert_false(mgk_selection_next(&selection, SIZE_MAX, &group));
    mgk_selection_free(&selection);
}

static void zero_or_too_many_means_all(void **state)
{
    (void)state;
    mgk_selection selection;
    assert_ok(mgk_selection_make(5, 4, 1, numbers, 3, 0, &selection));
    assert_int_equal(selection.per_layer, 12);
    mgk_selection_free(&selection);
    assert_ok(mgk_selection_make(5, 4, 1, numbers, 3, 1000, &selection));
    assert_int_equal(selection.per_layer, 12);
    mgk_selection_free(&selection);
}

/* All layers have the same samples with all heads, except one sample with the rest. */
static void samples_come_first(void **state)
{
    (void)state;
    enum { WANTED = 50, H = 8, OF = (WANTED + H - 1) / H };
    for (uint64_t seed = 0; seed < 20; seed++) {
        mgk_selection s;
        mgk_group group;
        size_t samples[LAYERS][OF], count[LAYERS] = {0}, fewer = 0;
        assert_ok(mgk_selection_make(seed, 100, LAYERS, numbers, H, WANTED, &s));
        while (mgk_selection_next(&s, SIZE_MAX, &group)) {
            assert_in_range(count[group.layer], 0, OF - 1);
            samples[group.layer][count[group.layer]++] = group.sample;
            assert_true(group.count == H || group.count == WANTED % H);
            fewer += group.count != H;
        }
        assert_int_equal(fewer, LAYERS);
        for (int layer = 0; layer < LAYERS; layer++) {
            assert_int_equal(count[layer], OF);
            assert_memory_equal(samples[layer], samples[0], sizeof(samples[0]));
        }
        mgk_selection_free(&s);
    }
}

static void seed_and_layer_decide(void **state)
{
    (void)state;
    mgk_selection a, b, c;
    size_t bytes = 2 * 50 * sizeof(size_t);
    assert_ok(mgk_selection_make(1, 100, 2, numbers, 8, 50, &a));
    assert_ok(mgk_selection_make(1, 100, 2, numbers, 8, 50, &b));
    assert_ok(mgk_selection_make(2, 100, 2, numbers, 8, 50, &c));
    assert_memory_equal(a.chosen, b.chosen, bytes);
    assert_memory_not_equal(a.chosen, c.chosen, bytes);
    assert_memory_not_equal(a.chosen, a.chosen + 50, bytes / 2);
    mgk_selection_free(&a);
    mgk_selection_free(&b);
    mgk_selection_free(&c);
}

/* The matrices drawn in a layer do not depend on other layers. */
static void a_layer_is_drawn_by_its_number(void **state)
{
    (void)state;
    const int32_t last[] = {2};
    mgk_selection all, alone;
    assert_ok(mgk_selection_make(1, 100, 3, numbers, 8, 50, &all));
    assert_ok(mgk_selection_make(1, 100, 1, last, 8, 50, &alone));
    assert_memory_equal(all.chosen + 2 * 50, alone.chosen, 50 * sizeof(size_t));
    mgk_selection_free(&all);
    mgk_selection_free(&alone);
}

/* Each of 20 matrices is among 5 with probability 1/4: 1000 of 4000 draws, standard deviation 27.
 * Among 7 it is 1400. */
static void every_matrix_is_equally_likely(void **state)
{
    (void)state;
    for (size_t wanted = 5; wanted <= 7; wanted += 2) {
        size_t hits[20] = {0}, expected = 4000 / 20 * wanted;
        for (uint64_t seed = 0; seed < 4000; seed++) {
            mgk_selection selection;
            assert_ok(mgk_selection_make(seed, 5, 1, numbers, 4, wanted, &selection));
            for (size_t i = 0; i < wanted; i++)
                hits[selection.chosen[i]]++;
            mgk_selection_free(&selection);
        }
        for (size_t i = 0; i < 20; i++)
            assert_in_range(hits[i], expected - 5 * 30, expected + 5 * 30);
    }
}

static void too_many_matrices_are_refused(void **state)
{
    (void)state;
    mgk_selection selection;
    assert_fails(mgk_selection_make(0, SIZE_MAX, 2, numbers, 2, 1, &selection), STATUS_MEMORY);
    mgk_selection_free(&selection);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exactly_k_of_each_layer),
        cmocka_unit_test(groups_are_whole_layers_of_samples),
        cmocka_unit_test(zero_or_too_many_means_all),
        cmocka_unit_test(samples_come_first),
        cmocka_unit_test(seed_and_layer_decide),
        cmocka_unit_test(a_layer_is_drawn_by_its_number),
        cmocka_unit_test(every_matrix_is_equally_likely),
        cmocka_unit_test(too_many_matrices_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
