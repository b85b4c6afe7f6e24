/* SPDX-License-Identifier: MIT */
#include "data/fixture.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "data/datasets/listops.h"

static mgk_status value_of(const char *text, int32_t *value)
{
    mgk_buffer tokens = {0};
    mgk_status status = mgk_listops_parse((mgk_span){text, strlen(text)}, &tokens);
    if (status == STATUS_OK)
        status = mgk_listops_value(tokens.data, tokens.size, value);
    mgk_buffer_free(&tokens);
    return status;
}

static void values_worked_by_hand(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int32_t value;
    } cases[] = {
        {"7", 7},
        {"[MAX 2 9 4 ]", 9},
        {"[MIN 2 9 4 ]", 2},
        {"[MIN 5 ]", 5},
        {"[SM 9 9 9 ]", 7},
        {"[SM 5 5 ]", 0},
        {"[MED 9 1 4 ]", 4},
        {"[MED 1 2 ]", 1},     /* 1.5 truncated */
        {"[MED 9 0 3 8 ]", 5}, /* (3 + 8) / 2 = 5.5 truncated */
        {"[MED 4 4 0 9 ]", 4},
        {"[MED 0 0 9 9 9 9 ]", 9},
        {"[MAX 2 9 [MIN 4 7 ] 0 ]", 9},
        {"[SM [MAX 1 8 ] [MED 3 6 ] [MIN [SM 7 7 ] 9 ] ]", 6}, /* 8 + 4 + min(4, 9) = 16 */
        {"( ( ( [MAX 2 ) 9 ) ] )", 9},
        {"( ( ( ( [SM ( ( ( [MIN 3 ) 8 ) ] ) ) 4 ) 6 ) ] )", 3}, /* 3 + 4 + 6 = 13 */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int32_t value = -1;
        assert_ok(value_of(cases[i].text, &value));
        if (value != cases[i].value)
            fail_msg("%s is %d, not %d", cases[i].text, cases[i].value, value);
    }
}

static void malformed_expressions_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "empty expression"},
        {"( )", "empty expression"},
        {"[MAX 1 2", "unfinished"},
        {"]", "closing bracket without"},
        {"[MAX ]", "without arguments"},
        {"1 2", "after the end"},
        {"[MAX 1 2 ] ]", "after the end"},
        {"[AVG 1 2 ]", "\"[AVG\" is not"},
        {"12", "\"12\" is not"},
        {"-1", "\"-1\" is not"},
        {"[MAX 1\x01 2 ]", "\"1?\" is not"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int32_t value;
        assert_fails(value_of(cases[i].text, &value), STATUS_FORMAT);
        assert_non_null(strstr(mgk_fail_message(), cases[i].message));
    }
    unsigned char deep[300];
    int32_t value;
    memset(deep, MGK_LISTOPS_MAX, sizeof(deep));
    assert_fails(mgk_listops_value(deep, sizeof(deep), &value), STATUS_FORMAT);
    assert_fails(mgk_listops_value(&(unsigned char){15}, 1, &value), STATUS_FORMAT);
}

/* Measures depth and argument counts of one tree; returns the position after it. */
static size_t measure(const unsigned char *tokens, size_t at, int depth, int *deepest,
                      int arguments_seen[11])
{
    if (depth > *deepest)
        *deepest = depth;
    if (tokens[at++] < 10)
        return at;
    int arguments = 0;
    for (; tokens[at] != MGK_LISTOPS_CLOSE; arguments++)
        at = measure(tokens, at, depth + 1, deepest, arguments_seen);
    assert_in_range(arguments, 2, 10);
    arguments_seen[arguments]++;
    return at + 1;
}

