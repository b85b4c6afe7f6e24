/* SPDX-License-Identifier: MIT */
#include "api/train_tokenizer.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "model/formats/format.h"
#include "run/job.h"
#include "run/own_tokenizer.h"

/* What can be learnt, with the usual number of tokens. */
static const struct {
    const char *name;
    mgk_learnt kind;
    int vocabulary;
} kinds[] = {
    {"bpe", MGK_LEARN_BPE, 4096},
    {"words", MGK_LEARN_WORDS, 16384},
    {"words-split", MGK_LEARN_SPLIT_WORDS, 16384},
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static bool is_bytes(const mgk_train_options *o)
{
    return !o->tokenizer || strcmp(o->tokenizer, "bytes") == 0;
}

/* The row of what is learnt; KINDS: a file, or bytes. */
static size_t kind_of(const mgk_train_options *o)
{
    size_t i = 0;
    while (i < KINDS && (is_bytes(o) || strcmp(o->tokenizer, kinds[i].name) != 0))
        i++;
    return i;
}

mgk_status mgk_train_claim_tokenizer(const mgk_train_options *o, mgk_task task, mgk_claims *claims)
{
    const size_t kind = kind_of(o);
    if (o->vocabulary < 0 || (o->vocabulary > 0 && kind == KINDS))
        return mgk_fail(STATUS_USAGE,
                        o->vocabulary < 0
                            ? "`vocabulary` %d: expected a positive number"
                            : "`vocabulary` %d is for a `tokenizer` that is learnt: bpe, words or "
                              "words-split",
                        o->vocabulary);
    if (is_bytes(o))
        return STATUS_OK;
    if (task == MGK_TASK_LISTOPS)
        return mgk_fail(STATUS_USAGE, "`tokenizer` is for texts, not for lists");
    if (kind == KINDS && !mgk_exists(o->tokenizer))
        return mgk_fail(STATUS_USAGE,
                        "`tokenizer` %s: no such file; expected one, or bytes, bpe, words or "
                        "words-split",
                        o->tokenizer);
    return kind == KINDS ? mgk_files_tokenizer(claims, o->tokenizer) : STATUS_OK;
}

/* Copies the text that a model carries, if the path is that of one; *text is NULL otherwise. */
static mgk_status text_of_model(const char *path, char **text)
{
    mgk_model *model;
    mgk_status status = mgk_model_load(path, NULL, NULL, &model);
    if (status != STATUS_OK) /* it is no model, but perhaps a tokenizer */
        return status == STATUS_MEMORY ? status : STATUS_OK;
    if (model->tokenizer)
        status = mgk_copy_string(model->tokenizer, text);
    mgk_model_free(model);
    return status;
}

/* Opens the file of a tokenizer, or of a model that carries one. */
static mgk_status open_file(const mgk_train_options *o, bool language_model,
                            mgk_tokenizer **tokenizer, char **text)
{
    if (mgk_tokenizer_text_of(o->tokenizer, text) != STATUS_OK) {
        TRY(text_of_model(o->tokenizer, text));
        if (!*text) /* neither: the message is that of a tokenizer */
            return mgk_tokenizer_text_of(o->tokenizer, text);
    }
    return mgk_own_tokenizer_open(*text, language_model, o->tokenizer, tokenizer);
}

static mgk_status learn(const mgk_train_options *o, const mgk_dataset_options *data, size_t kind,
                        mgk_tokenizer **tokenizer, char **text)
{
    const int wanted = o->vocabulary ? o->vocabulary : kinds[kind].vocabulary;
    char note[160];
    TRY(mgk_dataset_learn(data, kinds[kind].kind, (size_t)wanted, text));
    TRY(mgk_own_tokenizer_open(*text, data->task == MGK_TASK_LM, o->tokenizer, tokenizer));
    const int found = mgk_tokenizer_vocabulary(*tokenizer);
    snprintf(note, sizeof(note), "%s: %d %s learnt%s", o->tokenizer, found,
             MGK_NOUN(found, "token", "tokens"), found < wanted ? ", the text has no more" : "");
    mgk_job_report(&o->job, &(mgk_report){.note = note});
    return STATUS_OK;
}

mgk_status mgk_train_open_tokenizer(const mgk_train_options *o, const mgk_dataset_options *data,
                                    mgk_tokenizer **tokenizer, char **text)
{
    const size_t kind = kind_of(o);
    *tokenizer = NULL;
    *text = NULL;
    if (is_bytes(o))
        return STATUS_OK;
    return kind == KINDS ? open_file(o, data->task == MGK_TASK_LM, tokenizer, text)
                         : learn(o, data, kind, tokenizer, text);
}
