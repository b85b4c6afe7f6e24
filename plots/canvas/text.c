/* SPDX-License-Identifier: MIT */
#include "plots/canvas/text.h"

#include <pango/pangocairo.h>
#include <string.h>
#include <sys/mman.h>

#include "base/utf8.h"

mgk_status mgk_text_check_room(void)
{
    /* Pango starts three threads, and ends the program if one cannot start. Each takes address space
     * for a stack of 8 MB and, until its heap of 64 MB is aligned, 128 MB; then there are fonts. */
    const size_t room = (size_t)512 << 20;
    void *place = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (place == MAP_FAILED)
        return mgk_fail(STATUS_MEMORY,
                        "no memory for the text of a picture: expected room for 512 MB");
    munmap(place, room);
    return STATUS_OK;
}

/* The text as one line, in any environment; truncated at invalid UTF-8. */
static PangoLayout *lay_out(PangoContext *context, const char *text, mgk_font font)
{
    PangoLayout *layout = pango_layout_new(context);
    PangoFontDescription *description = pango_font_description_new();
    pango_font_description_set_family_static(description, "DejaVu Sans");
    pango_font_description_set_weight(description,
                                      font.bold ? PANGO_WEIGHT_BOLD : PANGO_WEIGHT_NORMAL);
    pango_font_description_set_absolute_size(description, font.size * PANGO_SCALE);
    pango_layout_set_font_description(layout, description);
    pango_font_description_free(description);
    pango_layout_set_single_paragraph_mode(layout, TRUE);
    pango_layout_set_text(layout, text, (int)mgk_utf8_valid(text, strlen(text)));
    return layout;
}

/* Without hinting, text has the same shape and width on every surface and at every position. */
static void set_up(PangoContext *context)
{
    cairo_font_options_t *options = cairo_font_options_create();
    cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
    cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
    cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
    pango_cairo_context_set_font_options(context, options);
    cairo_font_options_destroy(options);
    pango_context_set_round_glyph_positions(context, FALSE);
    /* Otherwise the user's language would select fonts. */
    pango_context_set_language(context, pango_language_from_string("en"));
}

static double width_of(PangoLayout *layout)
{
    PangoRectangle logical;
    pango_layout_get_extents(layout, NULL, &logical);
    return (double)logical.width / PANGO_SCALE;
}

double mgk_text_width(const char *text, mgk_font font)
{
    PangoContext *context = pango_font_map_create_context(pango_cairo_font_map_get_default());
    set_up(context);
    PangoLayout *layout = lay_out(context, text, font);
    double width = width_of(layout);
    g_object_unref(layout);
    g_object_unref(context);
    return width;
}

mgk_status mgk_text_show(cairo_t *cairo, double share, const char *text, mgk_font font)
{
    if (text[mgk_utf8_valid(text, strlen(text))])
        return mgk_fail(STATUS_FORMAT, "a text is not UTF-8");
    PangoContext *context = pango_cairo_create_context(cairo);
    set_up(context);
    PangoLayout *layout = lay_out(context, text, font);
    cairo_rel_move_to(cairo, -share * width_of(layout), 0);
    pango_cairo_show_layout_line(cairo, pango_layout_get_line_readonly(layout, 0));
    cairo_new_path(cairo);
    g_object_unref(layout);
    g_object_unref(context);
    return STATUS_OK;
}
