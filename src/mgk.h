/*
 * libmgk: how diverse is the attention of this transformer?
 *
 * The library trains and runs transformers with softmax, mixture-of-Gaussian-keys (arXiv
 * 2110.08678) and linear attention, exports every attention matrix, counts numerical ranks and
 * draws the pictures a paper prints. The programs mgk-train, mgk-dump, mgk-rank, mgk-plot and
 * mgk-info are thin covers of the functions below.
 *
 *  - Every fallible function returns an mgk_result; mgk_error() then tells in one line what
 *    failed. The library never prints and never exits.
 *  - An option structure is filled by its defaults function first; then single fields are set.
 *    Strings and arrays in it stay the caller's and are needed during the call only.
 *  - Structures grow without a new soname. Options carry their size, which the defaults function
 *    writes (libdeflate's way; an opaque object would need a function for each field, and a field
 *    that is misspelt would compile): fields that the caller's header does not have keep their
 *    defaults, and fields that the library does not have must be 0. Structures within others, and
 *    those that the library fills, end with room for fields to come, `reserved`, which is 0.
 *  - NULL in place of a job or of options means the defaults; in place of what a function cannot do
 *    without it is MGK_USAGE, never a crash.
 *  - Output files appear whole or not at all. An existing one is refused unless `force` is set, and
 *    one that another run is writing is refused. One that is an input or another output of the same
 *    call, under any name, is always MGK_USAGE. While an output is written, an empty file lies
 *    beside it, output + ".mgk-lock".
 *  - Dimensions: S samples, L layers, H heads, N tokens, M keys per head and position (the
 *    mixture components), D head dimension, C model dimension. Matrices are row-major.
 *  - Functions may be called from several threads, on different objects.
 *  - OpenBLAS is loaded when it is first needed, with one thread, for the library is parallel on
 *    its own, and with the kernels that the processor has; OPENBLAS_CORETYPE in the environment
 *    forces others. Where the process has OpenBLAS already, the library loads a copy of its own.
 *    OPENBLAS_CORETYPE and OPENBLAS_NUM_THREADS are set while it is loaded, during the first job
 *    of the process: no other thread may read or change the environment then.
 */
#ifndef MGK_H
#define MGK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header; mgk_version() tells that of the library. */
#define MGK_VERSION_MAJOR 0
#define MGK_VERSION_MINOR 1
#define MGK_VERSION_PATCH 0
#define MGK_VERSION_NUMBER \
    (MGK_VERSION_MAJOR * 1000000 + MGK_VERSION_MINOR * 1000 + MGK_VERSION_PATCH)

#ifndef MGK_API
#define MGK_API __attribute__((visibility("default")))
#endif

/* ---- results ------------------------------------------------------------------------------ */

/* Programs exit with 0, with 2 for MGK_USAGE, and with 1 for all others. */
typedef enum mgk_result {
    MGK_OK = 0,
    MGK_INPUT = 1,       /* an input is malformed, of a wrong shape or kind, or not finite */
    MGK_USAGE = 2,       /* options that make no sense */
    MGK_INTERRUPTED = 3, /* the watcher asked to stop */
    MGK_MEMORY = 4,      /* there is too little */
    MGK_DEVICE = 5,      /* the device is missing, or failed */
    MGK_IO = 6,          /* a file cannot be opened, read or written */
    MGK_EXISTS = 7       /* an output exists, or another run writes it */
} mgk_result;

/* One line about this thread's last failure; never NULL, valid until the next failure. It names
 * fields of option structures in backquotes: `head_dim`. */
MGK_API const char *mgk_error(void);

/* "0.1.0" */
MGK_API const char *mgk_version(void);

/* Releases text and arrays that a function below handed out; NULL is accepted. */
MGK_API void mgk_release(void *memory);

/*
 * Removes the files of outputs that are being written. For handlers of signals, which may call it
 * at any time: the process must end then, for the outputs can no longer be finished.
 */
MGK_API void mgk_remove_unfinished(void);

/* ---- what all jobs share ------------------------------------------------------------------ */