static void drawn_trees_follow_the_recipe(void **state)
{
    (void)state;
    enum { LIMIT = 1 << 16, DRAWS = 20000 };
    unsigned char *tokens;
    assert_ok(mgk_alloc(LIMIT, 1, &tokens));
    mgk_random random = {5, 6, 0};
    int leaves = 0, operators[4] = {0}, deepest = 0, arguments_seen[11] = {0}, digits[10] = {0};
    for (int i = 0; i < DRAWS; i++) {
        int32_t value;
        size_t count = mgk_listops_draw(&random, tokens, LIMIT);
        assert_in_range(count, 1, LIMIT);
        assert_int_equal(measure(tokens, 0, 1, &deepest, arguments_seen), count);
        assert_ok(mgk_listops_value(tokens, count, &value));
        assert_in_range(value, 0, 9);
        if (count == 1) {
            leaves++;
            digits[tokens[0]]++;
        } else {
            operators[tokens[0] - MGK_LISTOPS_MAX]++;
        }
    }
    assert_int_equal(deepest, 10);
    /* 3/4 of the roots are digits; all within five standard deviations. */
    assert_close(leaves, 15000, 310, 0);
    for (int d = 0; d < 10; d++)
        assert_close(digits[d], 1500, 190, 0);
    for (int o = 0; o < 4; o++)
        assert_close(operators[o], 1250, 175, 0);
    int total = 0;
    for (int a = 2; a <= 10; a++)
        total += arguments_seen[a];
    for (int a = 2; a <= 10; a++)
        assert_close((double)arguments_seen[a] / total, 1.0 / 9, 0.01, 0);
    mgk_free(tokens);
}

static void a_tree_that_exceeds_the_limit_is_abandoned(void **state)
{
    (void)state;
    /* With the same random numbers, a tree drawn under a lower limit is the same or none. */
    unsigned char wide[4096], narrow[64];
    int fitted = 0, abandoned = 0;
    for (uint64_t seed = 0; seed < 3000; seed++) {
        mgk_random a = {seed, 0, 0}, b = {seed, 0, 0};
        size_t count = mgk_listops_draw(&a, wide, sizeof(wide));
        size_t limited = mgk_listops_draw(&b, narrow, sizeof(narrow));
        if (count > 0 && count <= sizeof(narrow)) {
            assert_int_equal(limited, count);
            assert_memory_equal(narrow, wide, count);
            fitted += count > 1;
        } else {
            assert_int_equal(limited, 0);
            abandoned++;
        }
    }
    assert_true(fitted > 100 && abandoned > 100);
    assert_int_equal(mgk_listops_draw(&(mgk_random){0, 0, 0}, wide, 0), 0);
}

static mgk_dataset_options generated(mgk_split split, size_t above, size_t below, size_t samples)
{
    mgk_dataset_options options = options_for(MGK_TASK_LISTOPS, NULL, below - 1);
    options.split = split;
    options.listops_above = above;
    options.listops_below = below;
    options.samples = samples;
    return options;
}

static void generated_trees_keep_the_bounds_and_never_repeat(void **state)
{
    (void)state;
    /* 400 different trees of exactly 4 tokens exist: each is found once. */
    mgk_dataset_options options = generated(MGK_SPLIT_TRAIN, 3, 5, 400);
    mgk_dataset *trees = open_ok(&options);
    unsigned char seen[4][10][10] = {{{0}}};
    int32_t tokens[4], length, target;
    assert_true(mgk_dataset_size(trees) == 400);
    for (uint64_t i = 0; i < 400; i++) {
        assert_ok(mgk_dataset_sample(trees, i, tokens, &length, &target));
        assert_int_equal(length, 4);
        assert_false(seen[tokens[0] - MGK_LISTOPS_MAX][tokens[1]][tokens[2]]++);
    }
    mgk_dataset_close(trees);
    options.samples = 401;
    assert_refused(&options, STATUS_USAGE, "found 400 different trees");
}

