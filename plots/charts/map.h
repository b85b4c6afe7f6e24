/* SPDX-License-Identifier: MIT */
/* One map: a matrix of large cells, such as layers x heads, with a number in each cell if it fits.
 */
#ifndef MGK_PLOTS_MAP_H
#define MGK_PLOTS_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plots/canvas/canvas.h"
#include "plots/canvas/style.h"
#include "plots/scales/axes.h"

typedef struct mgk_map {
    const double *values; /* [rows, cols]; NaN: no value, hatched */
    size_t rows, cols;
    const int32_t *row_numbers, *col_numbers; /* [rows], [cols] */
    const char *const *texts; /* [rows], of a square map, along both axes in place of numbers;
                                 NULL: numbers */
    const char *row_name, *col_name; /* of the axes; NULL: none */
    bool ordered; /* numbers are in no natural order: all of them are drawn, or none */
    bool self;    /* a square map whose diagonal compares a head with itself, and stays blank */
} mgk_map;

enum { MGK_MAP_NUMBERS = 3 };

/* How the numbers in cells are written. */
typedef struct mgk_map_numbers {
    int decimals;
    double widest; /* of all numbers, in text sizes; 0: none is drawn */
} mgk_map_numbers;

/* How the maps of a picture are drawn. */
typedef struct mgk_map_look {
    double cell_width, cell_height; /* whole pixels */
    /* Usual ones, and finer ones, drawn where they fit without becoming smaller. */
    mgk_map_numbers numbers[MGK_MAP_NUMBERS];
    int32_t count_from; /* the number drawn for row and column 0 */
    mgk_colormap colormap;
    mgk_style style;
} mgk_map_look;

/* Whether the map has a cell without value. */
bool mgk_map_has_gaps(const mgk_map *map);

/* Sets the numbers of all values of maps [count]: usual ones have three digits of the greatest,
 * finer ones a decimal more each, up to two digits of their range, so that values that are nearly
 * alike differ. */
void mgk_map_measure_numbers(const mgk_map *maps, size_t count, mgk_map_look *look);

/* The finest numbers that fit. */
const mgk_map_numbers *mgk_map_numbers_that_fit(const mgk_map_look *look);

/* Whether cells are so large that rows and columns have numbers. */
bool mgk_map_has_numbers(const mgk_map *map, const mgk_map_look *look);

/* The space for the numbers and names of the axes, left of a map and below it. */
mgk_margins mgk_map_margins(const mgk_map *map, const mgk_map_look *look);

/* Draws a map with the upper left corner (x, y) of its cells. */
mgk_status mgk_map_draw(mgk_canvas *canvas, const mgk_map *map, const mgk_map_look *look,
                        const mgk_scale *scale, double x, double y);

/* Draws what is not a value: the hatching of cells without value, the frame, and the axes. */
mgk_status mgk_map_draw_frame(mgk_canvas *canvas, const mgk_map *map, const mgk_map_look *look,
                              double x, double y);

#endif
