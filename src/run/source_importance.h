/* SPDX-License-Identifier: MIT */
/* What heads are worth, for a model as a source: kept from the last batch for prepared groups,
 * which may belong to several batches. */
#ifndef MGK_RUN_SOURCE_IMPORTANCE_H
#define MGK_RUN_SOURCE_IMPORTANCE_H

#include "run/head_importance.h"
#include "run/sources.h"

/* Zeroed: no importance is wanted. */
typedef struct mgk_source_importance {
    unsigned wanted;                 /* bit set of MGK_IMPORTANCE_BIT */
    mgk_head_importance *heads;      /* of the last batch; NULL: none wanted */
    const int32_t *numbers;          /* the model's numbers of the source's heads; borrowed */
    double *values[MGK_IMPORTANCES]; /* [most], the wanted ones, of prepared matrices */
    size_t held;                     /* bytes in the host's memory */
} mgk_source_importance;

/* The importances that the options want and the run has. */
unsigned mgk_source_importance_choose(const mgk_source_options *options, const mgk_model_run *run);

/*
 * The tokens of a batch, for mgk_model_run_fit: so many that what `wanted` takes of the host's
 * memory for a batch fits into `memory` bytes, but at least one; 0: as many as the device wants.
 */
int mgk_source_importance_batch(const mgk_model_run *run, unsigned wanted, size_t layer_count,
                                size_t memory);

/*
 * Opens `wanted` of a run that is prepared, for `heads` [head_count] of each of `layers`
 * [layer_count], numbers which the caller keeps, and at most `most` prepared matrices. Release with
 * mgk_source_importance_close.
 */
mgk_status mgk_source_importance_open(mgk_model_run *run, unsigned wanted, const int32_t *layers,
                                      size_t layer_count, const int32_t *heads, size_t head_count,
                                      size_t most, mgk_source_importance *out);
void mgk_source_importance_close(mgk_source_importance *importance);

/* Keeps the values of a group's heads on sample number `sample` of the last batch. */
void mgk_source_importance_keep(const mgk_source_importance *importance, const mgk_group *group,
                                size_t sample);

/* Sets values [H] of a prepared group's heads. */
void mgk_source_importance_give(const mgk_source_importance *importance, const mgk_group *group,
                                mgk_importance which, double *values);

#endif
