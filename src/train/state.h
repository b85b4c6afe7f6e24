/*
 * What a training run is at one moment, and its file: a model file with more tensors beside the
 * weights, the optimizer's moments ("m.…", "v.…") and the best weights so far ("best.…"), and more
 * metadata: "training_settings", all that decides which bits training gives,
 * "training_progress", the counters, "command", with which the run began, and "training_sha256",
 * the checksum of all the rest of the file, without which none is resumed. Loading it continues bit
 * for bit, on as many threads of the same kind of processor.
 */
#ifndef MGK_TRAIN_STATE_H
#define MGK_TRAIN_STATE_H

#include "train/log.h"
#include "train/train.h"

typedef struct mgk_train_run {
    mgk_model *model;
    void *gradient, *m, *v;            /* device, [total] */
    uint64_t data_hash, held_out_hash; /* of the datasets; 0: none */
    char *command;                     /* that began the run; NULL: not known */
    int64_t step;                      /* steps done */
    bool has_best;
    mgk_evaluation best;
    int64_t best_step;  /* after which it was made */
    void *best_weights; /* device, [total]; those of `best` */
    mgk_loss since_log; /* loss gathered since the last row of the log */
    mgk_log_mark log;   /* when the state was saved */
} mgk_train_run;

/* A run that has not begun; held_out may be NULL. Released with mgk_train_run_free. */
mgk_status mgk_train_run_create(mgk_model *model, const mgk_dataset *data,
                                const mgk_dataset *held_out, const char *command,
                                mgk_train_run *out);
void mgk_train_run_free(mgk_train_run *run);

/* Writes the state to settings->checkpoint. */
mgk_status mgk_train_run_save(const mgk_train_run *run, const mgk_train_settings *settings);

/*
 * Reads settings->resume. STATUS_FORMAT: it is not as it was saved, or no state; STATUS_SHAPE: the
 * state belongs to another configuration; STATUS_USAGE: to other settings, data, precision or
 * number of threads, and the message says which.
 */
mgk_status mgk_train_run_load(mgk_train_run *run, const mgk_train_settings *settings);

/*
 * Whether the file is a model that this run has saved: of its configuration and its command. What
 * cannot be read is none. STATUS_MEMORY.
 */
mgk_status mgk_train_run_wrote(const mgk_train_run *run, const char *path, bool *out);

#endif
