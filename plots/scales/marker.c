/* SPDX-License-Identifier: MIT */
#include "plots/scales/marker.h"

enum { CORNERS = 4, SHAPES = 5 };

/* The corners of shapes, for a radius of 1, of about equal areas; without corners: a circle. */
static const struct {
    size_t count;
    mgk_point corners[CORNERS];
} shapes[SHAPES] = {
    {0, {{0, 0}}},
    {4, {{-0.9, -0.9}, {0.9, -0.9}, {0.9, 0.9}, {-0.9, 0.9}}},
    {3, {{0, -1.25}, {1.2, 0.85}, {-1.2, 0.85}}},
    {4, {{0, -1.3}, {1.3, 0}, {0, 1.3}, {-1.3, 0}}},
    {3, {{0, 1.25}, {1.2, -0.85}, {-1.2, -0.85}}},
};

static void draw_shape(mgk_canvas *canvas, size_t shape, double x, double y, double radius,
                       mgk_rgb color)
{
    const size_t count = shapes[shape].count;
    mgk_point points[CORNERS];
    for (size_t i = 0; i < count; i++)
        points[i] = (mgk_point){x + radius * shapes[shape].corners[i].x,
                                y + radius * shapes[shape].corners[i].y};
    if (count == 0)
        mgk_canvas_dot(canvas, x, y, radius, color);
    else
        mgk_canvas_polygon(canvas, points, count, color, 1);
}

void mgk_marker_draw(mgk_canvas *canvas, size_t series, double x, double y, double radius,
                     mgk_rgb color, bool filled)
{
    const double inside = 0.55;
    draw_shape(canvas, series % SHAPES, x, y, radius, color);
    if (!filled)
        draw_shape(canvas, series % SHAPES, x, y, inside * radius, (mgk_rgb){255, 255, 255});
}
