/* Matrices as pixels: pooled when too large, enlarged by whole factors when small. */
#ifndef MGK_PLOTS_IMAGE_H
#define MGK_PLOTS_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "plots/scales/colormap.h"
#include "plots/scales/scale.h"

typedef enum mgk_pooling { POOLING_MEAN, POOLING_MAX, POOLING_COUNT } mgk_pooling;

/* "mean" or "max". */
const char *mgk_pooling_name(mgk_pooling pooling);

/* The pooling of that name; STATUS_USAGE lists the names. */
mgk_status mgk_pooling_parse(const char *name, mgk_pooling *out);

/* A matrix somebody else owns; exactly one of f32 and f64 is not NULL. */
typedef struct mgk_matrix_view {
    const float *f32;
    const double *f64;
    size_t rows, cols;
    size_t row_stride; /* elements from one row to the next, >= cols */
} mgk_matrix_view;

static inline double mgk_view_at(const mgk_matrix_view *view, size_t row, size_t col)
{
    size_t index = row * view->row_stride + col;
    return view->f32 ? (double)view->f32[index] : view->f64[index];
}

/* Pixels, [height, width] row by row; released with mgk_free(pixels). */
typedef struct mgk_raster {
    size_t width, height;
    mgk_rgb *pixels;
} mgk_raster;

/*
 * The size in which a matrix is drawn so that its longer side is at most `panel` pixels: every
 * entry becomes k x k pixels with the greatest k that fits or, where even k = 1 does not, the
 * matrix is pooled. rows, cols: of the pooled matrix; *factor: k, or 1.
 */
void mgk_fit_panel(size_t rows, size_t cols, size_t panel, size_t *out_rows, size_t *out_cols,
                   size_t *factor);

/*
 * Pools a matrix to [rows, cols], neither greater than the matrix': out[i, j] is the mean or the
 * maximum of source rows [i R / rows, (i + 1) R / rows) and the like columns (integer division).
 * NaN spreads. out: [rows, cols], the caller's.
 */
void mgk_pool(const mgk_matrix_view *view, mgk_pooling pooling, size_t rows, size_t cols,
              double *out);

/*
 * Colours values [rows, cols], each entry factor x factor pixels. STATUS_SHAPE: empty, or more
 * than MGK_PIXELS_MAX pixels.
 */
mgk_status mgk_color_values(const double *values, size_t rows, size_t cols, size_t factor,
                            const mgk_scale *scale, mgk_colormap colormap, mgk_raster *out);

/*
 * Hatches the pixels, as mgk_color_values made them, of entries of values [rows, cols] that are 0
 * and hold nothing but keys after the query, of a square matrix of `size` pooled to this. Returns
 * whether there are any.
 */
bool mgk_hatch_masked(const double *values, size_t rows, size_t cols, size_t factor, size_t size,
                      mgk_raster *raster);

/* The largest picture: 2^28 pixels, a matrix of 16384^2 drawn entry by entry. */
#define MGK_PIXELS_MAX ((size_t)1 << 28)

#endif
