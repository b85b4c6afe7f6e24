/* SPDX-License-Identifier: MIT */
/*
 * A contact sheet: small matrices of any models in rows, each under its title and with a scale of
 * its own.
 *
 *     softmax    band       linear
 *    [matrix]   [matrix]   [matrix]
 *     mgk        delta
 *    [matrix]   [matrix]
 *        legend, notes
 */
#ifndef MGK_PLOTS_SHEET_H
#define MGK_PLOTS_SHEET_H

#include "plots/charts/heatmap_grid.h"

typedef struct mgk_sheet_panel {
    const mgk_panels *panels; /* whose matrix at these places it is */
    size_t layer, head;
    const char *title; /* drawn smaller if it is wider than the matrix */
} mgk_sheet_panel;

typedef struct mgk_sheet {
    const mgk_sheet_panel *panels; /* [count] */
    size_t count, columns;
    size_t panel; /* default longer side of a matrix in pixels */
} mgk_sheet;

/*
 * Draws the sheet to a file. Matrices with negative entries have a diverging colour map, symmetric
 * about zero. STATUS_SHAPE: no matrix, or too large; STATUS_NUMERIC: one without a finite value.
 */
mgk_status mgk_draw_sheet(const mgk_sheet *sheet, const mgk_picture_options *options,
                          const char *path);

#endif
