/* SPDX-License-Identifier: MIT */
/* The common parts of all programs: options, interruption, progress, the exit status. */
#ifndef MGK_TOOLS_TOOL_H
#define MGK_TOOLS_TOOL_H

#include "base/progress.h"
#include "mgk.h"
#include "tools/args.h"
#include "tools/notes.h"
#include "tools/streams.h"

/* Lines of text, each with its zero byte. */
typedef struct mgk_tool_lines {
    char *text;
    size_t length, room;
} mgk_tool_lines;

typedef struct mgk_tool {
    const mgk_program *program;
    bool shares; /* several processes may share the job; set before mgk_tool_begin */
    /* A job that has not ended leaves nothing to continue; set before mgk_tool_watch. A signal then
     * ends several processes at once: one that waited for the others might wait for a dead one. */
    bool leaves_nothing;
    bool quiet, no_warnings;
    int rank, processes; /* this process among those that were started together */
    int errors;          /* standard error of one that does not talk, for what rank 0 cannot say */
    char *command;
    mgk_tool_lines warnings; /* of a quiet run */
    mgk_tool_lines said;     /* warnings and remarks that were printed */
    mgk_progress_bar bar;
    mgk_streams streams;
    mgk_job job;
    mgk_kind_settings settings; /* of --as */
} mgk_tool;

/* What a program writes. */
typedef enum mgk_tool_result {
    MGK_TOOL_TABLE,
    MGK_TOOL_PICTURE,
    MGK_TOOL_PAGE,
    MGK_TOOL_STORE,
    MGK_TOOL_MODEL
} mgk_tool_result;

/* clang-format off */
/* The rows of the option table that all programs share; `tool` is the program's. */
#define MGK_TOOL_ARGS(tool)                                                                        \
    {MGK_ARG_HEADING, 0, "Common options", NULL, NULL, NULL, NULL},                                \
    {MGK_ARG_WORD, 0, "device", &(tool)->job.device, "auto|cpu|cuda[:N]",                          \
     "Where to compute.", NULL},                                                                   \
    {MGK_ARG_INT, 0, "threads", &(tool)->job.threads, "N",                                         \
     "CPU threads; 0, the default: OMP_NUM_THREADS, or all cores that the process may use.",       \
     NULL},                                                                                        \
    {MGK_ARG_UINT64, 0, "seed", &(tool)->job.seed, "N",                                            \
     "Seed of all random choices, 0 if not given; the same seed gives the same results.", NULL},   \
    {MGK_ARG_FLAG, 'q', "quiet", &(tool)->quiet, NULL,                                             \
     "No progress on standard error, only warnings and errors.", NULL},                            \
    {MGK_ARG_FLAG, 0, "no-warnings", &(tool)->no_warnings, NULL,                                   \
     "No warnings on standard error.", NULL}

/* The row of programs that write files. */
#define MGK_TOOL_FORCE_ARG(tool)                                                                   \
    {MGK_ARG_FLAG, 'f', "force", &(tool)->job.force, NULL,                                         \
     "Overwrite outputs that exist.", NULL}

/* The row of programs that run a model. */
#define MGK_TOOL_TF32_ARG(tool)                                                                    \
    {MGK_ARG_FLAG, 0, "tf32", &(tool)->job.tf32, NULL,                                             \
     "On a GPU, in single precision: allow matrix products to round their factors to TF32 "        \
     "(10-bit fractions), which is meant to be faster; without it they are float32.", NULL}

/* The rows of programs that read a model. */
#define MGK_TOOL_MODEL_ARGS(tool)                                                                  \
    {MGK_ARG_COUNT, 0, "head-dim", &(tool)->job.head_dim, "D",                                     \
     "Head dimension, for files that do not state it; 32 for LRA checkpoints.", NULL},             \
    {MGK_ARG_WORD, 0, "attention", &(tool)->job.attention, "linear|mlk|none",                      \
     "Attention kind of a checkpoint of Transformer-MGK, which does not state it.", NULL},         \
    {MGK_ARG_TEXT, 0, "trained-with", &(tool)->job.trained_with, "OPTION[,OPTION...]",             \
     "Options of the training that such a checkpoint does not state: fixed_pos_emb, num_layers=L " \
     "(LRA); pre_lnorm, no_pos (language models).",                                                       \
     NULL},                                                                                        \
    {MGK_ARG_WORD, 0, "part", &(tool)->job.part, "text|vision|encoder|decoder|cross",              \
     "Which model of a folder that has both, as clip's; by default the one that reads the input. "  \
     "Of an encoder-decoder model: the encoder (default), the decoder's attention to itself, or "   \
     "its attention to the encoder.",                                                               \
     NULL}

