/* SPDX-License-Identifier: MIT */
/* Rank against threshold per layer: the median as a line, the quartiles as a band. */
#ifndef MGK_PLOTS_SWEEP_H
#define MGK_PLOTS_SWEEP_H

#include <stddef.h>
#include <stdint.h>

#include "plots/options.h"

/* Ranks of one model at T thresholds. */
typedef struct mgk_sweep_model {
    const char *title;
    const double *thresholds;             /* [T], ascending, above 0 */
    size_t count;                         /* T, at least 2 */
    const double *median, *lower, *upper; /* [layers, T], finite, >= 0 */
    const double *noise;                  /* [layers]: noise floors; NaN: unknown */
} mgk_sweep_model;

typedef struct mgk_sweeps {
    const mgk_sweep_model *models; /* [model_count] */
    size_t model_count;
    const int32_t *layer_numbers; /* zero-based numbers of the models, [layers] */
    size_t layers;
    int32_t count_from;         /* the number drawn for layer 0, see mgk_picture_options */
    const char *threshold_name; /* of the x axis: "threshold" */
    const char *heading;        /* above the plots */
} mgk_sweeps;

/*
 * Draws the sweeps to a file. A grey band marks thresholds below the largest noise floor of the
 * models, if their floors agree within a factor of 10 in each layer; otherwise a text replaces the
 * band. STATUS_SHAPE: no layer, no model, or too many.
 */
mgk_status mgk_draw_sweeps(const mgk_sweeps *sweeps, const mgk_picture_options *options,
                           const char *path);

#endif
