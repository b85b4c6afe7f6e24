/* SPDX-License-Identifier: MIT */
/*
 * The inputs of an analysis as sources of matrices: attention stores, arrays of other software, or
 * a running model.
 */
#ifndef MGK_RUN_SOURCES_H
#define MGK_RUN_SOURCES_H

#include "analysis/run/source.h"
#include "base/claims.h"
#include "base/file_identity.h"
#include "base/sha256.h"
#include "mgk.h"
#include "run/zero_keys.h"

/* What is analysed, and what of it. All pointers are borrowed. */
typedef struct mgk_source_options {
    const mgk_job *job;        /* not NULL; its seed chooses the matrices */
    const char *const *inputs; /* stores and files of arrays, [input_count]; or `model` */
    size_t input_count;
    const mgk_array *arrays; /* in memory, [array_count], in place of the inputs */
    size_t array_count;
    const char *dataset;    /* the array in each file; NULL: "attention", or the only array */
    const char *axes;       /* of such an array, see mgk_axes_parse; NULL: the usual ones */
    const char *mask;       /* the valid tokens of such an array, see mgk_mask_read; NULL: all */
    const char *model;      /* NULL: the inputs are files */
    const mgk_input *input; /* of the model; not NULL */
    const int *layers;      /* the model's numbers, [layer_count]; NULL: all */
    size_t layer_count;
    const int *heads; /* the same of each layer, [head_count] */
    size_t head_count;
    bool double_precision; /* of the model */
    bool causal;           /* arrays of other software have a causal mask */
    bool allow_half;       /* accept stored f16 */
    int matrices;          /* per layer; 0: all */
    int samples;           /* of a model whose input sets none; 0: enough for the matrices */
    bool factors;          /* a model may give thin factors instead of entries */
    bool on_host;          /* `take` writes to the host's memory on a GPU too */
    bool whole_groups;     /* all chosen heads of a sample and layer can be prepared together */
    unsigned vectors;      /* bit set of MGK_VECTORS_BIT: the vectors that are wanted */
    unsigned importances; /* bit set of the wanted MGK_IMPORTANCE_BIT; a model has some of them, and
                             then `prepare` polls the watcher of the job */
    bool outputs;         /* outputs of layers are wanted, of whole groups */
    bool best_importance; /* also the most telling importance, see mgk_ablation_best */
    /* Bytes of host memory for the matrices and vectors that a model prepares at a time, and as
     * many again for the importances of a batch; 0: no limit. */
    size_t memory;
} mgk_source_options;

/* An input as a source of the chosen matrices. */
typedef struct mgk_source_input {
    const char *name;                 /* path, borrowed */
    char sha256[MGK_SHA256_HEX_SIZE]; /* of the model's file; "": not known */
    char model[128];        /* of a store: the name of the model's file or folder; "": not known */
    mgk_file_identity file; /* of a store or array before it was opened; zeroed: a model */
    /* Of what is read, where several processes have to read the same; see content.h. 0: of one
     * process alone, and of an array in memory */
    uint64_t content;
    int64_t training_step;           /* of the model; -1: not known */
    size_t sample_count, head_count; /* S of which samples are chosen, chosen heads */
    size_t mixtures;                 /* M, keys per position */
    size_t layer_count;              /* length of source.layers */
    size_t all_layers; /* the numbers of layers, also of those that are not chosen, are below it */
    size_t per_layer;  /* number of chosen matrices in each layer */
    int axes[3];       /* see mgk_rank_layer */
    mgk_source source;
    struct mgk_model_run *run; /* of a model, between passes of an analysis; NULL: files */
    /* What ablates the heads of this run, for the best importance too; NULL: no importance is
     * wanted for which heads are removed. */
    struct mgk_ablation *ablation;
    /* Counted while matrices are taken from an array of other software without a mask; NULL:
     * another input. */
    const mgk_zero_keys *zero_keys;
    size_t keys; /* the most keys of a matrix of a file or an array */
    size_t held; /* most bytes of matrices, vectors and importances in host memory */
    /* [2], what a joined input was made of; NULL: it is no such one, or a description. */
    const struct mgk_source_input *joined;
    void (*close)(void *state); /* argument: source.state */
} mgk_source_input;

/* Collective: STATUS_USAGE, in all, if the processes have opened other inputs: models, numbers,
 * sizes of matrices or what is read differ. */
mgk_status mgk_sources_compare(const mgk_source_input *inputs, size_t count,
                               const mgk_cluster *cluster);

