/* One look for all pictures: text sizes, line widths, colours of models. */
#ifndef MGK_PLOTS_STYLE_H
#define MGK_PLOTS_STYLE_H

#include <stddef.h>

#include "plots/canvas/canvas.h"

/* Everything a picture measures in is a multiple of its text size. */
typedef struct mgk_style {
    mgk_font text;   /* axis labels, row and column labels, legends */
    mgk_font small;  /* tick labels */
    mgk_font title;  /* of groups and panels */
    mgk_stroke thin; /* frames and ticks */
    mgk_stroke grid; /* light lines behind data */
} mgk_style;

/* 8-point text on paper: what a picture of one column's width is set in. */
#define MGK_TEXT_SIZE 33.0

mgk_style mgk_style_of(double text_size);

/*
 * Text that stays legible when a picture whose contents are `width` units wide is reduced to the
 * 6.75 inches of a page: never below MGK_TEXT_SIZE.
 */
double mgk_text_size_for(double width);

/* The colour of model or curve number `index`: Okabe and Ito's palette, told apart by everyone. */
mgk_rgb mgk_series_color(size_t index);

/* The height of a line of text, leading included. */
double mgk_line_height(mgk_font font);

#endif
