/* SPDX-License-Identifier: MIT */
/* Converts matrices to pixels: pools large ones, enlarges small ones by integer factors. */
#ifndef MGK_PLOTS_IMAGE_H
#define MGK_PLOTS_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "plots/scales/colormap.h"
#include "plots/scales/scale.h"

typedef enum mgk_pooling { POOLING_MEAN, POOLING_MAX, POOLING_COUNT } mgk_pooling;

/* Finds the pooling of this name, "mean" or "max"; STATUS_USAGE lists the names. */
mgk_status mgk_pooling_parse(const char *name, mgk_pooling *out);

/* A borrowed matrix; exactly one of f32 and f64 is not NULL. */
typedef struct mgk_drawn_matrix {
    const float *f32;
    const double *f64;
    size_t rows, cols;
    size_t row_stride; /* elements between two rows, >= cols */
} mgk_drawn_matrix;

static inline double mgk_view_at(const mgk_drawn_matrix *view, size_t row, size_t col)
{
    size_t index = row * view->row_stride + col;
    return view->f32 ? (double)view->f32[index] : view->f64[index];
}

/* Pixels [height, width], row-major; release pixels with mgk_free. */
typedef struct mgk_raster {
    size_t width, height;
    mgk_rgb *pixels;
} mgk_raster;

/*
 * The size of a drawn matrix whose longer side is at most `panel` pixels: every entry becomes k x k
 * pixels, with the largest k that fits; if k = 1 does not fit, the matrix is pooled. *out_rows,
 * *out_cols: size of the pooled matrix; *factor: k, or 1.
 */
void mgk_fit_panel(size_t rows, size_t cols, size_t panel, size_t *out_rows, size_t *out_cols,
                   size_t *factor);

/*
 * Pools a matrix to [rows, cols], at most the matrix's size: out[i, j] is the mean or the maximum
 * of source rows [i R / rows, (i + 1) R / rows) and the corresponding columns (integer division).
 * NaN propagates. out: [rows, cols], owned by the caller.
 */
void mgk_pool(const mgk_drawn_matrix *view, mgk_pooling pooling, size_t rows, size_t cols,
              double *out);

/*
 * Colours values [rows, cols], factor x factor pixels per entry. Release out->pixels with mgk_free.
 * STATUS_SHAPE: empty, or more than MGK_PIXELS_MAX pixels.
 */
mgk_status mgk_color_values(const double *values, size_t rows, size_t cols, size_t factor,
                            const mgk_scale *scale, mgk_colormap colormap, mgk_raster *out);

/*
 * Hatches the masked entries in the pixels of mgk_color_values: entries of values [rows, cols] that
 * are 0 and contain only keys after the query, in a square matrix of `size` pooled to this. Returns
 * whether there are any.
 */
bool mgk_hatch_masked(const double *values, size_t rows, size_t cols, size_t factor, size_t size,
                      mgk_raster *raster);

/*
 * Hatches the columns of padding: those of `cols` that contain only the first `first` or the last
 * `last` of the `size` columns that were pooled to them.
 */
void mgk_hatch_padding(size_t rows, size_t cols, size_t factor, size_t size, size_t first,
                       size_t last, mgk_raster *raster);

/* The largest picture: 2^28 pixels, a matrix of 16384^2 with one pixel per entry. */
#define MGK_PIXELS_MAX ((size_t)1 << 28)

#endif
