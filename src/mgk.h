/* SPDX-License-Identifier: MIT */
/*
 * libmgk: measures the diversity of the attention of transformers.
 *
 * The library trains and runs transformers with softmax, mixture-of-Gaussian-keys (arXiv
 * 2110.08678) and linear attention, exports every attention matrix, counts numerical ranks and
 * draws the pictures a paper prints. The programs mgk-train, mgk-eval, mgk-dump, mgk-rank,
 * mgk-diversity, mgk-plot, mgk-report, mgk-convert and mgk-info are thin covers of the functions
 * below.
 *
 *  - Every fallible function returns an mgk_result; mgk_error() describes the failure in one line.
 *    The library never prints and never exits.
 *  - Call the defaults function of an option structure first, then set single fields. The caller
 *    owns the strings and arrays in it; the library reads them during the call only.
 *  - Structures grow without a new soname. Options carry their size, which the defaults function
 *    writes (libdeflate's way; an opaque object would need a function for each field, and a
 *    misspelt field would compile): fields that the caller's header lacks keep their defaults, and
 *    fields that the library lacks must be 0. Structures within others, and structures that the
 *    library fills, end with room for future fields, `reserved`, which is 0.
 *  - A NULL job or NULL options mean the defaults. NULL for an argument that a function needs is
 *    MGK_USAGE, never a crash.
 *  - Output files appear whole or not at all. An output that exists is refused unless `force` is
 *    set, and one that another run is writing is refused. An output that is also an input or
 *    another output of the same call, under any name, is always MGK_USAGE. While the library writes
 *    an output, an empty lock file, output + ".mgk-lock", lies next to it.
 *  - Dimensions: S samples, L layers, H heads, N tokens, M keys per head and position (the
 *    mixture components), D head dimension, C model dimension. Matrices are row-major.
 *  - Functions may be called from several threads, on different objects.
 *  - The library loads OpenBLAS on first use, with the kernels that fit the processor
 *    (OPENBLAS_CORETYPE in the environment forces others) and with one thread, because the library
 *    itself is parallel. Where the process has OpenBLAS already, the library loads its own copy.
 *    It sets OPENBLAS_CORETYPE and OPENBLAS_NUM_THREADS while it loads, during the first job of the
 *    process: no other thread may read or change the environment then.
 */
#ifndef MGK_H
#define MGK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header; mgk_version() returns the library's. */
#define MGK_VERSION_MAJOR 0
#define MGK_VERSION_MINOR 2
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
    MGK_MEMORY = 4,      /* too little memory */
    MGK_DEVICE = 5,      /* the device is missing, or failed */
    MGK_IO = 6,          /* a file cannot be opened, read or written */
    MGK_EXISTS = 7       /* an output exists, or another run writes it */
} mgk_result;

/* Describes this thread's last failure in one line; never NULL, valid until the next failure.
 * Fields of option structures stand in backquotes: `head_dim`. */
MGK_API const char *mgk_error(void);

/* "0.2.0" */
MGK_API const char *mgk_version(void);

/* Releases text and arrays that a function below returned; NULL is accepted. */
MGK_API void mgk_release(void *memory);

/* Removes the files of unfinished outputs. A signal handler may call it at any time; the process
 * must end afterwards, because the outputs can no longer be finished. */
MGK_API void mgk_remove_unfinished(void);

/* ---- several processes -------------------------------------------------------------------- */

/*
 * Processes that mpirun or srun has started together and that share a job. Each calls the same
 * functions with the same options and this handle in its job; each takes some of the samples. Rank
 * 0 writes the outputs, calls the watcher and receives what a function returns: in the others,
 * tables are NULL and summaries 0. A failure in one process is the failure of the call in all.
 */
typedef struct mgk_cluster mgk_cluster;

/* Sets *rank and *size as mpirun or srun has put them into the environment, 0 and 1 where they have
 * not, or where MGK_CLUSTER=off in the environment says that this process works alone. */
MGK_API mgk_result mgk_cluster_started(int *rank, int *size);

/*
 * Joins the processes that were started with this one; *out is NULL where this process is alone. By
 * the thread that calls the library afterwards. MGK_DEVICE: the library was built without MPI, or
 * the MPI of the launcher is another one. Leave with mgk_cluster_close, in all processes.
 */
MGK_API mgk_result mgk_cluster_open(mgk_cluster **out);
MGK_API void mgk_cluster_close(mgk_cluster *cluster); /* NULL is accepted */

/* Called in place of a job that this process cannot begin, while others may wait for it: the job
 * fails in all, which tell `why` and the rank. Returns the failure; alone that of this process. */
MGK_API mgk_result mgk_cluster_refuse(mgk_cluster *cluster, const char *why);

/* ---- jobs --------------------------------------------------------------------------------- */

/* The progress of a job. */
typedef struct mgk_report {
    int64_t done, total; /* steps, matrices, samples; total 0: the note is about the whole job */
    double amount;       /* tokens or matrices done, for rates */
    const char *note;    /* "loss 1.234"; "": none; fields as in mgk_error */
    bool milestone;      /* the note is worth keeping: an evaluation, a finished layer */
    bool warning;        /* the note is for those too who do not follow the job */
    /* What a job does at last, and the unit of `amount`: "pruning", "runs"; NULL: what it is for.
     */
    const char *activity, *unit;
} mgk_report;

/* Follows a job. Both functions may be NULL; they run on the thread that called the library. */
typedef struct mgk_watcher {
    void (*report)(void *context, const mgk_report *report);
    bool (*stop)(void *context); /* true: end with MGK_INTERRUPTED as soon as possible */
    void *context;
} mgk_watcher;

/*
 * Settings of attention kinds; each means the same in all of them. 0 or NULL: the default of the
 * kind, of several kinds that of the first layer with the setting. MGK_USAGE: no kind of the model
 * has the setting; mgk_describe_setting lists those of a kind.
 */
typedef struct mgk_kind_settings {
    /* Of features: "positive", "trigonometric", "relu", "sigmoid", "exp", "abs", "gelu", "cos",
     * "tanh", "identity". */
    const char *feature_map;
    const char *feature_draw; /* of random features: "orthogonal", "iid" */
    int window;               /* keys at a distance of at most so many, times the dilation */
    int dilation;             /* only every so many-th key of the window */
    int block;                /* tokens of a block, or a stride */
    int global;     /* so many first tokens, or blocks, see all tokens and are seen by all */
    int random;     /* random keys of a query, or blocks of a block */
    int features;   /* random features, or the degree of others */
    int landmarks;  /* vectors that stand for all tokens */
    int projection; /* rows of a map from N tokens to fewer, or the rank of a product */
    int clusters;   /* of tokens */
    int parts;      /* of a cluster, by hashes of their own; 1: clusters are whole */
    int hashes;     /* rounds of hashing, or bits of a hash */
    int kernel;     /* tokens of a convolution, or of a pooling */
    int reserved[12];
} mgk_kind_settings;

