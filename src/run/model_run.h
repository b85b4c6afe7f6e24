/* A model run over chosen samples, batch after batch: what export and streamed analysis share. */
#ifndef MGK_RUN_H
#define MGK_RUN_H

#include "base/token_text.h"
#include "data/datasets/dataset.h"
#include "data/pictures/pictures.h"
#include "mgk.h"
#include "model/core/model.h"
#include "model/core/model_hash.h"
#include "model/core/pass.h"

/*
 * S samples of N tokens each; a sample is one sequence. Each document of a pair (retrieval) is
 * a sample of its own: document d of pair p has the index 2 p + d.
 */
typedef struct mgk_model_run {
    mgk_device *device;
    mgk_model *model;
    mgk_model_hash *hash;     /* of the model, computed beside its loading */
    mgk_tokenizer *tokenizer; /* of the input's tokens; NULL: bytes, or ids without text */
    mgk_dataset *data;        /* NULL where the samples are: */
    mgk_pictures *pictures;
    mgk_pass *pass;
    int available;       /* samples that the input has */
    int samples, tokens; /* S, N */
    mgk_token_text text; /* of the input's tokens, where it is known */
    int32_t *index;      /* [S]: which samples of the input, drawn by seed without repeats */

    /* The batch run last: samples first … first + count − 1 of `index`. */
    int first, count;
    int32_t *ids;     /* [count, N], padding −1 */
    int32_t *lengths; /* [count] */
    double *patches;  /* [count, N, 3 P²] of pictures; else NULL */

    int capacity;     /* sequences of a full batch */
    int documents;    /* sequences of a sample of `data` */
    int32_t *targets; /* [capacity, N], next tokens of language models */
    mgk_loss *losses; /* [batches], on the device; NULL: not measured */
    bool shares;      /* another run owns all but the device, the pass and the batch */
} mgk_model_run;

/* Opens the device, the model and the input. Released with mgk_model_run_close. */
mgk_status mgk_model_run_open(const mgk_job *job, const char *model, const mgk_input *input,
                        bool double_precision, mgk_model_run *out);
void mgk_model_run_close(mgk_model_run *run); /* a zeroed one is accepted */

/*
 * Chooses S samples by seed, once and before the batch.
 * STATUS_USAGE: S < 1; STATUS_SHAPE: the input has fewer.
 */
mgk_status mgk_model_run_choose(mgk_model_run *run, uint64_t seed, int samples);

/*
 * How many sequences of the chosen samples a batch of so many tokens holds (0: as many as keep the
 * device busy), one at least, and at most what half of the device's free memory has room for: the
 * caller is going to keep `kept` bytes on it of each.
 */
mgk_status mgk_model_run_fit(const mgk_model_run *run, int batch_tokens, size_t kept, int *capacity);

/* Makes room for batches of that capacity, once and before the first batch. */
mgk_status mgk_model_run_prepare(mgk_model_run *run, int capacity);

/*
 * A run, ready for the first batch, of the same samples by the same model on that many other
 * threads of the CPU, where `run`, prepared, is on the CPU; both may run their batches at the same
 * time. Released with mgk_model_run_close, before `run` is.
 */
mgk_status mgk_model_run_share(const mgk_model_run *run, int threads, mgk_model_run *out);

/* From now on the loss of a language model is measured. STATUS_USAGE: it is none. */
mgk_status mgk_model_run_measure_loss(mgk_model_run *run);

/* The loss of all samples, once they have been run; of nothing if it is not measured. The same
 * whichever run had which batch. */
mgk_status mgk_model_run_loss(const mgk_model_run *run, mgk_loss *out);

/* Moves to the batch that holds sample number `sample`, below S: it will be the next. */
void mgk_model_run_seek(mgk_model_run *run, int sample);

/*
 * Runs the next batch under the observer, whose views hold count sequences (and, last, up to one
 * of no interest). *end is set, and nothing is run, after the last one. STATUS_INTERRUPTED: the
 * job's watcher asks to stop.
 */
mgk_status mgk_model_run_next(mgk_model_run *run, const mgk_job *job, const mgk_observer *observer, bool *end);

#endif
