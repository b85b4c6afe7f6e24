/* SPDX-License-Identifier: MIT */
#include "plots/charts/histogram.h"

#include <math.h>
#include <stdio.h>

#include "base/append.h"
#include "base/memory.h"
#include "base/number.h"
#include "plots/canvas/page.h"
#include "plots/scales/axes.h"
#include "plots/scales/bins.h"
#include "plots/scales/legend.h"
#include "plots/scales/tiles.h"

enum { MODELS_MAX = 16 };

/* The plots of one picture, and their shared data. */
typedef struct panel_grid {
    const mgk_histograms *histograms;
    size_t layers; /* plots of one model */
    size_t rows, columns;
    mgk_rank_bins bins;
    mgk_axes axes;  /* of every plot, without its frame */
    double *shares; /* [layers, models, bins] */
} panel_grid;

/* The best number of columns for the plots of an overlay in an area of this shape. */
static size_t best_columns(size_t count, double width, double height)
{
    const double wanted = 1.3;
    size_t best = 1;
    double best_error = INFINITY;
    for (size_t columns = 1; columns <= count; columns++) {
        size_t rows = (count + columns - 1) / columns;
        double aspect = width / (double)columns / (height / (double)rows);
        double error = fabs(log(aspect / wanted));
        if (error < best_error) {
            best_error = error;
            best = columns;
        }
    }
    return best;
}

void mgk_count_heading(double threshold, bool relative, size_t size, char *out)
{
    char label[MGK_TICK_LABEL];
    mgk_tick_label(threshold, 6, label);
    snprintf(out, size, "Singular values of at least %s%s", label,
             relative ? " of the largest" : "");
}

const char *mgk_rank_label(bool shares)
{
    return shares ? "rank / N" : "rank";
}

void mgk_append_sizes(size_t least, size_t most, size_t size, char *text)
{
    if (least < most)
        mgk_append(text, size, ", N from %zu to %zu", least, most);
}

static size_t table_row(const mgk_histograms *histograms, size_t index)
{
    return histograms->rows ? histograms->rows[index] : index;
}

/* The number of drawn layers; 0 without a model. */
static size_t layer_count(const mgk_histograms *histograms)
{
    if (histograms->rows)
        return histograms->row_count;
    return histograms->table_count > 0 ? histograms->tables[0].layers : 0;
}

/* Checks that every table has every row, and that every rank is valid; *low, *high: their range. */
static mgk_status check_ranks(const mgk_histograms *histograms, size_t layers, double *low,
                              double *high)
{
    if (layers == 0 || histograms->table_count < 1 || histograms->table_count > MODELS_MAX)
        return mgk_fail(STATUS_SHAPE, "%zu models, %zu layers: expected 1 to %d models and a layer",
                        histograms->table_count, layers, MODELS_MAX);
    *low = INFINITY;
    *high = -INFINITY;
    for (size_t t = 0; t < histograms->table_count; t++) {
        const mgk_model_ranks *table = &histograms->tables[t];
        const char *title = table->title ? table->title : "ranks";
        if (table->count == 0)
            return mgk_fail(STATUS_SHAPE, "%s: no matrices", title);
        for (size_t l = 0; l < layers; l++) {
            size_t row = table_row(histograms, l);
            if (row >= table->layers)
                return mgk_fail(STATUS_SHAPE, "%s: no layer %zu, there are %zu (counted from 0)",
                                title, row, table->layers);
            for (size_t i = 0; i < table->count; i++) {
                double rank = table->ranks[row * table->count + i];
                if (histograms->real ? isinf(rank) : !(rank >= 0 && rank < 1e9))
                    return mgk_fail(STATUS_NUMERIC, "%s: rank %g: expected 0 to 1e9", title, rank);
                *low = fmin(*low, rank);
                *high = fmax(*high, rank);
            }
        }
    }
    if (!(*low <= *high)) /* fmin and fmax pass over NaN */
        return mgk_fail(STATUS_NUMERIC, "no matrix has a value");
    return STATUS_OK;
}