typedef struct mgk_job {
    const char *device; /* "auto" (default), "cpu", "cuda", "cuda:N" */
    int threads;   /* CPU threads, at most 4096; 0 (default): OMP_NUM_THREADS; without it all cores
                      that the affinity and the control groups of the process allow */
    bool tf32;     /* matrix products may round factors to TF32: only single precision on a GPU */
    uint64_t seed; /* default 0 */
    bool force;    /* overwrite outputs */
    int head_dim;  /* D for models whose files do not contain it (checkpoints of the code of
                      Transformer-MGK); 0 (default): 32 for its LRA code */
    /* "linear", "mlk" or "none", where the files of these kinds look like those of "softmax" or
     * "mgk" (checkpoints of the same code); NULL (default): softmax or mgk */
    const char *attention;
    const char *command; /* recorded in outputs; NULL: not known */
    mgk_watcher watcher;
    /*
     * A part of a model. "text" or "vision": which model of a folder that has both (clip, siglip);
     * NULL (default): the one that reads the input. Of an encoder-decoder model (t5, bart, whisper,
     * ...) "encoder" (default), "decoder": the decoder's attention to itself, or "cross": its
     * attention to the encoder's output.
     */
    const char *part;
    /*
     * A kind of attention, or a list as in mgk_architecture, in whose place a model of softmax runs
     * (performer, band, ...): a kind with trained parameters is refused. The weights are the
     * model's; random features and patterns are drawn from `seed`. NULL (default): the model runs
     * as it is. Only for models that run on an input.
     */
    const char *run_as;
    const mgk_kind_settings *settings; /* of these kinds; NULL: their defaults */
    /*
     * Options of the training that a checkpoint of the code of Transformer-MGK does not tell, by
     * the names that the code has for them, separated by commas: "fixed_pos_emb" and, for tied
     * weights, "num_layers=L" (LRA); "pre_lnorm" and "no_pos" (language models). "": none of them;
     * NULL (default): none, unless the file or its name tells, with a remark.
     */
    const char *trained_with;
    /* The processes that share the job; NULL (default): this one alone does it. Of mgk_train_model,
     * mgk_dump_attention, mgk_rank_attention, mgk_rank_to_table and mgk_measure_diversity; other
     * functions do their whole job in each process that calls them. */
    mgk_cluster *cluster;
} mgk_job;

/* Checks the job's device and number of threads on this machine, for callers that run no job:
 * functions that take a job check them too. */
MGK_API mgk_result mgk_check_job(const mgk_job *job);

/* Writes bytes [size] to a file as jobs write their outputs: it appears whole or not at all.
 * MGK_EXISTS: it exists and the job has no `force`, or another run is writing it. */
MGK_API mgk_result mgk_write_output(const mgk_job *job, const char *path, const void *bytes,
                                    size_t size);

enum {
    MGK_ALL_SAMPLES = -1 /* of an input */
};

/* Where tokens come from. Exactly one of text, tokens, task, images, audio and strings is set. */
typedef struct mgk_input {
    /* text files, [text_count]; tokenised as the model expects. A folder stands for all files in it
     * and in its folders that end in .txt, in the order of bytes of their paths. */
    const char *const *text;
    size_t text_count;
    const char *tokens;      /* an array (.npy, .npz, HDF5), or lines of ids */
    const char *task;        /* "lm", "listops", "retrieval", "text": a dataset as in training */
    const char *const *data; /* its files, [data_count] */
    size_t data_count;
    bool article_per_file; /* task "retrieval": each file is one article */
    int samples; /* S; 0: default of the job; MGK_ALL_SAMPLES: all that there are, of generated
                    lists 2000 */
    int length;  /* N at most; 0: the model's positions, at most 4096. With `text`, `strings` and
                    `tokens` the longest of the S samples decides N. With `audio` of the targets. */
    /*
     * With text: the tokenizer, a file or folder of Hugging Face (tokenizer.json, vocab.txt, or
     * vocab.json with merges.txt), a model of SentencePiece, llama2.c's tokenizer.bin or a list of
     * words; NULL: bytes, if the model has 256 tokens, else the tokenizer in the model's folder.
     * With tokens: the tokenizer that gives their text; NULL: the one in the model's folder, if it
     * is readable and fits.
     */
    const char *tokenizer;
    bool lines; /* text: each non-blank line is a sample, cut to N; false: samples are windows of
                   the whole text */
    const char *const *images; /* PNG files, [image_count], for vision models: one sample each,
                                  resized to the model's image size */
    size_t image_count;
    const char *const *audio; /* WAV files, [audio_count], for models that hear: one sample each,
                                 cut or filled with silence to the model's length */
    size_t audio_count;
    /* Texts in memory, [string_count]: one sample each, cut to N, tokenised as `text`. Their sizes
     * in bytes, [string_count]; NULL: each ends with a 0. */
    const char *const *strings;
    const size_t *string_sizes;
    size_t string_count;
    /*
     * What the decoder of an encoder-decoder model writes, needed by the parts "decoder" and
     * "cross" of the job alone: a file with a line, not blank, for each line of `text` (with
     * `lines`) or each recording of `audio`; with `tokens` ids of that form, as labels. With
     * `strings` texts in memory, [string_count]. The decoder reads its start token and all tokens
     * but the last.
     */
    const char *target;
    const char *const *target_strings;
    const size_t *target_sizes; /* in bytes, [string_count]; NULL: each ends with a 0 */
    /* Lists that `task` "listops" generates without `data` have above < tokens < below, as in
     * training; 0: below is N + 1, at most 2000, and above a quarter of below. */
    int listops_above, listops_below;
    void *reserved[3];
} mgk_input;

/* ---- models ------------------------------------------------------------------------------- */

/* The architecture of a model, with the fields of its file's header. 0 or NULL: the task's
 * default. */
