/* SPDX-License-Identifier: MIT */
#include "plots/charts/scatter.h"

#include <math.h>

#include "base/memory.h"
#include "plots/canvas/fit.h"
#include "plots/canvas/page.h"
#include "plots/scales/legend.h"
#include "plots/scales/marker.h"
#include "plots/scales/tiles.h"

enum { PANELS_MAX = 64, LEGEND_MAX = 12 };

/* The last colour of a map is too pale for points on white. */
static const double palest = 0.92;

/* Around all points, as a share of their extent. */
static const double room = 0.07;

/* Shared data of the panels. */
typedef struct scatter_page {
    const mgk_scatter *scatter;
    mgk_colormap colormap;
    mgk_style style;
    mgk_font label;
    mgk_point low, high; /* of all points */
    double radius;       /* of a dot */
    size_t rows, columns;
} scatter_page;

static mgk_rgb color_of(const scatter_page *page, size_t group)
{
    const size_t others = page->scatter->group_count - 1;
    return mgk_colormap_at(page->colormap,
                           others > 0 ? palest * (double)group / (double)others : 0);
}

/* ---- axes ------------------------------------------------------------------------------------ */

static void find_extent(scatter_page *page)
{
    page->low = (mgk_point){INFINITY, INFINITY};
    page->high = (mgk_point){-INFINITY, -INFINITY};
    for (size_t p = 0; p < page->scatter->count; p++)
        for (size_t i = 0; i < page->scatter->panels[p].count; i++) {
            const double *point = page->scatter->panels[p].points + 2 * i;
            page->low = (mgk_point){fmin(page->low.x, point[0]), fmin(page->low.y, point[1])};
            page->high = (mgk_point){fmax(page->high.x, point[0]), fmax(page->high.y, point[1])};
        }
}

/* An axis of this length around the middle of low and high. */
static mgk_axis axis_around(double low, double high, double length, double step)
{
    const double start = (low + high - length) / 2;
    return (mgk_axis){.low = start,
                      .high = start + length,
                      .ticks = mgk_ticks_every(start, start + length, step)};
}

/* Axes for a frame of this size: all points are in it, and both have one scale. */
static mgk_axes axes_for(const scatter_page *page, double width, double height)
{
    const double across = page->high.x - page->low.x, up = page->high.y - page->low.y;
    double unit = (1 + 2 * room) * fmax(across / width, up / height); /* per pixel */
    if (!(unit > 0))
        unit = 1 / width; /* all points are one */
    const size_t most = mgk_ticks_across(width, page->style);
    const double step = mgk_round_step(unit * width / (double)(most - 1));
    return (mgk_axes){.style = page->style,
                      .x = axis_around(page->low.x, page->high.x, unit * width, step),
                      .y = axis_around(page->low.y, page->high.y, unit * height, step)};
}

/* ---- labels ---------------------------------------------------------------------------------- */

/* The points of a panel on the canvas, and the labels that are placed. */
typedef struct placed {
    const scatter_page *page;
    mgk_rect frame;
    mgk_point *dots; /* [count] */
    mgk_rect *taken; /* [taken_count], of labels */
    size_t count, taken_count;
} placed;

static bool overlap(mgk_rect a, mgk_rect b)
{
    return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height &&
           b.y < a.y + a.height;
}

/* Whether the area is inside the frame, and covers no point and no label. */
static bool is_free(const placed *p, mgk_rect area)
{
    const double r = p->page->radius;
    if (area.x < p->frame.x || area.y < p->frame.y ||
        area.x + area.width > p->frame.x + p->frame.width ||
        area.y + area.height > p->frame.y + p->frame.height)
        return false;
    for (size_t i = 0; i < p->count; i++)
        if (overlap(area, (mgk_rect){p->dots[i].x - r, p->dots[i].y - r, 2 * r, 2 * r}))
            return false;
    for (size_t i = 0; i < p->taken_count; i++)
        if (overlap(area, p->taken[i]))
            return false;
    return true;
}

/* Draws a label next to its point, on the first side that is free. */
static void draw_label(mgk_canvas *canvas, placed *p, const char *label, mgk_point dot)
{
    static const mgk_point sides[] = {{1, 0},  {-1, 0}, {0, -1},  {0, 1},
                                      {1, -1}, {1, 1},  {-1, -1}, {-1, 1}};
    const mgk_font font = p->page->label;
    const double width = mgk_text_width(label, font), height = MGK_CAP_HEIGHT * font.size,
                 gap = p->page->radius + 0.12 * font.size;
    for (size_t i = 0; i < sizeof(sides) / sizeof(*sides); i++) {
        const mgk_rect area = {dot.x - width / 2 + sides[i].x * (gap + width / 2),
                               dot.y - height / 2 + sides[i].y * (gap + height / 2), width, height};
        if (!is_free(p, area))
            continue;
        mgk_canvas_text(canvas, area.x, area.y + height, label, font, ANCHOR_START);
        p->taken[p->taken_count++] = area;
        return;
    }
}

/* ---- panels ---------------------------------------------------------------------------------- */

