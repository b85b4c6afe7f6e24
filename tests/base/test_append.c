/* SPDX-License-Identifier: MIT */
/* Texts that grow are cut at the end of their buffer, and never written behind it. */
#include "base/append.h"

#include <string.h>

#include "test.h"

static void texts_grow(void **state)
{
    (void)state;
    char text[16] = "";
    assert_true(mgk_append(text, sizeof(text), "%s%s", *text ? ", " : "", "rank"));
    assert_true(mgk_append(text, sizeof(text), "%s%s", *text ? ", " : "", "js"));
    assert_true(mgk_append(text, sizeof(text), ": %d", 1234));
    assert_string_equal(text, "rank, js: 1234");
    assert_true(mgk_append(text, sizeof(text), "."));
    assert_true(mgk_append(text, sizeof(text), "%s", ""));
    assert_string_equal(text, "rank, js: 1234.");
}

static void texts_are_cut(void **state)
{
    (void)state;
    struct {
        char text[8], behind[8];
    } room = {"", "behind"};
    assert_true(mgk_append(room.text, sizeof(room.text), "%s", "1234567"));
    assert_false(mgk_append(room.text, sizeof(room.text), "8"));
    assert_string_equal(room.text, "1234567");
    strcpy(room.text, "12345");
    assert_false(mgk_append(room.text, sizeof(room.text), "%d", 6789));
    assert_string_equal(room.text, "1234567");
    assert_string_equal(room.behind, "behind");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_grow),
        cmocka_unit_test(texts_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
