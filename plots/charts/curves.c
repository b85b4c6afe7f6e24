/* SPDX-License-Identifier: MIT */
#include "plots/charts/curves.h"

#include <math.h>

#include "base/memory.h"
#include "plots/canvas/page.h"
#include "plots/scales/axes.h"
#include "plots/scales/legend.h"
#include "plots/scales/marker.h"

enum { CURVES_MAX = 64, LEGEND_MAX = CURVES_MAX + MGK_CURVE_KEYS };

/* With a legend of up to two rows; more rows make it higher. */
static const double picture_width = 1240, picture_height = 800;

const mgk_curves_range mgk_curves_no_range = {INFINITY, -INFINITY, INFINITY, -INFINITY};

static bool has_place(const mgk_curves *curves, double x, double y)
{
    return isfinite(x) && isfinite(y) && (!curves->log_x || x > 0) && (!curves->log_y || y > 0);
}

static bool has_band(const mgk_curves *curves, const mgk_curve *curve, size_t i)
{
    return curve->lower && has_place(curves, curve->x[i], curve->lower[i]) &&
           has_place(curves, curve->x[i], curve->upper[i]);
}

mgk_status mgk_curves_add_range(const mgk_curves *curves, mgk_curves_range *range)
{
    if (curves->count < 1 || curves->count > CURVES_MAX)
        return mgk_fail(STATUS_SHAPE, "%zu curves: expected 1 to %d", curves->count, CURVES_MAX);
    for (size_t c = 0; c < curves->count; c++)
        for (size_t i = 0; i < curves->curves[c].count; i++) {
            double x = curves->curves[c].x[i], y = curves->curves[c].y[i];
            if (!has_place(curves, x, y))
                continue;
            *range = (mgk_curves_range){fmin(range->left, x), fmax(range->right, x),
                                        fmin(range->bottom, y), fmax(range->top, y)};
            if (has_band(curves, &curves->curves[c], i)) {
                range->bottom = fmin(range->bottom, curves->curves[c].lower[i]);
                range->top = fmax(range->top, curves->curves[c].upper[i]);
            }
        }
    return STATUS_OK;
}

static mgk_rgb color_of(const mgk_curve *curve)
{
    return curve->color ? *curve->color : mgk_series_color(curve->series);
}

static mgk_stroke stroke_of(const mgk_curve *curve, mgk_style style)
{
    mgk_rgb color = color_of(curve);
    double width = style.thin.width;
    if (curve->faint)
        return (mgk_stroke){mgk_faint_color(color), width, 0};
    return (mgk_stroke){color, 2 * width, 0};
}

static mgk_status draw_curve(mgk_canvas *canvas, const mgk_curves *curves, const mgk_axes *axes,
                             size_t index)
{
    const mgk_curve *curve = &curves->curves[index];
    mgk_stroke stroke = stroke_of(curve, axes->style);
    double radius = 0.22 * axes->style.text.size;
    mgk_point *points;
    size_t run = 0;
    TRY(mgk_alloc(curve->count, sizeof(mgk_point), &points));
    for (size_t i = 0; i < curve->count; i++) {
        bool drawn = has_place(curves, curve->x[i], curve->y[i]);
        if (drawn) {
            mgk_point point = {mgk_axes_x(axes, curve->x[i]), mgk_axes_y(axes, curve->y[i])};
            points[run++] = point;
            if (curve->markers)
                mgk_marker_draw(canvas, curve->series, point.x, point.y, radius, stroke.color,
                                true);
        }
        if (run > 0 && (!drawn || i + 1 == curve->count)) {
            mgk_canvas_polyline(canvas, points, run, stroke);
            run = 0;
        }
    }
    mgk_free(points);
    return STATUS_OK;
}

/* Draws the band over points first … first + count − 1; over one point it is a line. points:
 * [2 count]. */
static void draw_run(mgk_canvas *canvas, const mgk_axes *axes, const mgk_curve *curve, size_t first,
                     size_t count, mgk_point *points)
{
    const mgk_rgb color = color_of(curve);
    for (size_t i = 0; i < count; i++) {
        const double x = mgk_axes_x(axes, curve->x[first + i]);
        points[i] = (mgk_point){x, mgk_axes_y(axes, curve->lower[first + i])};
        points[2 * count - 1 - i] = (mgk_point){x, mgk_axes_y(axes, curve->upper[first + i])};
    }
    if (count == 1)
        mgk_canvas_polyline(canvas, points, 2, (mgk_stroke){color, 2 * axes->style.thin.width, 0});
    else
        mgk_canvas_polygon(canvas, points, 2 * count, color, 0.2);
}

static mgk_status draw_band(mgk_canvas *canvas, const mgk_curves *curves, const mgk_axes *axes,
                            size_t index)
{
    const mgk_curve *curve = &curves->curves[index];
    mgk_point *points;
    if (!curve->lower)
        return STATUS_OK;
    TRY(mgk_alloc(2 * curve->count, sizeof(*points), &points));
    for (size_t i = 0, run = 0; i < curve->count; i++) {
        run = has_band(curves, curve, i) ? run + 1 : 0;
        if (run > 0 && (i + 1 == curve->count || !has_band(curves, curve, i + 1)))
            draw_run(canvas, axes, curve, i + 1 - run, run, points);
    }
    mgk_free(points);
    return STATUS_OK;
}

