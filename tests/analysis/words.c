/* SPDX-License-Identifier: MIT */
/* Tokens are merged into words, and attention between tokens into attention between words. */
#include "analysis/measures/words.h"

#include <stdlib.h>

#include "test.h"

static void expect_words(const char *const *tokens, size_t count, const char *subword,
                         const size_t *expected)
{
    size_t words[16];
    assert_int_equal(mgk_words_of(tokens, count, subword, words), expected[count - 1] + 1);
    assert_memory_equal(words, expected, count * sizeof(*words));
}

static void marks_tell_words(void **state)
{
    (void)state;
    static const char *const pieces[] = {"[CLS]", "un", "##aff", "##able",
                                         "is",    "##", "[SEP]", "##x"};
    expect_words(pieces, 8, "##", (const size_t[]){0, 1, 1, 1, 2, 2, 3, 4});
    static const char *const spaced[] = {"<s>", "Hello", ",", " wor", "ld", "\n", " ", "</s>"};
    expect_words(spaced, 8, " ", (const size_t[]){0, 1, 1, 2, 2, 3, 3, 4});
    expect_words(pieces, 8, "", (const size_t[]){0, 1, 2, 3, 4, 5, 6, 7});
    static const char *const odd[] = {"##x", "##y", "<", ">", "", "[]", " a"};
    expect_words(odd, 7, "##", (const size_t[]){0, 0, 1, 2, 3, 4, 5});
    expect_words(odd, 7, " ", (const size_t[]){0, 0, 0, 0, 0, 0, 1});
    assert_int_equal(mgk_words_of(NULL, 0, "##", NULL), 0);
}

/* Characters that several tokens share, and tokens of white space only. */
static void bytes_and_spaces_make_no_words(void **state)
{
    (void)state;
    static const char *const bytes[] = {
        "<s>",           "H",      "<0xC3>",       "<0xA9>", "llo",
        " <0xE6><0x97>", "<0xA5>", "<0xE6><0x9C>", "<0xAC>", "<0xC3"};
    expect_words(bytes, 10, " ", (const size_t[]){0, 1, 1, 1, 1, 2, 2, 2, 2, 2});
    static const char *const blanks[] = {"a", "\\n", " ",       "  ",   " b", "\\n\\n", "c",
                                         "d", "\\n", "\\nabla", "</s>", " ",  "[x]"};
    expect_words(blanks, 13, " ", (const size_t[]){0, 1, 1, 1, 1, 2, 2, 2, 3, 3, 4, 5, 6});
    static const char *const names[] = {"a", "<0xc3>", "<0xC3x", "<0xG3>"};
    expect_words(names, 4, " ", (const size_t[]){0, 1, 2, 3});
}

#define assert_joined(expected, subword, ...)                                                \
    do {                                                                                     \
        const char *const tokens[] = {__VA_ARGS__};                                          \
        char out[16];                                                                        \
        mgk_words_join(tokens, sizeof(tokens) / sizeof(*tokens), subword, out, sizeof(out)); \
        assert_string_equal(out, expected);                                                  \
    } while (0)

static void words_have_a_text(void **state)
{
    (void)state;
    assert_joined("unaffable", "##", "un", "##aff", "##able");
    assert_joined("Hllo", " ", " H", "llo");
    assert_joined("H\xc3\xa9llo", " ", " H", "<0xC3>", "<0xA9>", "llo");
    assert_joined("\xe6\x97\xa5\xe6\x9c\xac", " ", " <0xE6>", "<0x97><0xA5>", "<0xE6><0x9C>",
                  "<0xAC>");
    assert_joined("a<0xC3>b<0x41>", " ", "a<0xC3>", "b<0x41>"); /* not a character */
    assert_joined("c d", " ", "\\n", "  ", " c", " d");
    assert_joined(" ", " ", " ");
    assert_joined("\\n", " ", "\\n");
    assert_joined("\\nabla", " ", "\\nabla");
    assert_joined("<0xC3>", "##", "<0xC3>");
    assert_joined("12345678901234", " ", "12345678901234", "<0xC3>", "<0xA9>"); /* does not fit */
}

/* Sums of columns and means of rows, computed by hand. */
static void small_matrix(void **state)
{
    (void)state;
    const float matrix[] = {1, 2, 4, -1, 8, 16, 32, -1, 64, 128, 256, -1};
    const size_t words[] = {0, 0, 1};
    float out[4];
    mgk_words_merge(matrix, 4, 3, words, 2, out);
    assert_true(out[0] == (1 + 2 + 8 + 16) / 2.0f && out[1] == (4 + 32) / 2.0f);
    assert_true(out[2] == 64 + 128 && out[3] == 256);
}

/* Rows that sum to 1 still do, also in place. */
static void rows_keep_their_sum(void **state)
{
    (void)state;
    enum { N = 33, STRIDE = 40 };
    static float matrix[N * STRIDE], out[N * N];
    size_t words[N], word_count = 0;
    for (size_t i = 0; i < N; i++) {
        double sum = 0;
        words[i] = i == 0 ? 0 : words[i - 1] + (i * i % 7 < 4);
        word_count = words[i] + 1;
        for (size_t j = 0; j < N; j++)
            sum += matrix[i * STRIDE + j] = (float)(1 + (i * 31 + j * 17) % 23);
        for (size_t j = 0; j < N; j++)
            matrix[i * STRIDE + j] /= (float)sum;
    }
    assert_true(word_count > 10 && word_count < 25);
    mgk_words_merge(matrix, STRIDE, N, words, word_count, out);
    for (size_t w = 0; w < word_count; w++) {
        double sum = 0;
        for (size_t v = 0; v < word_count; v++)
            sum += (double)out[w * word_count + v];
        assert_close(sum, 1, 1e-6, 0);
    }
    mgk_words_merge(matrix, STRIDE, N, words, word_count, matrix);
    assert_memory_equal(matrix, out, word_count * word_count * sizeof(*out));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks_tell_words),    cmocka_unit_test(bytes_and_spaces_make_no_words),
        cmocka_unit_test(words_have_a_text),   cmocka_unit_test(small_matrix),
        cmocka_unit_test(rows_keep_their_sum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
