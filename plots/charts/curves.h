/* SPDX-License-Identifier: MIT */
/* Line plots, for training curves and cost against N. */
#ifndef MGK_PLOTS_CURVES_H
#define MGK_PLOTS_CURVES_H

#include <stdbool.h>
#include <stddef.h>

#include "plots/options.h"
#include "plots/scales/axes.h"
#include "plots/scales/legend.h"

/*
 * A line through (x[i], y[i]), interrupted at points without a position (NaN; <= 0 on a log axis).
 */
typedef struct mgk_curve {
    const char *label;   /* in the legend; NULL: none */
    const double *x, *y; /* [count] */
    /* [count], a band around the line, where both have a position; NULL: none */
    const double *lower, *upper;
    size_t count;
    size_t series;        /* index for mgk_series_color, */
    const mgk_rgb *color; /* unless this is not NULL */
    bool markers;         /* the marker of the series at every point, for curves with few points */
    bool faint;           /* thin and lighter, for noisy or secondary data */
} mgk_curve;

enum { MGK_CURVE_KEYS = 2 };

typedef struct mgk_curves {
    const mgk_curve *curves; /* [count]; later ones cover earlier ones */
    size_t count;
    const mgk_legend_entry *keys;  /* of lines of any colour, [key_count], last in the legend */
    size_t key_count;              /* 0 to MGK_CURVE_KEYS */
    const char *x_label, *y_label; /* NULL: none */
    const double
        *base; /* of a thin line across the plot, above or below which curves are; NULL: none */
    bool log_x, log_y;
    bool whole_x; /* x counts: its ticks are whole numbers */
    bool named_x; /* ticks are at the points of the first curve, at most MGK_TICKS_MAX */
} mgk_curves;

/*
 * Draws the curves to a file. STATUS_SHAPE: no curve, or too many; STATUS_NUMERIC: no point that
 * can be drawn.
 */
mgk_status mgk_draw_curves(const mgk_curves *curves, const mgk_picture_options *options,
                           const char *path);

/* The ends of the data: of all points that have a position, and of their bands. */
typedef struct mgk_curves_range {
    double left, right, bottom, top;
} mgk_curves_range;

/* The range of nothing: left > right. */
extern const mgk_curves_range mgk_curves_no_range;

/* Widens the range to that of these curves. STATUS_SHAPE: no curve, or too many. */
mgk_status mgk_curves_add_range(const mgk_curves *curves, mgk_curves_range *range);

/* Axes over a range of these curves, without a frame, for one of about this size. */
mgk_axes mgk_curves_axes(const mgk_curves *curves, mgk_curves_range range, double width,
                         double height, mgk_style style);

/* Draws grid, bands, lines and axes into the frame of the axes. */
mgk_status mgk_curves_draw(mgk_canvas *canvas, const mgk_curves *curves, const mgk_axes *axes);

#endif
