/* One matrix, one pixel an entry, no decoration. */
#ifndef MGK_PLOTS_MATRIX_H
#define MGK_PLOTS_MATRIX_H

#include "plots/charts/image.h"
#include "plots/options.h"

/*
 * Draws the matrix by the options' scale and colour map; panel and title do not apply.
 * STATUS_SHAPE: empty, or a side above 32767.
 */
mgk_status mgk_draw_matrix(const mgk_matrix_view *matrix, const mgk_picture_options *options,
                           const char *path);

#endif