/* The progress of a job. */
typedef struct mgk_report {
    int64_t done, total; /* steps, matrices, samples; total 0: the note is about the whole job */
    double amount;       /* tokens or matrices done, for rates */
    const char *note;    /* "loss 1.234"; "" if there is nothing to say; fields as in mgk_error */
    bool milestone;      /* the note is worth keeping: an evaluation, a finished layer */
    void *reserved[2];
} mgk_report;

/* Follows a job. Both functions may be NULL; they are called from the calling thread. */
typedef struct mgk_watcher {
    void (*report)(void *context, const mgk_report *report);
    bool (*stop)(void *context); /* true: end with MGK_INTERRUPTED as soon as possible */
    void *context;
} mgk_watcher;

typedef struct mgk_job {
    const char *device;    /* "auto" (default), "cpu", "cuda", "cuda:N" */
    int threads;           /* CPU threads, at most 4096; 0 (default): all cores */
    bool tf32;             /* products may round factors to TF32: single precision on a GPU only */
    uint64_t seed;         /* default 0 */
    bool force;            /* overwrite outputs */
    int head_dim;          /* D of models whose files do not tell it (checkpoints of the code of
                              Transformer-MGK); 0 (default): 32 for its LRA code */
    const char *attention; /* "linear" or "mlk" where a file does not tell it from "softmax" or
                              "mgk" (the same code); NULL (default): one of the latter */
    const char *command;   /* recorded in outputs; NULL: not known */
    mgk_watcher watcher;
    void *reserved[4];
} mgk_job;

/*
 * Checks the job's device and number of threads on this machine. Functions that take a job check
 * them, too; this is for callers that run none.
 */
MGK_API mgk_result mgk_check_job(const mgk_job *job);

/* Where tokens come from. Exactly one of text, tokens, task and images is given. */
typedef struct mgk_input {
    const char *const *text; /* text files, [text_count]; tokenised as the model expects */
    size_t text_count;
    const char *tokens;      /* an array (.npy, .npz, HDF5), or lines of ids */
    const char *task;        /* "lm", "listops", "retrieval", "text": a dataset as in training */
    const char *const *data; /* its files, [data_count] */
    size_t data_count;
    bool article_per_file; /* retrieval from text: a file is an article */
    int samples;           /* S; 0: default of the job */
    int length;            /* N; 0: the model's positions, at most 4096; for `tokens` and
                              `lines` no more than the longest sequence has */
    /* text: its tokenizer, a file or folder of Hugging Face (tokenizer.json, vocab.txt,
     * or vocab.json with merges.txt) or a list of words; NULL: bytes, if the model has 256
     * tokens, or the one in the model's folder. tokens: where their text is from; NULL: from the
     * one in the folder, where it can be read and fits. */
    const char *tokenizer;
    bool lines; /* text: each line that is not blank is a sample, cut to N; else windows of all */
    const char *const *images; /* PNG files, [image_count], for models that read pictures: a sample
                                  each, made the size that the model has */
    size_t image_count;
    void *reserved[4];
} mgk_input;

/* ---- models ------------------------------------------------------------------------------- */

/* The architecture of a model, as the header of its file has it. 0 or NULL: the task's default. */
typedef struct mgk_architecture {
    const char *attention; /* KIND: softmax, mgk, smgk, linear, mlk, smlk; default mgk */
    int layers, heads, dim, head_dim, hidden; /* L, H, C, D, F */
    int length;                               /* N, positions */
    int mixtures;                             /* M; default 2 for mixtures, 1 otherwise */
    const char *prior;                        /* "learned" (default), "em", "hard" */
    const char *prior_shape; /* "layer" [M], "head" [H, M], "position" [H, M, N]; default
                                position for language models, else layer */
    const double *variances; /* sigma_r^2, [variance_count]; one stands for all; default sqrt(D) */
    size_t variance_count;
    double normalizer_epsilon; /* added to each row sum */
    double dropout;
    void *reserved[4];
} mgk_architecture;

