/* SPDX-License-Identifier: MIT */
/*
 * One step of training: the gradient of the mean loss over its micro-batches, clipping, AdamW. The
 * device does all of it, recorded once and replayed at every step; the host provides the batches
 * and reads the results at the end. Several processes add the gradients of their portions in
 * between; then all make the same step.
 */
#ifndef MGK_TRAIN_STEP_H
#define MGK_TRAIN_STEP_H

#include "train/state.h"

typedef struct mgk_step mgk_step;

typedef struct mgk_step_result {
    mgk_loss loss;           /* of all micro-batches */
    double gradient_norm;    /* before clipping */
    double terms[MGK_TERMS]; /* of the regularisation, without their factors, mean of batches */
    double rate;
} mgk_step_result;

/*
 * Prepares steps of `run` on batches of `data`; run, data and settings must outlive the result.
 * Release with mgk_step_free. STATUS_SHAPE: the data do not fit the model.
 */
mgk_status mgk_step_create(mgk_train_run *run, const mgk_dataset *data,
                           const mgk_train_settings *settings, mgk_step **out);
void mgk_step_free(mgk_step *step); /* NULL is accepted */

/*
 * Collective: does the run's next step and increments run->step. STATUS_NUMERIC: loss or gradient
 * are not finite; then the run has ended, with undefined weights. What fails in this process alone
 * after the gradients are added is not known to the others.
 */
mgk_status mgk_step_take(mgk_step *step, mgk_step_result *result);

#endif
