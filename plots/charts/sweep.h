/* Rank against threshold, layer by layer: the median as a line, the quartiles as a band. */
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
    const double *noise;                  /* [layers]: rounding hides what is below; NaN: unknown */
} mgk_sweep_model;

typedef struct mgk_sweeps {
    const mgk_sweep_model *models; /* [model_count] */
    size_t model_count;
    const int32_t *layer_numbers; /* the models' own, zero-based, [layers] */
    size_t layers;
    const char *threshold_name; /* of the x axis: "threshold" */
    const char *heading;        /* above the plots */
} mgk_sweeps;

/*
 * What rounding hides, of the model where that is most, is a grey band, if the noise of the models
 * is the same within a factor of 10 in each layer; else there is none, and a line says so.
 * STATUS_SHAPE: no layer, no model, or too many.
 */
mgk_status mgk_draw_sweeps(const mgk_sweeps *sweeps, const mgk_picture_options *options,
                           const char *path);

#endif
