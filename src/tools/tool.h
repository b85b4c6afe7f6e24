/* SPDX-License-Identifier: MIT */
/* The common parts of all programs: options, interruption, progress, the exit status. */
#ifndef MGK_TOOLS_TOOL_H
#define MGK_TOOLS_TOOL_H

#include "base/progress.h"
#include "mgk.h"
#include "tools/args.h"
#include "tools/notes.h"

typedef struct mgk_tool {
    const mgk_program *program;
    bool quiet;
    char *command;
    char *warnings; /* of a quiet run, each with its zero byte */
    size_t warnings_length, warnings_room;
    mgk_progress_bar bar;
    mgk_job job;
} mgk_tool;

/* clang-format off */
/* The rows of the option table that all programs share; `tool` is the program's. */
#define MGK_TOOL_ARGS(tool)                                                                        \
    {MGK_ARG_HEADING, 0, "Common options", NULL, NULL, NULL, NULL},                                \
    {MGK_ARG_WORD, 0, "device", &(tool)->job.device, "auto|cpu|cuda[:N]",                          \
     "Where to compute.", NULL},                                                                   \
    {MGK_ARG_INT, 0, "threads", &(tool)->job.threads, "N",                                         \
     "CPU threads; 0, the default: all cores.", NULL},                                             \
    {MGK_ARG_UINT64, 0, "seed", &(tool)->job.seed, "N",                                            \
     "Seed of all random choices; the same seed gives the same results.", NULL},                   \
    {MGK_ARG_FLAG, 'f', "force", &(tool)->job.force, NULL,                                         \
     "Overwrite outputs that exist.", NULL},                                                       \
    {MGK_ARG_FLAG, 'q', "quiet", &(tool)->quiet, NULL,                                             \
     "No progress on standard error, only warnings and errors.", NULL}

/* The row of programs that run a model. */
#define MGK_TOOL_TF32_ARG(tool)                                                                    \
    {MGK_ARG_FLAG, 0, "tf32", &(tool)->job.tf32, NULL,                                             \
     "On a GPU, in single precision: allow matrix products to round their factors to TF32 "        \
     "(10-bit fractions), which is meant to be faster; without it they are float32.", NULL}

/* The rows of programs that read a model. */
#define MGK_TOOL_MODEL_ARGS(tool)                                                                  \
    {MGK_ARG_COUNT, 0, "head-dim", &(tool)->job.head_dim, "D",                                     \
     "Head dimension, for files that do not state it; 32 for LRA checkpoints.", NULL},             \
    {MGK_ARG_WORD, 0, "attention", &(tool)->job.attention, "linear|mlk",                           \
     "Attention kind of an LRA checkpoint, which does not state it.", NULL},                       \
    {MGK_ARG_WORD, 0, "part", &(tool)->job.part, "text|vision",                                    \
     "Which model of a folder that has both, as clip's; by default the one that reads the input.", \
     NULL}
/* clang-format on */

/*
 * Parses the command line. true: the program shall run; false: it ends with *exit_status, after
 * help, version or an error was printed. From here on, a signal that ends the program removes
 * unfinished outputs.
 */
bool mgk_tool_begin(mgk_tool *tool, const mgk_program *program, int argc, char **argv,
                    int *exit_status);

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

#endif
