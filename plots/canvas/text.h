/* SPDX-License-Identifier: MIT */
/* Lines of text on cairo, laid out by Pango: shaping, bidirectional order, fallback fonts. */
#ifndef MGK_PLOTS_TEXT_H
#define MGK_PLOTS_TEXT_H

#include <cairo.h>

#include "plots/canvas/canvas.h"

/*
 * Draws a line of text at the current point, moved left by `share` of the text's width, 0 to 1.
 * STATUS_FORMAT: the text is not UTF-8.
 */
mgk_status mgk_text_show(cairo_t *cairo, double share, const char *text, mgk_font font);

#endif
