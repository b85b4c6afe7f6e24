/* SPDX-License-Identifier: MIT */
/* Runs a model over chosen samples, batch by batch, for export and for streamed analysis. */
#ifndef MGK_RUN_H
#define MGK_RUN_H

#include "base/token_text.h"
#include "cluster/cluster.h"
#include "data/datasets/dataset.h"
#include "data/pictures/pictures.h"
#include "data/sounds/sounds.h"
#include "mgk.h"
#include "model/core/model.h"
#include "model/core/model_hash.h"
#include "model/core/pass.h"
#include "run/approximation.h"

/* S samples of N tokens; a sample is one sequence. Each document of a pair (retrieval) is one
 * sample: document d of pair p has the index 2 p + d. */
typedef struct mgk_model_run {
    mgk_device *device;
    mgk_model *model;
    mgk_model_hash *hash;     /* of the model, computed while it loads; or NULL */
    mgk_tokenizer *tokenizer; /* of the input's tokens; NULL: bytes, or ids without text */
    mgk_dataset *data;        /* of tokens, else NULL: */
    mgk_pictures *pictures;   /* or NULL */
    mgk_sounds *sounds;       /* or NULL */
    mgk_pass *pass;
    int available;       /* number of samples in the input */
    int samples, tokens; /* S, N */
    mgk_token_text text; /* of the input's tokens, if known */
    int32_t *index;      /* [S], indices in the input, drawn by seed without repeats */

    /* The last batch: samples first … first + count − 1 of `index`. */
    int first, count;
    int32_t *ids;     /* [count, N], padding −1 */
    int32_t *lengths; /* [count] */
    double *input;    /* of pictures and sounds, see mgk_batch; NULL for tokens */

    int capacity;       /* sequences of a full batch */
    int documents;      /* sequences per sample of `data` */
    size_t stride;      /* of `data`, see mgk_dataset_options */
    bool loads_targets; /* batches are loaded with their targets */
    int32_t *targets;   /* [capacity, N] next tokens of language models; else a class for each
                           sequence, or for each pair of a dual model, without gaps; < 0: none */
    mgk_loss *losses;   /* of each batch, on the device; NULL: not measured */
    bool each_loss;     /* of each sample, or pair of a dual model, in place of each batch */
    mgk_approximation *approximation; /* of a model that runs as another kind; else NULL */
    bool shares; /* another run owns everything except the device, the pass and the batch */

    /* Of a decoder: the run of its encoder on the same samples and device, and whether it is the
     * attention to the encoder's output that is observed. */
    struct mgk_model_run *memory;
    bool cross;
    const char *part; /* "encoder", "decoder" or "cross"; "": not of an encoder-decoder model */
} mgk_model_run;

/* The sequence that keys are made of: the encoder's where `cross`. */
static inline const mgk_model_run *mgk_model_run_keys(const mgk_model_run *run)
{
    return run->cross ? run->memory : run;
}

/* Samples that are classified together: 2, the documents of a pair, of a dual model. */
static inline int mgk_model_run_pair(const mgk_model_run *run)
{
    return run->model->config.dual ? 2 : 1;
}

/* Whether queries see only keys before them and themselves. */
static inline bool mgk_model_run_is_causal(const mgk_model_run *run)
{
    return run->model->config.causal && !run->cross;
}

/* Opens the device, the model and the input, those of the job's part; see mgk_job. Release with
 * mgk_model_run_close. STATUS_SHAPE: more targets than other samples, or fewer. */
mgk_status mgk_model_run_open(const mgk_job *job, const char *model, const mgk_input *input,
                              bool double_precision, mgk_model_run *out);
void mgk_model_run_close(mgk_model_run *run); /* a zeroed one is accepted */

/* The same without a hash, and with the `stride` of mgk_dataset_options: windows that cover the
 * whole text. */
mgk_status mgk_model_run_open_windows(const mgk_job *job, const char *model, const mgk_input *input,
                                      bool double_precision, size_t stride, mgk_model_run *out);

