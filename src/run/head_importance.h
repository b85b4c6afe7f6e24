/* SPDX-License-Identifier: MIT */
/*
 * What each head of a running model is worth: how the model changes without it, and what the
 * gradient says of it (Michel et al. 2019).
 */
#ifndef MGK_RUN_HEAD_IMPORTANCE_H
#define MGK_RUN_HEAD_IMPORTANCE_H

#include "run/ablation.h"

typedef struct mgk_head_importance mgk_head_importance;

/* What can be told of the heads of this run: a bit set of MGK_IMPORTANCE_BIT. */
unsigned mgk_head_importance_kinds(const mgk_model_run *run);

/* Bytes for each sequence of a batch, as in mgk_ablation_bytes; those of the gradient do not grow
 * with the batch, except its values. */
size_t mgk_head_importance_bytes(const mgk_model_run *run, unsigned kinds, size_t layer_count,
                                 bool on_host);

/* Prepares the given kinds for `heads` [head_count] of each of `layers` [layer_count], numbers
 * which the caller keeps. The run must be prepared; it loads targets from now on. Release with
 * mgk_head_importance_close. */
mgk_status mgk_head_importance_open(mgk_model_run *run, unsigned kinds, const int32_t *layers,
                                    size_t layer_count, const int32_t *heads, size_t head_count,
                                    mgk_head_importance **out);
void mgk_head_importance_close(mgk_head_importance *importance); /* NULL is accepted */

/* What removes the heads, for further use between batches; NULL: no kind needs it. NULL is
 * accepted. */
mgk_ablation *mgk_head_importance_ablation(const mgk_head_importance *importance);

/*
 * Computes the values of the last batch of the run: a pass from the layer of each head on, and for
 * the gradient a forward and a backward pass. Afterwards the pass of the run holds no activations
 * of use. STATUS_INTERRUPTED: the job's watcher asks to stop.
 */
mgk_status mgk_head_importance_measure(mgk_head_importance *importance, const mgk_job *job);

/* The values [H] of a sample of the batch and of layer number `place` of the list, by the numbers
 * of heads; those of heads that were not given are undefined. NaN: none. */
const double *mgk_head_importance_values(const mgk_head_importance *importance,
                                         mgk_importance which, size_t sample, size_t place);

#endif