static mgk_status draw_points(mgk_canvas *canvas, const scatter_page *page, const mgk_axes *axes,
                              const mgk_scatter_panel *panel)
{
    mgk_status status;
    placed p = {.page = page, .frame = axes->frame, .count = panel->count};
    const double outline = 0.5 * page->style.thin.width;
    CHECK(mgk_alloc(panel->count, sizeof(*p.dots), &p.dots));
    CHECK(mgk_alloc(panel->count, sizeof(*p.taken), &p.taken));
    for (size_t i = 0; i < panel->count; i++)
        p.dots[i] = (mgk_point){mgk_axes_x(axes, panel->points[2 * i]),
                                mgk_axes_y(axes, panel->points[2 * i + 1])};
    for (size_t i = 0; i < panel->count; i++) {
        const size_t series = panel->series ? panel->series[i] : 0;
        mgk_marker_draw(canvas, series, p.dots[i].x, p.dots[i].y, page->radius,
                        page->style.thin.color, true);
        mgk_marker_draw(canvas, series, p.dots[i].x, p.dots[i].y, page->radius - outline,
                        color_of(page, panel->groups[i]), true);
    }
    for (size_t i = 0; i < panel->count; i++)
        draw_label(canvas, &p, panel->labels[i], p.dots[i]);
out:
    mgk_free(p.dots);
    mgk_free(p.taken);
    return status;
}

static mgk_status draw_panel(mgk_canvas *canvas, const scatter_page *page, size_t index,
                             mgk_rect frame)
{
    const mgk_scatter *scatter = page->scatter;
    const mgk_scatter_panel *panel = &scatter->panels[index];
    const bool below = index + page->columns < scatter->count, left = index % page->columns == 0;
    mgk_axes axes = axes_for(page, frame.width, frame.height);
    axes.frame = frame;
    axes.x.hide_labels = below;
    axes.x.label = below ? NULL : scatter->x_label;
    axes.y.hide_labels = !left;
    axes.y.label = left ? scatter->y_label : NULL;
    mgk_axes_draw(canvas, &axes);
    mgk_canvas_text(canvas, frame.x, frame.y - 0.35 * page->style.small.size, panel->title,
                    mgk_fit_font(page->style.small, panel->title, frame.width), ANCHOR_START);
    return draw_points(canvas, page, &axes, panel);
}

/* Draws the heading and the legend, of every second or third group if there are many; returns their
 * height. */
static double draw_top(mgk_canvas *canvas, const scatter_page *page, mgk_rect span)
{
    const mgk_scatter *scatter = page->scatter;
    const size_t every = (scatter->group_count + LEGEND_MAX - 1) / LEGEND_MAX;
    mgk_legend_entry entries[LEGEND_MAX];
    size_t count = 0;
    for (size_t g = 0; g < scatter->group_count; g += every)
        entries[count++] =
            (mgk_legend_entry){scatter->group_names[g], color_of(page, g), KEY_PATCH};
    const mgk_legend legend = {entries, count, page->style.small};
    return mgk_legend_draw_headed(canvas, &legend, scatter->heading, page->style.text, span);
}

static mgk_status draw_panels(mgk_canvas *canvas, const scatter_page *page, const mgk_axes *axes,
                              mgk_rect area)
{
    const double top = draw_top(canvas, page, mgk_tiles_span(area, axes));
    area.y += top;
    area.height -= top;
    const mgk_tiles tiles = mgk_tiles_over(area, page->rows, page->columns, axes);
    for (size_t i = 0; i < page->scatter->count; i++)
        TRY(draw_panel(canvas, page, i,
                       mgk_tiles_frame(&tiles, i / page->columns, i % page->columns)));
    return STATUS_OK;
}

mgk_status mgk_draw_scatter(const mgk_scatter *scatter, const mgk_picture_options *options,
                            const char *path)
{
    mgk_status status;
    mgk_page page = {0};
    const size_t count = scatter->count, columns = count == 4 ? 2 : count < 3 ? count : 3;
    scatter_page shared = {.scatter = scatter, .colormap = options->colormap, .columns = columns};
    find_extent(&shared);
    if (count == 0 || count > PANELS_MAX || !(shared.low.x <= shared.high.x))
        return mgk_fail(STATUS_SHAPE, "%zu panels: expected 1 to %d, with points", count,
                        PANELS_MAX);
    shared.rows = (count + columns - 1) / columns;
    const double side = count == 1 ? 1300 : 840;
    const double width = side * (double)columns + 100,
                 height = 0.8 * side * (double)shared.rows + 230;
    shared.style = mgk_style_of(mgk_text_size_for(width));
    shared.radius = 0.27 * shared.style.text.size;
    shared.label = shared.style.small;
    shared.label.size = round(0.75 * shared.label.size);
    const mgk_axes axes = axes_for(&shared, side, 0.8 * side);
    const mgk_rect span = mgk_tiles_span((mgk_rect){0, 0, width, height}, &axes);
    CHECK(
        mgk_page_open(path, width, height, span.x + span.width / 2, shared.style, options, &page));
    CHECK(draw_panels(page.canvas, &shared, &axes, (mgk_rect){page.x, page.y, width, height}));
    CHECK(mgk_page_save(&page));
out:
    mgk_page_close(&page);
    return status;
}
