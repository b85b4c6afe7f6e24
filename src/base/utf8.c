/* SPDX-License-Identifier: MIT */
#include "base/utf8.h"

#include <string.h>

#include "base/memory.h"

size_t mgk_utf8_read(const char *text, size_t length, uint32_t *code)
{
    const unsigned char *byte = (const unsigned char *)text;
    unsigned char first = byte[0];
    /* The range of the second byte excludes overlong forms, surrogates and codes beyond the end. */
    unsigned char least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    unsigned char most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    size_t size = first < 0x80    ? 1
                  : first < 0xc2  ? 0
                  : first < 0xe0  ? 2
                  : first < 0xf0  ? 3
                  : first <= 0xf4 ? 4
                                  : 0;
    *code = MGK_UTF8_INVALID;
    if (size == 0)
        return 1;
    uint32_t value = size == 1 ? first : first & (0x7fu >> size);
    for (size_t i = 1; i < size; i++) {
        if (i == length || byte[i] < least || byte[i] > most)
            return i;
        value = value << 6 | (byte[i] & 0x3fu);
        least = 0x80, most = 0xbf;
    }
    *code = value;
    return size;
}

size_t mgk_utf8_write(uint32_t code, char out[4])
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    size_t size = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = size - 1; i > 0; i--, code >>= 6)
        out[i] = (char)(0x80 | (code & 0x3f));
    out[0] = (char)((0xf00u >> size & 0xff) | code);
    return size;
}

size_t mgk_utf8_valid(const char *text, size_t length)
{
    const uint64_t high = 0x8080808080808080;
    size_t at = 0;
    while (at < length) {
        uint64_t block;
        uint32_t code;
        while (length - at >= sizeof(block)) {
            memcpy(&block, text + at, sizeof(block));
            if (block & high)
                break;
            at += sizeof(block);
        }
        if (at == length)
            break;
        size_t size = mgk_utf8_read(text + at, length - at, &code);
        if (code == MGK_UTF8_INVALID)
            break;
        at += size;
    }
    return at;
}

void mgk_utf8_copy(const char *text, size_t length, char *out, size_t size)
{
    size_t end = strnlen(text, length), used = 0;
    for (size_t at = 0; at < end;) {
        uint32_t code;
        size_t bytes = mgk_utf8_read(text + at, end - at, &code);
        size_t taken = code == MGK_UTF8_INVALID ? 1 : bytes;
        if (used + taken >= size)
            break;
        if (code == MGK_UTF8_INVALID)
            out[used] = '?';
        else
            memcpy(out + used, text + at, taken);
        used += taken;
        at += taken;
    }
    out[used] = '\0';
}

size_t mgk_utf8_mark(const char *text, size_t length)
{
    static const char mark[] = {'\xEF', '\xBB', '\xBF'};
    return length >= sizeof(mark) && memcmp(text, mark, sizeof(mark)) == 0 ? sizeof(mark) : 0;
}

mgk_status mgk_utf8_duplicate(const char *text, char **out)
{
    const size_t size = strlen(text) + 1;
    TRY(mgk_alloc(size, 1, out));
    mgk_utf8_copy(text, size, *out, size);
    return STATUS_OK;
}

mgk_status mgk_utf8_check(const char *text, size_t length, size_t offset)
{
    const size_t valid = mgk_utf8_valid(text, length);
    if (valid == length)
        return STATUS_OK;
    return mgk_fail(
        STATUS_FORMAT,
        "byte 0x%02x at offset %zu is not UTF-8, which a tokenizer reads (iconv converts "
        "other texts)",
        (unsigned)(unsigned char)text[valid], offset + valid);
}
