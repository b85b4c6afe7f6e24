/* SPDX-License-Identifier: MIT */
/* The look of all pictures: text sizes, line widths, colours of models. */
#ifndef MGK_PLOTS_STYLE_H
#define MGK_PLOTS_STYLE_H

#include <stddef.h>

#include "plots/canvas/canvas.h"

/* The measures of a picture, all multiples of its text size. */
typedef struct mgk_style {
    mgk_font text;   /* axis labels, row and column labels, legends */
    mgk_font small;  /* tick labels */
    mgk_font title;  /* of groups and panels */
    mgk_stroke thin; /* frames and ticks */
    mgk_stroke grid; /* light lines behind data */
} mgk_style;

/* 8-point text on paper, for a picture of one column's width. */
#define MGK_TEXT_SIZE 33.0

mgk_style mgk_style_of(double text_size);

/*
 * A text size that stays legible when a picture with contents of `width` units is reduced to the
 * 6.75 inches of a page; at least MGK_TEXT_SIZE.
 */
double mgk_text_size_for(double width);

/*
 * The colour of model or curve number `index`, from Okabe and Ito's palette for all kinds of colour
 * vision; those after its eight are the same ones, darker.
 */
mgk_rgb mgk_series_color(size_t index);

/* Half way to white, for lines of secondary data. */
mgk_rgb mgk_faint_color(mgk_rgb color);

/* Of keys in legends that stand for lines of any colour. */
extern const mgk_rgb mgk_key_color;

/* The height of a line of text, including leading. */
double mgk_line_height(mgk_font font);

#endif
