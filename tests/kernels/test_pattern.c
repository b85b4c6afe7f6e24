/* SPDX-License-Identifier: MIT */
/* Patterns that are built from rules: which keys they contain, and how many tiles that takes. */
#include "kernels/attention/pattern.h"

#include <stdlib.h>

#include "test.h"

enum { TILE = MGK_PATTERN_TILE };

/* A rule and its definition. */
typedef struct rule_case {
    const char *name;
    mgk_pattern_rule *rule;
    bool (*sees)(int head, int query, int key);
} rule_case;

static void band_rule(const void *context, int head, int query, mgk_pattern_row *row)
{
    (void)context;
    mgk_pattern_add(row, query - 3 - head, query + 4 + head);
}

static bool in_band(int head, int query, int key)
{
    return abs(query - key) <= 3 + head;
}

/* Ranges that overlap, one that is empty and one outside of the keys. */
static void overlapping_rule(const void *context, int head, int query, mgk_pattern_row *row)
{
    (void)context;
    (void)head;
    mgk_pattern_add(row, 1 << 20, INT32_MAX);
    mgk_pattern_add(row, 30, 50);
    mgk_pattern_add(row, query, query + 1);
    mgk_pattern_add(row, INT32_MIN, 17);
    mgk_pattern_add(row, 40, 20);
    mgk_pattern_add(row, 45, 48);
}

static bool in_ranges(int head, int query, int key)
{
    (void)head;
    return key < 17 || key == query || (key >= 30 && key < 50);
}

static void strided_rule(const void *context, int head, int query, mgk_pattern_row *row)
{
    (void)context;
    if (query % 5 != 1)
        mgk_pattern_add_strided(row, query - 70, INT32_MAX, 7 + head);
}

static bool on_stride(int head, int query, int key)
{
    return query % 5 != 1 && key >= query - 70 && (key - (query - 70)) % (7 + head) == 0;
}

static const rule_case cases[] = {{"band", band_rule, in_band},
                                  {"ranges", overlapping_rule, in_ranges},
                                  {"stride", strided_rule, on_stride}};

static bool contains(const mgk_pattern *pattern, int head, int query, int key)
{
    const int32_t *starts = pattern->starts + (size_t)head * pattern->head_stride + query / TILE;
    for (int32_t t = starts[0]; t < starts[1]; t++)
        if (pattern->columns[t] == key / TILE)
            return pattern->masks[t * TILE + query % TILE] >> (key % TILE) & 1;
    return false;
}

/* Columns ascend, and every tile has a pair. */
static void check_tiles(const mgk_pattern *pattern, const mgk_pattern_shape *shape, int head)
{
    const int32_t *starts = pattern->starts + (size_t)head * pattern->head_stride;
    for (int block = 0; block * TILE < shape->tokens; block++)
        for (int32_t t = starts[block]; t < starts[block + 1]; t++) {
            unsigned any = 0;
            for (int i = 0; i < TILE; i++)
                any |= pattern->masks[t * TILE + i];
            assert_true(any > 0);
            assert_true(t == starts[block] || pattern->columns[t] > pattern->columns[t - 1]);
        }
}

static void check_rule(const rule_case *subject, mgk_pattern_shape shape)
{
    const int keys = shape.key_tokens > 0 ? shape.key_tokens : shape.tokens;
    mgk_pattern pattern;
    assert_ok(mgk_pattern_build(&shape, subject->rule, NULL, &pattern));
    for (int h = 0; h < shape.heads; h++) {
        double pairs = 0, causal_pairs = 0;
        check_tiles(&pattern, &shape, h);
        for (int i = 0; i < shape.tokens; i++)
            for (int j = 0; j < keys; j++) {
                bool expected = subject->sees(h, i, j) && (!shape.causal || j <= i);
                if (contains(&pattern, h, i, j) != expected)
                    fail_msg("%s: head %d, query %d, key %d", subject->name, h, i, j);
                pairs += expected;
                causal_pairs += expected && j <= i;
            }
        assert_true(mgk_pattern_pairs(&pattern, &shape, h) == pairs);
        mgk_pattern_shape causal = shape;
        causal.causal = true;
        assert_true(mgk_pattern_pairs(&pattern, &causal, h) == causal_pairs);
    }
    mgk_pattern_release(&pattern);
    assert_null(pattern.starts);
}

static void rules_give_their_keys(void **state)
{
    static const int sizes[] = {1, 15, 16, 17, 100};
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int n = 0; n < 5; n++)
            for (int k = -1; k < 5; k++)
                for (int way = 0; way < 4; way++)
                    check_rule(&cases[c], (mgk_pattern_shape){1 + way % 2, sizes[n],
                                                              k < 0 ? 0 : sizes[k], way >= 2});
}

/* Pairs that bits beyond the last key would count are not there. */
static void pairs_ignore_keys_that_do_not_exist(void **state)
{
    static const int32_t starts[] = {0, 2}, columns[] = {0, 1};
    static const uint16_t masks[2 * TILE] = {[0] = 0xFFFF, [TILE] = 0xFFFF, [TILE + 1] = 0xFFFF};
    const mgk_pattern pattern = {starts, columns, masks, NULL, 0, 0};
    (void)state;
    assert_true(mgk_pattern_pairs(&pattern, &(mgk_pattern_shape){1, 2, 19, false}, 0) ==
                16 + 3 + 3);
    assert_true(mgk_pattern_pairs(&pattern, &(mgk_pattern_shape){1, 2, 19, true}, 0) == 1);
    assert_true(mgk_pattern_pairs(&pattern, &(mgk_pattern_shape){1, 1, 5, false}, 0) == 5);
}

static void wide_band_rule(const void *context, int head, int query, mgk_pattern_row *row)
{
    (void)head;
    const int width = *(const int *)context;
    mgk_pattern_add(row, query - width, query + width + 1);
}

/* A band of 128 keys to each side has 17 tiles a block, however long the sequence is. */
static void tiles_of_a_band_grow_with_its_width(void **state)
{
    (void)state;
    for (int tokens = 1024; tokens <= 1 << 18; tokens *= 16)
        for (int width = 16; width <= 128; width *= 2) {
            const int blocks = tokens / TILE, reach = width / TILE;
            mgk_pattern pattern;
            assert_ok(mgk_pattern_build(&(mgk_pattern_shape){1, tokens, 0, false}, wide_band_rule,
                                        &width, &pattern));
            assert_int_equal(pattern.starts[blocks],
                             blocks * (2 * reach + 1) - reach * (reach + 1));
            mgk_pattern_release(&pattern);
        }
}

static void bad_sizes_are_refused(void **state)
{
    static const mgk_pattern_shape bad[] = {{0, 1, 0, false}, {1, 0, 0, false}, {1, 1, -1, false}};
    (void)state;
    for (int i = 0; i < 3; i++) {
        mgk_pattern pattern;
        assert_int_equal(mgk_pattern_build(&bad[i], band_rule, NULL, &pattern), STATUS_SHAPE);
        assert_null(pattern.starts);
        mgk_pattern_release(&pattern);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_give_their_keys),
        cmocka_unit_test(pairs_ignore_keys_that_do_not_exist),
        cmocka_unit_test(tiles_of_a_band_grow_with_its_width),
        cmocka_unit_test(bad_sizes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