/* The largest N of all models; 0 if one is unknown. */
static double largest_rank(const mgk_histograms *histograms)
{
    size_t largest = 0;
    for (size_t t = 0; t < histograms->table_count; t++) {
        size_t tokens = histograms->tables[t].tokens;
        if (tokens == 0)
            return 0;
        largest = tokens > largest ? tokens : largest;
    }
    return (double)largest;
}

static double *shares_of(const panel_grid *grid, size_t layer, size_t table)
{
    size_t index = layer * grid->histograms->table_count + table;
    return grid->shares + index * grid->bins.count;
}

/* Counts the ranks, and creates the shared axes. */
static mgk_status prepare(const mgk_histograms *histograms, mgk_style style, mgk_rect area,
                          panel_grid *grid)
{
    double low = 0, high = 0, tallest = 0;
    size_t tables = histograms->table_count;
    *grid = (panel_grid){.histograms = histograms, .axes.style = style};
    grid->layers = layer_count(histograms);
    TRY(check_ranks(histograms, grid->layers, &low, &high));
    grid->columns =
        histograms->overlay ? best_columns(grid->layers, area.width, area.height) : tables;
    grid->rows =
        histograms->overlay ? (grid->layers + grid->columns - 1) / grid->columns : grid->layers;
    grid->bins = histograms->real ? mgk_real_bins_over(low, high)
                                  : mgk_bins_over(low, high, largest_rank(histograms));
    TRY(mgk_alloc(grid->layers * tables * grid->bins.count, sizeof(double), &grid->shares));
    for (size_t l = 0; l < grid->layers; l++)
        for (size_t t = 0; t < tables; t++) {
            const mgk_model_ranks *table = &histograms->tables[t];
            const double *ranks = table->ranks + table_row(histograms, l) * table->count;
            double *shares = shares_of(grid, l, t);
            mgk_bin_shares(grid->bins, ranks, table->count, shares);
            for (size_t b = 0; b < grid->bins.count; b++)
                tallest = fmax(tallest, shares[b]);
        }
    const double right = grid->bins.low + grid->bins.width * (double)grid->bins.count,
                 width = 0.85 * area.width / (double)grid->columns;
    /* The first bin of counts may start below rank 0. */
    grid->axes.x =
        histograms->real
            ? mgk_axis_over(grid->bins.low, right, false, false, mgk_ticks_across(width, style))
            : mgk_axis_whole_across(fmax(grid->bins.low, -0.5), right, width, style);
    grid->axes.y = mgk_axis_over(0, 1.08 * tallest, false, false,
                                 mgk_ticks_up(0.8 * area.height / (double)grid->rows, style));
    return STATUS_OK;
}

static double mean_rank(const panel_grid *grid, size_t layer, size_t t)
{
    const mgk_model_ranks *table = &grid->histograms->tables[t];
    const double *ranks = table->ranks + table_row(grid->histograms, layer) * table->count;
    double sum = 0, known = 0;
    for (size_t i = 0; i < table->count; i++)
        if (!isnan(ranks[i])) {
            sum += ranks[i];
            known++;
        }
    return sum / known;
}

/* The bars of one model: tinted, with an outline that remains visible behind other bars. */
static mgk_status draw_bars(mgk_canvas *canvas, const panel_grid *grid, const mgk_axes *axes,
                            size_t layer, size_t t)
{
    mgk_point *outline;
    size_t count = 0;
    mgk_rank_bins bins = grid->bins;
    const double *shares = shares_of(grid, layer, t);
    mgk_rgb color = mgk_series_color(t);
    double base = axes->frame.y + axes->frame.height;
    TRY(mgk_alloc(2 * bins.count + 2, sizeof(mgk_point), &outline));
    mgk_canvas_clip(canvas, axes->frame);
    outline[count++] = (mgk_point){axes->frame.x, base};
    for (size_t b = 0; b < bins.count; b++) {
        double left = mgk_axes_x(axes, bins.low + bins.width * (double)b);
        double right = mgk_axes_x(axes, bins.low + bins.width * (double)(b + 1));
        double top = mgk_axes_y(axes, shares[b]);
        mgk_canvas_fill(canvas, (mgk_rect){left, top, right - left, base - top}, color, 0.3);
        outline[count++] = (mgk_point){left, top};
        outline[count++] = (mgk_point){right, top};
    }
    outline[count++] = (mgk_point){axes->frame.x + axes->frame.width, base};
    mgk_canvas_polyline(canvas, outline, count,
                        (mgk_stroke){color, 1.5 * axes->style.thin.width, 0});
    const double mean = mgk_axes_x(axes, mean_rank(grid, layer, t));
    const mgk_stroke dashes = {color, 1.5 * axes->style.thin.width, 0.25 * axes->style.text.size};
    if (!isnan(mean))
        mgk_canvas_line(canvas, mean, axes->frame.y, mean, base, dashes);
    mgk_canvas_unclip(canvas);
    mgk_free(outline);
    return STATUS_OK;
}

