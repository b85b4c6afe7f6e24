/* SPDX-License-Identifier: MIT */
/* The training loop. */
#ifndef MGK_TRAIN_TRAIN_H
#define MGK_TRAIN_TRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/cluster.h"
#include "data/datasets/dataset.h"
#include "model/core/model.h"
#include "model/core/regularise.h"
#include "train/schedule.h"

typedef struct mgk_train_settings {
    int64_t steps;    /* total number of optimizer steps */
    int batch;        /* samples per micro-batch */
    int accumulation; /* micro-batches per step */
    double rate;      /* peak learning rate */
    int64_t warmup;   /* steps */
    mgk_decay decay;
    double weight_decay;
    double clip; /* largest gradient norm; 0: no clipping */
    double beta1, beta2, epsilon;
    uint64_t seed;
    int64_t evaluate_every;        /* steps; 0: only after the last */
    uint64_t evaluate_samples;     /* the most held-out samples; 0: all */
    int64_t log_every;             /* steps */
    int64_t checkpoint_every;      /* steps; 0: only when interrupted */
    int64_t keep_every;            /* steps between kept models, see train/kept.h; 0: none */
    double smoothing;              /* of the targets of training, in [0, 1) */
    int average;                   /* evaluations of whose weights the mean is evaluated and
                                      written, see train/average.h; 0 or 1: of one */
    int64_t patience;              /* evaluations without a better one that end the run; 0: none */
    int64_t redraw_every;          /* steps between new random features; 0: never */
    mgk_regularisation regularise; /* terms that are added to the loss */
    const char *output;            /* best model */
    bool force;                    /* overwrite outputs of other runs */
    const char *log;               /* path of the CSV log; NULL: none */
    const char *checkpoint;        /* path of the resumable state */
    const char *resume;            /* path of a state to resume; NULL: new run */
    const char *command; /* for the files' metadata; a resumed run keeps its state's; may be NULL */
    mgk_cluster *cluster; /* the processes that share the run; NULL: this one is alone */
} mgk_train_settings;

/* AdamW 1e-3 (0.9, 0.98, 1e-9), decay 0.01, clip 1, 100 warm-up steps of 1000, batch 32. */
mgk_train_settings mgk_train_defaults(void);

/* Results on held-out data. */
typedef struct mgk_evaluation {
    double loss;     /* nats per target */
    double accuracy; /* fraction of targets whose class (or byte) has the largest logit */
    int64_t count;   /* targets */
} mgk_evaluation;

/* Whether a is better than b: by the loss of a language model, by the accuracy of a classifier and
 * then its loss. */
bool mgk_evaluation_is_better(bool language_model, const mgk_evaluation *a,
                              const mgk_evaluation *b);

/* sum += more */
static inline void mgk_loss_gather(mgk_loss *sum, const mgk_loss *more)
{
    sum->sum += more->sum;
    sum->count += more->count;
    sum->correct += more->correct;
}

/* The state of training, for a progress display. */
typedef struct mgk_train_state {
    int64_t step, steps;
    int64_t tokens; /* tokens of all sequences so far, including padding */
    double loss;    /* of the step, nats per target */
    double rate;
    bool evaluated; /* this report follows an evaluation */
    mgk_evaluation evaluation, best;
    int64_t best_step;  /* after which `best` was made */
    double token_bytes; /* of held-out text, by which bits per token are bits per byte; 0: no
                           language model, or nothing is held out */
    bool gave_up;       /* the run ends with this step, for lack of a better evaluation */
} mgk_train_state;

typedef struct mgk_train_watcher {
    void (*report)(void *context, const mgk_train_state *state); /* may be NULL */
    bool (*stop)(void *context); /* called after every step; may be NULL */
    void *context;
} mgk_train_watcher;

/*
 * Trains the model. `held_out` (NULL: none) determines the weights in `output`: the lowest loss for
 * language models, the highest accuracy (then the lowest loss) for classifiers; without it the last
 * weights. If stopped, it writes a state to `checkpoint`, which `resume` continues bit for bit, and
 * returns STATUS_INTERRUPTED. Before the first step: STATUS_EXISTS, STATUS_IO: an output exists or
 * cannot be written. STATUS_NUMERIC: the loss is no longer finite. STATUS_MEMORY: the message gives
 * a batch that would fit.
 *
 * Of several processes, which all call this with equal arguments, each computes the gradient of a
 * portion of every step's samples. All make the same step by the sum of these gradients, which is
 * that of one process but for its rounding: the state does not depend on their number. Rank 0 reads
 * the state and writes all files; any of them may stop the run, and the failure of one is that of
 * all.
 */
mgk_status mgk_train(mgk_model *model, const mgk_dataset *data, const mgk_dataset *held_out,
                     const mgk_train_settings *settings, const mgk_train_watcher *watcher);

/*
 * Computes loss and accuracy of the first `samples` (0: all) of a finite dataset, `batch` at a
 * time. Collective: the processes of a cluster take the batches in turn; NULL: this one alone.
 */
mgk_status mgk_evaluate_together(mgk_cluster *cluster, mgk_model *model, const mgk_dataset *data,
                                 int batch, uint64_t samples, mgk_evaluation *out);

#endif
