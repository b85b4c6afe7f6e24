/* SPDX-License-Identifier: MIT */
/* What failed downloads leave is told apart from files that only look like it. */
#include "test.h"

#include <string.h>

#include "base/download.h"

static const char *left(const char *text)
{
    return mgk_download_left(text, strlen(text));
}

static void test_pointers(void **state)
{
    (void)state;
    const char *pointer =
        "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";
    assert_non_null(strstr(left(pointer), "Git LFS pointer"));
    assert_non_null(mgk_download_left(pointer, 42));
    assert_null(mgk_download_left(pointer, 41));
    assert_null(left("version https://git-lfs.github.com/spec/v2\n"));
    assert_null(left(" version https://git-lfs.github.com/spec/v1\n"));
}

static void test_pages(void **state)
{
    (void)state;
    static const char *const pages[] = {"<!DOCTYPE html>\n<html>", "<!doctype HTML PUBLIC",
                                        "<html lang=\"en\">", "\xef\xbb\xbf \r\n\t<HTML>"};
    static const char *const others[] = {
        "",     "<",   "<htm", "<?xml version=\"1.0\"?>", "{\"<html\":1}", "\xef\xbb\xbf",
        "\n\n", "html"};
    for (size_t i = 0; i < sizeof(pages) / sizeof(*pages); i++)
        assert_non_null(strstr(left(pages[i]), "HTML page"));
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        assert_null(left(others[i]));
    assert_null(mgk_download_left("\0\0<html>", 8));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pointers),
        cmocka_unit_test(test_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
