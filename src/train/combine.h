/* SPDX-License-Identifier: MIT */
/* Makes of what several processes computed, each of its portion of a step, that of the whole step.
 */
#ifndef MGK_TRAIN_COMBINE_H
#define MGK_TRAIN_COMBINE_H

#include "train/state.h"

typedef struct mgk_combination mgk_combination;

/* Prepares it for a run and the pass that computes its gradients, which must outlive it; not
 * collective. *out is NULL without a cluster. Release with mgk_combination_free. STATUS_MEMORY. */
mgk_status mgk_combination_create(mgk_cluster *cluster, mgk_pass *pass, mgk_train_run *run,
                                  mgk_combination **out);
void mgk_combination_free(mgk_combination *combination); /* NULL is accepted */

/*
 * Collective: the sums over all processes, in the order of ranks (cluster/sum.h), replace
 * run->gradient, the responsibilities of the pass, *loss in device memory, and terms. `status` is
 * that of this process's portion; if one has failed, all return its failure. NULL: returns status.
 */
mgk_status mgk_combine(mgk_combination *combination, mgk_status status, mgk_loss *loss,
                       double terms[MGK_TERMS]);

#endif