/* Moves both ends outwards, so that markers do not touch the frame. */
static void spread(double *low, double *high, bool log_axis, double share)
{
    if (log_axis) {
        double factor = pow(*high / *low, share);
        *low /= factor;
        *high *= factor;
    } else {
        double width = *high - *low;
        *low -= share * width;
        *high += share * width;
    }
}

/* Ticks where the curve has points. */
static mgk_ticks ticks_of(const mgk_curve *curve)
{
    mgk_ticks ticks = {.count = 0};
    for (; ticks.count < curve->count && ticks.count < MGK_TICKS_MAX; ticks.count++)
        ticks.tick[ticks.count].value = curve->x[ticks.count];
    mgk_ticks_label(&ticks, 3);
    return ticks;
}

mgk_axes mgk_curves_axes(const mgk_curves *curves, mgk_curves_range range, double width,
                         double height, mgk_style style)
{
    bool markers = false;
    double left = range.left, right = range.right, bottom = range.bottom, top = range.top;
    for (size_t c = 0; c < curves->count; c++)
        markers = markers || curves->curves[c].markers;
    spread(&left, &right, curves->log_x, markers ? 0.03 : 0);
    /* A log axis need not end at ticks. */
    spread(&bottom, &top, curves->log_y, markers && curves->log_y ? 0.03 : 0);
    mgk_axes axes = {
        .style = style,
        .x = mgk_axis_over(left, right, curves->log_x, false, mgk_ticks_across(width, style)),
        .y = mgk_axis_over(bottom, top, curves->log_y, true, mgk_ticks_up(height, style))};
    if (curves->whole_x)
        axes.x = mgk_axis_whole_across(range.left - 0.5, range.right + 0.5, width, style);
    if (curves->named_x)
        axes.x.ticks = ticks_of(&curves->curves[0]);
    axes.x.label = curves->x_label;
    axes.y.label = curves->y_label;
    return axes;
}

static void draw_base(mgk_canvas *canvas, const mgk_axes *axes, double value)
{
    static const mgk_rgb color = {110, 110, 110};
    const double y = mgk_axes_y(axes, value);
    mgk_canvas_line(canvas, axes->frame.x, y, axes->frame.x + axes->frame.width, y,
                    (mgk_stroke){color, axes->style.thin.width, 0});
}

mgk_status mgk_curves_draw(mgk_canvas *canvas, const mgk_curves *curves, const mgk_axes *axes)
{
    mgk_axes_draw_grid(canvas, axes);
    if (curves->base)
        draw_base(canvas, axes, *curves->base);
    mgk_axes_draw(canvas, axes);
    /* No band covers a line. */
    for (size_t c = 0; c < curves->count; c++)
        TRY(draw_band(canvas, curves, axes, c));
    for (size_t c = 0; c < curves->count; c++)
        TRY(draw_curve(canvas, curves, axes, c));
    return STATUS_OK;
}

/* The curves with labels, and the keys; entries [LEGEND_MAX]. */
static mgk_legend make_legend(const mgk_curves *curves, mgk_font font, mgk_legend_entry *entries)
{
    mgk_legend legend = {entries, 0, font};
    for (size_t c = 0; c < curves->count; c++) {
        const mgk_curve *curve = &curves->curves[c];
        /* Markers tell series apart without colours. */
        const mgk_legend_key key =
            curve->markers ? (mgk_legend_key)(KEY_MARKER + curve->series) : KEY_PATCH;
        if (curve->label)
            entries[legend.count++] = (mgk_legend_entry){curve->label, color_of(curve), key};
    }
    for (size_t k = 0; k < curves->key_count && k < MGK_CURVE_KEYS; k++)
        entries[legend.count++] = curves->keys[k];
    return legend;
}

static mgk_status draw_plot(mgk_canvas *canvas, const mgk_curves *curves, const mgk_legend *legend,
                            mgk_axes *axes, mgk_rect area)
{
    mgk_margins margins = mgk_axes_margins(axes);
    margins.top += mgk_legend_height(legend, area.width - margins.left - margins.right);
    axes->frame = mgk_inset(area, margins);
    mgk_legend_draw(canvas, legend, axes->frame.x, area.y, axes->frame.width);
    return mgk_curves_draw(canvas, curves, axes);
}

mgk_status mgk_draw_curves(const mgk_curves *curves, const mgk_picture_options *options,
                           const char *path)
{
    mgk_status status = STATUS_OK;
    mgk_page page = {0};
    mgk_style style = mgk_style_of(MGK_TEXT_SIZE);
    mgk_curves_range range = mgk_curves_no_range;
    TRY(mgk_curves_add_range(curves, &range));
    if (!(range.left <= range.right))
        return mgk_fail(STATUS_NUMERIC, "no point of %zu curves can be drawn", curves->count);
    mgk_axes axes = mgk_curves_axes(curves, range, picture_width, picture_height, style);
    mgk_margins margins = mgk_axes_margins(&axes);
    mgk_legend_entry entries[LEGEND_MAX];
    const mgk_legend legend = make_legend(curves, style.text, entries);
    const double rows = mgk_legend_height(&legend, picture_width - margins.left - margins.right);
    const double height = picture_height + fmax(0, rows - 2.25 * mgk_line_height(style.text));
    CHECK(mgk_page_open(path, picture_width, height,
                        (margins.left + picture_width - margins.right) / 2, style, options, &page));
    CHECK(draw_plot(page.canvas, curves, &legend, &axes,
                    (mgk_rect){page.x, page.y, picture_width, height}));
    CHECK(mgk_page_save(&page));
out:
    mgk_page_close(&page);
    return status;
}
