/* SPDX-License-Identifier: MIT */
/*
 * A pair of axes: frame, ticks, tick labels, axis labels and title, and the map from data to
 * canvas.
 */
#ifndef MGK_PLOTS_AXES_H
#define MGK_PLOTS_AXES_H

#include <stdbool.h>

#include "plots/canvas/canvas.h"
#include "plots/canvas/style.h"
#include "plots/scales/ticks.h"

typedef struct mgk_axis {
    const char *label; /* NULL: none */
    double low, high;  /* low < high; both > 0 on a log axis */
    bool log;
    bool hide_labels; /* only tick marks: a neighbour shows the labels */
    mgk_ticks ticks;
} mgk_axis;

/*
 * An axis over [low, high]: an empty range is widened around its value. With `round_ends` the ends
 * move outwards to ticks. most: the number of ticks that fit, 2 to MGK_TICKS_MAX - 2.
 */
mgk_axis mgk_axis_over(double low, double high, bool log, bool round_ends, size_t most);

/* A linear axis over low < high with integer ticks. */
mgk_axis mgk_axis_whole(double low, double high, size_t most);

/* The same for a frame of this width, with labels that do not overlap. */
mgk_axis mgk_axis_whole_across(double low, double high, double width, mgk_style style);

/* The number of ticks that fit a horizontal or a vertical axis. */
size_t mgk_ticks_across(double width, mgk_style style);
size_t mgk_ticks_up(double height, mgk_style style);

typedef struct mgk_axes {
    mgk_axis x, y;
    const char *title; /* above the frame, NULL: none */
    mgk_rect frame;
    mgk_style style;
} mgk_axes;

/* Margins around the frame for labels and the title. */
typedef struct mgk_margins {
    double left, right, top, bottom;
} mgk_margins;

mgk_margins mgk_axes_margins(const mgk_axes *axes);

/* The frame inside `outer` with these margins, on whole pixels. */
mgk_rect mgk_inset(mgk_rect outer, mgk_margins margins);

/* The canvas coordinate of a value. */
double mgk_axes_x(const mgk_axes *axes, double value);
double mgk_axes_y(const mgk_axes *axes, double value);

/* Light lines at the ticks of y; draw before the data. */
void mgk_axes_draw_grid(mgk_canvas *canvas, const mgk_axes *axes);

/* Frame, ticks and text; draw after the data. */
void mgk_axes_draw(mgk_canvas *canvas, const mgk_axes *axes);

#endif