static void layer_label(const panel_grid *grid, size_t layer, char out[32])
{
    const mgk_model_ranks *table = &grid->histograms->tables[0];
    size_t row = table_row(grid->histograms, layer);
    long number = table->layer_numbers ? (long)table->layer_numbers[row] : (long)row;
    snprintf(out, 32, "layer %ld", number + grid->histograms->count_from);
}

/*
 * Draws "layer 0, mean 57.1 84.2" above the frame, the means of tables [first, last) in their
 * colours. Returns the width; without a canvas it only measures.
 */
static double draw_means(mgk_canvas *canvas, const panel_grid *grid, const mgk_axes *axes,
                         size_t layer, size_t first, size_t last, mgk_font font)
{
    char text[64], label[32];
    double start = axes->frame.x, x = start, y = axes->frame.y - 0.35 * axes->style.small.size;
    layer_label(grid, layer, label);
    snprintf(text, sizeof(text), "%s, mean", label);
    if (canvas)
        mgk_canvas_text(canvas, x, y, text, font, ANCHOR_START);
    x += mgk_text_width(text, font);
    font.bold = true;
    for (size_t t = first; t < last; t++) {
        x += 0.5 * font.size;
        const double mean = mean_rank(grid, layer, t);
        const bool fine = grid->histograms->real && !(fabs(mean) >= 100);
        snprintf(text, sizeof(text), isnan(mean) ? "\u2013" : fine ? "%#.3g" : "%.1f", mean);
        font.color = mgk_series_color(t);
        if (canvas)
            mgk_canvas_text(canvas, x, y, text, font, ANCHOR_START);
        x += mgk_text_width(text, font);
    }
    return x - start;
}

/* The plot at one position of the grid. */
static mgk_status draw_panel(mgk_canvas *canvas, const panel_grid *grid, size_t row, size_t column,
                             mgk_rect frame)
{
    const mgk_histograms *histograms = grid->histograms;
    bool overlay = histograms->overlay;
    size_t layer = overlay ? row * grid->columns + column : row;
    if (layer >= grid->layers)
        return STATUS_OK;
    size_t first = overlay ? 0 : column, last = overlay ? histograms->table_count : column + 1;
    mgk_axes axes = grid->axes;
    char x_label[128];
    snprintf(x_label, sizeof(x_label), "%s", histograms->value_name);
    if (!overlay)
        snprintf(x_label, sizeof(x_label), "%s (%zu %s a layer)", histograms->value_name,
                 histograms->tables[column].count,
                 MGK_NOUN(histograms->tables[column].count, "matrix", "matrices"));
    bool below = overlay ? layer + grid->columns < grid->layers : row + 1 < grid->rows;
    axes.frame = frame;
    axes.x.hide_labels = below;
    axes.y.hide_labels = column > 0;
    axes.x.label = below ? NULL : x_label;
    axes.y.label = column > 0 ? NULL : "matrices (%)";
    if (!overlay && row == 0 && histograms->tables[column].title)
        mgk_canvas_text(canvas, frame.x + frame.width / 2, frame.y - 2.1 * axes.style.small.size,
                        histograms->tables[column].title, axes.style.title, ANCHOR_MIDDLE);
    mgk_axes_draw_grid(canvas, &axes);
    for (size_t t = first; t < last; t++)
        TRY(draw_bars(canvas, grid, &axes, layer, t));
    mgk_axes_draw(canvas, &axes);
    mgk_font font = axes.style.small;
    double wide = draw_means(NULL, grid, &axes, layer, first, last, font);
    font.size *= fmin(1, frame.width / wide);
    draw_means(canvas, grid, &axes, layer, first, last, font);
    return STATUS_OK;
}

