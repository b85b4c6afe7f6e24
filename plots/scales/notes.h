/* SPDX-License-Identifier: MIT */
/* Notes below a picture, broken into lines. */
#ifndef MGK_PLOTS_NOTES_H
#define MGK_PLOTS_NOTES_H

#include <stddef.h>

#include "plots/canvas/canvas.h"

typedef struct mgk_notes {
    const char *const *texts; /* [count], each begins a line */
    size_t count;
    mgk_font font;
} mgk_notes;

/* The height of the notes in lines of at most `width`; a longer word has a line of its own. */
double mgk_notes_height(const mgk_notes *notes, double width);

/* Draws the notes from (x, y) downwards, every line centred in `width`. */
void mgk_notes_draw(mgk_canvas *canvas, const mgk_notes *notes, double x, double y, double width);

#endif
