/* SPDX-License-Identifier: MIT */
#include "run/files.h"

#include "base/file.h"
#include "base/memory.h"
#include "data/datasets/text_files.h"
#include "data/tokenizers/tokenizer.h"
#include "model/formats/checkpoint.h"
#include "run/job.h"

static mgk_status read_in(mgk_claims *claims, const char *folder, const char *name)
{
    char *path;
    TRY(mgk_join_path(folder, name, &path));
    mgk_status status = mgk_claims_add_input(claims, path);
    mgk_free(path);
    return status;
}

/* Adds the files in a folder from which a tokenizer may be read. */
static mgk_status read_tokenizer(mgk_claims *claims, const char *folder)
{
    const char *name;
    for (size_t i = 0; (name = mgk_tokenizer_file(i)); i++)
        TRY(read_in(claims, folder, name));
    return STATUS_OK;
}

static mgk_status read_checkpoint(mgk_claims *claims, const mgk_checkpoint *checkpoint)
{
    size_t count;
    const char *const *files = mgk_tensors_files(checkpoint->tensors, &count);
    TRY(mgk_files_list(claims, files, count));
    if (checkpoint->config_path)
        TRY(mgk_claims_add_input(claims, checkpoint->config_path));
    TRY(read_in(claims, checkpoint->folder, "preprocessor_config.json"));
    return read_tokenizer(claims, checkpoint->folder);
}

mgk_status mgk_files_model(mgk_claims *claims, const char *path)
{
    mgk_checkpoint checkpoint;
    if (!path)
        return STATUS_OK;
    if (!mgk_is_folder(path))
        TRY(mgk_claims_add_input(claims, path));
    mgk_status status = mgk_checkpoint_open(path, &checkpoint);
    if (status != STATUS_OK) /* opening the model will report it */
        return status == STATUS_MEMORY ? status : STATUS_OK;
    status = read_checkpoint(claims, &checkpoint);
    mgk_checkpoint_close(&checkpoint);
    return status;
}

mgk_status mgk_files_list(mgk_claims *claims, const char *const *paths, size_t count)
{
    for (size_t i = 0; i < count; i++)
        TRY(mgk_claims_add_input(claims, paths[i]));
    return STATUS_OK;
}

mgk_status mgk_files_texts(mgk_claims *claims, const char *const *paths, size_t count)
{
    mgk_text_files files = {0};
    mgk_status status = mgk_files_list(claims, paths, count);
    for (size_t i = 0; status == STATUS_OK && i < count; i++)
        if (mgk_is_folder(paths[i]))
            status = mgk_text_files_add(&files, paths[i]);
    if (status == STATUS_OK)
        status = mgk_files_list(claims, files.paths, files.count);
    mgk_text_files_free(&files);
    return status;
}

/* A tokenizer may consist of several files in one folder. */
mgk_status mgk_files_tokenizer(mgk_claims *claims, const char *path)
{
    char *folder;
    if (mgk_is_folder(path))
        return read_tokenizer(claims, path);
    TRY(mgk_claims_add_input(claims, path));
    TRY(mgk_folder_of(path, &folder));
    mgk_status status = read_tokenizer(claims, folder);
    mgk_free(folder);
    return status;
}

mgk_status mgk_files_input(mgk_claims *claims, const mgk_input *input)
{
    TRY(mgk_files_texts(claims, input->text, input->text_count));
    TRY(mgk_files_list(claims, &input->tokens, input->tokens != NULL));
    TRY(mgk_files_list(claims, &input->target, input->target != NULL));
    TRY(mgk_files_texts(claims, input->data, input->data_count));
    TRY(mgk_files_list(claims, input->images, input->image_count));
    TRY(mgk_files_list(claims, input->audio, input->audio_count));
    return input->tokenizer ? mgk_files_tokenizer(claims, input->tokenizer) : STATUS_OK;
}

static void tell(void *context, const char *line)
{
    const mgk_report report = {.note = line, .milestone = true};
    mgk_job_report(context, &report);
}

mgk_status mgk_files_lock(mgk_claims *claims, const mgk_job *job)
{
    mgk_job copy = *job;
    return mgk_claims_lock(claims, tell, &copy);
}
