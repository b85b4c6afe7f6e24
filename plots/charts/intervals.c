/* SPDX-License-Identifier: MIT */
#include "plots/charts/intervals.h"

#include <math.h>

#include "base/memory.h"
#include "plots/canvas/page.h"
#include "plots/scales/axes.h"
#include "plots/scales/legend.h"
#include "plots/scales/marker.h"
#include "plots/scales/notes.h"

enum { COLUMNS_MOST = 3 };

/* The width of a page, and the frames for one, two and three columns, in pixels. */
static const double page_width = 2025;
static const struct {
    double width, height;
} frames[COLUMNS_MOST + 1] = {{0, 0}, {1150, 620}, {840, 480}, {530, 390}};

/* The least distance of two points that stand side by side, in pixels. */
static const double least_pitch = 9;

/* In text sizes: the radius of a marker, the space between panels. */
static const double marker_size = 0.24, panel_gap = 0.7;

static const mgk_rgb zero_color = {70, 70, 70};

/* A measured picture. */
typedef struct intervals_plan {
    const mgk_intervals *data;
    int32_t count_from; /* the number drawn for layer 0 */
    mgk_style style;
    mgk_axes *axes; /* [panel_count], without frames */
    size_t columns, rows;
    double frame_width, frame_height;
    mgk_margins margins; /* around a frame, without the names of axes */
    double block_width, block_height;
    mgk_legend_entry *entries;
    mgk_legend legend;
    mgk_notes notes;
    double legend_height, width, height;
} intervals_plan;

static const mgk_interval_series *series_of(const intervals_plan *plan, size_t panel, size_t s)
{
    return &plan->data->series[panel * plan->data->series_count + s];
}

/* ---- axes ------------------------------------------------------------------------------------ */

/* The least and the greatest of all numbers of points, as they are drawn. */
static void number_range(const intervals_plan *plan, double *low, double *high)
{
    *low = INFINITY;
    *high = -INFINITY;
    for (size_t k = 0; k < plan->data->panel_count * plan->data->series_count; k++)
        for (size_t i = 0; i < plan->data->series[k].count; i++) {
            const double number = plan->data->series[k].points[i].number + plan->count_from;
            *low = fmin(*low, number);
            *high = fmax(*high, number);
        }
}

/* The range of a panel, with zero; false: no point. fmin and fmax pass over NaN. */
static bool value_range(const intervals_plan *plan, size_t panel, double *low, double *high)
{
    bool any = false;
    *low = *high = 0;
    for (size_t s = 0; s < plan->data->series_count; s++)
        for (size_t i = 0; i < series_of(plan, panel, s)->count; i++) {
            const mgk_interval *point = &series_of(plan, panel, s)->points[i];
            if (isnan(point->value))
                continue;
            *low = fmin(*low, fmin(point->value, point->low));
            *high = fmax(*high, fmax(point->value, point->high));
            any = true;
        }
    return any;
}

/* An axis of whole numbers: all of them, if they fit. */
static mgk_axis number_axis(const intervals_plan *plan, double low, double high)
{
    const double each = 2 * plan->style.small.size;
    const size_t most = (size_t)fmin(plan->frame_width / each, MGK_TICKS_MAX - 2);
    return mgk_axis_whole(low - 0.5, high + 0.5, most);
}

static mgk_status set_axes(intervals_plan *plan, double low, double high)
{
    const mgk_axis x = number_axis(plan, low, high);
    for (size_t p = 0; p < plan->data->panel_count; p++) {
        if (!value_range(plan, p, &low, &high))
            return mgk_fail(STATUS_NUMERIC, "no point of \"%s\" can be drawn",
                            plan->data->titles[p]);
        const double room = 0.03 * (high - low);
        plan->axes[p] =
            (mgk_axes){.x = x,
                       .y = mgk_axis_over(low - room, high + room, false, true,
                                          mgk_ticks_up(plan->frame_height, plan->style)),
                       .title = plan->data->titles[p],
                       .style = plan->style};
    }
    return STATUS_OK;
}

/* ---- measures -------------------------------------------------------------------------------- */