typedef struct mgk_train_options {
    size_t size; /* of this structure, written by mgk_train_options_init */
    mgk_job job;
    const char *task; /* "lm", "listops", "retrieval", "text" */
    mgk_architecture architecture;
    const char *const *data; /* training files, [data_count]; none: listops are generated */
    size_t data_count;
    const char *const *held_out; /* files to evaluate on, [held_out_count] */
    size_t held_out_count;
    bool article_per_file;            /* retrieval: a file is an article */
    int listops_above, listops_below; /* generated trees have above < tokens < below */
    int64_t listops_samples;          /* training trees; 0: 96,000 */
    int64_t steps;
    int64_t warmup;       /* steps; -1: 100, or a tenth of all where that is less */
    int batch;            /* samples (pairs, for retrieval) of a micro-batch */
    int accumulation;     /* micro-batches of a step; 1 with prior "em" */
    double rate;          /* peak learning rate */
    const char *schedule; /* "linear" (default), "constant", "cosine" */
    double weight_decay;
    double clip;              /* largest gradient norm; 0: none */
    int64_t evaluate_every;   /* steps; 0: at the end only */
    int64_t evaluate_samples; /* held-out samples; 0: all of them */
    int64_t log_every;
    int64_t checkpoint_every; /* steps; 0: on interruption only */
    const char *output;       /* best model, safetensors */
    const char *log;          /* CSV; NULL: none */
    const char *resume;       /* state left by an interrupted run; NULL: start anew */
    bool double_precision;
} mgk_train_options;

/* The defaults; `size` is that of the structure in the caller's header. */
MGK_API void mgk_train_options_init(mgk_train_options *options, size_t size);

static inline mgk_train_options mgk_train_options_default(void)
{
    mgk_train_options options;
    mgk_train_options_init(&options, sizeof(options));
    return options;
}

/*
 * Trains a model and keeps the best (lowest held-out loss of a language model, highest held-out
 * accuracy of a classifier) in `output`. When interrupted, output + ".checkpoint" holds a
 * state from which the same options with `resume` continue bit for bit, on as many threads of the
 * same kind of processor; a run that has finished removes it. Without job.force a run overwrites no
 * file but its own.
 */
MGK_API mgk_result mgk_train_model(const mgk_train_options *options);

typedef struct mgk_convert_options {
    size_t size; /* of this structure, written by mgk_convert_options_init */
    mgk_job job;
    const char *model;     /* a checkpoint that the toolkit understands, a file or a folder */
    const char *output;    /* safetensors, the toolkit's own */
    bool double_precision; /* keep weights in float64, not float32 */
} mgk_convert_options;

/* The defaults; `size` is that of the structure in the caller's header. */
MGK_API void mgk_convert_options_init(mgk_convert_options *options, size_t size);

static inline mgk_convert_options mgk_convert_options_default(void)
{
    mgk_convert_options options;
    mgk_convert_options_init(&options, sizeof(options));
    return options;
}

/*
 * Reads any checkpoint and writes the toolkit's own format: configuration and weights in one file,
 * which give the same attention. A milestone names the tensors that were left out.
 */
MGK_API mgk_result mgk_convert_model(const mgk_convert_options *options);

/*
 * Describes a model, an attention store or a rank file (also in CSV and JSON): kind, configuration,
 * tensors, parameters, and for models the floating-point operations of one forward pass and one
 * training step by part. Of other files it lists the tensors; training logs, PNG pictures and texts
 * it names. MGK_INPUT: the file is not known. It uses head_dim and attention of the job. *text is
 * lines for people, or JSON; released with mgk_release.
 */
MGK_API mgk_result mgk_describe_file(const char *path, const mgk_job *job, bool json, char **text);

/*
 * Describes the machine: its processor, the kernels that run on it, OpenBLAS with its version and
 * kernel set, threads, memory, and the GPU or why there is none. *text as above.
 */
MGK_API mgk_result mgk_describe_machine(bool json, char **text);

/* ---- a model in memory -------------------------------------------------------------------- */

typedef struct mgk_network mgk_network;

/* Loads a model; released with mgk_network_close. *out is NULL where that fails. */
MGK_API mgk_result mgk_network_open(const char *path, const mgk_job *job, bool double_precision,
                                    mgk_network **out);
