/* SPDX-License-Identifier: MIT */
#include "plots/canvas/svg.h"

#include <string.h>

static void write_escaped(FILE *file, const char *text)
{
    for (; *text; text++)
        switch (*text) {
        case '&':
            fputs("&amp;", file);
            break;
        case '<':
            fputs("&lt;", file);
            break;
        case '>':
            fputs("&gt;", file);
            break;
        default:
            /* XML cannot represent the other control characters. */
            fputc((unsigned char)*text < ' ' ? ' ' : *text, file);
        }
}

void mgk_svg_write(FILE *file, const char *bytes, size_t size, const mgk_text_pair *texts,
                   size_t count)
{
    const char *root = memmem(bytes, size, "<svg", 4);
    const char *body = root ? memchr(root, '>', size - (size_t)(root - bytes)) : NULL;
    size_t head = body ? (size_t)(body + 1 - bytes) : 0;
    fwrite(bytes, 1, head, file);
    if (count > 0)
        fputs("\n<metadata>\n", file);
    for (size_t i = 0; i < count; i++) {
        write_escaped(file, texts[i].key);
        fputs(": ", file);
        write_escaped(file, texts[i].value);
        fputc('\n', file);
    }
    if (count > 0)
        fputs("</metadata>", file);
    fwrite(bytes + head, 1, size - head, file);
}