/* As many columns as leave room for the points; four panels are a square. */
static size_t choose_columns(const intervals_plan *plan, double numbers)
{
    const double wanted = least_pitch * numbers * (double)plan->data->series_count;
    size_t columns = plan->data->panel_count == 4 ? 2 : plan->data->panel_count;
    columns = columns < COLUMNS_MOST ? columns : COLUMNS_MOST;
    while (columns > 1 && frames[columns].width < wanted)
        columns--;
    return columns;
}

static void set_margins(intervals_plan *plan)
{
    const double em = plan->style.text.size;
    plan->margins = (mgk_margins){0};
    for (size_t p = 0; p < plan->data->panel_count; p++) {
        const mgk_margins m = mgk_axes_margins(&plan->axes[p]);
        plan->margins.left = fmax(plan->margins.left, ceil(m.left));
        plan->margins.right = fmax(plan->margins.right, ceil(m.right));
        plan->margins.top = fmax(plan->margins.top, ceil(m.top));
        plan->margins.bottom = fmax(plan->margins.bottom, ceil(m.bottom));
        plan->frame_width =
            fmax(plan->frame_width, ceil(mgk_text_width(plan->data->titles[p], plan->style.title)));
    }
    plan->block_width =
        plan->margins.left + plan->frame_width + plan->margins.right + round(panel_gap * em);
    plan->block_height =
        plan->margins.top + plan->frame_height + plan->margins.bottom + round(panel_gap * em / 2);
}

static double widest_entry(const mgk_legend *legend)
{
    const double key = 1.6; /* text sizes, with its gap */
    double widest = 0;
    for (size_t i = 0; i < legend->count; i++)
        widest = fmax(widest, mgk_text_width(legend->entries[i].label, legend->font));
    return widest + key * legend->font.size;
}

static mgk_status set_legend(intervals_plan *plan)
{
    const mgk_intervals *data = plan->data;
    bool hollow = false;
    TRY(mgk_alloc(data->series_count + 1, sizeof(*plan->entries), &plan->entries));
    plan->legend = (mgk_legend){plan->entries, data->series_count, plan->style.small};
    for (size_t s = 0; s < data->series_count; s++)
        plan->entries[s] = (mgk_legend_entry){data->names[s], mgk_series_color(s),
                                              (mgk_legend_key)(KEY_MARKER + s)};
    for (size_t k = 0; k < data->panel_count * data->series_count; k++)
        for (size_t i = 0; i < data->series[k].count; i++)
            hollow = hollow || !data->series[k].points[i].filled;
    if (hollow)
        plan->entries[plan->legend.count++] =
            (mgk_legend_entry){data->hollow, zero_color, KEY_HOLLOW};
    return STATUS_OK;
}

static mgk_status measure(intervals_plan *plan)
{
    const mgk_intervals *data = plan->data;
    double low, high;
    if (data->panel_count == 0 || data->series_count == 0)
        return mgk_fail(STATUS_SHAPE, "%zu panels of %zu series", data->panel_count,
                        data->series_count);
    number_range(plan, &low, &high);
    plan->style = mgk_style_of(MGK_TEXT_SIZE);
    plan->columns = choose_columns(plan, high - low + 1);
    plan->rows = (data->panel_count + plan->columns - 1) / plan->columns;
    plan->frame_width = frames[plan->columns].width;
    plan->frame_height = frames[plan->columns].height;
    TRY(mgk_alloc(data->panel_count, sizeof(*plan->axes), &plan->axes));
    TRY(set_axes(plan, low, high));
    set_margins(plan);
    const double name = mgk_line_height(plan->style.text);
    plan->width = name + plan->block_width * (double)plan->columns;
    TRY(set_legend(plan));
    /* A long name makes the picture as wide as a page, then its own text smaller. */
    const double wanted = widest_entry(&plan->legend),
                 wider = fmax(0, fmin(wanted, page_width) - plan->width);
    plan->block_width += ceil(wider / (double)plan->columns);
    plan->frame_width += ceil(wider / (double)plan->columns);
    plan->width = name + plan->block_width * (double)plan->columns;
    plan->legend.font.size *= fmin(1, plan->width / wanted);
    plan->legend_height = mgk_legend_height(&plan->legend, plan->width);
    plan->notes = (mgk_notes){data->notes, data->note_count, plan->style.small};
    plan->height = plan->legend_height + plan->block_height * (double)plan->rows + name +
                   mgk_notes_height(&plan->notes, plan->width);
    return STATUS_OK;
}

/* ---- drawing --------------------------------------------------------------------------------- */

