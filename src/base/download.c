/* SPDX-License-Identifier: MIT */
#include "base/download.h"

#include <string.h>
#include <strings.h>

static size_t skip(const char *text, size_t size)
{
    static const char mark[] = "\xef\xbb\xbf"; /* byte order mark */
    size_t at = size >= 3 && memcmp(text, mark, 3) == 0 ? 3 : 0;
    while (at < size && text[at] && strchr(" \t\r\n", text[at]))
        at++;
    return at;
}

const char *mgk_download_left(const void *bytes, size_t size)
{
    static const char pointer[] = "version https://git-lfs.github.com/spec/v1";
    static const char *const pages[] = {"<!doctype html", "<html"};
    const char *text = bytes;
    if (size >= sizeof(pointer) - 1 && memcmp(text, pointer, sizeof(pointer) - 1) == 0)
        return "a Git LFS pointer, not the file itself: git lfs pull";
    const size_t start = skip(text, size);
    for (size_t i = 0; i < sizeof(pages) / sizeof(*pages); i++)
        if (size - start >= strlen(pages[i]) &&
            strncasecmp(text + start, pages[i], strlen(pages[i])) == 0)
            return "an HTML page, not the file itself";
    return NULL;
}
