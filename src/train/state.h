/* SPDX-License-Identifier: MIT */
/*
 * The state of a training run, and its file: a model file with additional tensors, the optimizer's
 * moments ("m.…", "v.…"), the best weights so far ("best.…") and those that are averaged
 * ("recent.0.…", …), and additional metadata:
 * "training_settings", all settings that affect the resulting bits; "training_progress", the
 * counters; "command", which started the run; and "training_sha256", the checksum of the rest of
 * the file, without which a state is not resumed. A resumed run continues bit for bit, with the
 * same number of threads on the same kind of processor; one of several processes, or of another
 * number of them, to the rounding of sums.
 */
#ifndef MGK_TRAIN_STATE_H
#define MGK_TRAIN_STATE_H

#include "train/log.h"
#include "train/train.h"

typedef struct mgk_train_run {
    mgk_model *model;
    void *gradient, *m, *v;            /* device, [total] */
    uint64_t data_hash, held_out_hash; /* of the datasets; 0: no dataset */
    char *command;                     /* that started the run; NULL: unknown */
    int64_t step;                      /* steps done */
    bool has_best;
    mgk_evaluation best;
    int64_t best_step;  /* the step after which `best` was measured */
    void *best_weights; /* device, [total]; weights of `best` */
    void *recent;       /* device, [average, total]; see train/average.h; NULL: none */
    void *mean, *ones;  /* device, [total], [average] */
    mgk_loss since_log; /* sum of losses since the last row of the log */
    mgk_log_mark log;   /* at the time of saving */
} mgk_train_run;

/* Creates a run at step 0; held_out may be NULL. Release with mgk_train_run_free. */
mgk_status mgk_train_run_create(mgk_model *model, const mgk_dataset *data,
                                const mgk_dataset *held_out, const char *command,
                                mgk_train_run *out);
void mgk_train_run_free(mgk_train_run *run);

/* Writes the state to settings->checkpoint. */
mgk_status mgk_train_run_save(const mgk_train_run *run, const mgk_train_settings *settings);

/*
 * Reads settings->resume. STATUS_FORMAT: damaged, or not a state; STATUS_SHAPE: the state belongs
 * to another configuration; STATUS_USAGE: it belongs to other settings, data, precision or number
 * of threads; the message says which.
 */
mgk_status mgk_train_run_load(mgk_train_run *run, const mgk_train_settings *settings);

/* Collective: all processes of a cluster have the weights, the moments and the progress of rank 0,
 * except what it alone writes. */
mgk_status mgk_train_run_spread(mgk_train_run *run, const mgk_train_settings *settings);

/*
 * Whether the file is a model that this run has saved, with its configuration and its command. *out
 * is false if the file cannot be read. STATUS_MEMORY.
 */
mgk_status mgk_train_run_wrote(const mgk_train_run *run, const char *path, bool *out);

#endif
