/* SPDX-License-Identifier: MIT */
/* The settings of sources that must agree for a run to be resumed. */
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/file_identity.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/number.h"
#include "data/datasets/text_files.h"
#include "data/tokenizers/tokenizer.h"
#include "run/kind_settings.h"
#include "run/source_settings.h"

/* Each of these functions adds a setting; false: no memory. Files, and those in a folder, are
 * identified by size and time, because reading them may take longer than the remaining work; models
 * have a hash. */
static bool add_text(cJSON *settings, const char *name, const char *text)
{
    return text ? cJSON_AddStringToObject(settings, name, text) != NULL
                : cJSON_AddNullToObject(settings, name) != NULL;
}

static bool append_text(cJSON *array, const char *text)
{
    return mgk_json_append(array, cJSON_CreateString(text));
}

enum { IDENTITY = 80 };

/* "path, identity". */
static bool append_path(cJSON *array, const char *path, const char *identity)
{
    char *text;
    const size_t room = strlen(path) + strlen(identity) + 3;
    if (mgk_alloc(room, 1, &text) != STATUS_OK)
        return false;
    snprintf(text, room, "%s, %s", path, identity);
    bool added = append_text(array, text);
    mgk_free(text);
    return added;
}

static bool append_hash(cJSON *array, const char *path, size_t count, uint64_t hash)
{
    char identity[IDENTITY];
    snprintf(identity, sizeof(identity), "%zu %s of hash %016" PRIx64, count,
             MGK_NOUN(count, "file", "files"), hash);
    return append_path(array, path, identity);
}

/* A folder's own time does not show changes of the files in it. One that cannot be read is left to
 * the run to report. */
static bool append_folder(cJSON *array, const char *path)
{
    size_t count = 0;
    uint64_t hash = 0;
    if (mgk_folder_identify(path, &count, &hash) != STATUS_OK)
        return append_text(array, path);
    return append_hash(array, path, count, hash);
}

