/* SPDX-License-Identifier: MIT */
/* A legend in rows above a plot, where it hides no data. */
#ifndef MGK_PLOTS_LEGEND_H
#define MGK_PLOTS_LEGEND_H

#include <stddef.h>

#include "plots/canvas/canvas.h"

/*
 * The symbol before a label: a patch or a line in a colour, the hatching of masked entries, or a
 * marker; KEY_MARKER + i is the marker of series i.
 */
typedef enum mgk_legend_key {
    KEY_PATCH,
    KEY_DASHES,
    KEY_LINE,  /* thick */
    KEY_FAINT, /* a line that is thin and lighter */
    KEY_BAND,  /* a thick line in a band */
    KEY_HATCH,
    KEY_HOLLOW, /* a marker as an outline */
    KEY_MARKER
} mgk_legend_key;

typedef struct mgk_legend_entry {
    const char *label;
    mgk_rgb color;
    mgk_legend_key key;
} mgk_legend_entry;

typedef struct mgk_legend {
    const mgk_legend_entry *entries; /* [count] */
    size_t count;
    mgk_font font;
} mgk_legend;

/* The height of the legend with its entries broken into rows of at most `width`. */
double mgk_legend_height(const mgk_legend *legend, double width);

/* Draws the legend from (x, y) downwards, every row centred in `width`. */
void mgk_legend_draw(mgk_canvas *canvas, const mgk_legend *legend, double x, double y,
                     double width);

/* Draws a heading in the font, smaller if it is longer than the span is wide, at the top of the
 * span, and the legend below it. Returns the height of both. */
double mgk_legend_draw_headed(mgk_canvas *canvas, const mgk_legend *legend, const char *heading,
                              mgk_font font, mgk_rect span);

#endif