typedef struct mgk_architecture {
    /* The kind of attention of all layers, default "mgk"; or one for each, "band,band,softmax".
     * mgk_describe_kind lists the kinds. */
    const char *attention;
    int layers, heads, dim, head_dim, hidden; /* L, H, C, D, F */
    int length;                               /* N, positions */
    int mixtures;                             /* M of layers whose kind is a mixture, others
                                                 have 1; default 2 if there are such, else 1 */
    const char *prior;                        /* "learned" (default), "em", "hard"; "em-all": "em"
                                                 of all queries, as in the paper's code */
    const char *prior_shape; /* "layer" [M], "head" [H, M], "position" [H, M, N]; default: position
                                for language models, else layer */
    const double *variances; /* sigma_r^2, [variance_count]; a single one holds for all components;
                                default sqrt(D) */
    size_t variance_count;
    double normalizer_epsilon; /* added to each row sum */
    double dropout;
    /* What the output projection of attention reads: "concatenation" (default), the outputs of all
     * heads; "capsules", what these agree on by dynamic routing (Gu and Feng 2019). */
    const char *aggregate;
    void *reserved[3];
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
    bool article_per_file;            /* retrieval: each file is one article */
    int listops_above, listops_below; /* of generated lists, as in mgk_input; 0: default */
    int64_t listops_samples;          /* training trees; 0: 96,000 */
    int64_t steps;
    int64_t warmup;   /* steps; -1: min(100, steps / 10) */
    int batch;        /* samples (pairs, for retrieval) of a micro-batch */
    int accumulation; /* micro-batches per step */
    double rate;      /* peak learning rate */
    /* "linear" (default), "constant", "cosine"; "cosine-from-0", of the paper's language models;
     * "one-cycle" and "one-cycle-cosine", OneCycleLR of PyTorch, which changes beta1, too. */
    const char *schedule;
    double weight_decay;
    double clip;              /* largest gradient norm; 0: none */
    int64_t evaluate_every;   /* steps; 0: at the end only */
    int64_t evaluate_samples; /* held-out samples; 0: all of them */
    int64_t log_every;
    int64_t checkpoint_every; /* steps; 0: on interruption only */
    const char *output;       /* best model, safetensors */
    const char *log;          /* CSV; NULL: none */
    const char *resume;       /* state of an interrupted run; NULL: start anew */
    bool double_precision;
    int64_t keep_every; /* keep the models of step 0, of every so many steps and of the last; 0:
                           only the best one */
    mgk_kind_settings settings; /* of the architecture's kinds */
    int64_t redraw; /* random features are drawn anew every so many steps; 0 (default): never */
    /*
     * Terms that are added to the loss, "position,output=0.5", with factors, 1 if none is given:
     * "subspace", "position" and "output" let the heads of a layer differ (Li et al. 2018),
     * "pattern" makes half of them attend to the previous, the next and the first token (Deshpande
     * and Narasimhan 2020). NULL (default): none. MGK_INPUT: the attention has no such term.
     */
    const char *regularise;
    const char *adam_betas; /* beta1 and beta2 of AdamW, "0.9,0.98" (default) */
    double adam_epsilon;    /* of AdamW; 0 (default): 1e-9 */
    /* "ours" (default), "lra" or "lm", of the paper's code. This says what the shape of the model
     * follows; mgk_train_options_recipe sets it and all other fields of a recipe. */
    const char *recipe;
    const char *initial; /* first weights: "ours" (default), "lra" or "lm", as the paper's code */
    /* A model in any format whose weights are the first ones, where names and shapes fit; NULL:
     * none. A remark says what was taken. */
    const char *from;
    int classifier;      /* width of a classifier's hidden layer; 0: the recipe's, else `dim` */
    const char *pooling; /* of classifiers: "mean" of the valid tokens, "length": their sum / N,
                            "first" token; NULL: the recipe's, else "mean" */
    /* "learned", "sinusoidal" (sines, then cosines), "alternate" (in turns), "backward" (the last
     * token has position 0) or "none"; NULL: the recipe's, else that of the task */
    const char *positions;
    const char *norms;     /* "pre" or "post"; NULL: that of the task */
    double dropout_hidden; /* of the feed-forward's hidden layer, in [0, 1) */
    double dropout_output; /* of the final hidden states */
    /*
     * Of texts: "bytes" (default); "bpe", "words" and "words-split" are learnt from the training
     * texts, see docs/mgk-train.md; or a file or folder of a tokenizer that mgk_input may
     * name, or a model that carries one. The model carries the tokenizer: programs find it there.
     */
    const char *tokenizer;
    int vocabulary; /* most tokens of a learnt tokenizer; 0: 4096 of "bpe", 16384 of words */
    /* Evaluate and write the mean of the weights of the last so many evaluations; 0 (default), 1:
     * the weights of one. Evaluations are those of evaluate_every, also where nothing is held out.
     */
    int average;
    int patience; /* end after so many evaluations without a better one; 0 (default): never */
    /* Targets of the training are 1 - smoothing, and smoothing / V for each of V classes or tokens;
     * losses that are logged are those of the targets as they are. In [0, 1) */
    double smoothing;
    /* Of the entries of attention matrices, in [0, 1), for softmax, mgk, smgk and others that weigh
     * values entry by entry; -1 (default): the recipe's, else 0. MGK_INPUT: a kind has none */
    double dropout_attention;
    /* Classifiers read the state of a learned token of its own in front of each sequence, which
     * then has N + 1 tokens; `pooling` is "first". */
    bool class_token;
    /*
     * Language models: the tokens at which clusters of an adaptive softmax begin, "2000,8000"
     * (Grave et al. 2017); NULL (default): an ordinary softmax. Tokens should be in the order of
     * how frequent they are, as learnt words are. With a divisor d > 1 the embeddings of cluster k
     * have 1 / d^k of the numbers of the first tokens' (Baevski and Auli 2019); 0 (default), 1: all
     * have as many. The accuracy is then not known. On the CPU.
     */
    const char *adaptive_cutoffs;
    int adaptive_divisor;
    /* Language models: each of the batch * accumulation samples of a step continues one of as many
     * equal parts of the text where the step before left it; false: they are drawn. */
    bool streams;
} mgk_train_options;

/* Writes the defaults; `size` is the size of the structure in the caller's header. */
MGK_API void mgk_train_options_init(mgk_train_options *options, size_t size);

static inline mgk_train_options mgk_train_options_default(void)
{
    mgk_train_options options;
    mgk_train_options_init(&options, sizeof(options));
    return options;
}

/*
 * Sets all fields that a recipe sets, before single ones are: steps, warmup, batch, rate, schedule,
 * weight_decay, clip, adam_betas, adam_epsilon, initial, dropout of the architecture,
 * dropout_hidden and dropout_output; and `recipe`, which is not copied.
 */
MGK_API mgk_result mgk_train_options_recipe(mgk_train_options *options, const char *recipe);

/*
 * Trains a model and writes the best one (lowest held-out loss of a language model, highest
 * held-out accuracy of a classifier) to `output`. An interrupted run leaves its state in output +
 * ".checkpoint"; the same options with `resume` continue it bit for bit, on as many threads of the
 * same kind of processor. A finished run removes its state. Without job.force a run overwrites only
 * its own files. With `keep_every`, "run.safetensors" as output comes with
 * "run.step-000500.safetensors", the model after step 500; the metadata `training_step` of a model
 * is its step.
 *
 * The processes of job.cluster divide the samples of each step, batch * accumulation of them, and
 * add their gradients; so weights and losses are those of one process but for the rounding of sums,
 * and `resume` continues a state on any number of processes. Each of them is asked to stop; if one
 * is, all stop after the same step.
 */
MGK_API mgk_result mgk_train_model(const mgk_train_options *options);

typedef struct mgk_convert_options {
    size_t size; /* of this structure, written by mgk_convert_options_init */
    mgk_job job;
    const char *model;     /* a checkpoint in any supported format, a file or a folder */
    const char *output;    /* safetensors in the toolkit's format */
    bool double_precision; /* keep weights in float64, not float32 */
    bool half_precision;   /* keep weights in float16; MGK_INPUT: one is too large */
} mgk_convert_options;

/* Writes the defaults; `size` is the size of the structure in the caller's header. */
MGK_API void mgk_convert_options_init(mgk_convert_options *options, size_t size);

static inline mgk_convert_options mgk_convert_options_default(void)
{
    mgk_convert_options options;
    mgk_convert_options_init(&options, sizeof(options));
    return options;
}

/* Reads any checkpoint and writes the toolkit's own format: configuration and weights in one file,
 * which give the same attention. A milestone names the tensors that it leaves out. */
MGK_API mgk_result mgk_convert_model(const mgk_convert_options *options);

/*
 * Describes a model, an attention store or a rank file (HDF5, CSV or JSON): kind, configuration,
 * tensors, parameters, and for models the floating-point operations of one forward pass and one
 * training step by part. For other files it lists the tensors, or names a training log, a PNG
 * picture or text. MGK_INPUT: the file is of no known kind. It uses head_dim and attention of the
 * job. *text is lines for people, or JSON; release it with mgk_release.
 */
MGK_API mgk_result mgk_describe_file(const char *path, const mgk_job *job, bool json, char **text);

/* Describes the machine: its processor, the kernels that run on it, OpenBLAS with its version and
 * kernel set, threads, memory, and the GPU or why there is none. *text as above. */
MGK_API mgk_result mgk_describe_machine(bool json, char **text);

/* ---- kinds of attention ------------------------------------------------------------------- */

/* A kind of attention; all texts are static. */
typedef struct mgk_kind_description {
    const char *name;       /* "mgk" */
    const char *formula;    /* a_ij before normalisation */
    const char *primitives; /* what computes it: "tile", "features", ... */
    const char *devices;    /* where it runs, with a blank between them: "cpu", "cpu cuda" */
    const char *rank_bound; /* the largest rank of a matrix: "N", "features" */
    const char *causal;     /* "yes": with and without a causal mask; "no"; "only" with one */
    bool matrix;            /* there is an N x N matrix */
    const char *reason;     /* why there is none; "": there is one */
    size_t settings;        /* number of its settings */
    void *reserved[4];
} mgk_kind_description;

/* Describes kind number `index`, from 0. MGK_USAGE: there are fewer. */
MGK_API mgk_result mgk_describe_kind(size_t index, mgk_kind_description *out);

