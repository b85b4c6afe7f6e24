/* SPDX-License-Identifier: MIT */
#include "plots/charts/curve_grid.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "plots/canvas/fit.h"
#include "plots/canvas/page.h"
#include "plots/scales/tiles.h"

/* Large enough for every table of measures. */
enum { ROWS_MAX = 8, GRIDS_MAX = 16 };

/* The axes of each row, without frames. */
typedef struct row_axes {
    mgk_axes row[ROWS_MAX];
} row_axes;

/* Of a plot; fewer columns have more room. */
static double plot_width(const mgk_curve_grid *grid)
{
    return grid->columns == 1 ? 1100 : grid->columns == 2 ? 820 : 640;
}

static double plot_height(size_t rows)
{
    return rows == 1 ? 680 : 500;
}

static mgk_status range_of_row(const mgk_curve_grid *grid, size_t row, mgk_curves_range *range)
{
    *range = mgk_curves_no_range;
    for (size_t c = 0; c < grid->columns; c++)
        TRY(mgk_curves_add_range(&grid->plots[row * grid->columns + c], range));
    if (!(range->left <= range->right))
        return mgk_fail(STATUS_NUMERIC, "no point of row %zu can be drawn", row + 1);
    return STATUS_OK;
}

/* Markers widen the axis of their row: all rows have the widest. */
static void share_x(const mgk_curve_grid *grid, row_axes *out)
{
    size_t widest = 0;
    for (size_t r = 1; r < grid->rows; r++)
        if (out->row[r].x.low < out->row[widest].x.low)
            widest = r;
    const mgk_axis x = out->row[widest].x;
    for (size_t r = 0; r < grid->rows; r++)
        out->row[r].x = x;
}

static mgk_status share_axes(const mgk_curve_grid *grid, double width, double height,
                             mgk_style style, row_axes *out)
{
    mgk_curves_range ranges[ROWS_MAX], all = mgk_curves_no_range;
    for (size_t r = 0; r < grid->rows; r++) {
        TRY(range_of_row(grid, r, &ranges[r]));
        all.left = fmin(all.left, ranges[r].left);
        all.right = fmax(all.right, ranges[r].right);
    }
    for (size_t r = 0; r < grid->rows; r++) {
        ranges[r].left = all.left;
        ranges[r].right = all.right;
        out->row[r] =
            mgk_curves_axes(&grid->plots[r * grid->columns], ranges[r], width, height, style);
    }
    share_x(grid, out);
    return STATUS_OK;
}

/* The axes whose labels need the most room at the left. */
static const mgk_axes *widest(const mgk_curve_grid *grid, const row_axes *axes)
{
    size_t best = 0;
    for (size_t r = 1; r < grid->rows; r++)
        if (mgk_axes_margins(&axes->row[r]).left > mgk_axes_margins(&axes->row[best]).left)
            best = r;
    return &axes->row[best];
}

static void draw_title(mgk_canvas *canvas, const char *title, mgk_rect frame, double baseline,
                       mgk_font font)
{
    mgk_canvas_text(canvas, frame.x + frame.width / 2, baseline, title,
                    mgk_fit_font(font, title, frame.width), ANCHOR_MIDDLE);
}

/* A label, without its unit in parentheses where both are longer than the frame is high. */
static void shorten_label(const char *label, mgk_font font, double height, char *out, size_t size)
{
    snprintf(out, size, "%s", label);
    char *unit = strstr(out, " (");
    if (unit && mgk_text_width(out, font) > height)
        *unit = '\0';
}

/* What is in front of a row: the labels of all rows stand in one line, at x. */
static void draw_front(mgk_canvas *canvas, const mgk_curve_grid *grid, size_t row, double x,
                       mgk_rect frame, const mgk_style *style)
{
    char label[256];
    shorten_label(grid->plots[row * grid->columns].y_label, style->text, frame.height, label,
                  sizeof(label));
    mgk_canvas_text(canvas, frame.x, frame.y - 0.35 * style->small.size, grid->row_notes[row],
                    style->small, ANCHOR_START);
    mgk_canvas_text_upward(canvas, x + MGK_CAP_HEIGHT * style->text.size,
                           frame.y + frame.height / 2, label,
                           mgk_fit_font(style->text, label, frame.height), ANCHOR_MIDDLE);
}

