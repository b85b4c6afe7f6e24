#include "text_input.h"

#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/memory.h"

enum { BYTES = 256 };

/* The folder that a model is, or is in. */
static mgk_status folder_of(const char *path, char **out)
{
    struct stat info;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return mgk_copy_string(path, out);
    size_t size = (size_t)(mgk_file_name(path) - path);
    TRY(mgk_copy_string(size > 0 ? path : "./", out));
    (*out)[size > 0 ? size : 2] = '\0';
    return STATUS_OK;
}

static mgk_status open_own(const mgk_model *model, const char *path, mgk_tokenizer **out)
{
    char *folder;
    TRY(folder_of(path, &folder));
    mgk_status status = STATUS_OK;
    if (mgk_tokenizer_in_folder(folder))
        status = mgk_tokenizer_open(folder, out);
    else if (model->config.vocabulary != BYTES)
        status = mgk_fail(STATUS_SHAPE,
                          "%s has a vocabulary of %d and no tokenizer beside it (tokenizer.json, "
                          "vocab.txt, or vocab.json with merges.txt): name one with --tokenizer, "
                          "or give ids with --tokens",
                          path, model->config.vocabulary);
    mgk_free(folder);
    return status;
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
    if (!named && (input->task || input->tokens || model->config.dual))
        return STATUS_OK;
    TRY(named ? mgk_tokenizer_open(named, out) : open_own(model, path, out));
    if (!*out || mgk_tokenizer_vocabulary(*out) <= model->config.vocabulary)
        return STATUS_OK;
    mgk_status status = mgk_fail(
        STATUS_SHAPE, "%s: the tokenizer has %d tokens, the model %s a vocabulary of %d",
        named ? named : path, mgk_tokenizer_vocabulary(*out), path, model->config.vocabulary);
    mgk_tokenizer_close(*out);
    *out = NULL;
    return status;
}