static void draw_point(mgk_canvas *canvas, const mgk_axes *axes, const mgk_interval *point,
                       size_t series, double x, double radius)
{
    const mgk_rgb color = mgk_series_color(series);
    const mgk_stroke stroke = {color, 1.5 * axes->style.thin.width, 0};
    if (isnan(point->value))
        return;
    if (!isnan(point->low) && !isnan(point->high)) {
        const double ends[] = {mgk_axes_y(axes, point->low), mgk_axes_y(axes, point->high)};
        mgk_canvas_line(canvas, x, ends[0], x, ends[1], stroke);
        for (int i = 0; i < 2; i++)
            mgk_canvas_line(canvas, x - radius, ends[i], x + radius, ends[i], stroke);
    }
    mgk_marker_draw(canvas, series, x, mgk_axes_y(axes, point->value), radius, color,
                    point->filled);
}

/* Draws the points; those of one number stand side by side. */
static void draw_points(mgk_canvas *canvas, const intervals_plan *plan, const mgk_axes *axes,
                        size_t panel)
{
    const double count = (double)plan->data->series_count,
                 pitch = axes->frame.width / (axes->x.high - axes->x.low),
                 radius =
                     fmax(3.5, fmin(marker_size * plan->style.text.size, 0.36 * pitch / count)),
                 step = fmin(0.8 * pitch / count, 4 * radius);
    for (size_t s = 0; s < plan->data->series_count; s++)
        for (size_t i = 0; i < series_of(plan, panel, s)->count; i++) {
            const mgk_interval *point = &series_of(plan, panel, s)->points[i];
            const double x = mgk_axes_x(axes, point->number + plan->count_from);
            draw_point(canvas, axes, point, s, x + step * ((double)s - (count - 1) / 2), radius);
        }
}

/* Draws a panel with its upper left corner at (x, y). Names of axes are at the edge of the picture.
 */
static void draw_panel(mgk_canvas *canvas, const intervals_plan *plan, size_t panel, double x,
                       double y)
{
    const double em = plan->style.text.size;
    mgk_axes axes = plan->axes[panel];
    axes.frame = (mgk_rect){round(x + plan->margins.left), round(y + plan->margins.top),
                            plan->frame_width, plan->frame_height};
    axes.x.label = panel + plan->columns < plan->data->panel_count ? NULL : plan->data->x_label;
    const double zero = mgk_axes_y(&axes, 0);
    mgk_axes_draw_grid(canvas, &axes);
    mgk_canvas_line(canvas, axes.frame.x, zero, axes.frame.x + axes.frame.width, zero,
                    (mgk_stroke){zero_color, 1.5 * plan->style.thin.width, 0});
    draw_points(canvas, plan, &axes, panel);
    mgk_axes_draw(canvas, &axes);
    if (panel % plan->columns == 0)
        mgk_canvas_text_upward(canvas, x - 0.4 * em, axes.frame.y + axes.frame.height / 2,
                               plan->data->y_label, plan->style.text, ANCHOR_MIDDLE);
}

static void draw_all(mgk_canvas *canvas, const intervals_plan *plan, double x, double y)
{
    const double name = mgk_line_height(plan->style.text);
    mgk_legend_draw(canvas, &plan->legend, x, y, plan->width);
    y += plan->legend_height;
    for (size_t p = 0; p < plan->data->panel_count; p++)
        draw_panel(canvas, plan, p, x + name + plan->block_width * (double)(p % plan->columns),
                   y + plan->block_height * (double)(p / plan->columns));
    y += plan->block_height * (double)plan->rows + name;
    mgk_notes_draw(canvas, &plan->notes, x, y, plan->width);
}

mgk_status mgk_draw_intervals(const mgk_intervals *intervals, const mgk_picture_options *options,
                              const char *path)
{
    mgk_status status;
    mgk_page page = {0};
    intervals_plan plan = {.data = intervals, .count_from = options->count_from};
    CHECK(measure(&plan));
    CHECK(mgk_page_open(path, plan.width, plan.height, plan.width / 2, plan.style, options, &page));
    draw_all(page.canvas, &plan, page.x, page.y);
    CHECK(mgk_page_save(&page));
out:
    mgk_page_close(&page);
    mgk_free(plan.axes);
    mgk_free(plan.entries);
    return status;
}
