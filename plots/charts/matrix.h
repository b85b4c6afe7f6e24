/* SPDX-License-Identifier: MIT */
/* A single matrix, one pixel per entry, without decoration. */
#ifndef MGK_PLOTS_MATRIX_H
#define MGK_PLOTS_MATRIX_H

#include "plots/charts/image.h"
#include "plots/options.h"

/*
 * Draws the matrix to a file with the options' scale and colour map; ignores panel and title.
 * STATUS_SHAPE: empty, or a side above 32767.
 */
mgk_status mgk_draw_matrix(const mgk_drawn_matrix *matrix, const mgk_picture_options *options,
                           const char *path);

#endif