static mgk_status draw_plot(mgk_canvas *canvas, const mgk_curve_grid *grid, const row_axes *axes,
                            size_t row, size_t column, mgk_rect frame)
{
    mgk_axes own = axes->row[row];
    own.frame = frame;
    own.x.hide_labels = row + 1 < grid->rows;
    own.y.hide_labels = column > 0;
    own.y.label = NULL;
    if (own.x.hide_labels)
        own.x.label = NULL;
    return mgk_curves_draw(canvas, &grid->plots[row * grid->columns + column], &own);
}

/* Draws a grid into the area, whose columns are as wide as if there were `columns` of them. */
static mgk_status draw_grid(mgk_canvas *canvas, const mgk_curve_grid *grid, const row_axes *axes,
                            size_t columns, mgk_rect area)
{
    const mgk_axes *labelled = widest(grid, axes);
    const mgk_style *style = &labelled->style;
    const double title = area.y, top = title + mgk_line_height(style->title);
    area.height -= top - area.y;
    area.y = top;
    const mgk_tiles tiles = mgk_tiles_over(area, grid->rows, columns, labelled);
    for (size_t c = 0; c < grid->columns; c++)
        draw_title(canvas, grid->column_titles[c], mgk_tiles_frame(&tiles, 0, c),
                   title + style->title.size, style->title);
    for (size_t i = 0; i < grid->rows * grid->columns; i++) {
        const size_t row = i / grid->columns, column = i % grid->columns;
        const mgk_rect frame = mgk_tiles_frame(&tiles, row, column);
        TRY(draw_plot(canvas, grid, axes, row, column, frame));
        if (column == 0)
            draw_front(canvas, grid, row, area.x, frame, style);
    }
    return STATUS_OK;
}

/* Draws the legend and, below it, grids of equal height. */
static mgk_status draw_grids(mgk_canvas *canvas, const mgk_curve_grid *grids, size_t count,
                             const row_axes *axes, const mgk_legend *legend, mgk_rect area)
{
    const mgk_rect span = mgk_tiles_span(area, widest(&grids[0], &axes[0]));
    const double top = mgk_legend_height(legend, span.width), gap = legend->font.size;
    mgk_legend_draw(canvas, legend, span.x, area.y, span.width);
    const double step = (area.height - top + gap) / (double)count;
    for (size_t g = 0; g < count; g++)
        TRY(draw_grid(canvas, &grids[g], &axes[g], grids[0].columns,
                      (mgk_rect){area.x, area.y + top + (double)g * step, area.width, step - gap}));
    return STATUS_OK;
}

mgk_status mgk_draw_curve_grids(const mgk_curve_grid *grids, size_t count, mgk_legend_entry *legend,
                                size_t legend_count, const mgk_picture_options *options,
                                const char *path)
{
    mgk_status status;
    mgk_page page = {0};
    row_axes axes[GRIDS_MAX];
    const size_t rows = count * grids[0].rows;
    if (count > GRIDS_MAX || grids[0].rows < 1 || grids[0].rows > ROWS_MAX || grids[0].columns < 1)
        return mgk_fail(STATUS_SHAPE, "%zu rows of %zu plots: expected 1 to %d rows", grids[0].rows,
                        grids[0].columns, ROWS_MAX);
    const double width = plot_width(&grids[0]) * (double)grids[0].columns + 140,
                 height = plot_height(rows) * (double)rows + 200;
    const mgk_style style = mgk_style_of(mgk_text_size_for(width));
    for (size_t g = 0; g < count; g++)
        TRY(share_axes(&grids[g], plot_width(&grids[0]), plot_height(rows), style, &axes[g]));
    const mgk_rect span =
        mgk_tiles_span((mgk_rect){0, 0, width, height}, widest(&grids[0], &axes[0]));
    const mgk_legend entries = {legend, legend_count, style.text};
    CHECK(mgk_page_open(path, width, height, span.x + span.width / 2, style, options, &page));
    CHECK(draw_grids(page.canvas, grids, count, axes, &entries,
                     (mgk_rect){page.x, page.y, width, height}));
    CHECK(mgk_page_save(&page));
out:
    mgk_page_close(&page);
    return status;
}
