/* SPDX-License-Identifier: MIT */
#include "plots/charts/labels.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

enum { LABEL_SIZE = 64 };

/* In text sizes: the widest label, the gap to the matrix, and the line distance without overlap. */
static const double widest = 9, gap = 0.35, leading = 1.12;

/* Shortens a text to the widest label; returns its width. */
static double cut(const char *text, mgk_font font, char out[LABEL_SIZE])
{
    static const char ellipsis[] = "\xe2\x80\xa6";
    const size_t room = LABEL_SIZE - sizeof(ellipsis);
    mgk_utf8_copy(text, SIZE_MAX, out, LABEL_SIZE);
    double width = mgk_text_width(out, font);
    if (strlen(out) == strlen(text) && width <= widest * font.size)
        return width;
    for (size_t length = strlen(out) < room ? strlen(out) : room; length > 0; length--) {
        bool starts_character = ((unsigned char)out[length] & 0xc0) != 0x80;
        if (!starts_character)
            continue;
        strcpy(out + length, ellipsis);
        width = mgk_text_width(out, font);
        if (width <= widest * font.size)
            return width;
    }
    return width;
}

mgk_labels mgk_labels_measure(const char *const *texts, size_t count, double pitch, mgk_style style)
{
    const double smallest = 0.45 * style.text.size;
    mgk_labels labels = {texts, count, 1, pitch, style.small, 0};
    if (!texts)
        return (mgk_labels){.texts = NULL};
    labels.font.size = floor(fmin(fmax(pitch / leading, smallest), style.small.size));
    labels.every = (size_t)fmax(1, ceil(labels.font.size * leading / pitch - 1e-9));
    for (size_t i = 0; i < count; i += labels.every) {
        char text[LABEL_SIZE];
        labels.space = fmax(labels.space, cut(texts[i], labels.font, text));
    }
    labels.space = ceil(labels.space + 2 * gap * labels.font.size);
    return labels;
}

/* Adding half the height of small letters centres the line. */
static double baseline(const mgk_labels *labels, size_t i)
{
    return ((double)i + 0.5) * labels->pitch + 0.35 * labels->font.size;
}

void mgk_labels_draw_left(mgk_canvas *canvas, const mgk_labels *labels, double x, double y)
{
    for (size_t i = 0; labels->texts && i < labels->count; i += labels->every) {
        char text[LABEL_SIZE];
        cut(labels->texts[i], labels->font, text);
        mgk_canvas_text(canvas, x - gap * labels->font.size, y + baseline(labels, i), text,
                        labels->font, ANCHOR_END);
    }
}

void mgk_labels_draw_below(mgk_canvas *canvas, const mgk_labels *labels, double x, double y)
{
    for (size_t i = 0; labels->texts && i < labels->count; i += labels->every) {
        char text[LABEL_SIZE];
        cut(labels->texts[i], labels->font, text);
        mgk_canvas_text_upward(canvas, x + baseline(labels, i), y + gap * labels->font.size, text,
                               labels->font, ANCHOR_END);
    }
}