/* Collective: gives every process the errors of a model that runs as another kind, which each has
 * measured on its samples. */
mgk_status mgk_source_merge(const mgk_source_input *input, const mgk_cluster *cluster);

/*
 * Checks what needs no file. STATUS_USAGE: there are both files and a model, or neither; a name is
 * NULL; an option belongs to the other of them, or is wrong by itself (mgk_input_check).
 */
mgk_status mgk_sources_check(const mgk_source_options *options);

/* Adds the files of the inputs, of the model and of its input to the claims. */
mgk_status mgk_sources_claim(const mgk_source_options *options, mgk_claims *claims);

/*
 * Opens all inputs, of options that passed mgk_sources_check: *out [*count], released with
 * mgk_sources_close. Errors: those of the two functions below.
 */
mgk_status mgk_sources_open(const mgk_source_options *options, mgk_source_input **out,
                            size_t *count);

/* Opens input number i, of files or arrays, or the model. */
mgk_status mgk_source_open(const mgk_source_options *options, size_t i, mgk_source_input *out);
void mgk_sources_close(mgk_source_input *inputs, size_t count);

/* Closes one input and zeroes it; a zeroed one is accepted. */
void mgk_source_close(mgk_source_input *input);

/*
 * Copies what describes an opened input, which may be closed afterwards: all but `run`, `ablation`,
 * `held` and `joined`, and of its source the sizes, `causal` and the numbers. The copy has no
 * functions. Release with mgk_source_close. STATUS_MEMORY.
 */
mgk_status mgk_source_describe(const mgk_source_input *opened, mgk_source_input *out);

/* STATUS_IO: an input that was opened again is not the one that was described, because its file was
 * replaced: a model by its hash, which is of all its files, another by what mgk_file_identify says.
 */
mgk_status mgk_source_check_same(const mgk_source_input *described, const mgk_source_input *opened);

/*
 * Opens an attention store, or an array of another HDF5 or NumPy file. It provides vectors if the
 * store has all those that are wanted. STATUS_UNSUPPORTED: its numbers are f16, which the options
 * do not allow; STATUS_SHAPE: a layer that it does not have.
 */
mgk_status mgk_open_store_source(const mgk_source_options *options, const char *path,
                                 mgk_source_input *out);

/* STATUS_USAGE: the options say that attention of one sequence to another has a causal mask. */
mgk_status mgk_source_check_causal(const mgk_source_options *options, const char *name, bool cross);

/* STATUS_UNSUPPORTED: matrices of this format are rounded too much for what is wanted of them. */
mgk_status mgk_source_check_half(const mgk_source_options *options, const char *name,
                                 mgk_float_format format);

/* Checks the fields of an array in memory. STATUS_USAGE. */
mgk_status mgk_array_check(const mgk_array *array);

/* Opens an array in memory that passed the check; it must outlive the source. STATUS_SHAPE: a layer
 * that it does not have. */
mgk_status mgk_open_array_source(const mgk_source_options *options, const mgk_array *array,
                                 mgk_source_input *out);

/*
 * Opens a model and its input. The forward pass of a batch runs when the first group of that batch
 * is prepared. It leaves queries and keys (on a GPU in its memory), from which all threads of the
 * device compute the matrices of a group together. The wanted vectors, and the tokens, of prepared
 * groups are copied to host memory.
 *
 * At most 16 matrices per thread are prepared at a time; of large ones as many as fit into 256 MiB,
 * or 4 per thread; never more than fit into options->memory, but at least one; on a GPU as many as
 * fit into 64 MiB, or one. A batch has no more samples than have importances that fit into
 * options->memory, but at least one. Memory grows neither with S nor, without whole_groups, with H.
 * whole_groups: source.ahead is at least the number of the heads; STATUS_MEMORY if they do not fit
 * into options->memory.
 */
mgk_status mgk_open_model_source(const mgk_source_options *options, mgk_source_input *out);

/*
 * Bytes of host memory for matrices that the threads of `device` hold: of `limit` bytes those that
 * the `held` bytes of an input leave, at least 1, because 0 means no limit. Without a limit (0)
 * three quarters of the free memory; 0 where a GPU, which has its own memory, holds the matrices.
 * The processes of a cluster on this machine divide the limit, or the free memory.
 */
mgk_status mgk_memory_left(mgk_device *device, const mgk_cluster *cluster, size_t limit,
                           size_t held, size_t *out);

#endif