/* A setting of a kind: a number, or a word. */
typedef struct mgk_setting_description {
    const char *name; /* "window", a field of mgk_kind_settings; static, as `word` is */
    int number;       /* its default; 0: the setting is a word */
    const char *word; /* its default; NULL: the setting is a number */
    void *reserved[3];
} mgk_setting_description;

/* Describes setting number `index` of kind number `kind`, both from 0. MGK_USAGE: there are fewer.
 */
MGK_API mgk_result mgk_describe_setting(size_t kind, size_t index, mgk_setting_description *out);

/* ---- a model in memory -------------------------------------------------------------------- */

typedef struct mgk_network mgk_network;

/* Loads a model; release it with mgk_network_close. *out is NULL on failure. */
MGK_API mgk_result mgk_network_open(const char *path, const mgk_job *job, bool double_precision,
                                    mgk_network **out);
MGK_API void mgk_network_close(mgk_network *network); /* NULL is accepted */

typedef struct mgk_network_shape {
    const char *attention; /* as in mgk_architecture; owned by the network */
    int layers, heads, head_dim, dim, length, mixtures, vocabulary;
    bool causal;
    int padding;       /* the id that pads sequences at their end; -1: none */
    bool padding_word; /* this id also begins or ends texts */
    bool has_source; /* the part "decoder" or "cross": mgk_network_encode comes before attention */
    bool cross;      /* the part "cross": matrices are [count, tokens of the source] */
    int reserved[6];
} mgk_network_shape;

/* All 0 for NULL. */
MGK_API mgk_network_shape mgk_network_shape_of(const mgk_network *network);

/*
 * For a decoder, the parts "decoder" and "cross" of a job: runs the encoder on a source of `count`
 * token ids. The functions below then take the decoder's ids. MGK_USAGE: no decoder, or ids out of
 * range.
 */
MGK_API mgk_result mgk_network_encode(mgk_network *network, const int32_t *source, int count);

/* A decoder's encoder, which tokenises the source; owned by the network. NULL: no decoder. After
 * its own attention was asked for, the decoder needs its source again. */
MGK_API mgk_network *mgk_network_encoder(mgk_network *network);

/*
 * Makes what a decoder reads of the tokens that it writes, labels ids [*count], in place: its start
 * token, then all labels but the last; without a start token the last label comes first (mbart).
 * Labels that begin with the start token only lose the last one. MGK_USAGE: no decoder, or ids out
 * of range.
 */
MGK_API mgk_result mgk_network_shift(const mgk_network *network, int32_t *ids, int *count);

/*
 * Runs one sequence of `count` token ids and writes the attention matrix of one layer and head into
 * matrix [count, count]; of the part "cross" matrices are [count, tokens of the source], here and
 * below. Rows sum to 1, except with a normalizer_epsilon or with linear attention that does not
 * normalise. MGK_USAGE: ids out of range, or a decoder without a source.
 */
MGK_API mgk_result mgk_network_attention(mgk_network *network, const int32_t *tokens, int count,
                                         int layer, int head, double *matrix);

/* The same for all layers and heads in one forward pass, into matrices [L, H, count, count]. */
MGK_API mgk_result mgk_network_attention_all(mgk_network *network, const int32_t *tokens, int count,
                                             double *matrices);

/* The same for chosen layers and heads, into matrices [layer_count, head_count, count, count], in
 * the order of the model; repeated numbers count once. NULL: all. */
MGK_API mgk_result mgk_network_attention_of(mgk_network *network, const int32_t *tokens, int count,
                                            const int *layers, size_t layer_count, const int *heads,
                                            size_t head_count, double *matrices);

/*
 * Tokenises a text of `size` bytes with the model's own tokenizer, else the one in its folder, and
 * adds the tokens that the model expects around a sequence ([CLS] and [SEP]); for a model of bytes
 * the bytes are the ids. Release *tokens [*count] with mgk_release. MGK_INPUT: the model has no
 * tokenizer, or the text for it is not UTF-8.
 */
MGK_API mgk_result mgk_network_tokenize(mgk_network *network, const char *text, size_t size,
                                        int32_t **tokens, int *count);

/* The same, cut to at most `length` tokens: those around the sequence stay. MGK_INPUT: these alone
 * are as many. */
MGK_API mgk_result mgk_network_tokenize_cut(mgk_network *network, const char *text, size_t size,
                                            int length, int32_t **tokens, int *count);

/*
 * The text of a token for people, UTF-8, valid as long as the network: of bytes the ASCII
 * character, otherwise "\n" or "\xE2". MGK_INPUT: the model has no tokenizer; MGK_USAGE: no
 * such token.
 */
MGK_API mgk_result mgk_network_token_text(mgk_network *network, int32_t token, const char **text);

/* ---- export ------------------------------------------------------------------------------- */

/* Objects that mgk_dump_attention writes: a set of bits. */
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
    mgk_input input; /* samples: default 16, or all if the input has fewer; all images and audio */
    const int *layers; /* [layer_count], a set; NULL: all */
    size_t layer_count;
    const int *heads; /* [head_count], a set; NULL: all */
    size_t head_count;
    unsigned save;         /* default MGK_SAVE_ATTENTION */
    const char *dtype;     /* storage: "f32", "f64", "f16"; NULL: as `double_precision` */
    bool double_precision; /* compute in float64 */
    int compress;          /* gzip 0 (default, none) … 9 */
    bool perplexity;       /* language models: measure how well the model predicts the samples */
    const char *output;    /* HDF5 */
    /* Each process writes a file of its own, "a.shard-0.h5", "a.shard-1.h5", ... of "a.h5", a store
     * of some of the samples; "a.h5" joins them by virtual datasets of HDF5 1.10: keep them in one
     * folder. With `force` the new shards are named "a.shard-0.1.h5" and so on if those names are
     * taken, and keep these names. The old shards go once "a.h5" is the new one. For file systems
     * where several machines cannot write one file, as NFS. */
    bool shards;
} mgk_dump_options;

/* Summary of an export. */
typedef struct mgk_dump_summary {
    int samples, layers, heads, length;
    double bytes;           /* size of the file, and of its shards */
    double seconds;         /* total */
    double writing_seconds; /* writing time, summed over threads; of processes that of rank 0 */
    double loss;            /* mean of -ln p over `predicted` next tokens */
    int64_t predicted;      /* 0 unless `perplexity` was set; the perplexity is exp(loss) */
    double reserved[4];
} mgk_dump_summary;

/* Writes the defaults; `size` is the size of the structure in the caller's header. */
MGK_API void mgk_dump_options_init(mgk_dump_options *options, size_t size);

static inline mgk_dump_options mgk_dump_options_default(void)
{
    mgk_dump_options options;
    mgk_dump_options_init(&options, sizeof(options));
    return options;
}

/* Exports attention into an HDF5 store; summary may be NULL. Memory does not grow with S. The
 * processes of the job's cluster write one store, whose datasets are those that one process
 * writes; all of them must be able to write in its folder. */
MGK_API mgk_result mgk_dump_attention(const mgk_dump_options *options, mgk_dump_summary *summary);

/* ---- evaluation --------------------------------------------------------------------------- */

/* A head of a model's own attention; both count from 0, and head -1 stands for all of the layer. */
typedef struct mgk_head {
    int layer, head;
} mgk_head;

