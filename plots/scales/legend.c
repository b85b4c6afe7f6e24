/* SPDX-License-Identifier: MIT */
#include "plots/scales/legend.h"

#include <math.h>

#include "plots/canvas/fit.h"
#include "plots/canvas/style.h"
#include "plots/scales/marker.h"

/* In text sizes: the symbol, the space after it, the space between entries. */
static const double key_width = 1.2, key_gap = 0.4, entry_gap = 1.4;

static double entry_width(const mgk_legend *legend, size_t index)
{
    return (key_width + key_gap) * legend->font.size +
           mgk_text_width(legend->entries[index].label, legend->font);
}

/* The end of the row that starts at entry `first`, and its width. */
static size_t row_end(const mgk_legend *legend, size_t first, double limit, double *width)
{
    size_t end = first + 1;
    *width = entry_width(legend, first);
    for (; end < legend->count; end++) {
        double wider = *width + entry_gap * legend->font.size + entry_width(legend, end);
        if (wider > limit)
            break;
        *width = wider;
    }
    return end;
}

double mgk_legend_height(const mgk_legend *legend, double width)
{
    double rows = 0, used;
    for (size_t i = 0; i < legend->count; rows++)
        i = row_end(legend, i, width, &used);
    return rows > 0 ? rows * mgk_line_height(legend->font) + 0.25 * legend->font.size : 0;
}

static void draw_hatch(mgk_canvas *canvas, mgk_rect rect)
{
    enum { WIDTH = 64, HEIGHT = 32 };
    mgk_rgb pixels[WIDTH * HEIGHT];
    size_t width = (size_t)fmin(rect.width, WIDTH), height = (size_t)fmin(rect.height, HEIGHT);
    for (size_t i = 0; i < width * height; i++)
        pixels[i] = mgk_hatch_at(i % width, i / width);
    mgk_canvas_raster(canvas, &(mgk_raster){width, height, pixels}, rect);
}

/* A line, in a band or alone. */
static void draw_line(mgk_canvas *canvas, const mgk_legend_entry *entry, mgk_rect rect, double em)
{
    const double middle = rect.y + rect.height / 2, thin = fmax(1, round(em / 14));
    mgk_stroke stroke = {entry->color, 2 * thin, 0};
    if (entry->key == KEY_BAND)
        mgk_canvas_fill(canvas, rect, entry->color, 0.2);
    if (entry->key == KEY_DASHES)
        stroke = (mgk_stroke){entry->color, thin, 0.25 * em};
    if (entry->key == KEY_FAINT)
        stroke = (mgk_stroke){mgk_faint_color(entry->color), thin, 0};
    mgk_canvas_line(canvas, rect.x, middle, rect.x + rect.width, middle, stroke);
}

static void draw_key(mgk_canvas *canvas, const mgk_legend_entry *entry, double x, double baseline,
                     double em)
{
    mgk_rect rect = {round(x), round(baseline - 0.6 * em), round(key_width * em), round(0.5 * em)};
    double middle = rect.y + rect.height / 2;
    if (entry->key == KEY_PATCH)
        mgk_canvas_fill(canvas, rect, entry->color, 1);
    else if (entry->key == KEY_HATCH)
        draw_hatch(canvas, rect);
    else if (entry->key >= KEY_HOLLOW)
        mgk_marker_draw(
            canvas, entry->key == KEY_HOLLOW ? 0 : (size_t)entry->key - (size_t)KEY_MARKER,
            rect.x + rect.width / 2, middle, 0.3 * em, entry->color, entry->key != KEY_HOLLOW);
    else
        draw_line(canvas, entry, rect, em);
}

void mgk_legend_draw(mgk_canvas *canvas, const mgk_legend *legend, double x, double y, double width)
{
    double em = legend->font.size, used;
    for (size_t first = 0; first < legend->count; y += mgk_line_height(legend->font)) {
        size_t end = row_end(legend, first, width, &used);
        double left = x + (width - used) / 2, baseline = y + em;
        for (; first < end; first++) {
            const mgk_legend_entry *entry = &legend->entries[first];
            draw_key(canvas, entry, left, baseline, em);
            mgk_canvas_text(canvas, left + (key_width + key_gap) * em, baseline, entry->label,
                            legend->font, ANCHOR_START);
            left += entry_width(legend, first) + entry_gap * em;
        }
    }
}

double mgk_legend_draw_headed(mgk_canvas *canvas, const mgk_legend *legend, const char *heading,
                              mgk_font font, mgk_rect span)
{
    const double em = font.size;
    mgk_canvas_text(canvas, span.x + span.width / 2, span.y + em, heading,
                    mgk_fit_font(font, heading, span.width), ANCHOR_MIDDLE);
    mgk_legend_draw(canvas, legend, span.x, span.y + 1.5 * em, span.width);
    return round(1.7 * em) + mgk_legend_height(legend, span.width);
}
