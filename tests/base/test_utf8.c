/* SPDX-License-Identifier: MIT */
/* Text cut to a size stays UTF-8. */
#include "test.h"

#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"

static void expect(const char *text, size_t length, size_t size, const char *expected)
{
    char out[64];
    memset(out, 'x', sizeof(out));
    mgk_utf8_copy(text, length, out, size);
    assert_string_equal(out, expected);
    assert_int_equal(out[size], 'x');
}

static void test_cut_between_characters(void **state)
{
    (void)state;
    const char *text = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z"; /* of 1, 2, 3, 4 and 1 bytes */
    static const size_t kept[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 11};
    for (size_t room = 0; room < sizeof(kept) / sizeof(*kept); room++) {
        char expected[16] = "";
        memcpy(expected, text, kept[room]);
        expect(text, SIZE_MAX, room + 1, expected);
    }
    expect(text, 3, 40, "a\xc3\xa9");
    expect("", 9, 40, "");
}

static void test_bytes_of_no_character(void **state)
{
    (void)state;
    expect("a\xff\x80z", SIZE_MAX, 40, "a??z");
    expect("\xc3", SIZE_MAX, 40, "?");                /* truncated */
    expect("\xc3\xa9", 1, 40, "?");                   /* truncated by the length */
    expect("\xc0\xaf", SIZE_MAX, 40, "??");           /* overlong */
    expect("\xed\xa0\x80", SIZE_MAX, 40, "???");      /* a UTF-16 surrogate */
    expect("\xf4\x90\x80\x80", SIZE_MAX, 40, "????"); /* beyond Unicode */
    expect("\xe2\x28\xa1", SIZE_MAX, 40, "?(?");      /* an invalid continuation byte */
}

static void test_whole_copies(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"", ""}, {"a\xff/\xc3\xa9", "a?/\xc3\xa9"}, {"\xe2\x82", "??"}};
    for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
        char *copy;
        assert_ok(mgk_utf8_duplicate(pairs[i][0], &copy));
        assert_string_equal(copy, pairs[i][1]);
        mgk_free(copy);
    }
}

/* Reads text [length]; '?' stands for each replacement, '.' for each character. */
static void expect_read(const char *text, size_t length, const char *expected)
{
    char found[16] = "";
    size_t count = 0;
    for (size_t at = 0; at < length;) {
        uint32_t code;
        char written[4];
        size_t size = mgk_utf8_read(text + at, length - at, &code);
        assert_in_range(size, 1, length - at);
        found[count++] = code == MGK_UTF8_INVALID ? '?' : '.';
        if (code != MGK_UTF8_INVALID) {
            assert_int_equal(mgk_utf8_write(code, written), size);
            assert_memory_equal(written, text + at, size);
        }
        at += size;
    }
    assert_string_equal(found, expected);
    const char *bad = strchr(expected, '?');
    assert_true((mgk_utf8_valid(text, length) == length) == !bad);
}

static void test_reading(void **state)
{
    (void)state;
    expect_read("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z", 11, ".....");
    expect_read("abcdefgh\xc3\xa9jklm\xff", 15, ".............?");
    expect_read("\0\x7f\xc2\x80\xdf\xbf", 6, "....");
    expect_read("\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf", 12, "....");
    expect_read("\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", 8, "..");
    /* A truncated character counts once, as in Python. */
    expect_read("\xe2\x82", 2, "?");
    expect_read("\xe2\x82z", 3, "?.");
    expect_read("\xf0\x9f\x98z", 4, "?.");
    expect_read("\xf0\x9f\xc3\xa9", 4, "?.");
    expect_read("\xc0\xaf\xc1\x80", 4, "????");
    expect_read("\xe0\x80\xaf", 3, "???");
    expect_read("\xed\xa0\x80", 3, "???");
    expect_read("\xf4\x90\x80\x80\xf5", 5, "?????");
    expect_read("\xf0\x80\x80\x80", 4, "????");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cut_between_characters),
        cmocka_unit_test(test_bytes_of_no_character),
        cmocka_unit_test(test_whole_copies),
        cmocka_unit_test(test_reading),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
