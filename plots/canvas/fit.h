/* SPDX-License-Identifier: MIT */
/* Texts that fit into a width: in a smaller font, or without their middle. */
#ifndef MGK_PLOTS_FIT_H
#define MGK_PLOTS_FIT_H

#include <stddef.h>

#include "plots/canvas/canvas.h"

/* The font, or a smaller one with which the text is no longer than `width`. */
mgk_font mgk_fit_font(mgk_font font, const char *text, double width);

/* Copies a text of UTF-8 to out [size]; of one longer than `width`, or than `out`, the beginning
 * and the end, where names of one family differ, with an ellipsis between them. */
void mgk_fit_middle(const char *text, mgk_font font, double width, char *out, size_t size);

#endif
