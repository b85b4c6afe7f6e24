/* SPDX-License-Identifier: MIT */
#include "plots/charts/matrix.h"

#include "base/memory.h"
#include "plots/canvas/canvas.h"

/* Converts values [rows, cols] to pixels. */
static mgk_status color_matrix(const mgk_drawn_matrix *matrix, const mgk_picture_options *options,
                               mgk_raster *raster)
{
    mgk_status status = STATUS_OK;
    size_t rows = matrix->rows, cols = matrix->cols, size;
    double *values = NULL;
    mgk_sample sample = {0};
    mgk_scale scale;
    CHECK(mgk_multiply(rows, cols, &size));
    CHECK(mgk_alloc(size, sizeof(double), &values));
    mgk_pool(matrix, POOLING_MEAN, rows, cols, values);
    CHECK(mgk_sample_open(size, &sample));
    mgk_sample_add(&sample, values, size);
    CHECK(mgk_scale_fit(mgk_picture_rule(options), &sample, &scale));
    CHECK(mgk_color_values(values, rows, cols, 1, &scale, options->colormap, raster));
out:
    mgk_sample_close(&sample);
    mgk_free(values);
    return status;
}

mgk_status mgk_draw_matrix(const mgk_drawn_matrix *matrix, const mgk_picture_options *options,
                           const char *path)
{
    mgk_status status = STATUS_OK;
    double width = (double)matrix->cols, height = (double)matrix->rows;
    mgk_canvas *canvas = NULL;
    mgk_raster raster = {0};
    CHECK(mgk_canvas_open(path, width, height, options->force, &canvas));
    CHECK(color_matrix(matrix, options, &raster));
    mgk_canvas_raster(canvas, &raster, (mgk_rect){0, 0, width, height});
    CHECK(mgk_canvas_save(canvas, options->texts, options->text_count));
out:
    mgk_free(raster.pixels);
    mgk_canvas_close(canvas);
    return status;
}
