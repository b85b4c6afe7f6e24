/* SPDX-License-Identifier: MIT */
/* Regular expressions have the meaning of the tokenizers library, from which these answers come, or
 * are refused. */
#include "data/tokenizers/pattern.h"

#include <stdio.h>
#include <string.h>

#include "test.h"

static mgk_span span(const char *text)
{
    return (mgk_span){text, strlen(text)};
}

/* Lists the non-empty matches of a pattern as "0-2,3-4,". */
static void find_all(const char *pattern, const char *text, char *found, size_t size)
{
    mgk_pattern *compiled;
    mgk_matcher *matcher;
    mgk_match match = {.found = true};
    size_t used = 0;
    assert_ok(mgk_pattern_compile(span(pattern), false, &compiled));
    assert_ok(mgk_matcher_create(&matcher));
    found[0] = '\0';
    for (size_t from = 0; from <= strlen(text) && match.found; from = match.end) {
        assert_ok(mgk_pattern_find(compiled, matcher, span(text), from, &match));
        if (match.end == match.start)
            match.end++;
        else if (match.found)
            used += (size_t)snprintf(found + used, size - used, "%zu-%zu,", match.start, match.end);
        assert_true(used < size);
    }
    mgk_matcher_free(matcher);
    mgk_pattern_free(compiled);
}

static void they_mean_what_they_mean_elsewhere(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *text, *matches;
    } cases[] = {
        {"\\w+", "xe\xcc\x81x", "0-5,"},
        {"\\w+", "a1_\xc2\xb2 \xe2\x85\xb7", "0-5,6-9,"},
        {"[\\w]+", "a1_\xc2\xb2", "0-3,"},
        {"[\\w']+", "it's a-b", "0-4,5-6,7-8,"},
        {"\\W+", "e\xcc\x81, x", "3-5,"},
        {"[^\\W\\d_]+", "ab1_c", "0-2,4-5,"},
        {"[\\W_]+", "a_-b", "1-3,"},
        {"[^\\W]+", "a-b", "0-1,2-3,"},
        {"a$", "a\nb", "0-1,"},
        {"^b", "a\nb", "2-3,"},
        {"\\Aa|b\\z", "a\na\nb", "0-1,4-5,"},
        {"a.b", "a\nb a\rb", "4-7,"},
        {"\\s", "a\xe1\xa0\x8e\xe3\x80\x80", "4-7,"},
        {"[[ab]c]+", "xabcx]", "1-4,"},
        {"[^(\\s|[.,])]+", "ab (c", "0-2,4-5,"},
        {"\\p{Han}+", "\xe6\xbc\xa2\xe3\x80\x81", "0-3,"},
        {"[\\p{^Latin}]", "a1", "1-2,"},
        {"(?i:'s|'t)", "'S 'x '\xc5\xbf", "0-2,6-9,"},
        {"(?i:[sdmt]|ll)+b", "SLlBsllb", "4-8,"},
        {"a{1}b{", "ab{", "0-3,"},
        {"\\u0061\\x62\\x{e9}", "ab\xc3\xa9", "0-4,"},
        {"\\v", "\x0b\x0c", "0-1,"},
        {"(?<!\\n)b|(?<=a)\\n(?=b)(?>b)", "a\nb", "1-3,"},
        {"[a\\-\\]]+", "a-]b", "0-3,"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char found[128];
        find_all(cases[i].pattern, cases[i].text, found, sizeof(found));
        if (strcmp(found, cases[i].matches) != 0)
            fail_msg("%s: %s, expected %s", cases[i].pattern, found, cases[i].matches);
    }
}

static void what_may_mean_something_else_is_refused(void **state)
{
    (void)state;
    static const char *const patterns[] = {"\\b",
                                           "\\B",
                                           "\\h",
                                           "\\R",
                                           "\\X",
                                           "\\K",
                                           "\\G",
                                           "\\1",
                                           "\\0",
                                           "\\Qa\\E",
                                           "\\N",
                                           "\\C",
                                           "[\\b]",
                                           "[a&&b]",
                                           "(?m)a",
                                           "(?m:a)",
                                           "(?i)a",
                                           "(?-i:a)",
                                           "(?x: a)",
                                           "(?<n>a)",
                                           "(?R)",
                                           "(*FAIL)",
                                           "(?#x)a",
                                           "[[:alpha:]]",
                                           "[[^a]b]",
                                           "[a[b]-c]",
                                           "[a-[b]]",
                                           "[]a]",
                                           "a{,2}",
                                           "a{2}+",
                                           "a{2,3}+",
                                           "a{2}?",
                                           "\\pL",
                                           "\\xc3",
                                           "\\x{61 62}",
                                           "(?i:ss)",
                                           "(?i:St)",
                                           "(?i:\xc3\xa9)",
                                           "(?i:[\xc3\xa9])",
                                           "(?i:\\w)",
                                           "(?i:[\\W])",
                                           "(?i:(\\d))",
                                           "\\p{Alpha}",
                                           "\\p{L&}",
                                           "(a",
                                           "a)",
                                           "*"};
    mgk_pattern *compiled;
    for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
        if (mgk_pattern_compile(span(patterns[i]), false, &compiled) != STATUS_UNSUPPORTED)
            fail_msg("%s is taken", patterns[i]);
        assert_non_null(strstr(mgk_fail_message(), "regular expression: at byte "));
        assert_null(compiled);
    }
}

static void patterns_cut_anywhere_do_no_harm(void **state)
{
    (void)state;
    static const char pattern[] = "(?i:'s|[a])|[^\\r\\W[b]c]?\\p{^Lu}{1,3}\\x{41}\\u0041| "
                                  "?[\\s\\p{L}]+\\P{Han}(?<!a)(?!\\S)\\W";
    mgk_pattern *compiled;
    assert_ok(mgk_pattern_compile(span(pattern), false, &compiled));
    mgk_pattern_free(compiled);
    for (size_t size = 0; size < sizeof(pattern) - 1; size++) {
        mgk_status status = mgk_pattern_compile((mgk_span){pattern, size}, false, &compiled);
        assert_true(status == STATUS_OK || status == STATUS_UNSUPPORTED);
        mgk_pattern_free(compiled);
    }
    char deep[2 * 65 + 1] = "";
    for (int i = 0; i < 65; i++) {
        deep[i] = '(';
        deep[65 + i] = ')';
    }
    assert_int_equal(mgk_pattern_compile(span(deep), false, &compiled), STATUS_UNSUPPORTED);
    assert_ok(mgk_pattern_compile((mgk_span){deep + 1, 128}, false, &compiled));
    mgk_pattern_free(compiled);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_mean_what_they_mean_elsewhere),
        cmocka_unit_test(what_may_mean_something_else_is_refused),
        cmocka_unit_test(patterns_cut_anywhere_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
