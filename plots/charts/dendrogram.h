/* SPDX-License-Identifier: MIT */
/* A tree of clusters, drawn right of a map whose rows are its leaves. */
#ifndef MGK_PLOTS_DENDROGRAM_H
#define MGK_PLOTS_DENDROGRAM_H

#include <stddef.h>

#include "plots/canvas/canvas.h"
#include "plots/canvas/style.h"
#include "plots/scales/axes.h"

/* Node number `leaves` + k joins two earlier nodes; the nodes below `leaves` are the leaves. */
typedef struct mgk_tree_node {
    size_t first, second;
    double height; /* >= 0 */
} mgk_tree_node;

typedef struct mgk_dendrogram {
    const mgk_tree_node *nodes; /* [leaves - 1]; NULL: no tree */
    const size_t *rows;         /* [leaves], the row of each leaf */
    size_t leaves;
} mgk_dendrogram;

/* The axis of heights for all trees [count] of a picture: from 0 to the highest node. */
mgk_axis mgk_dendrogram_axis(const mgk_dendrogram *trees, size_t count);

/* Draws the tree into the area: rows are `pitch` apart, from the top; heights grow to the right.
 * The ticks of the axis are below the area. STATUS_MEMORY. */
mgk_status mgk_dendrogram_draw(mgk_canvas *canvas, const mgk_dendrogram *tree, const mgk_axis *axis,
                               mgk_style style, double pitch, mgk_rect area);

#endif
