/*
 * One step of training: the gradient of the mean loss over its micro-batches, its clipping, AdamW.
 * All of it is the device's work, recorded once and replayed at every step; the host brings the
 * batches and reads what came of them at the end.
 */
#ifndef MGK_TRAIN_STEP_H
#define MGK_TRAIN_STEP_H

#include "train/state.h"

typedef struct mgk_step mgk_step;

typedef struct mgk_step_result {
    mgk_loss loss;        /* of all micro-batches */
    double gradient_norm; /* before clipping */
    double rate;
} mgk_step_result;

/*
 * Steps of `run` on batches of `data`; run, data and settings must outlive it. Released with
 * mgk_step_free. STATUS_SHAPE: the data do not fit the model.
 */
mgk_status mgk_step_create(mgk_train_run *run, const mgk_dataset *data,
                           const mgk_train_settings *settings, mgk_step **out);
void mgk_step_free(mgk_step *step); /* NULL is accepted */

/*
 * The run's next step, which run->step counts. STATUS_NUMERIC: loss or gradient are not finite; the
 * run is over then, whatever has become of the weights.
 */
mgk_status mgk_step_take(mgk_step *step, mgk_step_result *result);

#endif