typedef struct mgk_evaluate_options {
    size_t size; /* of this structure, written by mgk_evaluate_options_init */
    mgk_job job;
    const char *model; /* a language model, or a classifier of the input's task */
    mgk_input input;   /* samples: default all of them, of generated ones 2000 */
    /*
     * Text that is cut into windows, of `text`, of ids that are one text, and of the task "lm":
     * they begin so many tokens apart, and each window but the first predicts its last `stride`
     * tokens alone, which have most tokens before them. Every token but the first is predicted
     * once. 0 (default): windows do not overlap. MGK_USAGE: there are no windows, or they are
     * shorter.
     */
    int stride;
    bool double_precision; /* compute in float64 */
    /* A file that the caller makes of the results, by mgk_write_output: refused before the model
     * runs if it is an input, or exists without `force`. NULL (default): none. */
    const char *output;
    /* [remove_count], heads whose outputs are taken as 0, so that they add nothing to the output
     * projection of their layer (Michel et al. 2019); NULL (default): none. MGK_INPUT: the model
     * has no such head. */
    const mgk_head *remove;
    size_t remove_count;
    bool per_sample; /* return the loss of each sample, too, so that evaluations can be compared */
} mgk_evaluate_options;

/* How well a model predicts one sample, or one pair of documents. */
typedef struct mgk_sample_loss {
    double loss;     /* sum of -ln p over the targets, in nats */
    int64_t targets; /* 0: there is nothing to predict */
    int64_t correct; /* targets to which the model gives the largest p; -1: not known, of an
                        adaptive softmax */
    uint64_t hash;   /* of the targets, and of the sample's place in the input */
} mgk_sample_loss;

/* How well a model predicts. */
typedef struct mgk_evaluation_summary {
    int samples, length;  /* S, N */
    int64_t targets;      /* predicted tokens, or samples with a class */
    double loss;          /* mean of -ln p over the targets */
    double accuracy;      /* share of targets to which the model gives the largest p; NaN: an
                             adaptive softmax does not tell */
    double perplexity;    /* exp(loss) of a language model; else NaN */
    double bits_per_byte; /* of a language model: -log2 p of all targets, for each byte of the
                             text that they are; NaN: its bytes are not known, or not all of it
                             was read */
    double seconds;       /* total */
    bool language_model;
    int removed_heads; /* of `remove`, each once */
    /* With `per_sample`, in the order in which the samples were drawn; release it with mgk_release.
     * NULL: not asked for. */
    mgk_sample_loss *sample_losses; /* [sample_loss_count] */
    size_t sample_loss_count;
    double reserved[2];
} mgk_evaluation_summary;

/*
 * What another model, or a model without some heads, predicts better or worse: differences of
 * means over targets; the middle 95 % of 10000 bootstrap draws of samples, each taken with all its
 * targets, in pairs (Efron & Tibshirani 1993, §13.3); and two-sided p of Student's t test of the
 * pairs, with the variance of a ratio (Cochran 1977, §2.11). They tell what other samples would
 * change, not what another training would. Intervals of fewer than 12 samples are too narrow. Those
 * of one are NaN, and so is p, which differences that do not vary have not either.
 */
typedef struct mgk_evaluation_difference {
    double loss, loss_low, loss_high, loss_p; /* in nats */
    double accuracy, accuracy_low, accuracy_high, accuracy_p;
    int64_t samples; /* with targets; a pair of documents is one */
    double reserved[4];
} mgk_evaluation_difference;

/* Writes the defaults; `size` is the size of the structure in the caller's header. */
MGK_API void mgk_evaluate_options_init(mgk_evaluate_options *options, size_t size);

static inline mgk_evaluate_options mgk_evaluate_options_default(void)
{
    mgk_evaluate_options options;
    mgk_evaluate_options_init(&options, sizeof(options));
    return options;
}

/* Runs a model on an input and compares its predictions with what follows. MGK_USAGE: the input has
 * no targets for the model. Memory does not grow with S. */
MGK_API mgk_result mgk_evaluate_model(const mgk_evaluate_options *options,
                                      mgk_evaluation_summary *summary);

/* The difference b - a of two evaluations of the same input `per_sample`; the job has the seed of
 * the draws and the threads. MGK_INPUT: the samples have other targets, as those of another
 * tokenizer do; or a loss is not finite. That the inputs are the same is for the caller to see to:
 * hashes of targets tell most others, but not classes of other texts. */
MGK_API mgk_result mgk_compare_evaluations(const mgk_evaluation_summary *a,
                                           const mgk_evaluation_summary *b, const mgk_job *job,
                                           mgk_evaluation_difference *difference);

/* ---- tables of results -------------------------------------------------------------------- */

/* Rows and named columns, in memory. */
typedef struct mgk_table mgk_table;

/* Reads a rank file or a file of mgk-diversity: CSV, JSON or HDF5. HDF5 of mgk-diversity holds
 * samples and gives the table of their means, as mgk_measure_diversity does, with the differences
 * between inputs if the file has them. Release the table with mgk_table_close; *out is NULL on
 * failure. */
MGK_API mgk_result mgk_table_open(const char *path, mgk_table **out);
MGK_API void mgk_table_close(mgk_table *table); /* NULL is accepted */

/* 0 for NULL. */
MGK_API size_t mgk_table_rows(const mgk_table *table);
MGK_API size_t mgk_table_columns(const mgk_table *table);

/* The settings of the run that made the table, a JSON object; NULL: not known. */
MGK_API const char *mgk_table_settings(const mgk_table *table);

/* A column. The table owns everything in it. */
typedef struct mgk_table_column {
    const char *name;    /* "effective_rank" */
    const char *formula; /* a formula or a few words; unit and source ("Author 2007") may be "" */
    const char *unit, *source;
    const double *reals;     /* [rows], NaN: not computed; NULL: the column holds integers */
    const int32_t *integers; /* [rows], -1: the row has none; NULL: the column holds reals */
    /* [word_count], the meanings of the integers 0, 1, …, which may be texts of the run, such as
     * names of files; NULL: plain numbers */
    const char *const *words;
    size_t word_count;
    void *reserved[4];
} mgk_table_column;

/* Finds a column by position or by name. MGK_USAGE: no such column. */
MGK_API mgk_result mgk_table_get_column(const mgk_table *table, size_t index,
                                        mgk_table_column *out);
MGK_API mgk_result mgk_table_find_column(const mgk_table *table, const char *name,
                                         mgk_table_column *out);

/* ---- matrices in memory --------------------------------------------------------------------- */

/*
 * Vectors of the tokens of a mgk_array, in the caller's memory: number d of the vector of token t
 * and head h in sample s and layer l is at
 *     layers[l] + s sample_stride + h head_stride + t token_stride + d stride,
 * strides in bytes.
 */
typedef struct mgk_array_vectors {
    const char *dtype;         /* as of mgk_array */
    const void *const *layers; /* [layer_count] of the array; NULL: there are no such vectors */
    int heads, size;           /* vectors of a token in a layer, and the numbers of each */
    int64_t sample_stride, head_stride, token_stride, stride;
} mgk_array_vectors;

/* What is known of the samples of a mgk_array besides their matrices, for measures that need it.
 * All zeros: nothing. */
typedef struct mgk_array_context {
    const int32_t *tokens; /* ids [S, N]; NULL: not known */
    /* V of each head. Where heads share values (grouped keys), H is a multiple of `heads`, and head
     * h of the matrices has vector h heads / H. */
    mgk_array_vectors values;
    mgk_array_vectors outputs; /* of layers, the hidden states that the next one reads; 1 head */
} mgk_array_context;

/*
 * Attention matrices in the caller's memory, which no function changes. Strides are in bytes and
 * may be negative: the entry of query i and key j in the matrix of sample s, layer l and head h is
 * at layers[l] + s sample_stride + h head_stride + i row_stride + j column_stride. So axes may have
 * any order, and each layer may be an array of its own.
 */
