/* SPDX-License-Identifier: MIT */
/* The positions of plots that share their axes: rows and columns of equal frames. */
#ifndef MGK_PLOTS_TILES_H
#define MGK_PLOTS_TILES_H

#include <stddef.h>

#include "plots/scales/axes.h"

typedef struct mgk_tiles {
    double x, y;          /* upper left corner of the first frame */
    double width, height; /* of a frame */
    double across, down;  /* distances of neighbouring frames */
} mgk_tiles;

/*
 * Fits rows x columns into the area, with space for the labels of these axes below and left of all
 * frames, and for a line of small text above each.
 */
mgk_tiles mgk_tiles_over(mgk_rect area, size_t rows, size_t columns, const mgk_axes *axes);

/*
 * The part of the area that all frames cover from left to right: headings and legends go above it.
 */
mgk_rect mgk_tiles_span(mgk_rect area, const mgk_axes *axes);

/* A frame, on whole pixels. */
mgk_rect mgk_tiles_frame(const mgk_tiles *tiles, size_t row, size_t column);

#endif
