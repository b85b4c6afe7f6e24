#include "text_input.h"

enum { BYTES = 256 /* the vocabulary of models that read bytes */ };

static mgk_status check_fit(const mgk_tokenizer *tokenizer, const char *name,
                            const mgk_model *model, const char *path)
{
    if (mgk_tokenizer_vocabulary(tokenizer) <= model->config.vocabulary)
        return STATUS_OK;
    return mgk_fail(STATUS_SHAPE,
                    "%s: the tokenizer has %d tokens, the model %s a vocabulary of %d", name,
                    mgk_tokenizer_vocabulary(tokenizer), path, model->config.vocabulary);
}

/* Whether a tokenizer lies beside the model; one beside a model of bytes belongs to another. */
static bool has_own(const mgk_model *model)
{
    return model->config.vocabulary != BYTES && model->folder &&
           mgk_tokenizer_in_folder(model->folder);
}

static mgk_status open_own(const mgk_model *model, const char *path, mgk_tokenizer **out)
{
    if (has_own(model))
        return mgk_tokenizer_open(model->folder, out);
    if (model->config.vocabulary == BYTES)
        return STATUS_OK;
    return mgk_fail(STATUS_SHAPE,
                    "%s has a vocabulary of %d and no tokenizer beside it (tokenizer.json, "
                    "vocab.txt, or vocab.json with merges.txt): name one with --tokenizer, "
                    "or give ids with --tokens",
                    path, model->config.vocabulary);
}

/* Ids need no text: what cannot be read, or is of another model, is none. */
static mgk_tokenizer *open_for_text(const mgk_model *model, const char *path)
{
    mgk_tokenizer *tokenizer;
    if (!has_own(model) || mgk_tokenizer_open(model->folder, &tokenizer) != STATUS_OK)
        return NULL;
    if (check_fit(tokenizer, model->folder, model, path) == STATUS_OK)
        return tokenizer;
    mgk_tokenizer_close(tokenizer);
    return NULL;
}

mgk_status mgk_text_input_tokenizer(const mgk_input *input, const mgk_model *model,
                                    const char *path, mgk_tokenizer **out)
{
    const char *named = input->tokenizer;
    *out = NULL;
    if (named && input->task)
        return mgk_fail(STATUS_USAGE, "--tokenizer belongs to --text and --tokens");
    if (input->lines && (input->task || input->tokens))
        return mgk_fail(STATUS_USAGE, "--lines belongs to --text");
    if (model->config.dual && (named || input->lines))
        return mgk_fail(STATUS_USAGE, "a model of pairs reads bytes: no --tokenizer, no --lines");
    if (!named && (input->task || model->config.dual))
        return STATUS_OK;
    if (!named && input->tokens) {
        *out = open_for_text(model, path);
        return STATUS_OK;
    }
    TRY(named ? mgk_tokenizer_open(named, out) : open_own(model, path, out));
    mgk_status status = *out ? check_fit(*out, named ? named : path, model, path) : STATUS_OK;
    if (status == STATUS_OK)
        return STATUS_OK;
    mgk_tokenizer_close(*out);
    *out = NULL;
    return status;
}
