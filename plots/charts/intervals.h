/* SPDX-License-Identifier: MIT */
/*
 * Points with intervals, such as the differences of layers: a panel for each measure, which has its
 * own axis, and a marker for each series.
 *
 *             legend
 *      title           title
 *   |    +          |  +     +
 *   |--+-----+---   |-----+-----   zero
 *   1  2  3  4      1  2  3  4
 *             notes
 */
#ifndef MGK_PLOTS_INTERVALS_H
#define MGK_PLOTS_INTERVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plots/options.h"

typedef struct mgk_interval {
    int32_t number;          /* of its layer */
    double value, low, high; /* NaN value: not drawn; NaN low or high: no interval */
    bool filled;
} mgk_interval;

/* The points of a series in a panel. */
typedef struct mgk_interval_series {
    const mgk_interval *points; /* [count] */
    size_t count;
} mgk_interval_series;

typedef struct mgk_intervals {
    const char *const *titles;         /* [panel_count] */
    const char *const *names;          /* [series_count], of the series */
    const mgk_interval_series *series; /* [panel_count, series_count] */
    size_t panel_count, series_count;
    const char *x_label, *y_label;
    const char *hollow;       /* what a point that is not filled says, for the legend */
    const char *const *notes; /* [note_count], lines below the panels */
    size_t note_count;
} mgk_intervals;

/*
 * Draws the panels to a file, with zero on every axis. STATUS_SHAPE: no panel or series;
 * STATUS_NUMERIC: a panel without a point.
 */
mgk_status mgk_draw_intervals(const mgk_intervals *intervals, const mgk_picture_options *options,
                              const char *path);

#endif
