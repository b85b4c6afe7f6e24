/* SPDX-License-Identifier: MIT */
/* What a wrong name may mean. */
#include "base/names.h"

#include <string.h>

#include "test.h"

static const char *const names[] = {"rank", "effective_rank", "entropy", "js", "mean_js"};
enum { COUNT = 5 };

static void expect(const char *wrong, const char *expected)
{
    char hint[MGK_NAMES_HINT];
    mgk_names_hint(wrong, names, COUNT, hint);
    assert_string_equal(hint, expected);
}

static void near_names_are_named(void **state)
{
    (void)state;
    expect("entropie", "similar: entropy");
    expect("Enthropy", "similar: entropy");
    expect("ran", "similar: rank, effective_rank");
    expect("_RANK", "similar: effective_rank");
    expect("jsd", "similar: js");
    expect("sj", "similar: js");
    expect("rank_", "similar: rank");
}

static void otherwise_all_are(void **state)
{
    (void)state;
    static const char all[] = "there are rank, effective_rank, entropy, js, mean_js";
    char endless[300];
    memset(endless, 'x', sizeof(endless) - 1);
    endless[sizeof(endless) - 1] = '\0';
    expect("beauty", all);
    expect("", all);
    expect("e", all); /* a letter that most names have */
    expect(endless, all);
}

static void all_and_near_names(void **state)
{
    (void)state;
    char hint[MGK_NAMES_HINT];
    mgk_names_expected("entropie", names, COUNT, hint);
    assert_string_equal(hint, "expected one of rank, effective_rank, entropy, js, mean_js; "
                              "similar: entropy");
    mgk_names_expected("beauty", names, COUNT, hint);
    assert_string_equal(hint, "expected one of rank, effective_rank, entropy, js, mean_js");
}

static void long_lists_are_cut_between_names(void **state)
{
    (void)state;
    char list[16];
    mgk_names_join(names, COUNT, list, sizeof(list));
    assert_string_equal(list, "rank, entropy");
    mgk_names_join(names, 0, list, sizeof(list));
    assert_string_equal(list, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(near_names_are_named),
        cmocka_unit_test(otherwise_all_are),
        cmocka_unit_test(all_and_near_names),
        cmocka_unit_test(long_lists_are_cut_between_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
