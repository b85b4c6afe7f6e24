/* SPDX-License-Identifier: MIT */
/* The description of sources in the output of a run. */
#include <cjson/cJSON.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "run/kind_settings.h"
#include "run/source_settings.h"

/* These functions return false if there is no memory. Options that are not set are left out. */
static bool add_path(cJSON *paths, const char *path)
{
    char *valid;
    if (mgk_utf8_duplicate(path, &valid) != STATUS_OK)
        return false;
    bool added = mgk_json_append(paths, cJSON_CreateString(valid));
    mgk_free(valid);
    return added;
}

static bool add_paths(cJSON *run, const char *name, const char *const *paths, size_t count)
{
    cJSON *array = count > 0 ? cJSON_AddArrayToObject(run, name) : NULL;
    bool added = count == 0 || array;
    for (size_t i = 0; i < count && added; i++)
        added = add_path(array, paths[i]);
    return added;
}

/* Adds a text; NULL: none, which is not said. */
static bool add_text(cJSON *run, const char *name, const char *text)
{
    char *valid;
    if (!text)
        return true;
    if (mgk_utf8_duplicate(text, &valid) != STATUS_OK)
        return false;
    const bool added = cJSON_AddStringToObject(run, name, valid);
    mgk_free(valid);
    return added;
}

/* Adds chosen numbers; NULL: all, which is not said. */
static bool add_numbers(cJSON *run, const char *name, const int *numbers, size_t count)
{
    return !numbers || mgk_json_add(run, name, cJSON_CreateIntArray(numbers, (int)count));
}

bool mgk_sources_add_listops(cJSON *settings, const mgk_input *input)
{
    return (!input->listops_above ||
            cJSON_AddNumberToObject(settings, "listops_above", input->listops_above)) &&
           (!input->listops_below ||
            cJSON_AddNumberToObject(settings, "listops_below", input->listops_below));
}

static bool add_samples(cJSON *run, int samples)
{
    return samples == 0 ||
           (samples == MGK_ALL_SAMPLES ? cJSON_AddStringToObject(run, "samples", "all")
                                       : cJSON_AddNumberToObject(run, "samples", samples));
}

/* Adds the input and the precision of a model run; `tokens` is N of its samples. */
static bool add_model(cJSON *run, const mgk_source_options *o, size_t tokens)
{
    const mgk_input *input = o->input;
    return add_paths(run, "text", input->text, input->text_count) &&
           (input->string_count == 0 ||
            cJSON_AddNumberToObject(run, "strings", (double)input->string_count)) &&
           (!input->lines || cJSON_AddTrueToObject(run, "lines")) &&
           (!input->article_per_file || cJSON_AddTrueToObject(run, "article_per_file")) &&
           add_paths(run, "tokens", &input->tokens, input->tokens != NULL) &&
           (!input->target || add_paths(run, "target", &input->target, true)) &&
           add_text(run, "task", input->task) && mgk_sources_add_listops(run, input) &&
           add_paths(run, "data", input->data, input->data_count) &&
           add_paths(run, "images", input->images, input->image_count) &&
           add_paths(run, "audio", input->audio, input->audio_count) &&
           add_paths(run, "tokenizer", &input->tokenizer, input->tokenizer != NULL) &&
           add_samples(run, input->samples) &&
           cJSON_AddNumberToObject(run, "length", (double)tokens) &&
           add_text(run, "attention", o->job->attention) && add_text(run, "part", o->job->part) &&
           add_text(run, "trained_with", o->job->trained_with) &&
           (!o->job->head_dim || cJSON_AddNumberToObject(run, "head_dim", o->job->head_dim)) &&
           mgk_job_describe_kinds(run, o->job) &&
           cJSON_AddStringToObject(run, "precision", o->double_precision ? "double" : "single") &&
           cJSON_AddBoolToObject(run, "tf32", o->job->tf32);
}

bool mgk_sources_describe(cJSON *run, const mgk_source_options *options,
                          const mgk_source_input *inputs)
{
    return add_text(run, "dataset", options->dataset) && add_text(run, "axes", options->axes) &&
           add_text(run, "mask", options->mask) &&
           add_numbers(run, "layers", options->layers, options->layer_count) &&
           add_numbers(run, "heads", options->heads, options->head_count) &&
           (!options->model || add_model(run, options, inputs[0].source.n_max));
}
