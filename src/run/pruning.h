/* Pruning: a model without more and more of its heads. */
#ifndef MGK_RUN_PRUNING_H
#define MGK_RUN_PRUNING_H

#include "analysis/table/diversity_means.h"
#include "run/ablation.h"

/* What is removed, in which orders. */
typedef struct mgk_pruning {
    mgk_importance which;  /* what is told of the model that is left, see mgk_ablation_values */
    const int32_t *layers; /* [layer_count], numbers of the layers that lose heads, ascending */
    size_t layer_count, heads;
    const size_t *orders; /* [order_count, layer_count H], see analysis/measures/removal.h */
    size_t order_count;
    void (*progress)(void *state, size_t done, size_t total); /* in runs of a batch */
    void *state;
} mgk_pruning;

/*
 * Runs the model on all samples of a run, without the first 0, 1, … layer_count H heads of each
 * order. Adds the value of every sample to *out, of size order_count (layer_count H + 1): number
 * i (layer_count H + 1) + k is order i without its first k heads. `ablation` is of this run and
 * tells `which`. STATUS_INTERRUPTED: the job's watcher asks to stop.
 */
mgk_status mgk_prune(mgk_model_run *run, mgk_ablation *ablation, const mgk_job *job,
                     const mgk_pruning *pruning, mgk_diversity_means *out);

#endif