MGK_API void mgk_network_close(mgk_network *network); /* NULL is accepted */

typedef struct mgk_network_shape {
    const char *attention; /* owned by the network */
    int layers, heads, head_dim, dim, length, mixtures, vocabulary;
    bool causal;
    int reserved[8];
} mgk_network_shape;

/* All 0 for NULL. */
MGK_API mgk_network_shape mgk_network_shape_of(const mgk_network *network);

/*
 * Runs one sequence of `count` token ids and writes the attention matrix of one layer and head
 * into matrix [count, count]; rows sum to 1, but for models with a normalizer_epsilon or with
 * linear attention that does not normalise.
 */
MGK_API mgk_result mgk_network_attention(mgk_network *network, const int32_t *tokens, int count,
                                         int layer, int head, double *matrix);

/* The same of all layers and heads by one forward pass, into matrices [L, H, count, count]. */
MGK_API mgk_result mgk_network_attention_all(mgk_network *network, const int32_t *tokens, int count,
                                             double *matrices);

/*
 * The token ids of a text of `size` bytes, within those that the model expects around a sequence
 * ([CLS] and [SEP]), by the tokenizer in the model's folder; a model of bytes has the bytes as ids.
 * *tokens [*count] is released with mgk_release. MGK_INPUT: the model has no tokenizer.
 */
MGK_API mgk_result mgk_network_tokenize(mgk_network *network, const char *text, size_t size,
                                        int32_t **tokens, int *count);

/* ---- export ------------------------------------------------------------------------------- */

/* Objects that mgk_dump_attention writes, a set of bits. */
enum {
    MGK_SAVE_ATTENTION = 1,
    MGK_SAVE_SCORES = 2,
    MGK_SAVE_QUERIES = 4,
    MGK_SAVE_KEYS = 8,
    MGK_SAVE_VALUES = 16,
    MGK_SAVE_WEIGHTS = 32 /* key weights, biases, priors, variances */
};

typedef struct mgk_dump_options {
    size_t size; /* of this structure, written by mgk_dump_options_init */
    mgk_job job;
    const char *model;
    mgk_input input;   /* samples: default 16, or all where there are fewer; all
                          images */
    const int *layers; /* [layer_count]; NULL: all */
    size_t layer_count;
    const int *heads; /* [head_count]; NULL: all */
    size_t head_count;
    unsigned save;         /* default MGK_SAVE_ATTENTION */
    const char *dtype;     /* storage: "f32", "f64", "f16"; NULL: that of the precision */
    bool double_precision; /* compute in float64 */
    int compress;          /* gzip 0 (default, none) … 9 */
    bool perplexity;       /* of a language model: measure how well it predicts the samples */
    const char *output;    /* HDF5 */
} mgk_dump_options;

/* Summary of an export. */
typedef struct mgk_dump_summary {
    int samples, layers, heads, length;
    double bytes;           /* of the file */
    double seconds;         /* in all */
    double writing_seconds; /* that threads spent writing, all together */
    double loss;            /* mean of -ln p of the next tokens, of which there are: */
    int64_t predicted;      /* 0 unless the perplexity, exp(loss), was asked for */
    double reserved[4];
} mgk_dump_summary;

/* The defaults; `size` is that of the structure in the caller's header. */
MGK_API void mgk_dump_options_init(mgk_dump_options *options, size_t size);

static inline mgk_dump_options mgk_dump_options_default(void)
{
    mgk_dump_options options;
    mgk_dump_options_init(&options, sizeof(options));
    return options;
}

/* Exports attention into an HDF5 store; summary may be NULL. Memory does not grow with S. */
MGK_API mgk_result mgk_dump_attention(const mgk_dump_options *options, mgk_dump_summary *summary);

/* ---- tables of results -------------------------------------------------------------------- */

/* Rows and named columns, in memory. */
typedef struct mgk_table mgk_table;

