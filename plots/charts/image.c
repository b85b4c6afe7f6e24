/* SPDX-License-Identifier: MIT */
#include "plots/charts/image.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

static const char *const names[POOLING_COUNT] = {"mean", "max"};

mgk_status mgk_pooling_parse(const char *name, mgk_pooling *out)
{
    for (int i = 0; i < POOLING_COUNT; i++)
        if (strcmp(name, names[i]) == 0) {
            *out = (mgk_pooling)i;
            return STATUS_OK;
        }
    return mgk_fail(STATUS_USAGE, "pooling \"%s\": expected mean or max", name);
}

/* size * panel / longest, rounded, at least 1. */
static size_t shrink(size_t size, size_t panel, size_t longest)
{
    double scaled = round((double)size * ((double)panel / (double)longest));
    return scaled < 1 ? 1 : (size_t)scaled;
}

void mgk_fit_panel(size_t rows, size_t cols, size_t panel, size_t *out_rows, size_t *out_cols,
                   size_t *factor)
{
    size_t longest = rows > cols ? rows : cols;
    if (longest <= panel) {
        *out_rows = rows;
        *out_cols = cols;
        *factor = longest > 0 ? panel / longest : 1;
        return;
    }
    *out_rows = shrink(rows, panel, longest);
    *out_cols = shrink(cols, panel, longest);
    *factor = 1;
}

/* floor(index * size / parts) for index <= parts <= size, without overflow. */
static size_t part_start(size_t index, size_t size, size_t parts)
{
    return size / parts * index + size % parts * index / parts;
}

void mgk_pool(const mgk_drawn_matrix *view, mgk_pooling pooling, size_t rows, size_t cols,
              double *out)
{
    for (size_t i = 0; i < rows; i++) {
        size_t row_end = part_start(i + 1, view->rows, rows);
        size_t row_start = part_start(i, view->rows, rows);
        for (size_t j = 0; j < cols; j++) {
            size_t col_end = part_start(j + 1, view->cols, cols);
            size_t col_start = part_start(j, view->cols, cols);
            double sum = 0, greatest = -INFINITY;
            for (size_t r = row_start; r < row_end; r++)
                for (size_t c = col_start; c < col_end; c++) {
                    double value = mgk_view_at(view, r, c);
                    sum += value;
                    greatest = value > greatest ? value : greatest;
                }
            double area = (double)(row_end - row_start) * (double)(col_end - col_start);
            bool is_max = pooling == POOLING_MAX && !isnan(sum);
            out[i * cols + j] = is_max ? greatest : sum / area;
        }
    }
}

mgk_status mgk_color_values(const double *values, size_t rows, size_t cols, size_t factor,
                            const mgk_scale *scale, mgk_colormap colormap, mgk_raster *out)
{
    size_t width, height, pixels;
    *out = (mgk_raster){0};
    TRY(mgk_multiply(cols, factor, &width));
    TRY(mgk_multiply(rows, factor, &height));
    TRY(mgk_multiply(width, height, &pixels));
    if (pixels == 0 || pixels > MGK_PIXELS_MAX)
        return mgk_fail(STATUS_SHAPE, "a picture of %zu x %zu pixels: expected 1 to %zu in all",
                        width, height, MGK_PIXELS_MAX);
    TRY(mgk_alloc(pixels, sizeof(mgk_rgb), &out->pixels));
    out->width = width;
    out->height = height;
    for (size_t i = 0; i < rows; i++) {
        mgk_rgb *first = out->pixels + i * factor * width;
        for (size_t j = 0; j < cols; j++) {
            double t = mgk_scale_at(scale, values[i * cols + j]);
            mgk_rgb color = mgk_colormap_at(colormap, t);
            for (size_t k = 0; k < factor; k++)
                first[j * factor + k] = color;
        }
        for (size_t k = 1; k < factor; k++)
            memcpy(first + k * width, first, width * sizeof(mgk_rgb));
    }
    return STATUS_OK;
}

/* Whether entry (i, j) of the pooled matrix contains only keys after the query. */
static bool is_future(size_t i, size_t j, size_t rows, size_t cols, size_t size)
{
    return part_start(j, size, cols) >= part_start(i + 1, size, rows);
}

static void hatch(mgk_raster *raster, size_t left, size_t top, size_t factor)
{
    for (size_t y = top; y < top + factor; y++)
        for (size_t x = left; x < left + factor; x++)
            raster->pixels[y * raster->width + x] = mgk_hatch_at(x, y);
}

bool mgk_hatch_masked(const double *values, size_t rows, size_t cols, size_t factor, size_t size,
                      mgk_raster *raster)
{
    bool found = false;
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++)
            if (values[i * cols + j] == 0 && is_future(i, j, rows, cols, size)) {
                hatch(raster, j * factor, i * factor, factor);
                found = true;
            }
    return found;
}

void mgk_hatch_padding(size_t rows, size_t cols, size_t factor, size_t size, size_t first,
                       size_t last, mgk_raster *raster)
{
    for (size_t j = 0; j < cols; j++)
        if (part_start(j + 1, size, cols) <= first || part_start(j, size, cols) >= size - last)
            for (size_t i = 0; i < rows; i++)
                hatch(raster, j * factor, i * factor, factor);
}
