/*
 * What a training run is at one moment, and its file: a model file with the optimizer's
 * moments beside the weights ("m.…", "v.…") and the counters in the metadata "training".
 * Loading it continues bit for bit.
 */
#ifndef MGK_TRAIN_STATE_H
#define MGK_TRAIN_STATE_H

#include "train/train.h"

typedef struct mgk_train_run {
    mgk_model *model;
    void *gradient, *m, *v; /* device, [total] */
    int64_t step;           /* steps done */
    bool has_best;
    mgk_evaluation best;
    mgk_loss since_log; /* loss gathered since the last row of the log */
} mgk_train_run;

mgk_status mgk_run_create(mgk_model *model, mgk_train_run *out);
void mgk_run_free(mgk_train_run *run);

mgk_status mgk_run_save(const mgk_train_run *run, const mgk_train_settings *settings);

/* STATUS_SHAPE: the state belongs to another configuration; STATUS_USAGE: to another seed, batch or
 * schedule. */
mgk_status mgk_run_load(mgk_train_run *run, const mgk_train_settings *settings);

#endif
