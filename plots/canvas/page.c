/* SPDX-License-Identifier: MIT */
#include "plots/canvas/page.h"

#include <math.h>

mgk_status mgk_page_open(const char *path, double width, double height, double middle,
                         mgk_style style, const mgk_picture_options *options, mgk_page *out)
{
    double margin = round(0.6 * style.text.size), right = 0;
    mgk_font font = style.title;
    font.size = round(1.15 * font.size);
    *out = (mgk_page){.options = options, .x = margin, .y = margin};
    if (options->title) {
        double half = ceil(mgk_text_width(options->title, font) / 2);
        out->x += fmax(0, ceil(half - middle));
        right = fmax(0, ceil(half - (width - middle)));
        out->y += mgk_line_height(font);
    }
    const double all_width = out->x + width + right + margin, all_height = out->y + height + margin;
    TRY(options->svg ? mgk_canvas_open_svg(options->svg, all_width, all_height, &out->canvas)
                     : mgk_canvas_open(path, all_width, all_height, options->force, &out->canvas));
    if (options->title)
        mgk_canvas_text(out->canvas, out->x + middle, margin + MGK_CAP_HEIGHT * font.size,
                        options->title, font, ANCHOR_MIDDLE);
    return STATUS_OK;
}

mgk_status mgk_page_save(mgk_page *page)
{
    return mgk_canvas_save(page->canvas, page->options->texts, page->options->text_count);
}

void mgk_page_close(mgk_page *page)
{
    mgk_canvas_close(page->canvas);
    *page = (mgk_page){0};
}