static void generated_samples_have_their_values_as_targets(void **state)
{
    (void)state;
    mgk_dataset_options options = generated(MGK_SPLIT_EVAL, 20, 60, 500);
    options.length = 64;
    mgk_dataset *trees = open_ok(&options);
    mgk_dataset_shape shape = mgk_dataset_shape_of(trees);
    assert_int_equal(shape.vocabulary, 15);
    assert_int_equal(shape.classes, 10);
    int counts[10] = {0}, shortest = 60, longest = 20;
    for (uint64_t i = 0; i < 500; i++) {
        int32_t tokens[64], length, target, value;
        unsigned char bytes[64];
        assert_ok(mgk_dataset_sample(trees, i, tokens, &length, &target));
        assert_in_range(length, 21, 59);
        shortest = length < shortest ? length : shortest;
        longest = length > longest ? length : longest;
        for (int t = 0; t < 64; t++) {
            if (t < length)
                bytes[t] = (unsigned char)tokens[t];
            else
                assert_int_equal(tokens[t], -1);
        }
        assert_ok(mgk_listops_value(bytes, (size_t)length, &value));
        assert_int_equal(value, target);
        counts[target]++;
    }
    for (int d = 0; d < 10; d++)
        assert_true(counts[d] > 0);
    assert_int_equal(shortest, 21);
    assert_int_equal(longest, 59);
    mgk_dataset_close(trees);
}

static void generation_is_deterministic_and_differs_by_split_and_seed(void **state)
{
    (void)state;
    mgk_dataset_options options = generated(MGK_SPLIT_TRAIN, 500, 2000, 5);
    mgk_dataset *a = open_ok(&options), *b = open_ok(&options);
    assert_same_samples(a, b, 5);
    int32_t tokens[1999], other[1999], length, target;
    for (int change = 0; change < 3; change++) {
        mgk_dataset_close(b);
        options.split = change < 2 ? MGK_SPLIT_EVAL + (unsigned)change : MGK_SPLIT_TRAIN;
        options.seed = change == 2;
        b = open_ok(&options);
        assert_ok(mgk_dataset_sample(a, 0, tokens, &length, &target));
        assert_ok(mgk_dataset_sample(b, 0, other, &length, &target));
        assert_memory_not_equal(tokens, other, sizeof(tokens));
    }
    mgk_dataset_close(a);
    mgk_dataset_close(b);
}

static void bounds_follow_the_length(void **state)
{
    static const struct {
        size_t length;
        int above, below;
        size_t expected_above, expected_below;
    } rows[] = {
        {2000, 0, 0, 500, 2000}, {4000, 0, 0, 500, 2000}, {60, 0, 0, 15, 61},
        {60, 20, 0, 20, 61},     {60, 0, 40, 10, 40},     {60, 3, 30, 3, 30},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        mgk_dataset_options options = mgk_dataset_defaults(MGK_TASK_LISTOPS);
        options.length = rows[i].length;
        mgk_dataset_bound_lists(&options, rows[i].above, rows[i].below);
        assert_int_equal(options.listops_above, rows[i].expected_above);
        assert_int_equal(options.listops_below, rows[i].expected_below);
    }
}

static void contradicting_bounds_are_refused(void **state)
{
    (void)state;
    mgk_dataset_options options = generated(MGK_SPLIT_TRAIN, 5, 6, 1);
    assert_refused(&options, STATUS_USAGE, "longer than 5 tokens and shorter than 6");
    options.listops_above = SIZE_MAX;
    assert_refused(&options, STATUS_USAGE, "no list is longer than ");
    options = generated(MGK_SPLIT_TRAIN, 0, 1, 1);
    options.length = 4;
    assert_refused(&options, STATUS_USAGE, "longer than 0 tokens and shorter than 1");
    options = mgk_dataset_defaults(MGK_TASK_LISTOPS);
    options.length = 1998;
    assert_refused(&options, STATUS_USAGE,
                   "up to 1999 tokens do not fit into a length of 1998: expected `listops_below` "
                   "of at most 1999");
    options = generated(MGK_SPLIT_TRAIN, 3, 9, SIZE_MAX);
    assert_refused(&options, STATUS_USAGE, "samples are more than");
}

