/* SPDX-License-Identifier: MIT */
/*
 * Line plots in rows and columns: the plots of a row share their y axis, and all plots their x
 * axis. A picture has one grid or several, one below the other, under one legend.
 */
#ifndef MGK_PLOTS_CURVE_GRID_H
#define MGK_PLOTS_CURVE_GRID_H

#include "plots/charts/curves.h"
#include "plots/scales/legend.h"

typedef struct mgk_curve_grid {
    const mgk_curves *plots; /* [rows, columns]; the first of a row has the labels of its axes */
    size_t rows, columns;
    const char *const *row_notes;     /* small, above the first plot of a row, [rows] */
    const char *const *column_titles; /* [columns] */
} mgk_curve_grid;

/* Draws grids [count], of which the first has the most columns and all have as many rows, to a
 * file. STATUS_SHAPE: no plot, or one with no curve or too many; STATUS_NUMERIC: a row without a
 * point that can be drawn. */
mgk_status mgk_draw_curve_grids(const mgk_curve_grid *grids, size_t count, mgk_legend_entry *legend,
                                size_t legend_count, const mgk_picture_options *options,
                                const char *path);

#endif
