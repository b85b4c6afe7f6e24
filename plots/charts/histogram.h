/* Rank histograms of several models, layer by layer, on shared axes. */
#ifndef MGK_PLOTS_HISTOGRAM_H
#define MGK_PLOTS_HISTOGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plots/canvas/canvas.h"
#include "plots/canvas/style.h"
#include "plots/options.h"

/* The ranks of one model's attention matrices. */
typedef struct mgk_model_ranks {
    const char *title;   /* NULL: none */
    const double *ranks; /* [layers, count], finite, >= 0 */
    size_t layers, count;
    const int32_t
        *layer_numbers; /* the model's own zero-based numbers, [layers]; NULL: 0, 1, ... */
    size_t tokens;      /* N of the largest matrix, which no rank is above; 0: not known */
} mgk_model_ranks;

typedef struct mgk_histograms {
    const mgk_model_ranks *tables; /* [table_count], one a model */
    size_t table_count;
    const size_t *rows; /* [row_count], indices into the tables' layers; NULL: every layer */
    size_t row_count;
    /* True: one plot a layer, the models in it over each other. False: a plot a model and
       layer, models side by side. */
    bool overlay;
    const char *value_name; /* of the x axis: "rank" */
    const char *heading;    /* overlay only: above the plots; NULL: none */
} mgk_histograms;

/* Draws into the area. STATUS_SHAPE: nothing to draw; STATUS_NUMERIC: a rank that is none. */
mgk_status mgk_histograms_draw(mgk_canvas *canvas, const mgk_histograms *histograms,
                               mgk_style style, mgk_rect area);

/* "Singular values of at least 10^-6 of the largest": what ranks count. */
void mgk_count_heading(double threshold, bool relative, size_t size, char *out);

/* The columns into which the plots of an overlay are best broken in an area of this shape. */
size_t mgk_histogram_columns(size_t count, double width, double height);

/* A picture of the histograms alone. */
mgk_status mgk_draw_histograms(const mgk_histograms *histograms, const mgk_picture_options *options,
                               const char *path);

#endif
