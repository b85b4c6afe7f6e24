/* SPDX-License-Identifier: MIT */
/* Command lines as text, and lists of numbers within one word. */
#include "test.h"

#include <string.h>

#include "base/memory.h"
#include "tools/args.h"

static void assert_command(int argc, const char *const *words, const char *expected)
{
    char *text, *argv[8], copies[8][64];
    for (int i = 0; i < argc; i++)
        argv[i] = strcpy(copies[i], words[i]);
    assert_ok(mgk_args_command(argc, argv, &text));
    assert_string_equal(text, expected);
    mgk_free(text);
}

static void test_command(void **state)
{
    (void)state;
    assert_command(0, NULL, "");
    assert_command(3, (const char *const[]){"mgk-rank", "a.h5", "--threshold=1e-6"},
                   "mgk-rank a.h5 --threshold=1e-6");
    assert_command(2, (const char *const[]){"/usr/bin/mgk-rank", "/a/b"}, "mgk-rank /a/b");
    assert_command(4, (const char *const[]){"x", "two words", "", "$(rm)"},
                   "x 'two words' '' '$(rm)'");
    assert_command(2, (const char *const[]){"it's", "a\nb"}, "'it'\\''s' 'a'$'\\x0a''b'");
    assert_command(1, (const char *const[]){"\n\n'"}, "''$'\\x0a'''$'\\x0a'''\\'''");
}

static void assert_indices(const char *text, const int *expected, size_t expected_count)
{
    int *indices;
    size_t count;
    assert_ok(mgk_args_indices(text, &indices, &count));
    assert_int_equal(count, expected_count);
    assert_memory_equal(indices, expected, count * sizeof(*indices));
    mgk_free(indices);
}

static void test_indices(void **state)
{
    (void)state;
    assert_indices("0", (const int[]){0}, 1);
    assert_indices("5-7,0,2", (const int[]){0, 2, 5, 6, 7}, 5);
    assert_indices("3,3,2-4,999999", (const int[]){2, 3, 4, 999999}, 4);
    static const char *const bad[] = {"",     ",",   "1,", ",1",      "a",           "1-",
                                      "-1",   "3-2", "1 ", "1,,2",    "1-2-3",       "1.5",
                                      "1--2", "0x3", " 1", "1000000", "0-4000000000"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        int *indices;
        size_t count;
        assert_fails(mgk_args_indices(bad[i], &indices, &count), STATUS_USAGE);
        assert_null(indices);
        assert_int_equal(count, 0);
    }
}

static void test_reals(void **state)
{
    (void)state;
    double *reals;
    size_t count;
    assert_ok(mgk_args_reals("1e-8,-2.5,3", &reals, &count));
    assert_int_equal(count, 3);
    assert_true(reals[0] == 1e-8 && reals[1] == -2.5 && reals[2] == 3);
    mgk_free(reals);
    static const char *const bad[] = {"", ",", "1,", "1;2", "inf", "1,nan", "1e999", " 1", "0x1p3"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_fails(mgk_args_reals(bad[i], &reals, &count), STATUS_USAGE);
        assert_null(reals);
        assert_int_equal(count, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_command),
        cmocka_unit_test(test_indices),
        cmocka_unit_test(test_reals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
