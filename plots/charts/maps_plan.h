/* SPDX-License-Identifier: MIT */
/* Where the maps of a picture lie, and how large their cells are. */
#ifndef MGK_PLOTS_MAPS_PLAN_H
#define MGK_PLOTS_MAPS_PLAN_H

#include "plots/charts/maps.h"
#include "plots/scales/colorbar.h"
#include "plots/scales/legend.h"
#include "plots/scales/notes.h"

/* In text sizes: around a tree, between a map and the bar beside it, and between blocks. */
static const double mgk_maps_tree_gap = 1.5, mgk_maps_bar_gap = 0.6, mgk_maps_block_gap = 1;

/* The smallest font of a title, as a share of the usual one. */
static const double mgk_maps_least_title = 0.6;

/* A measured picture. */
typedef struct mgk_maps_plan {
    const mgk_maps *maps;
    const mgk_picture_options *options;
    mgk_scale *scales; /* [scale_count], one or one for each map */
    size_t scale_count;
    mgk_map_look look;
    size_t models, items;                       /* of which there are rows, and columns */
    size_t columns, rows, most_rows, most_cols; /* of maps; of cells in the largest map */
    mgk_margins margins;                        /* around a map, with names of both axes */
    double heading;                             /* the height of the model's name above a row */
    mgk_axis tree_axis;
    mgk_font title;
    double tree;         /* its width, with gaps; 0: none */
    double block_width;  /* distances of neighbouring maps */
    double last_width;   /* of the last column, from the left edge of its block */
    double cells_height; /* of the highest map */
    double maps_height, width, height;
    mgk_legend legend; /* of cells without value, below the maps; no entries if there are none */
    mgk_notes notes;   /* below the legend */
    double bottom_gap; /* above the legend */
} mgk_maps_plan;

/* Measures the picture. *out is to be released with mgk_maps_plan_release, also after a failure.
 * Fails as mgk_draw_maps does. */
mgk_status mgk_maps_plan_make(const mgk_maps *maps, const mgk_picture_options *options,
                              mgk_maps_plan *out);

void mgk_maps_plan_release(mgk_maps_plan *plan);

/* The row and the column of a map. */
size_t mgk_maps_row_of(const mgk_maps_plan *plan, size_t map);
size_t mgk_maps_column_of(const mgk_maps_plan *plan, size_t map);

/* The distance of a row of maps from the upper edge. */
double mgk_maps_top_of_row(const mgk_maps_plan *plan, size_t row);

/* The distance of a map's cells from the top of its row; few rows leave room for their name. */
double mgk_maps_top_of_cells(const mgk_maps_plan *plan, size_t map);

/* The middle of the cells of all maps, below the picture's title. */
double mgk_maps_middle(const mgk_maps_plan *plan);

mgk_colorbar mgk_maps_bar_of(const mgk_maps_plan *plan, size_t map);

#endif