typedef struct mgk_array {
    const char *name; /* in messages and tables; NULL: "array" */
    /* Of the entries, in this machine's byte order: "f64", "f32", "f16" or "bf16". */
    const char *dtype;
    const void *const *layers; /* [layer_count] */
    size_t layer_count;
    int samples, heads, tokens; /* S, H, N; at least 1 */
    int64_t sample_stride, head_stride, row_stride, column_stride;
    /* The valid tokens of each sample, [S]: `lengths` of them, from number `first` on; NULL: the
     * first is 0, the last N - 1. Other rows and columns are not looked at. No sample has none. */
    const int32_t *first, *lengths;
    /* Attention of one sequence, of N tokens, to another one (cross-attention): the matrices are
     * [N, keys], and `first` and `lengths` are of their rows alone; those of the columns are
     * `first_key` and `key_lengths`, as above. keys 0: the matrices are square, of one sequence. */
    const int32_t *first_key, *key_lengths;
    int keys;
    const mgk_array_context *context; /* of square matrices; NULL: nothing */
} mgk_array;

/* ---- ranks -------------------------------------------------------------------------------- */

typedef struct mgk_rank_options {
    size_t size; /* of this structure, written by mgk_rank_options_init */
    mgk_job job;
    const char *const *inputs; /* attention stores or files of arrays, [input_count]; or `model` */
    size_t input_count;
    /*
     * Array of floats in a file of HDF5 or NumPy: [..., N, N]; the leading axes are none, sample,
     * (sample, head) or (sample, layer, head), unless `axes` names others. With a star ("layer_*")
     * it names one array per layer. NULL: /attention, or the only array. If its last two axes
     * differ in length, it is attention of one sequence to another: N queries, the rows, and K
     * keys; the rank is then at most min(N, K).
     */
    const char *dataset;
    const char *model; /* runs this model and counts its matrices without storing them */
    mgk_input input;   /* for `model`; samples: as many as `matrices` needs */
    const int *layers; /* [layer_count], a set; NULL: all */
    size_t layer_count;
    bool double_precision;    /* for `model`: compute in float64 */
    const double *thresholds; /* [threshold_count]; default 1e-6 */
    size_t threshold_count;
    bool relative; /* thresholds are relative to the largest singular value */
    int matrices;  /* per layer, chosen by seed; 0: all; default 1000 */
    /*
     * "auto" (default) and "svd" compute singular values, which fill the whole table.
     *
     * "count" computes ranks only, 1.4 to 2.4 times as fast (docs/rank.md). It computes singular
     * values only for matrices whose rank is not certain without them; with relative thresholds,
     * with more than three thresholds on the CPU, or with `spectrum` it works as "svd". A GPU
     * avoids singular values of up to 512 rows only where the rank is full. Without singular values
     * the measures made of them are NaN, empty in CSV; on the CPU, and on a GPU from 513 rows on,
     * the largest singular value, the stable rank and the singular value nearest to the threshold
     * remain.
     *
     * "bisection": as "svd", by the library's own GPU kernels, whose present state no GPU has run.
     *
     * For linear attention of a model without a causal mask, "auto" and "count" use thin factors of
     * the matrix instead of its entries, on the CPU.
     */
    const char *method;
    bool spectrum;        /* keep the singular values (HDF5 output) */
    bool allow_half;      /* accept f16 and bf16, where the rank is that of the rounding errors */
    bool allow_zero_rows; /* count rows of zeros within the valid tokens: arrays of other software
                             mark padded queries so; false: such rows end the job with an error */
    const char *output;   /* .csv, .json or .h5, by its ending; NULL: the summary alone */
    bool resume;          /* continue the interrupted run that left output + ".part" */
    const char *png;      /* histogram of each layer; NULL: none */
    /*
     * Bytes of host memory for matrices: one quarter for the matrices that a model computes at a
     * time, the rest for counting threads; if matrices are large, fewer threads run. Model, tokens
     * and table are not included. 0: three quarters of the free memory. MGK_MEMORY: too little for
     * one thread.
     */
    size_t memory;
    /* Array of others: the axes in front of its matrices, in their order, such as "layer,head";
     * NULL: those of `dataset`. */
    const char *axes;
    /* Array of others: a file of NumPy or HDF5 with the attention_mask of its model, zeros and ones
     * [samples, N], whose ones are next to each other: only their rows and columns are counted, and
     * N is their number. Of N queries and K other keys it is that of the keys, [samples, K], and
     * all rows are valid. NULL: all tokens are valid. */
    const char *mask;
    /* Matrices in memory, [array_count], in place of `inputs`; they are not resumed. */
    const mgk_array *arrays;
    size_t array_count;
    const int *heads; /* of each layer, [head_count], a set; NULL: all */
    size_t head_count;
} mgk_rank_options;

/* Ranks of one layer of one input, at the first threshold. */
typedef struct mgk_rank_layer {
    int input; /* position in `inputs`; 0 for a model */
    int layer;
    int64_t matrices;
    int64_t samples;       /* number of samples with these matrices; matrices of one sample are not
                              independent */
    int smallest, largest; /* smallest and largest N of the matrices, their rows: an upper bound on
                              the rank */
    /* matrices whose rank is open because of storage rounding, see noise_floor */
    int64_t undecided;
    double mean, median, lower_quartile, upper_quartile; /* of the rank */
    /* Means over the matrices that have a value (zero and empty matrices have none); NaN: no matrix
     * has one, or it was not computed for some. */
    double effective, stable;
    int axes[3]; /* of an array of others: sizes of the axes that were read as sample, layer and
                    head; 0: it has no such axis, or the input is a store or a model */
    double reserved[2];
} mgk_rank_layer;

typedef struct mgk_rank_summary {
    mgk_rank_layer *layers; /* [count]; released with mgk_release */
    size_t count;
    /* approximate shift of a singular value by the rounding of the stored entries; with factors an
     * upper bound; excludes errors of the forward pass */
    double noise_floor;
    const char *storage; /* coarsest format among the matrices' entries: "f32" */
    bool by_factors;     /* some matrices were counted by thin factors; noise_floor, storage and
                            certified_by_values then refer to the factors */
    char *histogram;  /* text for a terminal; released with mgk_release, and `warnings` with it */
    int64_t matrices; /* in all layers; the next three count matrices whose stored entries have a
                         certain rank, by the kind of certificate */
    int64_t certified_by_bound;       /* counted, with a bound on all rounding errors */
    int64_t certified_by_measurement; /* counted, with a measured bound */
    int64_t certified_by_values;      /* no singular value is within its error of the threshold */
    /* Matrices whose entries all fit f16 or bf16 and which are undecided at some threshold: their
     * rank is that of the rounding errors. */
    int64_t coarse;
    const char *coarse_format; /* the coarsest format of these; NULL: no such matrix */
    /* Matrices with a row sum further than 0.01 from 1, and the largest distance; both without rows
       of zeros, which are counted below, with the matrices that have any. */
    int64_t unnormalised;
    double row_sum_error;
    int64_t zero_rows, matrices_with_zero_rows;
    const char *warnings; /* what a reader of these numbers must know, each on a line with its end;
                             released with `histogram` */
    void *reserved[1];
} mgk_rank_summary;

/* Writes the defaults; `size` is the size of the structure in the caller's header. */
MGK_API void mgk_rank_options_init(mgk_rank_options *options, size_t size);

static inline mgk_rank_options mgk_rank_options_default(void)
{
    mgk_rank_options options;
    mgk_rank_options_init(&options, sizeof(options));
    return options;
}

