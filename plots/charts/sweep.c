/* SPDX-License-Identifier: MIT */
#include "plots/charts/sweep.h"

#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "plots/canvas/page.h"
#include "plots/scales/legend.h"
#include "plots/scales/tiles.h"

enum { MODELS_MAX = 16, FEW_THRESHOLDS = 12 };

/* The threshold of the paper, which is marked, and the colours of noise and of the background. */
static const double published = 1e-6;
static const mgk_rgb noise_color = {230, 230, 230}, paper_color = {255, 255, 255};

/* Shared data of the plots. */
typedef struct sweep_page {
    const mgk_sweeps *sweeps;
    mgk_axes axes; /* without a frame */
    size_t rows, columns;
    bool noisy;   /* noise floors are within some plot's range, */
    bool unequal; /* and differ too much for one band */
} sweep_page;

/* The largest noise floor of a layer; above it all models are reliable; 0 if unknown. */
static double noise_floor(const mgk_sweeps *sweeps, size_t layer)
{
    double floor = 0;
    for (size_t m = 0; m < sweeps->model_count; m++)
        if (isfinite(sweeps->models[m].noise[layer]))
            floor = fmax(floor, sweeps->models[m].noise[layer]);
    return floor;
}

/*
 * Whether every model's floor is near the largest: with the same format they differ only by the
 * norms, not tenfold.
 */
static bool floors_agree(const mgk_sweeps *sweeps, size_t layer)
{
    bool agree = true;
    for (size_t m = 0; m < sweeps->model_count; m++) /* NaN agrees with nothing */
        agree = agree && sweeps->models[m].noise[layer] >= noise_floor(sweeps, layer) / 10;
    return agree;
}

/* Axes over all thresholds and all ranks. */
static void share_axes(sweep_page *page, mgk_style style, double width, double height)
{
    const mgk_sweeps *sweeps = page->sweeps;
    double low = INFINITY, high = 0, bottom = INFINITY, top = 1;
    for (size_t m = 0; m < sweeps->model_count; m++) {
        const mgk_sweep_model *model = &sweeps->models[m];
        low = fmin(low, model->thresholds[0]);
        high = fmax(high, model->thresholds[model->count - 1]);
        for (size_t i = 0; i < sweeps->layers * model->count; i++) {
            bottom = fmin(bottom, fmin(model->median[i], model->lower[i]));
            top = fmax(top, fmax(model->median[i], model->upper[i]));
        }
    }
    double room = fmax(0.04 * (top - bottom), 1); /* keeps lines away from the frame */
    page->axes = (mgk_axes){
        .style = style,
        .x = mgk_axis_over(low, high, true, false, mgk_ticks_across(width, style)),
        .y = mgk_axis_whole(fmax(bottom - room, 0), top + room, mgk_ticks_up(height, style))};
    for (size_t l = 0; l < sweeps->layers; l++) {
        bool noisy = noise_floor(sweeps, l) > low;
        page->noisy = page->noisy || noisy;
        page->unequal = page->unequal || (noisy && !floors_agree(sweeps, l));
    }
}

/* The points of values [T], `step` points apart, from *out on. */
static void place(const mgk_axes *axes, const mgk_sweep_model *model, const double *values,
                  mgk_point *out, ptrdiff_t step)
{
    for (size_t t = 0; t < model->count; t++, out += step)
        *out = (mgk_point){mgk_axes_x(axes, model->thresholds[t]), mgk_axes_y(axes, values[t])};
}

/* The outline follows one quartile forwards and the other backwards. */
static void draw_band(mgk_canvas *canvas, const mgk_axes *axes, const mgk_sweep_model *model,
                      size_t layer, mgk_rgb color, mgk_point *points)
{
    size_t count = model->count, first = layer * count;
    place(axes, model, model->upper + first, points, 1);
    place(axes, model, model->lower + first, points + 2 * count - 1, -1);
    mgk_canvas_polygon(canvas, points, 2 * count, color, 0.22);
}

static void draw_median(mgk_canvas *canvas, const mgk_axes *axes, const mgk_sweep_model *model,
                        size_t layer, mgk_rgb color, mgk_point *points)
{
    place(axes, model, model->median + layer * model->count, points, 1);
    mgk_canvas_polyline(canvas, points, model->count,
                        (mgk_stroke){color, 3 * axes->style.thin.width, 0});
    for (size_t t = 0; t < model->count && model->count < FEW_THRESHOLDS; t++)
        mgk_canvas_dot(canvas, points[t].x, points[t].y, 0.18 * axes->style.text.size, color);
}

/* Draws all bands before all lines, so that no band covers a line. */
static mgk_status draw_models(mgk_canvas *canvas, const sweep_page *page, const mgk_axes *axes,
                              size_t layer)
{
    const mgk_sweeps *sweeps = page->sweeps;
    size_t most = 0;
    mgk_point *points;
    for (size_t m = 0; m < sweeps->model_count; m++)
        most = sweeps->models[m].count > most ? sweeps->models[m].count : most;
    TRY(mgk_alloc(2 * most, sizeof(*points), &points));
    for (size_t m = 0; m < sweeps->model_count; m++)
        draw_band(canvas, axes, &sweeps->models[m], layer, mgk_series_color(m), points);
    for (size_t m = 0; m < sweeps->model_count; m++)
        draw_median(canvas, axes, &sweeps->models[m], layer, mgk_series_color(m), points);
    mgk_free(points);
    return STATUS_OK;
}

