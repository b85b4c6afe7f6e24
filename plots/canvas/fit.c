/* SPDX-License-Identifier: MIT */
#include "plots/canvas/fit.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

mgk_font mgk_fit_font(mgk_font font, const char *text, double width)
{
    font.size = fmin(font.size, font.size * width / mgk_text_width(text, font));
    return font;
}

static bool begins_character(char byte)
{
    return ((unsigned char)byte & 0xc0) != 0x80;
}

void mgk_fit_middle(const char *text, mgk_font font, double width, char *out, size_t size)
{
    static const char ellipsis[] = "\u2026";
    const size_t length = strlen(text), room = size - sizeof(ellipsis);
    if (length == 0 || (length < size && mgk_text_width(text, font) <= width)) {
        memcpy(out, text, length + 1);
        return;
    }
    for (size_t kept = length <= room ? length : room + 1; kept-- > 0;) {
        size_t first = kept / 2, last = length - (kept - first);
        while (first > 0 && !begins_character(text[first]))
            first--;
        while (last < length && !begins_character(text[last]))
            last++;
        snprintf(out, size, "%.*s%s%s", (int)first, text, ellipsis, text + last);
        if (kept == 0 || mgk_text_width(out, font) <= width)
            return;
    }
}