/*
 * Counts singular values at or above thresholds, in float64; summary may be NULL.
 *
 * A store of S samples and a model that runs on S samples of the same input give the same rows with
 * the same seed; linear attention that is counted by factors gives them up to the store's rounding.
 * Every input is analysed separately; with several inputs, outputs number them in a column `input`.
 * Milestones report what a reader of the ranks must know: fewer matrices than asked for, or entries
 * that were once f16 or bf16, if that leaves ranks undecided.
 *
 * Each finished matrix is recorded in output + ".part", which is deleted when the outputs are
 * whole. If the job or the process ends before, the file stays, and the same options with `resume`
 * continue without computing those matrices again. Without `resume` the file is refused, or with
 * job.force replaced. Memory: a few matrices at a time, and about 400 bytes for the results of
 * each.
 */
MGK_API mgk_result mgk_rank_attention(const mgk_rank_options *options, mgk_rank_summary *summary);

/* The same, and returns the table: one row per matrix and threshold. Release *table with
 * mgk_table_close; NULL on failure. */
MGK_API mgk_result mgk_rank_to_table(const mgk_rank_options *options, mgk_table **table,
                                     mgk_rank_summary *summary);

/* The rank of one matrix and its certificate. */
typedef struct mgk_matrix_rank {
    size_t rank;                /* number of singular values >= threshold */
    size_t rank_low, rank_high; /* range of the rank, given the rounding of the stored entries */
    bool undecided;             /* rank_low < rank_high */
    const char *certificate;    /* "none", "bound" or "measured", as in the column `certificate` */
    const char *method; /* "gram", "low-rank": counted; "svd", on a GPU "augmented": computed */
    double sigma_max,
        nearest; /* largest singular value, and the one nearest to the threshold; NaN: not known */
    void *reserved[4];
} mgk_matrix_rank;

/* Counts the singular values >= `threshold` > 0 of one n x n matrix (row-major, rows `stride`
 * entries apart), like the method "count". It uses device and threads of the job. */
MGK_API mgk_result mgk_rank_matrix(const double *matrix, size_t n, size_t stride, double threshold,
                                   const mgk_job *job, mgk_matrix_rank *out);

/* Computes the singular values of one n x n matrix (row-major, rows `stride` entries apart),
 * descending, [n]. */
MGK_API mgk_result mgk_singular_values(const double *matrix, size_t n, size_t stride,
                                       double *values);

/* ---- diversity ---------------------------------------------------------------------------- */

/* A measure of attention diversity; all texts are static. */
typedef struct mgk_measure_description {
    const char *name;  /* "entropy" */
    const char *level; /* "head", "pair" (two heads) or "layer" */
    const char *unit;  /* "": none */
    const char *range; /* "0 to ln N" */
    const char *formula;
    const char *source; /* "Author 2007", or "" */
    const char
        *needs; /* what it needs besides attention: "tokens", "values", "a running model" or "" */
    void *reserved[4];
} mgk_measure_description;

/* Describes measure number `index`, from 0. MGK_USAGE: there are fewer. */
MGK_API mgk_result mgk_describe_measure(size_t index, mgk_measure_description *out);

typedef struct mgk_diversity_options {
    size_t size; /* of this structure, written by mgk_diversity_options_init */
    mgk_job job; /* a GPU runs the model; measures are computed on the host */
    /* Attention stores or files of arrays, [input_count]; or `models`. With `compare` also HDF5
     * tables that this function wrote: they are compared, and nothing is measured again. */
    const char *const *inputs;
    size_t input_count;
    const char *dataset; /* as in mgk_rank_options */
    /* Runs these models, [model_count], on the same input, and measures their attention without
     * storing it. */
    const char *const *models;
    size_t model_count;
    mgk_input input;   /* for `models`; samples: default 16, or all if the input has fewer */
    const int *layers; /* [layer_count], a set; NULL: all */
    size_t layer_count;
    bool double_precision; /* for `models`: compute in float64 */
    /* Names of measures, [measure_count]; the one name "all": all that the inputs allow; NULL:
     * these without the importance of heads, which takes a run of the model for each head. */
    const char *const *measures;
    size_t measure_count;
    double threshold; /* of ranks; default 1e-6 */
    bool relative;    /* it is a multiple of the largest singular value of each matrix */
    bool per_sample;  /* CSV and JSON: a row for each sample instead of means */
    /* Compare each further input with the first one: for each layer and measure the difference of
     * means with its 95 % bootstrap interval over samples, and p adjusted by Holm's method.
     * Measures of weights alone, the same on each sample, have neither. */
    bool compare;
    /*
     * Remove the heads of each model one by one: by importance, by redundancy (one head of the two
     * with the least js), and in ten random orders. The table gets rows of level "model": measure
     * prune_importance, prune_redundancy or prune_random, component the number of heads left, layer
     * and head the one removed last, value the mean loss of the samples. Names end with _divergence
     * or _hidden where a model has no loss: the value is then what importance_divergence or
     * importance_hidden is. The sd of prune_random is that of the orders.
     */
    bool prune;
    /* Arrays of other software come from a model with a causal mask; stores say so themselves.
     * MGK_USAGE: the attention of one sequence to another has none. */
    bool causal;
    bool allow_half; /* accept f16 and bf16 for measures of singular values, which rounding moves;
                        others take f16 without it */
    bool allow_zero_rows; /* leave rows of zeros out; false: they end the job with an error */
    const char *output;   /* .csv, .json or .h5, by its ending; NULL: the table in memory alone */
    bool resume;          /* continue the interrupted run that left output + ".part" */
    size_t memory;        /* as in mgk_rank_options */
    /* Measures of pairs compare heads of different layers, too. The matrices of all layers of a
     * sample are in memory at once. */
    bool across_layers;
    const char *axes; /* as in mgk_rank_options, and these */
    const char *mask;
    const mgk_array *arrays;
    size_t array_count;
    /* As in mgk_rank_options. The others are not measured, nor compared with these; they stay in
     * the model when heads are removed. */
    const int *heads;
    size_t head_count;
    /*
     * Takes two inputs as one, so that heads of both are compared with each other by measures of
     * pairs, as those of different layers are by `across_layers`: before and after fine-tuning, of
     * two seeds, of two designs. Both must have the same samples, tokens and numbers of heads;
     * values and outputs are compared where heads have as many numbers in both. Layers of the
     * second are counted on from the number of layers of the first, of a store from those that it
     * has: settings of the table have it as "second_layers_from", and both inputs as "joined". The
     * matrices of all layers of a sample of both are in memory at once.
     */
    bool across_models;
    /* The last samples, as many, choose no order of `prune`: the loss is theirs alone, as that of
     * other texts, while importance and js of all other samples choose. 0: all do both, and the
     * loss is too low where they are few. Of a model of pairs both documents are held out. */
    int prune_held_out;
} mgk_diversity_options;

/* Writes the defaults; `size` is the size of the structure in the caller's header. */
MGK_API void mgk_diversity_options_init(mgk_diversity_options *options, size_t size);

static inline mgk_diversity_options mgk_diversity_options_default(void)
{
    mgk_diversity_options options;
    mgk_diversity_options_init(&options, sizeof(options));
    return options;
}

/*
 * Measures the diversity of attention of every sample, in float64. *means (may be NULL) receives
 * the table of means over samples: columns input, level, measure, sample (−1), layer, head,
 * other_layer, other_head, component, value, sd, samples; −1 in a cell that does not apply; with
 * `compare` also low, high, p, p_holm, paired. Release it with mgk_table_close; NULL on failure.
 *
 * A value that is not defined is empty (NaN): of a pair in a layer of one head, of a role where no
 * token repeats. Attention of one sequence to another has no measures that compare the position of
 * a query with that of a key; means over rows are over its queries. Milestones report what a reader
 * of the values must know: measures that an input does not allow, rows that do not sum to 1, rows
 * of zeros, negative entries, samples of different length.
 *
 * Each finished sample, and each finished order of `prune`, is recorded in output + ".part", as
 * mgk_rank_attention does with matrices.
 * Memory does not grow with the number of samples, and little with that of inputs: each is open
 * only while it is measured. All are opened once before, so that what is wrong with one fails the
 * call at its beginning; a file that is replaced afterwards ends it with MGK_IO. A pair of heads of
 * different layers, of `across_layers` and `across_models`, has layer < other_layer.
 */
