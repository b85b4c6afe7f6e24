/* SPDX-License-Identifier: MIT */
/* Pruning: a model without more and more of its heads. */
#ifndef MGK_RUN_PRUNING_H
#define MGK_RUN_PRUNING_H

#include "analysis/table/diversity_means.h"
#include "run/ablation.h"

/* What is removed, in which orders. */
typedef struct mgk_pruning {
    mgk_importance which;  /* what is told of the model that is left, see mgk_ablation_values */
    const int32_t *layers; /* [layer_count], numbers of the layers that lose heads, ascending */
    const int32_t *heads;  /* [head_count], numbers of the heads that each of them loses */
    size_t layer_count, head_count;
    const size_t
        *orders; /* [order_count, layer_count head_count], see analysis/measures/removal.h */
    size_t order_count;
    size_t first_sample; /* of those that are run */
    size_t finished;     /* the first orders, which an earlier call has run */
    void (*progress)(void *state, size_t done, size_t total); /* in runs of a batch */
    mgk_status (*receive)(void *state, size_t order);         /* all samples of an order are run */
    void *state;
} mgk_pruning;

/*
 * Runs the model on the samples of a run from the first one on, without the first 0, 1, …
 * layer_count head_count heads of each order, one order after another. Adds the value of every
 * sample to *out, of size order_count (layer_count head_count + 1): number i (layer_count
 * head_count + 1) + k is order i without its first k heads. `ablation` is of this run and tells
 * `which`. A value beyond the range of a double counts as none. STATUS_INTERRUPTED: the job's
 * watcher asks to stop; the errors of `receive`.
 */
mgk_status mgk_prune(mgk_model_run *run, mgk_ablation *ablation, const mgk_job *job,
                     const mgk_pruning *pruning, mgk_diversity_means *out);

#endif