/* Reads a rank file: CSV, JSON or HDF5. Released with mgk_table_close; NULL where that fails. */
MGK_API mgk_result mgk_table_open(const char *path, mgk_table **out);
MGK_API void mgk_table_close(mgk_table *table); /* NULL is accepted */

/* 0 for NULL. */
MGK_API size_t mgk_table_rows(const mgk_table *table);
MGK_API size_t mgk_table_columns(const mgk_table *table);

/* The settings by which the table was made, an object of JSON; NULL: not known. */
MGK_API const char *mgk_table_settings(const mgk_table *table);

/* A column. Everything in it is the table's. */
typedef struct mgk_table_column {
    const char *name;    /* "effective_rank" */
    const char *formula; /* or a few words; unit and source ("Author 2007") may be "" */
    const char *unit, *source;
    const double *reals;      /* [rows], NaN: not computed; NULL: the column is of integers */
    const int32_t *integers;  /* [rows]; NULL: it is of reals */
    const char *const *words; /* [word_count], what integers stand for; NULL: for themselves */
    size_t word_count;
    void *reserved[4];
} mgk_table_column;

/* Column number `index`, or the one of a name. MGK_USAGE: there is none. */
MGK_API mgk_result mgk_table_get_column(const mgk_table *table, size_t index,
                                        mgk_table_column *out);
MGK_API mgk_result mgk_table_find_column(const mgk_table *table, const char *name,
                                         mgk_table_column *out);

/* ---- ranks -------------------------------------------------------------------------------- */

typedef struct mgk_rank_options {
    size_t size; /* of this structure, written by mgk_rank_options_init */
    mgk_job job;
    const char *const *inputs; /* attention stores, or files of arrays, [input_count]; or: */
    size_t input_count;
    /* Array of floats in a file of HDF5 or NumPy: [..., N, N] behind none or all of sample, layer,
       head, or sample, head, or sample; with a star ("layer_*") an array for each layer. NULL:
       /attention, or the only one. */
    const char *dataset;
    const char *model; /* streamed from this model, nothing stored */
    mgk_input input;   /* for `model`; samples: as many as `matrices` needs */
    const int *layers; /* [layer_count]; NULL: all */
    size_t layer_count;
    bool double_precision;    /* for `model`: compute in float64 */
    const double *thresholds; /* [threshold_count]; default 1e-6 */
    size_t threshold_count;
    bool relative; /* thresholds are relative to the largest singular value */
    int matrices;  /* of each layer, chosen by seed; 0: all; default 1000 */
    /*
     * "auto" (default) and "svd": singular values, which fill the whole table. For linear
     * attention of a model, without a causal mask, all but "svd" and "bisection" take them from
     * thin factors of the matrix instead of its entries, on the CPU. "count": ranks
     * alone, without singular values wherever they are certain so, 1.5 to 4 times as fast;
     * elsewhere, for relative thresholds, more than three of them on the CPU, and `spectrum` as
     * "svd"; a GPU gives up singular values of up to 512 rows only where the rank is full. Without
     * them what is made of them is NaN, empty in CSV, but on the CPU and from 513 rows on the
     * largest one, the stable rank and the one nearest to the threshold. "bisection": as "svd", by
     * own kernels of a GPU, which no GPU has run yet.
     */
    const char *method;
    bool spectrum;        /* keep the singular values (HDF5 output) */
    bool allow_half;      /* accept f16 input, whose rank is that of its rounding */
    bool allow_zero_rows; /* count rows of zeros within the valid tokens, which otherwise end the
                             job: they are how arrays of others show padded queries */
    const char *output;   /* .csv, .json or .h5, by its ending; NULL: the summary alone */
    bool resume;          /* continue the interrupted run that left output + ".part" */
    const char *png;      /* histogram of each layer; NULL: none */
    /*
     * Bytes for matrices in the host's memory: a quarter for those that a model gives at once, the
     * rest for the threads that count them, of which there are fewer where matrices are large.
     * Model, tokens and table come besides. 0: three quarters of what is free. MGK_MEMORY: it is
     * too little for one thread.
     */
    size_t memory;
} mgk_rank_options;

