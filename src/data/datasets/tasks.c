/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "data/datasets/implementation.h"
#include "data/datasets/pair_list.h"
#include "data/datasets/text_files.h"
#include "data/datasets/tokenized.h"

/* The registry of tasks: a new task needs a file and a row here. */
static const struct {
    const char *name;
    size_t length; /* default N */
    bool needs_paths;
    bool folders; /* a folder stands for the texts in it */
    mgk_status (*open)(const mgk_dataset_options *options, mgk_dataset **out);
    mgk_status (*learn)(const mgk_dataset_options *options, mgk_learner *learner); /* or NULL */
} tasks[] = {
    [MGK_TASK_LM] = {"lm", 256, true, true, mgk_lm_open, mgk_lm_learn},
    [MGK_TASK_LISTOPS] = {"listops", 2000, false, false, mgk_listops_open, NULL},
    [MGK_TASK_RETRIEVAL] = {"retrieval", 4000, true, true, mgk_retrieval_open, mgk_retrieval_learn},
    [MGK_TASK_TEXT] = {"text", 4000, true, false, mgk_text_open, mgk_text_learn},
    [MGK_TASK_TOKENS] = {"tokens", 0, true, false, mgk_tokens_open, NULL},
};

enum { TASKS = sizeof(tasks) / sizeof(tasks[0]) };

/* Lists of the Long Range Arena have fewer tokens, and more than a quarter of them. */
enum { LIST_BOUND = 2000 };

mgk_status mgk_task_from_name(const char *name, mgk_task *task)
{
    for (int i = 0; i < TASKS; i++) {
        if (strcmp(name, tasks[i].name) == 0) {
            *task = (mgk_task)i;
            return STATUS_OK;
        }
    }
    return mgk_fail(STATUS_USAGE, "task \"%s\": expected lm, listops, retrieval or text", name);
}

mgk_dataset_options mgk_dataset_defaults(mgk_task task)
{
    return (mgk_dataset_options){
        .task = task,
        .length = tasks[task].length,
        .listops_above = LIST_BOUND / 4,
        .listops_below = LIST_BOUND,
        .vocabulary = MGK_BYTE_VALUES,
        .padding = -1,
    };
}

void mgk_dataset_bound_lists(mgk_dataset_options *options, int above, int below)
{
    const size_t fits = options->length < LIST_BOUND ? options->length + 1 : LIST_BOUND;
    options->listops_below = below > 0 ? (size_t)below : fits;
    options->listops_above = above > 0 ? (size_t)above : options->listops_below / 4;
}

static mgk_status check(const mgk_dataset_options *options)
{
    const char *name = tasks[options->task].name;
    size_t least = options->task == MGK_TASK_TOKENS ? 0 : 1;
    if (options->length < least || options->length > INT32_MAX)
        return mgk_fail(STATUS_USAGE, "%s: length %zu is not in [%zu, %d]", name, options->length,
                        least, INT32_MAX);
    if (tasks[options->task].needs_paths && options->path_count == 0 && options->string_count == 0)
        return mgk_fail(STATUS_USAGE, "%s: no data given (`data`)", name);
    return STATUS_OK;
}

/* Names the files of folders in place of these; `files` belongs to the caller, also on failure. */
static mgk_status set_files(mgk_dataset_options *options, mgk_text_files *files)
{
    if (!tasks[options->task].folders || mgk_is_pair_list(options->paths, options->path_count))
        return STATUS_OK;
    TRY(mgk_text_files_list(files, options->paths, options->path_count));
    options->paths = files->paths;
    options->path_count = files->count;
    return STATUS_OK;
}

static mgk_status open_files(const mgk_dataset_options *options, mgk_dataset **out)
{
    const bool tokens = options->tokenizer && !options->training_windows;
    if (options->task == MGK_TASK_LM && (tokens || options->lines || options->string_count > 0))
        return mgk_tokenized_open(options, out);
    return tasks[options->task].open(options, out);
}

mgk_status mgk_dataset_open(const mgk_dataset_options *options, mgk_dataset **out)
{
    mgk_dataset_options copy = *options;
    mgk_text_files files = {0};
    *out = NULL;
    TRY(check(options));
    mgk_status status = set_files(&copy, &files);
    if (status == STATUS_OK)
        status = open_files(&copy, out);
    mgk_text_files_free(&files);
    return status;
}

static mgk_status learn_files(const mgk_dataset_options *options, mgk_learner *learner)
{
    mgk_dataset_options copy = *options;
    mgk_text_files files = {0};
    mgk_status status = set_files(&copy, &files);
    if (status == STATUS_OK)
        status = tasks[options->task].learn(&copy, learner);
    mgk_text_files_free(&files);
    return status;
}

mgk_status mgk_dataset_learn(const mgk_dataset_options *options, mgk_learnt kind, size_t vocabulary,
                             char **text)
{
    mgk_learner *learner;
    *text = NULL;
    TRY(check(options));
    if (!tasks[options->task].learn)
        return mgk_fail(STATUS_USAGE, "%s: has no texts from which a tokenizer is learnt",
                        tasks[options->task].name);
    TRY(mgk_learner_open(kind, &learner));
    mgk_status status = learn_files(options, learner);
    if (status == STATUS_OK)
        status = mgk_learner_finish(learner, vocabulary, text);
    mgk_learner_close(learner);
    return status;
}