/* Whether the paper's threshold is within the axis. */
static bool shows_published(const mgk_axes *axes)
{
    return axes->x.low < published && published < axes->x.high;
}

/* Marks the noise and the paper's threshold. */
static void draw_marks(mgk_canvas *canvas, const sweep_page *page, const mgk_axes *axes,
                       size_t layer)
{
    double bottom = axes->frame.y + axes->frame.height, floor = noise_floor(page->sweeps, layer);
    if (floor > axes->x.low && !page->unequal) {
        double right = mgk_axes_x(axes, fmin(floor, axes->x.high));
        mgk_rect noise = {axes->frame.x, axes->frame.y, right - axes->frame.x, axes->frame.height};
        mgk_canvas_fill(canvas, noise, noise_color, 1);
    }
    if (shows_published(axes)) {
        double x = mgk_axes_x(axes, published);
        mgk_stroke stroke = axes->style.thin;
        stroke.dash = 0.25 * axes->style.text.size;
        mgk_canvas_line(canvas, x, axes->frame.y, x, bottom, stroke);
    }
}

static mgk_status draw_layer(mgk_canvas *canvas, const sweep_page *page, size_t layer,
                             mgk_rect frame)
{
    const mgk_sweeps *sweeps = page->sweeps;
    mgk_axes axes = page->axes;
    char title[32];
    bool below = layer + page->columns < sweeps->layers, left = layer % page->columns == 0;
    axes.frame = frame;
    axes.x.hide_labels = below;
    axes.x.label = below ? NULL : sweeps->threshold_name;
    axes.y.hide_labels = !left;
    axes.y.label = left ? "rank" : NULL;
    draw_marks(canvas, page, &axes, layer);
    mgk_axes_draw_grid(canvas, &axes);
    TRY(draw_models(canvas, page, &axes, layer));
    mgk_axes_draw(canvas, &axes);
    snprintf(title, sizeof(title), "layer %ld",
             (long)sweeps->layer_numbers[layer] + sweeps->count_from);
    mgk_canvas_text(canvas, frame.x, frame.y - 0.35 * axes.style.small.size, title,
                    axes.style.small, ANCHOR_START);
    return STATUS_OK;
}

static const char *noise_label(const sweep_page *page)
{
    if (page->unequal)
        return "rounding of storage not drawn: not the same for all";
    return page->sweeps->model_count > 1 ? "below the largest rounding of storage"
                                         : "below the rounding of storage";
}

/* Draws the heading and the legend; returns their height. */
static double draw_top(mgk_canvas *canvas, const sweep_page *page, mgk_rect area)
{
    const mgk_sweeps *sweeps = page->sweeps;
    const mgk_style *style = &page->axes.style;
    mgk_legend_entry entries[MODELS_MAX + 2];
    size_t count = sweeps->model_count;
    for (size_t m = 0; m < count; m++)
        entries[m] = (mgk_legend_entry){sweeps->models[m].title, mgk_series_color(m), KEY_PATCH};
    if (shows_published(&page->axes))
        entries[count++] = (mgk_legend_entry){"10\u207b\u2076, the usual threshold",
                                              style->thin.color, KEY_DASHES};
    if (page->noisy)
        entries[count++] = (mgk_legend_entry){noise_label(page),
                                              page->unequal ? paper_color : noise_color, KEY_PATCH};
    const mgk_legend legend = {entries, count, style->small};
    return mgk_legend_draw_headed(canvas, &legend, sweeps->heading, style->title,
                                  mgk_tiles_span(area, &page->axes));
}

static mgk_status draw_plots(mgk_canvas *canvas, const sweep_page *page, mgk_rect area)
{
    double top = draw_top(canvas, page, area);
    area.y += top;
    area.height -= top;
    mgk_tiles tiles = mgk_tiles_over(area, page->rows, page->columns, &page->axes);
    for (size_t l = 0; l < page->sweeps->layers; l++)
        TRY(draw_layer(canvas, page, l,
                       mgk_tiles_frame(&tiles, l / page->columns, l % page->columns)));
    return STATUS_OK;
}

mgk_status mgk_draw_sweeps(const mgk_sweeps *sweeps, const mgk_picture_options *options,
                           const char *path)
{
    mgk_status status;
    const double plot_width = 640, plot_height = 470;
    mgk_page page = {0};
    size_t layers = sweeps->layers, columns = layers == 4 ? 2 : layers < 3 ? layers : 3;
    if (layers == 0 || sweeps->model_count == 0 || sweeps->model_count > MODELS_MAX)
        return mgk_fail(STATUS_SHAPE, "%zu models, %zu layers: expected 1 to %d models and a layer",
                        sweeps->model_count, layers, MODELS_MAX);
    sweep_page shared = {
        .sweeps = sweeps, .rows = (layers + columns - 1) / columns, .columns = columns};
    double width = plot_width * (double)columns + 100;
    double height = plot_height * (double)shared.rows + 150;
    mgk_style style = mgk_style_of(mgk_text_size_for(width));
    share_axes(&shared, style, plot_width, plot_height);
    mgk_rect span = mgk_tiles_span((mgk_rect){0, 0, width, height}, &shared.axes);
    CHECK(mgk_page_open(path, width, height, span.x + span.width / 2, style, options, &page));
    CHECK(draw_plots(page.canvas, &shared, (mgk_rect){page.x, page.y, width, height}));
    CHECK(mgk_page_save(&page));
out:
    mgk_page_close(&page);
    return status;
}