/* Ranks of one layer of one input, at the first threshold. */
typedef struct mgk_rank_layer {
    int input; /* position in `inputs`; 0 for a model */
    int layer;
    int64_t matrices;
    int64_t samples;       /* that the matrices are of: those of one sample are not independent */
    int smallest, largest; /* N of the matrices: no rank is above it */
    int64_t undecided;     /* matrices whose rank storage rounding leaves open, see noise_floor */
    double mean, median, lower_quartile, upper_quartile; /* of the rank */
    /* Means of the matrices that have one, as zero and empty ones have not; NaN: none has, or of
       some it was not computed. */
    double effective, stable;
    int axes[3]; /* of an array of others: sizes of the axes that were read as sample, layer and
                    head; 0: it has no such axis, or the input is a store or a model */
    double reserved[2];
} mgk_rank_layer;

typedef struct mgk_rank_summary {
    mgk_rank_layer *layers; /* [count]; released with mgk_release */
    size_t count;
    double noise_floor; /* about how far rounding of the entries, as stored, moves a singular value;
                           of factors a bound; errors of the forward pass are not in it */
    const char *storage; /* the coarsest format that the entries of a matrix show: "f32" */
    bool by_factors;     /* matrices were counted by thin factors: it is they that are meant by
                            noise_floor, storage and certified_by_values */
    char *histogram;     /* text for a terminal; released with mgk_release */
    int64_t matrices;    /* of all layers; of these the rank of the entries as stored is certain: */
    int64_t certified_by_bound;       /* counted, with a bound on all errors of rounding */
    int64_t certified_by_measurement; /* counted, with a bound that was measured */
    int64_t certified_by_values;      /* no singular value is within its error of the threshold */
    /* Matrices all of whose entries are numbers of f16 or bf16, and undecided at some threshold:
       their rank is that of its rounding. */
    int64_t coarse;
    const char *coarse_format; /* the coarsest of them; NULL where there are none */
    /* Matrices with a row whose sum is further than 0.01 from 1, and how far they are at most. Rows
       of zeros are left out; they are counted by themselves, and the matrices that have any. */
    int64_t unnormalised;
    double row_sum_error;
    int64_t zero_rows, matrices_with_zero_rows;
    void *reserved[2];
} mgk_rank_summary;

/* The defaults; `size` is that of the structure in the caller's header. */
MGK_API void mgk_rank_options_init(mgk_rank_options *options, size_t size);

static inline mgk_rank_options mgk_rank_options_default(void)
{
    mgk_rank_options options;
    mgk_rank_options_init(&options, sizeof(options));
    return options;
}

/*
 * Counts singular values at or above thresholds, in float64; summary may be NULL. A store of S
 * samples and a model run on S samples of the same input give, by the same seed, the same rows; of
 * linear attention that is counted by factors, up to what rounding did to the store.
 * Every input is analysed by itself; where there are several, outputs number them in a column
 * `input`. Milestones tell what a reader of the ranks must know: fewer matrices than asked for, or
 * entries that once were f16 or bf16, where that leaves ranks undecided.
 * While matrices are counted, each that is finished is kept in output + ".part", which is deleted
 * when the outputs are whole. If the job or the process ends before, the file stays, and the same
 * options with `resume` continue without computing those matrices again. Without `resume` the file
 * is refused, or with job.force replaced. Memory: a few matrices at a time, and about 400 bytes for
 * the results of each.
 */
MGK_API mgk_result mgk_rank_attention(const mgk_rank_options *options, mgk_rank_summary *summary);

/*
 * The same, and hands over the table: a row a matrix and threshold. *table is released with
 * mgk_table_close; NULL where that fails.
 */
MGK_API mgk_result mgk_rank_to_table(const mgk_rank_options *options, mgk_table **table,
                                     mgk_rank_summary *summary);

/* The rank of one matrix and its certificate. */
typedef struct mgk_matrix_rank {
    size_t rank;                /* singular values of at least the threshold */
    size_t rank_low, rank_high; /* what rounding of the entries, as stored, leaves open */
    bool undecided;             /* rank_low < rank_high */
    const char *certificate;    /* "none", "bound", "measured", as in the column of this name */
    const char *method;         /* "gram", "low-rank": counted; "svd": computed */
    double sigma_max,
        nearest; /* the largest, and the one nearest to the threshold; NaN: not known */
    void *reserved[4];
} mgk_matrix_rank;