MGK_API mgk_result mgk_measure_diversity(const mgk_diversity_options *options, mgk_table **means);

/* ---- pictures ----------------------------------------------------------------------------- */

typedef enum mgk_plot_kind {
    MGK_PLOT_ATTENTION, /* attention matrices of one sample: a row per layer, a column per head */
    MGK_PLOT_WEIGHTS,   /* key weights W_K: a row per layer, a column per head and component */
    MGK_PLOT_KEYS,      /* keys of the first tokens */
    MGK_PLOT_RANKS,     /* rank histograms, from rank files */
    MGK_PLOT_CURVES,    /* training curves, from logs; or measures against the step of training,
                           from files of mgk-diversity */
    MGK_PLOT_COST,      /* floating-point operations against length, from models */
    MGK_PLOT_FIGURE,    /* the published figure `figure` */
    MGK_PLOT_HEADS,     /* a measure of each head, from files of mgk-diversity, as all below */
    MGK_PLOT_DEPTH,     /* a measure against the layer: median and quartiles */
    MGK_PLOT_PAIRS,     /* distances between the heads of each layer, clustered */
    MGK_PLOT_ROLES,     /* scores of what heads attend to: previous token, induction and others */
    MGK_PLOT_COMPARE,   /* differences between inputs, with intervals */
    MGK_PLOT_PRUNE,     /* loss against the heads left */
    MGK_PLOT_MAP,       /* all heads as points, by their distances across layers */
    MGK_PLOT_MIXTURE,   /* the share of each key of a mixture, and how far keys are apart */
    MGK_PLOT_PERFORMER  /* figure `figure` of the paper of Performers (arXiv 2009.14794): 2 and 4
                           without inputs, 10, 11, 13 and 14 from stores */
} mgk_plot_kind;

typedef struct mgk_plot_options {
    size_t size; /* of this structure, written by mgk_plot_options_init */
    mgk_job job;
    mgk_plot_kind kind;
    int figure; /* 1 to 14; of Performers 2, 4, 10, 11, 13, 14 */
    /* stores, rank files, files of mgk-diversity, logs or models, [input_count] */
    const char *const *inputs;
    size_t input_count;
    const char *const *names; /* a title for each input, [name_count]; default from the files */
    size_t name_count;
    const char *output;  /* .png, .pdf or .svg, by its ending */
    const char *dataset; /* array in a file of HDF5 or NumPy, as for ranks */
    int sample; /* position of the sample in the store (rank files contain its number instead); −1
                   (default): chosen by seed */
    const int *layers; /* [layer_count], a set; NULL: all, or the figure's own */
    size_t layer_count;
    const int *heads; /* [head_count], for rank files too; NULL: all */
    size_t head_count;
    int tokens;          /* keys: number of tokens drawn, from the first; 0 (default): 100 */
    const char *colors;  /* viridis, magma, cividis, grey, coolwarm; NULL: by kind */
    const char *scale;   /* "linear", "log", "percentile"; NULL: by kind */
    bool shared;         /* as without it: one range for all panels; excludes `separate` */
    const char *pooling; /* "mean" (default) or "max", for matrices with more entries than pixels */
    int panel;           /* side of a panel in pixels; 0: automatic */
    bool matrix;         /* one matrix, one pixel an entry, no decoration */
    bool labels; /* attention: tokens along rows and columns, of the queries and of the keys */
    bool words;  /* attention: merge the tokens of a word; words along rows and columns */
    const char *labels_file; /* attention: the tokens, one per line; NULL: from the store */
    bool sweep; /* ranks: against the threshold, instead of histograms at the first threshold */
    int first, last; /* attention: tokens (words) first ... last - 1; 0, 0: all */
    /* NULL: model and sample for pictures of matrices, model and samples for prune, else none */
    const char *title;
    /* heads, depth, pairs, map: the name of the measure; NULL: "entropy", of pairs and map "js".
     * compare, curves: one or several names with commas between them; NULL: six usual ones, or
     * "entropy"; curves of logs: "loss", as NULL, or "accuracy" of held-out data. prune: one curve
     * of each input; NULL: all. ranks: a column of numbers of rank files; NULL: "rank", divided by
     * N if matrices differ in N */
    const char *measure;
    bool from_zero;    /* as without it: numbers begin at 0; excludes `from_one` */
    bool skip_missing; /* measures: leave out inputs that lack `measure`; false: they are errors */
    const char *axes;  /* as in mgk_rank_options */
    /* Layers, heads, keys and tokens are counted from 1 in the picture, as always in the published
     * figures; options and messages count from 0 all the same. */
    bool from_one;
    const char *mask; /* as in mgk_rank_options */
    bool separate;    /* a range and a colour bar for each matrix; not in the published figures */
    int columns;      /* attention: a contact sheet of all matrices in so many columns, of any
                         number of inputs, each matrix with its own range; 0: none */
    /* curves of logs: those whose paths differ in the number of a seed alone, "run-seed0.csv" and
     * "run-seed1.csv", are one curve, their mean at the steps that all have, in a band of their
     * standard deviation; `names` are of these */
    bool bands;
    /* curves of logs, figures of training: training losses are drawn as means of so many points
     * that lie one beside the other, of fewer at the ends; 0 or 1: as they are */
    int smooth;
} mgk_plot_options;

/* Writes the defaults; `size` is the size of the structure in the caller's header. */
MGK_API void mgk_plot_options_init(mgk_plot_options *options, size_t size);

static inline mgk_plot_options mgk_plot_options_default(void)
{
    mgk_plot_options options;
    mgk_plot_options_init(&options, sizeof(options));
    return options;
}

/* Draws a picture. MGK_USAGE: an option that this kind does not take. Matrix entries that are not
 * finite are drawn in magenta; a milestone reports their number. */
MGK_API mgk_result mgk_plot_picture(const mgk_plot_options *options);

/* ---- reports ------------------------------------------------------------------------------ */

typedef struct mgk_report_options {
    size_t size; /* of this structure, written by mgk_report_options_init */
    mgk_job job; /* computes nothing: of a job, a report takes `force`, `command` and the watcher */
    /* Files of mgk-diversity and, for matrices and tokens, attention stores or arrays of other
     * software, [input_count], recognised by their content. At least one is of mgk-diversity. */
    const char *const *inputs;
    size_t input_count;
    const char *output; /* .html */
    int samples;        /* of each store, from its first; 0 (default): 4 */
    int tokens;         /* of each sample, from its first; 0 (default): 128 */
} mgk_report_options;

/* Writes the defaults; `size` is the size of the structure in the caller's header. */
MGK_API void mgk_report_options_init(mgk_report_options *options, size_t size);

static inline mgk_report_options mgk_report_options_default(void)
{
    mgk_report_options options;
    mgk_report_options_init(&options, sizeof(options));
    return options;
}

/*
 * Writes a page that any browser opens without a network: questions about the heads with pictures,
 * tables that sort, a map of the heads with the matrix of each, and what a token attends to. Its
 * numbers are means over samples with the digits of the tables; matrices are rounded to 255 levels
 * on a square-root scale. The page says what a table lacks. A milestone names a store that belongs
 * to no table. MGK_INPUT: a file that is neither measures nor matrices.
 */
MGK_API mgk_result mgk_write_report(const mgk_report_options *options);

#ifdef __cplusplus
}
#endif

#endif