/* A missing file is left out: opening it for the run reports it. */
static bool append_file(cJSON *array, const char *path)
{
    struct stat info;
    char identity[IDENTITY];
    if (stat(path, &info) != 0)
        return append_text(array, path);
    if (S_ISDIR(info.st_mode))
        return append_folder(array, path);
    snprintf(identity, sizeof(identity), "%jd bytes of %jd.%09ld", (intmax_t)info.st_size,
             (intmax_t)info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
    return append_path(array, path, identity);
}

static bool add_files(cJSON *settings, const char *name, const char *const *paths, size_t count)
{
    cJSON *array = cJSON_AddArrayToObject(settings, name);
    bool added = array != NULL;
    for (size_t i = 0; i < count && added; i++)
        added = !paths[i] || append_file(array, paths[i]);
    return added;
}

/* The texts that a path stands for: of a folder those that are read. */
static bool append_texts(cJSON *array, const char *path)
{
    mgk_text_files files = {0};
    size_t count = 0;
    uint64_t hash = 0;
    if (!mgk_is_folder(path))
        return append_file(array, path);
    const bool listed = mgk_text_files_add(&files, path) == STATUS_OK;
    for (size_t i = 0; listed && i < files.count; i++)
        mgk_file_add_identity(files.paths[i], &count, &hash);
    mgk_text_files_free(&files);
    return listed ? append_hash(array, path, count, hash) : append_text(array, path);
}

static bool add_texts(cJSON *settings, const char *name, const char *const *paths, size_t count)
{
    cJSON *array = cJSON_AddArrayToObject(settings, name);
    bool added = array != NULL;
    for (size_t i = 0; i < count && added; i++)
        added = !paths[i] || append_texts(array, paths[i]);
    return added;
}

/* Adds the files of a tokenizer in the folder, or next to the file: the time of a folder does not
 * show changes of its files. */
static bool append_tokenizer_files(cJSON *array, const char *path)
{
    const bool folder = mgk_is_folder(path);
    const size_t length = folder ? strlen(path) : (size_t)(mgk_file_name(path) - path);
    bool added = true;
    const char *name;
    for (size_t i = 0; (name = mgk_tokenizer_file(i)) && added; i++) {
        char *file;
        size_t room = length + strlen(name) + 2;
        if (mgk_alloc(room, 1, &file) != STATUS_OK)
            return false;
        snprintf(file, room, "%.*s%s%s", (int)length, path, folder ? "/" : "", name);
        added = access(file, F_OK) != 0 || append_file(array, file);
        mgk_free(file);
    }
    return added;
}

/* Adds the tokenizer of the options, or the one in the folder of a model that reads text or ids. */
static bool add_tokenizer(cJSON *settings, const mgk_source_options *o)
{
    const char *named = o->input->tokenizer;
    cJSON *array = cJSON_AddArrayToObject(settings, "tokenizer");
    if (!array)
        return false;
    if (!named)
        return !o->model || append_tokenizer_files(array, o->model);
    return (mgk_is_folder(named) ? append_text(array, named) : append_file(array, named)) &&
           append_tokenizer_files(array, named);
}

static bool add_model(cJSON *settings, const mgk_source_options *o, const mgk_source_input *inputs)
{
    return add_text(settings, "model", o->model) &&
           add_text(settings, "model_sha256", o->model ? inputs[0].sha256 : NULL) &&
           add_text(settings, "attention", o->job->attention) &&
           (!o->job->part || add_text(settings, "part", o->job->part)) &&
           (!o->job->trained_with || add_text(settings, "trained_with", o->job->trained_with)) &&
           mgk_job_describe_kinds(settings, o->job) &&
           cJSON_AddNumberToObject(settings, "head_dim", o->job->head_dim) &&
           cJSON_AddBoolToObject(settings, "double", o->double_precision) &&
           cJSON_AddBoolToObject(settings, "tf32", o->job->tf32);
}

/* Texts in memory, [count], by their number and a hash; none: NULL. */
static bool add_strings(cJSON *settings, const char *name, const char *const *strings,
                        const size_t *sizes, size_t count)
{
    uint64_t hash = 0;
    char text[64];
    for (size_t i = 0; strings && i < count; i++) {
        const size_t size = sizes ? sizes[i] : strlen(strings[i]);
        hash = mgk_hash(hash, &size, sizeof(size));
        hash = mgk_hash(hash, strings[i], size);
    }
    snprintf(text, sizeof(text), "%zu of hash %016" PRIx64, count, hash);
    return add_text(settings, name, strings && count > 0 ? text : NULL);
}

/* Only runs with targets have them among their settings. */
static bool add_targets(cJSON *settings, const mgk_input *input)
{
    return (!input->target || add_files(settings, "target", &input->target, 1)) &&
           (!input->target_strings || add_strings(settings, "targets", input->target_strings,
                                                  input->target_sizes, input->string_count));
}

static bool add_input(cJSON *settings, const mgk_source_options *o)
{
    const mgk_input *input = o->input;
    const int samples = input->samples != 0 ? input->samples : o->samples;
    return add_texts(settings, "text", input->text, input->text_count) &&
           add_strings(settings, "strings", input->strings, input->string_sizes,
                       input->string_count) &&
           add_targets(settings, input) && add_files(settings, "tokens", &input->tokens, 1) &&
           add_text(settings, "task", input->task) && mgk_sources_add_listops(settings, input) &&
           add_files(settings, "data", input->data, input->data_count) &&
           add_files(settings, "images", input->images, input->image_count) &&
           add_files(settings, "audio", input->audio, input->audio_count) &&
           cJSON_AddBoolToObject(settings, "lines", input->lines) &&
           cJSON_AddBoolToObject(settings, "article_per_file", input->article_per_file) &&
           cJSON_AddNumberToObject(settings, "samples", samples) &&
           cJSON_AddNumberToObject(settings, "length", input->length);
}

/* NULL: all. */
static bool add_numbers(cJSON *settings, const char *name, const int *numbers, size_t count)
{
    return mgk_json_add(settings, name,
                        numbers ? cJSON_CreateIntArray(numbers, (int)count)
                                : cJSON_CreateString("all"));
}

/* Adds which matrices are chosen. */
static bool add_choice(cJSON *settings, const mgk_source_options *o)
{
    char seed[24];
    snprintf(seed, sizeof(seed), "%" PRIu64, o->job->seed);
    return add_numbers(settings, "layers", o->layers, o->layer_count) &&
           add_numbers(settings, "heads", o->heads, o->head_count) &&
           cJSON_AddNumberToObject(settings, "matrices", o->matrices) &&
           add_text(settings, "seed", seed);
}

bool mgk_sources_identify(cJSON *settings, const mgk_source_options *options,
                          const mgk_source_input *inputs)
{
    return add_files(settings, "files", options->inputs, options->input_count) &&
           add_text(settings, "dataset", options->dataset) &&
           add_text(settings, "axes", options->axes) &&
           add_files(settings, "mask", &options->mask, 1) && add_model(settings, options, inputs) &&
           add_input(settings, options) && add_tokenizer(settings, options) &&
           add_choice(settings, options);
}
