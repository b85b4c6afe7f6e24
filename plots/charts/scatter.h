/* SPDX-License-Identifier: MIT */
/* Points of a plane in colours of their groups, a panel for each set of points. */
#ifndef MGK_PLOTS_SCATTER_H
#define MGK_PLOTS_SCATTER_H

#include <stddef.h>

#include "plots/options.h"

typedef struct mgk_scatter_panel {
    const char *title;
    const double *points;      /* [count, 2], x and y, finite */
    const size_t *groups;      /* [count] */
    const char *const *labels; /* [count] */
    size_t count;
    const size_t *series; /* [count], whose markers the points have; NULL: circles */
} mgk_scatter_panel;

typedef struct mgk_scatter {
    const mgk_scatter_panel *panels; /* [count] */
    size_t count;
    const char *const *group_names; /* [group_count]; groups are in order, and so are colours */
    size_t group_count;
    const char *heading; /* above the legend */
    const char *x_label, *y_label;
} mgk_scatter;

/*
 * Draws the points to a file. Equal distances are equally long in both directions and all panels.
 * A label is next to its point where it covers no other point or label. STATUS_SHAPE: no panel, no
 * point, or too many.
 */
mgk_status mgk_draw_scatter(const mgk_scatter *scatter, const mgk_picture_options *options,
                            const char *path);

#endif
