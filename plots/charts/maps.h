/* SPDX-License-Identifier: MIT */
/*
 * Maps in rows, each with a title and, if it has one, a tree at its right.
 *
 *        (title)                 (title)
 *   1 [ cells ] ]-|         1 [ cells ] ]-|    | colour
 *   2 [       ] ]           2 [       ] ]      | bar
 *      1  2  3  0  1           1  2  3  0  1
 *                legend of gaps, notes
 */
#ifndef MGK_PLOTS_MAPS_H
#define MGK_PLOTS_MAPS_H

#include "plots/charts/dendrogram.h"
#include "plots/charts/map.h"
#include "plots/options.h"

/* What a map shows: of which model, and which of the things that models have in common. */
typedef struct mgk_map_place {
    size_t model, item; /* from 0; there is a map of every item */
} mgk_map_place;

typedef struct mgk_maps {
    const mgk_map *maps;         /* [count]; names of axes are drawn at the edge of the picture */
    const mgk_map_place *places; /* [count]: each model has rows of its own, in which the same item
                                    has the same column; NULL: maps follow each other */
    const char *const *titles;   /* [count]; NULL: no titles */
    const char *const *models;   /* of each model, a heading above each of its rows; NULL: none.
                                    Not drawn of a single model, or where models share a row */
    const mgk_dendrogram *trees; /* [count]; NULL: no trees. Maps with trees have square cells */
    size_t count;
    const char *value_name;   /* at colour bars */
    const char *const *notes; /* [note_count], lines below the maps */
    size_t note_count;
    double least, most; /* which a linear scale includes; equal: only the values */
} mgk_maps;

/*
 * Draws the maps to a file. Cells become smaller until the picture has a page's width. Maps have
 * one scale, or one each with options->range_per_panel. STATUS_SHAPE: no map, or too large;
 * STATUS_NUMERIC: no value.
 */
mgk_status mgk_draw_maps(const mgk_maps *maps, const mgk_picture_options *options,
                         const char *path);

#endif
