/* SPDX-License-Identifier: MIT */
/* A page: a canvas with margins and the picture's title around contents of a known size. */
#ifndef MGK_PLOTS_PAGE_H
#define MGK_PLOTS_PAGE_H

#include "plots/canvas/canvas.h"
#include "plots/canvas/style.h"
#include "plots/options.h"

typedef struct mgk_page {
    mgk_canvas *canvas;
    const mgk_picture_options *options;
    double x, y; /* upper left corner of the contents, integers */
} mgk_page;

/*
 * Opens a canvas for contents width x height, and draws the title, centred at x = middle of the
 * contents. Errors as mgk_canvas_open. Close with mgk_page_close.
 */
mgk_status mgk_page_open(const char *path, double width, double height, double middle,
                         mgk_style style, const mgk_picture_options *options, mgk_page *out);

/* Writes the file with the texts of the options. */
mgk_status mgk_page_save(mgk_page *page);

/* Releases the canvas; a zeroed page is accepted. */
void mgk_page_close(mgk_page *page);

#endif
