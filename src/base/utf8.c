#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

/* Bytes of the character that text [length] begins with, 1 to 4; 0 where there is none. */
static size_t character_size(const unsigned char *text, size_t length)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000}; /* by size: no longer forms */
    unsigned char first = text[0];
    size_t size = first < 0x80             ? 1
                  : (first & 0xe0) == 0xc0 ? 2
                  : (first & 0xf0) == 0xe0 ? 3
                  : (first & 0xf8) == 0xf0 ? 4
                                           : 0;
    if (size <= 1)
        return size;
    if (size > length)
        return 0;
    uint32_t code = first & (0x7fu >> size);
    for (size_t i = 1; i < size; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (text[i] & 0x3fu);
    }
    return code < smallest[size] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff) ? 0
                                                                                          : size;
}

void mgk_utf8_copy(const char *text, size_t length, char *out, size_t size)
{
    size_t end = strnlen(text, length), used = 0;
    for (size_t at = 0; at < end;) {
        size_t bytes = character_size((const unsigned char *)text + at, end - at);
        size_t taken = bytes ? bytes : 1;
        if (used + taken >= size)
            break;
        if (bytes)
            memcpy(out + used, text + at, bytes);
        else
            out[used] = '?';
        used += taken;
        at += taken;
    }
    out[used] = '\0';
}
