/* SPDX-License-Identifier: MIT */
/* Curves of pruning: what is left of a model without some of its heads. */
#ifndef MGK_ANALYSIS_PRUNING_H
#define MGK_ANALYSIS_PRUNING_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/measures/importance.h"

/* How the next head to remove is chosen, see analysis/measures/removal.h; of random orders, the
 * mean of ten. */
typedef enum mgk_pruning_order {
    MGK_PRUNE_IMPORTANCE,
    MGK_PRUNE_RANDOM,
    MGK_PRUNE_REDUNDANCY,
    MGK_PRUNINGS
} mgk_pruning_order;

typedef struct mgk_pruning_point {
    double value;        /* the mean over samples, or over random orders */
    double sd;           /* the standard deviation of samples, or of random orders */
    int32_t layer, head; /* removed last; −1: none, or another one in each order */
} mgk_pruning_point;

typedef struct mgk_pruning_curve {
    const char *measure; /* mgk_pruning_name */
    size_t heads;        /* of the whole model, or of its chosen layers */
    size_t samples;
    mgk_pruning_point *points; /* [heads + 1], without 0, 1, … of these heads */
} mgk_pruning_curve;

/* "prune_importance", "prune_redundancy" or "prune_random", whose values are losses; with
 * "_divergence" or "_hidden" where they are what these importances are. */
const char *mgk_pruning_name(mgk_pruning_order order, mgk_importance which);

#endif
