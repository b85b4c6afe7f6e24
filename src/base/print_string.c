/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/text.h"
#include "base/utf8.h"

void mgk_print_string(FILE *file, const char *text, const char *escaped)
{
    uint32_t code;
    fputc('"', file);
    for (size_t left = strlen(text), size; left > 0; text += size, left -= size) {
        size = mgk_utf8_read(text, left, &code);
        if (code == MGK_UTF8_INVALID)
            fputs("\xef\xbf\xbd", file); /* U+FFFD */
        else if (code == '"' || code == '\\')
            fprintf(file, "\\%c", (int)code);
        else if (code < ' ' || (code < 0x80 && strchr(escaped, (int)code)))
            fprintf(file, "\\u%04x", (unsigned)code);
        else
            fwrite(text, 1, size, file);
    }
    fputc('"', file);
}
