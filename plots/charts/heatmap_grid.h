/* SPDX-License-Identifier: MIT */
/*
 * A grid of matrices: rows are layers, columns are heads (and mixture components), one group of
 * columns per model.
 *
 *          (a) softmax, 2 heads            (b) MGK, 1 head      <- titles
 *             head 0    head 1                head 0            <- columns
 *                                          key 0     key 1      <- in groups with several keys
 *   layer 0  [matrix]  [matrix]          [matrix]  [matrix]  | colour
 *   layer 1  [matrix]  [matrix]          [matrix]  [matrix]  | bar
 *           0 key 255                   0 key 255               <- extent of the matrices
 *
 * Labels, if any, replace the extent: left of the first panels and below the last ones. A legend at
 * the bottom names the colours of masked entries and of entries that are not finite.
 */
#ifndef MGK_PLOTS_HEATMAP_GRID_H
#define MGK_PLOTS_HEATMAP_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plots/canvas/canvas.h"
#include "plots/canvas/style.h"
#include "plots/charts/image.h"
#include "plots/charts/labels.h"
#include "plots/options.h"
#include "plots/scales/legend.h"

enum { MGK_GROUPS_MAX = 16 };

/* The matrices of one model, [L, H, M, rows, cols]; exactly one of f32 and f64 is not NULL. */
typedef struct mgk_panels {
    const char *title;  /* NULL: no title */
    const char *source; /* the file, for messages; NULL: the title */
    const float *f32;
    const double *f64;
    size_t layers, heads, keys; /* L, H, M; M = 1: one matrix per head */
    size_t rows, cols;
    size_t row_stride;    /* elements between rows; 0: cols */
    size_t matrix_stride; /* elements between matrices; 0: rows * row_stride */
    /* The model's zero-based numbers of the layers [L] and heads [H]; NULL: 0, 1, 2, ... */
    const int32_t *layer_numbers, *head_numbers;
    /* Labels of the rows [rows]; NULL: numbers from `first`, which is also that of the columns. The
     * labels of the columns [cols]; NULL: those of the rows, of a square matrix. */
    const char *const *labels, *const *col_labels;
    size_t first;
    bool causal; /* for square matrices: zeros right of the diagonal are masked entries */
    size_t padding_first, padding_last; /* so many columns at the ends are masked: padding */
} mgk_panels;

typedef struct mgk_heatmap_grid {
    const mgk_panels *groups; /* [group_count] */
    size_t group_count;       /* 1 to MGK_GROUPS_MAX */
    bool letters;             /* titles start with (a), (b), ... */
    size_t panel;             /* default longer side of a matrix in pixels; labels may need more */
    double page_share;        /* fraction of the page's width for the grid; 0: all of it */
    const char *value_name;   /* at the colour bar: "attention" */
    const char *row_name, *col_name; /* axes of a matrix: "query", "key" */
} mgk_heatmap_grid;

/* The position of one group, relative to the grid. */
typedef struct mgk_heatmap_group {
    size_t rows, cols, factor; /* size of the pooled matrices, and pixels per entry */
    double title_x;            /* middle of the title and of the panels */
    double x;                  /* left edge of the first panel */
    double cell_width, cell_height;
    bool left_axis;               /* draws row labels and the row axis */
    bool short_heads, short_keys; /* only numbers: the words do not fit */
    bool row_apart, col_apart;    /* names of axes are on a separate line, outside the numbers */
    mgk_labels labels, col_labels;
} mgk_heatmap_group;

/* A measured grid. Borrows the grid and the options; owns the scales. */
typedef struct mgk_heatmap_plan {
    const mgk_heatmap_grid *grid;
    const mgk_picture_options *options;
    mgk_style style, bar_style;
    mgk_scale *scales; /* one, or one per panel in drawing order */
    size_t scale_count;
    mgk_heatmap_group groups[MGK_GROUPS_MAX];
    size_t layers; /* rows of the grid */
    bool key_row, short_rows;
    double gap, top, row_height, panels_height, bar_width, bar_height;
    double label_height; /* of the labels below the panels */
    mgk_legend_entry note[2];
    mgk_legend notes; /* at the bottom */
    double notes_width, notes_height;
    char bar_label[64];
    double middle; /* horizontal middle of all panels */
    double width, height;
} mgk_heatmap_plan;

/*
 * Fits the scales and computes all positions. Release with mgk_heatmap_free. STATUS_SHAPE: nothing
 * to draw, or too large; STATUS_NUMERIC: values that the scale cannot show.
 */
mgk_status mgk_heatmap_measure(const mgk_heatmap_grid *grid, const mgk_picture_options *options,
                               mgk_heatmap_plan *out);

/* The number of a group's first row and column. */
size_t mgk_heatmap_first(const mgk_heatmap_plan *plan, const mgk_panels *panels);

/* The space for row labels and the row axis, left of a group's first panels. */
double mgk_heatmap_axis_width(const mgk_heatmap_plan *plan, const mgk_heatmap_group *group);

/* Draws the grid with its upper left corner at (x, y). */
mgk_status mgk_heatmap_draw(mgk_canvas *canvas, const mgk_heatmap_plan *plan, double x, double y);

/* Releases the scales; a zeroed plan is accepted. */
void mgk_heatmap_free(mgk_heatmap_plan *plan);

/* The view of one panel of a group, without bounds checks. */
mgk_drawn_matrix mgk_panel_view(const mgk_panels *panels, size_t layer, size_t head, size_t key);

/*
 * Prepends the panel to the thread's message: "file.h5: layer 0, head 3: ", counted from 0 as in
 * options. panel: the index in the order of layers, heads, keys. Returns `status`.
 */
mgk_status mgk_panel_fail(mgk_status status, const mgk_panels *panels, size_t panel);

/* "(a) " if the grid has letters, then the title; "" without either. */
void mgk_heatmap_title(const mgk_heatmap_grid *grid, size_t group, char *out, size_t size);

/* Draws only the grid to a file. */
mgk_status mgk_draw_heatmap_grid(const mgk_heatmap_grid *grid, const mgk_picture_options *options,
                                 const char *path);

#endif