/* "heading, 200 matrices a layer", with a number per model if they differ. */
static void overlay_heading(const mgk_histograms *histograms, char *out, size_t size)
{
    const mgk_model_ranks *tables = histograms->tables;
    bool same = true;
    for (size_t t = 1; t < histograms->table_count; t++)
        same = same && tables[t].count == tables[0].count;
    snprintf(out, size, "%s%s", histograms->heading ? histograms->heading : "",
             histograms->heading ? ", " : "");
    const size_t numbers = same ? 1 : histograms->table_count;
    for (size_t t = 0; t < numbers; t++)
        mgk_append(out, size, "%s%zu",
                   t == 0            ? ""
                   : t + 1 < numbers ? ", "
                                     : " and ",
                   tables[t].count);
    mgk_append(out, size, " matrices a layer");
}

/* Draws the heading and the legend above all plots; returns their height. */
static double draw_top(mgk_canvas *canvas, const panel_grid *grid, mgk_rect area)
{
    const mgk_histograms *histograms = grid->histograms;
    const mgk_style style = grid->axes.style;
    mgk_legend_entry entries[MODELS_MAX];
    for (size_t t = 0; t < histograms->table_count; t++)
        entries[t] =
            (mgk_legend_entry){histograms->tables[t].title ? histograms->tables[t].title : "",
                               mgk_series_color(t), KEY_PATCH};
    if (!histograms->overlay)
        return round(1.5 * style.text.size);
    char heading[256];
    overlay_heading(histograms, heading, sizeof(heading));
    const mgk_legend legend = {entries, histograms->table_count, style.small};
    return mgk_legend_draw_headed(canvas, &legend, heading, style.title,
                                  mgk_tiles_span(area, &grid->axes));
}

static mgk_status draw_plots(mgk_canvas *canvas, const panel_grid *grid, mgk_rect area)
{
    double top = draw_top(canvas, grid, area);
    area.y += top;
    area.height -= top;
    mgk_tiles tiles = mgk_tiles_over(area, grid->rows, grid->columns, &grid->axes);
    for (size_t r = 0; r < grid->rows; r++)
        for (size_t c = 0; c < grid->columns; c++)
            TRY(draw_panel(canvas, grid, r, c, mgk_tiles_frame(&tiles, r, c)));
    return STATUS_OK;
}

mgk_status mgk_histograms_draw(mgk_canvas *canvas, const mgk_histograms *histograms,
                               mgk_style style, mgk_rect area)
{
    mgk_status status = STATUS_OK;
    panel_grid grid;
    CHECK(prepare(histograms, style, area, &grid));
    CHECK(draw_plots(canvas, &grid, area));
out:
    mgk_free(grid.shares);
    return status;
}

mgk_status mgk_draw_histograms(const mgk_histograms *histograms, const mgk_picture_options *options,
                               const char *path)
{
    mgk_status status = STATUS_OK;
    const double plot_width = 640, plot_height = 430;
    mgk_page page = {0};
    panel_grid grid;
    size_t layers = layer_count(histograms);
    size_t columns = histograms->overlay ? (layers > 1 ? 2 : 1) : histograms->table_count;
    size_t rows = histograms->overlay ? (layers + columns - 1) / columns : layers;
    mgk_rect area = {0, 0, plot_width * (double)columns, plot_height * (double)rows + 150};
    mgk_style style = mgk_style_of(mgk_text_size_for(area.width));
    CHECK(prepare(histograms, style, area, &grid));
    mgk_rect span = mgk_tiles_span(area, &grid.axes);
    CHECK(mgk_page_open(path, area.width, area.height, span.x + span.width / 2, style, options,
                        &page));
    area.x = page.x;
    area.y = page.y;
    CHECK(draw_plots(page.canvas, &grid, area));
    CHECK(mgk_page_save(&page));
out:
    mgk_free(grid.shares);
    mgk_page_close(&page);
    return status;
}