static void rows_of_a_file(void **state)
{
    const char *path = write_text(state, "basic_val.tsv",
                                  "Source\tTarget\r\n"
                                  "( ( ( [MAX 2 ) 9 ) ] )\t9\r\n"
                                  "( ( ( ( [MED 1 ) 2 ) 4 ) ] )\t2\n"
                                  "5\t5");
    mgk_dataset_options options = options_for(MGK_TASK_LISTOPS, &path, 6);
    mgk_dataset *rows = open_ok(&options);
    assert_true(mgk_dataset_size(rows) == 3);
    int32_t tokens[6], length, target;
    assert_ok(mgk_dataset_sample(rows, 0, tokens, &length, &target));
    assert_memory_equal(tokens, ((int32_t[]){10, 2, 9, 14, -1, -1}), sizeof(tokens));
    assert_int_equal(length, 4);
    assert_int_equal(target, 9);
    assert_ok(mgk_dataset_sample(rows, 1, tokens, &length, &target));
    assert_memory_equal(tokens, ((int32_t[]){12, 1, 2, 4, 14, -1}), sizeof(tokens));
    assert_ok(mgk_dataset_sample(rows, 2, tokens, &length, &target));
    assert_int_equal(length, 1);
    assert_int_equal(target, 5);
    assert_fails(mgk_dataset_sample(rows, 3, tokens, &length, &target), STATUS_USAGE);
    mgk_dataset_close(rows);
}

static void bad_files_are_refused(void **state)
{
    static const struct {
        const char *rows, *message;
    } cases[] = {
        {"5\n", "line 2: expected two columns"},
        {"\n5\t5\n", "line 2: expected two columns"},
        {"5\t5\textra\n", "line 2: expected two columns"},
        {"5\t5\n7\t8\n", "line 3: target is \"8\", but the expression's value is 7"},
        {"5\t\n", "line 2: target is \"\""},
        {"[MAX 1\t1\n", "line 2: unfinished"},
        {"[MAX 1 2 3 4 5 ]\t5\n", "line 2: 7 tokens exceed the length 6"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[128];
        snprintf(text, sizeof(text), "Source\tTarget\n%s", cases[i].rows);
        const char *path = write_text(state, "rows.tsv", text);
        mgk_dataset_options options = options_for(MGK_TASK_LISTOPS, &path, 6);
        mgk_status status = strstr(cases[i].message, "exceed") ? STATUS_SHAPE : STATUS_FORMAT;
        assert_refused(&options, status, cases[i].message);
        assert_refused(&options, status, "rows.tsv: line ");
    }
    const char *path = write_bytes(state, "binary", "\0\1\2\n", 4);
    mgk_dataset_options options = options_for(MGK_TASK_LISTOPS, &path, 6);
    assert_refused(&options, STATUS_FORMAT, "binary: line 1: expected the header");
    path = write_text(state, "empty", "");
    assert_refused(&options, STATUS_SHAPE, "empty: no rows");
    path = write_text(state, "header", "Source\tTarget\n");
    assert_refused(&options, STATUS_SHAPE, "header: no rows");
    path = path_of(state, "absent");
    assert_refused(&options, STATUS_IO, "absent: ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_worked_by_hand),
        cmocka_unit_test(malformed_expressions_are_refused),
        cmocka_unit_test(drawn_trees_follow_the_recipe),
        cmocka_unit_test(a_tree_that_exceeds_the_limit_is_abandoned),
        cmocka_unit_test(generated_trees_keep_the_bounds_and_never_repeat),
        cmocka_unit_test(generated_samples_have_their_values_as_targets),
        cmocka_unit_test(generation_is_deterministic_and_differs_by_split_and_seed),
        cmocka_unit_test(bounds_follow_the_length),
        cmocka_unit_test(contradicting_bounds_are_refused),
        folder_test(rows_of_a_file),
        folder_test(bad_files_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