/* Chooses S samples by seed, the longest of which decides N; called once, before the other
 * functions. STATUS_USAGE: S < 1; STATUS_SHAPE: the input has fewer. */
mgk_status mgk_model_run_choose(mgk_model_run *run, uint64_t seed, int samples);

/* The bytes of a batch of so many sequences on the device, with a decoder's encoder; see
 * mgk_pass_bytes. */
mgk_status mgk_model_run_bytes(const mgk_model_run *run, int sequences, size_t *bytes);

/* Tells the job's watcher how many samples of the input were chosen, if not all; of a training
 * task, whose samples are numberless, nothing. */
void mgk_model_run_tell(const mgk_model_run *run, const mgk_job *job, const mgk_input *input);

/*
 * Computes the capacity of a batch of `batch_tokens` tokens (0: enough to keep the device busy) in
 * sequences of the chosen samples: at least one, and at most what fits into half of the device's
 * free memory, where the caller keeps `kept` further bytes per sequence.
 */
mgk_status mgk_model_run_fit(const mgk_model_run *run, int batch_tokens, size_t kept,
                             int *capacity);

/* Allocates batches of that capacity; called once, before the first batch. */
mgk_status mgk_model_run_prepare(mgk_model_run *run, int capacity);

/*
 * Creates a run, ready for its first batch, of the same samples and the same model on `threads`
 * further CPU threads; `run` must be prepared and on the CPU. Both may run their batches at the
 * same time. Close it with mgk_model_run_close before `run`.
 */
mgk_status mgk_model_run_share(const mgk_model_run *run, int threads, mgk_model_run *out);

/* Whether the input has targets for a loss of the model: next tokens of a language model, the
 * classes of a classifier. */
bool mgk_model_run_has_targets(const mgk_model_run *run);

/* Measures the loss from now on, in place of what layers observe, and that of each sample if
 * wanted, which takes longer where a batch shares products. STATUS_USAGE: the input has no targets
 * for the model. */
mgk_status mgk_model_run_measure_loss(mgk_model_run *run, bool each);

/* Collective: every process gets the losses of the batches that the others have run. */
mgk_status mgk_model_run_merge_losses(mgk_model_run *run, const mgk_cluster *cluster);

/* The loss of each sample, or of each pair of a dual model, out [*count], in the order of `index`;
 * count 0: it has no target, or was not run. Release with mgk_free. That of each sample must be
 * measured. */
mgk_status mgk_model_run_losses(const mgk_model_run *run, size_t *count, mgk_loss **out);

/* The loss over all samples that were run, without memory of its own; count 0 if it is not
 * measured. The result does not depend on which run had which batch. */
mgk_status mgk_model_run_loss(const mgk_model_run *run, mgk_loss *out);

/* Tells the job's watcher once how far the attention was from the model's own, if it ran as another
 * kind. */
void mgk_model_run_tell_errors(const mgk_model_run *run, const mgk_job *job);

/* Makes the batch that contains sample `sample` < S the next one. */
void mgk_model_run_seek(mgk_model_run *run, int sample);

/* Makes the next batch begin at sample `sample` < S, of a pair of documents at the first one. */
void mgk_model_run_begin_at(mgk_model_run *run, int sample);

/* Loads the next batch without running it, except a decoder's encoder; after the last one it sets
 * *end. STATUS_INTERRUPTED: the job's watcher asks to stop. */
mgk_status mgk_model_run_load(mgk_model_run *run, const mgk_job *job, bool *end);

/*
 * Runs the next batch with the observer, whose views contain count sequences and possibly one
 * padding sequence at the end. After the last batch it sets *end and runs nothing.
 * STATUS_INTERRUPTED: the job's watcher asks to stop.
 */
mgk_status mgk_model_run_next(mgk_model_run *run, const mgk_job *job, const mgk_observer *observer,
                              bool *end);

#endif
