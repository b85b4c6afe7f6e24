/* SPDX-License-Identifier: MIT */
/* Ends of texts, and distances between them. */
#include "test.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static void ends_are_found(void **state)
{
    (void)state;
    assert_true(mgk_ends_with("ranks.csv", ".csv"));
    assert_true(mgk_ends_with(".csv", ".csv"));
    assert_true(mgk_ends_with("x", ""));
    assert_false(mgk_ends_with("ranks.CSV", ".csv"));
    assert_false(mgk_ends_with("ranks.csv.gz", ".csv"));
    assert_false(mgk_ends_with("csv", ".csv"));
    assert_false(mgk_ends_with("", ".csv"));
}

static void expect(const char *a, const char *b, size_t distance)
{
    assert_int_equal(mgk_text_distance(a, strlen(a), b, strlen(b)), distance);
    assert_int_equal(mgk_text_distance(b, strlen(b), a, strlen(a)), distance);
}

static void distances_count_letters(void **state)
{
    (void)state;
    expect("", "", 0);
    expect("", "abc", 3);
    expect("kitten", "sitting", 3);
    expect("Rank", "rANK", 0);
    expect("entorpy", "entropy", 1);
    expect("nEtropy", "Entropy", 1);
    expect("ca", "abc", 3); /* a letter is swapped or changed, not both */
    assert_int_equal(mgk_text_distance("rank-x", 4, "rank", 4), 0);
}

static void long_texts_are_not_compared(void **state)
{
    (void)state;
    char text[65];
    memset(text, 'x', 64);
    text[64] = '\0';
    expect(text + 1, "", 63);
    expect(text, "x", SIZE_MAX);
}

/* What a string is in JSON. */
static void expect_printed(const char *text, const char *escaped, const char *expected)
{
    char *printed = NULL;
    size_t size;
    FILE *file = open_memstream(&printed, &size);
    assert_non_null(file);
    mgk_print_string(file, text, escaped);
    assert_int_equal(fclose(file), 0);
    assert_string_equal(printed, expected);
    free(printed);
}

static void strings_are_printed(void **state)
{
    (void)state;
    expect_printed("", "", "\"\"");
    expect_printed("a\"b\\c\n\x7f", "", "\"a\\\"b\\\\c\\u000a\x7f\"");
    expect_printed("<b>", "", "\"<b>\"");
    expect_printed("<b>\"", "<>", "\"\\u003cb\\u003e\\\"\"");
    expect_printed("\xc3\xa9\xe2\x80\xa8", "<", "\"\xc3\xa9\xe2\x80\xa8\"");
    expect_printed("\xff.\xc3", "", "\"\xef\xbf\xbd.\xef\xbf\xbd\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_are_found),
        cmocka_unit_test(distances_count_letters),
        cmocka_unit_test(long_texts_are_not_compared),
        cmocka_unit_test(strings_are_printed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
