/* SPDX-License-Identifier: MIT */
/* Histograms of ranks, or of another measure, of several models per layer, on shared axes. */
#ifndef MGK_PLOTS_HISTOGRAM_H
#define MGK_PLOTS_HISTOGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plots/canvas/canvas.h"
#include "plots/canvas/style.h"
#include "plots/options.h"

/* The ranks of a model's attention matrices, or other values. */
typedef struct mgk_model_ranks {
    const char *title;   /* NULL: no title */
    const double *ranks; /* [layers, count], finite, >= 0; or if they are real, finite or NaN */
    size_t layers, count;
    const int32_t *layer_numbers; /* the model's zero-based numbers, [layers]; NULL: 0, 1, ... */
    size_t tokens;                /* N of the largest matrix, an upper bound of ranks; 0: unknown */
} mgk_model_ranks;

typedef struct mgk_histograms {
    const mgk_model_ranks *tables; /* [table_count], one per model */
    size_t table_count;
    const size_t *rows; /* [row_count], indices into the tables' layers; NULL: every layer */
    size_t row_count;
    /*
     * true: one plot per layer, with all models; false: one plot per model and layer, models side
     * by side
     */
    bool overlay;
    int32_t count_from;     /* the number drawn for layer 0, see mgk_picture_options */
    bool real;              /* the values are real numbers; false: counts */
    const char *value_name; /* of the x axis: "rank" */
    const char *heading;    /* overlay only: above the plots; NULL: no heading */
} mgk_histograms;

/* Draws into the area. STATUS_SHAPE: nothing to draw; STATUS_NUMERIC: an invalid rank,
 * or no value at all. */
mgk_status mgk_histograms_draw(mgk_canvas *canvas, const mgk_histograms *histograms,
                               mgk_style style, mgk_rect area);

/* "Singular values of at least 10^-6 of the largest", the meaning of the ranks, to out [size]. */
void mgk_count_heading(double threshold, bool relative, size_t size, char *out);

/* "rank", or of shares "rank / N": N is the most that a rank can be. */
const char *mgk_rank_label(bool shares);

/* Appends ", N from 7 to 256" to the heading text [size] of matrices that differ in N. */
void mgk_append_sizes(size_t least, size_t most, size_t size, char *text);

/* Draws only the histograms to a file. */
mgk_status mgk_draw_histograms(const mgk_histograms *histograms, const mgk_picture_options *options,
                               const char *path);

#endif