/*
 * Counts singular values of at least `threshold` > 0 of one n x n matrix (row-major, rows `stride`
 * apart), as the method "count" does. It uses device and threads of the job.
 */
MGK_API mgk_result mgk_rank_matrix(const double *matrix, size_t n, size_t stride, double threshold,
                                   const mgk_job *job, mgk_matrix_rank *out);

/* Singular values of one n x n matrix (row-major, rows `stride` apart), descending, [n]. */
MGK_API mgk_result mgk_singular_values(const double *matrix, size_t n, size_t stride,
                                       double *values);

/* ---- pictures ----------------------------------------------------------------------------- */

typedef enum mgk_plot_kind {
    MGK_PLOT_ATTENTION, /* attention matrices of one sample: rows layers, columns heads */
    MGK_PLOT_WEIGHTS,   /* key weights W_K: rows layers, columns heads and components */
    MGK_PLOT_KEYS,      /* keys of the first tokens */
    MGK_PLOT_RANKS,     /* rank histograms, from rank files */
    MGK_PLOT_CURVES,    /* training curves, from logs */
    MGK_PLOT_COST,      /* floating-point operations against length, from models */
    MGK_PLOT_FIGURE     /* the published figure `figure` */
} mgk_plot_kind;

typedef struct mgk_plot_options {
    size_t size; /* of this structure, written by mgk_plot_options_init */
    mgk_job job;
    mgk_plot_kind kind;
    int figure;                /* 2, 5, 6, 11, 12 */
    const char *const *inputs; /* stores, rank files, logs or models, [input_count] */
    size_t input_count;
    const char *const *names; /* a title for each input, [name_count]; default from the files */
    size_t name_count;
    const char *output;  /* .png, .pdf or .svg, by its ending */
    const char *dataset; /* array in a file of HDF5 or NumPy, as for ranks */
    int sample;          /* position of the sample in the store, not its number as in rank files;
                            −1 (default): chosen by seed */
    const int *layers;   /* [layer_count]; NULL: all, or the figure's own */
    size_t layer_count;
    const int *heads; /* [head_count], also of rank files; NULL: all */
    size_t head_count;
    int tokens;              /* keys: the first tokens drawn; 0 (default): 100 */
    const char *colors;      /* viridis, magma, cividis, grey, coolwarm; NULL: fitting */
    const char *scale;       /* "linear", "log", "percentile"; NULL: fitting */
    bool shared;             /* one range for all panels instead of one each */
    const char *pooling;     /* "mean" (default) or "max", when a matrix is drawn small */
    int panel;               /* pixels of a panel's side; 0: fitting */
    bool matrix;             /* one matrix, one pixel an entry, no decoration */
    bool labels;             /* attention: tokens along rows and columns */
    bool words;              /* attention: tokens of a word merged, words along rows and columns */
    const char *labels_file; /* attention: the tokens, a line each; NULL: from the store */
    bool sweep;              /* ranks: against the threshold, instead of histograms at the first */
    int first, last;         /* attention: tokens (words) first ... last - 1; 0, 0: all */
    const char *title;       /* NULL: of matrices the model's file and the sample, else none */
} mgk_plot_options;

/* The defaults; `size` is that of the structure in the caller's header. */
MGK_API void mgk_plot_options_init(mgk_plot_options *options, size_t size);

static inline mgk_plot_options mgk_plot_options_default(void)
{
    mgk_plot_options options;
    mgk_plot_options_init(&options, sizeof(options));
    return options;
}

/*
 * Draws a picture. Options that it does not take are wrong usage. Entries of matrices that are not
 * finite are drawn in magenta, and the watcher is told how many they are.
 */
MGK_API mgk_result mgk_plot_picture(const mgk_plot_options *options);

#ifdef __cplusplus
}
#endif

#endif