/* The rows of programs that run a model; before mgk_tool_run_as. */
#define MGK_TOOL_AS_ARGS(tool)                                                                     \
    {MGK_ARG_TEXT, 0, "as", &(tool)->job.run_as, "KIND[,KIND...]",                                 \
     "Run a model of softmax with this attention in all layers, or with one kind for each: "        \
     "its weights, and random features of --seed.",                                                 \
     NULL},                                                                                         \
    MGK_TOOL_SETTINGS_ARGS(&(tool)->settings)

/* The rows of programs that make a model, or change its kinds of attention; `settings` is an
 * mgk_kind_settings. A new setting is a row. */
#define MGK_TOOL_SETTINGS_ARGS(settings)                                                           \
    {MGK_ARG_HEADING, 0, "Settings of attention kinds (0 or nothing: the kind's default)", NULL,   \
     NULL, NULL, NULL},                                                                            \
    {MGK_ARG_INT, 0, "window", &(settings)->window, "W",                                           \
     "Keys at a distance of at most W, times the dilation.", NULL},                                \
    {MGK_ARG_INT, 0, "dilation", &(settings)->dilation, "D",                                       \
     "Only every D-th key of the window.", NULL},                                                  \
    {MGK_ARG_INT, 0, "block", &(settings)->block, "B", "Tokens of a block, or a stride.", NULL},   \
    {MGK_ARG_INT, 0, "global", &(settings)->global, "G",                                           \
     "The first G tokens, or blocks, see all tokens and are seen by all.", NULL},                  \
    {MGK_ARG_INT, 0, "random", &(settings)->random, "R",                                           \
     "Random keys of a query, or random blocks of a block.", NULL},                                \
    {MGK_ARG_INT, 0, "features", &(settings)->features, "M",                                       \
     "Random features, or the degree of other features.", NULL},                                   \
    {MGK_ARG_WORD, 0, "feature-map", &(settings)->feature_map,                                     \
     "positive|trigonometric|relu|sigmoid|exp|abs|gelu|cos|tanh|identity",                         \
     "Function of the features.", NULL},                                                           \
    {MGK_ARG_WORD, 0, "feature-draw", &(settings)->feature_draw, "orthogonal|iid",                 \
     "How random features are drawn: at right angles to each other, or independently.", NULL},     \
    {MGK_ARG_INT, 0, "landmarks", &(settings)->landmarks, "M",                                     \
     "Vectors that stand for all tokens.", NULL},                                                  \
    {MGK_ARG_INT, 0, "projection", &(settings)->projection, "K",                                   \
     "Rows of a map from all tokens to fewer, or the rank of a product.", NULL},                   \
    {MGK_ARG_INT, 0, "clusters", &(settings)->clusters, "C", "Clusters of tokens.", NULL},         \
    {MGK_ARG_INT, 0, "parts", &(settings)->parts, "P",                                             \
     "Parts of each cluster, by hashes of their own; 1: clusters are whole.", NULL},               \
    {MGK_ARG_INT, 0, "hashes", &(settings)->hashes, "T",                                           \
     "Rounds of hashing, or bits of a hash.", NULL},                                               \
    {MGK_ARG_INT, 0, "kernel", &(settings)->kernel, "K",                                           \
     "Tokens of a convolution, or of a pooling.", NULL}
/* clang-format on */

/*
 * Parses the command line. true: the program shall run; false: it ends with *exit_status, after
 * help, version or an error was printed. From here on, a signal that ends the program removes
 * unfinished outputs.
 */
bool mgk_tool_begin(mgk_tool *tool, const mgk_program *program, int argc, char **argv,
                    int *exit_status);

/* Prepares an output whose name is "-", or "-.json": the job writes a file, which mgk_tool_end
 * sends to standard output. STATUS_USAGE: standard output does not take it. */
mgk_status mgk_tool_output(mgk_tool *tool, const char **path, mgk_tool_result result);

/* Sets the job's watcher for short jobs: it prints remarks to standard error. */
void mgk_tool_listen(mgk_tool *tool);

/* Sets the job's watcher for long jobs: a progress bar, and the first signal asks the job
 * to stop. */
void mgk_tool_watch(mgk_tool *tool, const char *label, const char *unit);

/* Ends the bar, prints the error of a failure and releases what mgk_tool_begin allocated; returns
 * the exit status. Failure to write standard output is a failure. */
int mgk_tool_end(mgk_tool *tool, mgk_result result);

/* Prints an error of the command line that was found after parsing; returns the exit status. */
int mgk_tool_usage(mgk_tool *tool, const char *message);

/* Prints the last failure, before the job has begun; returns the exit status: that of wrong usage
 * for STATUS_USAGE. */
int mgk_tool_refuse(mgk_tool *tool, mgk_status status);

#endif
