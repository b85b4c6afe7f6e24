/* SPDX-License-Identifier: MIT */
/* Texts and numbers in a report: no text of a file becomes markup or code. */
#include "report/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

/* What a call has written; release with free. */
#define WRITTEN(call)                                \
    __extension__({                                  \
        char *text_ = NULL;                          \
        size_t size_ = 0;                            \
        FILE *page = open_memstream(&text_, &size_); \
        assert_non_null(page);                       \
        call;                                        \
        fclose(page);                                \
        text_;                                       \
    })

static void expect(char *found, const char *expected)
{
    assert_string_equal(found, expected);
    free(found);
}

static void html_is_escaped(void **state)
{
    (void)state;
    expect(WRITTEN(mgk_report_html(page, "a<b>&\"'")), "a&#60;b&#62;&#38;&#34;&#39;");
    expect(WRITTEN(mgk_report_html(page, "\xc3\xa9 \n\t")), "\xc3\xa9 \n\t");
    /* Bytes that are not UTF-8, and controls. */
    expect(WRITTEN(mgk_report_html(page, "\xff\x01\xc3")), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    expect(WRITTEN(mgk_report_html(page, "")), "");
}

static void strings_are_escaped(void **state)
{
    (void)state;
    expect(WRITTEN(mgk_report_string(page, "</script><!--")),
           "\"\\u003c/script\\u003e\\u003c!--\"");
    expect(WRITTEN(mgk_report_string(page, "\\u003c\"\n\x01")), "\"\\\\u003c\\\"\\u000a\\u0001\"");
    expect(WRITTEN(mgk_report_string(page, "\xe2\x80\xa8\xc0\xbc")),
           "\"\xe2\x80\xa8\xef\xbf\xbd\xef\xbf\xbd\"");
}

static void numbers_keep_their_digits(void **state)
{
    (void)state;
    static const int32_t integers[] = {0, -1, 7};
    expect(WRITTEN(mgk_report_real(page, 0.1)), "\"0.1\"");
    expect(WRITTEN(mgk_report_real(page, 0.30000000000000004)), "\"0.30000000000000004\"");
    expect(WRITTEN(mgk_report_real(page, 1e-6)), "\"1e-06\"");
    expect(WRITTEN(mgk_report_real(page, NAN)), "null");
    expect(WRITTEN(mgk_report_integers(page, integers, 3)), "[0,-1,7]");
    expect(WRITTEN(mgk_report_integers(page, integers, 0)), "[]");
}

/* The test vectors of RFC 4648, and bytes with the sign bit. */
static void bytes_are_base64(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *text;
    } rows[] = {{"", "\"\""},
                {"f", "\"Zg==\""},
                {"fo", "\"Zm8=\""},
                {"foo", "\"Zm9v\""},
                {"foob", "\"Zm9vYg==\""},
                {"fooba", "\"Zm9vYmE=\""},
                {"foobar", "\"Zm9vYmFy\""},
                {"\xff\xfe\xfb", "\"//77\""}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        expect(WRITTEN(mgk_report_base64(page, (const unsigned char *)rows[i].bytes,
                                         strlen(rows[i].bytes))),
               rows[i].text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(html_is_escaped),
        cmocka_unit_test(strings_are_escaped),
        cmocka_unit_test(numbers_keep_their_digits),
        cmocka_unit_test(bytes_are_base64),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
