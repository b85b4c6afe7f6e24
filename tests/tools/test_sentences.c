/* SPDX-License-Identifier: MIT */
/* Which texts are lists of sentences. */
#include "test.h"

#include <string.h>

#include "run/sentences.h"

static bool sentences(const char *text)
{
    return mgk_lines_are_sentences(text, strlen(text));
}

static void lists_of_sentences(void **state)
{
    (void)state;
    assert_true(sentences("The cat sat.\nDid it?\n"));
    assert_true(sentences("The cat sat.\r\n\r\n  \"Did it?\" \t\r\nYes!"));
    assert_true(sentences("Er sagte: \xe2\x80\x9eJa.\xe2\x80\x9d\nWarum\xe2\x80\xa6\n3 apples.\n"));
    assert_true(sentences("One.\nTwo.\nThree.\nfour\n")); /* three in four */
    assert_true(sentences("\xe7\x8c\xab\xe3\x80\x82\n\xe7\x8a\xac\xe3\x80\x82\n"));
}

static void other_texts(void **state)
{
    (void)state;
    assert_false(sentences(""));
    assert_false(sentences("\n\n \n"));
    assert_false(sentences("One sentence.\n"));
    assert_false(sentences("One.\nTwo.\nthree\nfour\n"));
    assert_false(sentences("Prose whose lines are broken\nto fit a page. It goes on\nand on.\n"));
    assert_false(sentences("= Title =\n\n= Another =\n"));
    assert_false(sentences(".\n\"\n)\n"));
    char text[500];
    memset(text, 'A', sizeof(text));
    memcpy(text + 450, ".\n\nB.\nC.\n", sizeof(".\n\nB.\nC.\n")); /* paragraphs of one text */
    assert_false(sentences(text));
    memcpy(text + 450, ".\nB.\nC.\n\n", sizeof(".\nB.\nC.\n\n")); /* passages */
    assert_true(sentences(text));
}

/* Only the beginning is read, and the line at its end is not judged. */
static void the_beginning_decides(void **state)
{
    enum { SIZE = 100000, LINE = 10 };
    static char text[SIZE];
    (void)state;
    memset(text, 'a', SIZE);
    for (size_t i = 0; i + LINE <= 65500; i += LINE)
        memcpy(text + i, "Abcdefg.\n\n", LINE);
    assert_true(mgk_lines_are_sentences(text, SIZE));
    assert_false(mgk_lines_are_sentences(text + 65500, SIZE - 65500));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_of_sentences),
        cmocka_unit_test(other_texts),
        cmocka_unit_test(the_beginning_decides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
