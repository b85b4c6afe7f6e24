/* The description of a run in its rank file. */
#include <cjson/cJSON.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "rank/rank.h"

/* Paths may contain any bytes, JSON must be UTF-8. */
static mgk_status copy_path(const char *path, char **out)
{
    size_t size = strlen(path) + 1;
    TRY(mgk_alloc(size, 1, out));
    mgk_utf8_copy(path, size, *out, size);
    return STATUS_OK;
}

/* These functions return false if there is no memory. Options that are not set are left out. */
static bool add_path(cJSON *paths, const char *path)
{
    char *valid;
    if (copy_path(path, &valid) != STATUS_OK)
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

/* Adds the chosen layers; if none are chosen, all. */
static bool add_layers(cJSON *run, const mgk_rank_options *o)
{
    return !o->layers ||
           mgk_json_add(run, "layers", cJSON_CreateIntArray(o->layers, (int)o->layer_count));
}

/* Adds the input and the precision of a model run; `tokens` is N of its samples. */
static bool add_model(cJSON *run, const mgk_rank_options *o, size_t tokens)
{
    const mgk_input *input = &o->input;
    return add_paths(run, "text", input->text, input->text_count) &&
           (!input->lines || cJSON_AddTrueToObject(run, "lines")) &&
           (!input->article_per_file || cJSON_AddTrueToObject(run, "article_per_file")) &&
           add_paths(run, "tokens", &input->tokens, input->tokens != NULL) &&
           (!input->task || cJSON_AddStringToObject(run, "task", input->task)) &&
           add_paths(run, "data", input->data, input->data_count) &&
           add_paths(run, "images", input->images, input->image_count) &&
           add_paths(run, "tokenizer", &input->tokenizer, input->tokenizer != NULL) &&
           (input->samples == 0 || cJSON_AddNumberToObject(run, "samples", input->samples)) &&
           cJSON_AddNumberToObject(run, "length", (double)tokens) &&
           cJSON_AddStringToObject(run, "precision", o->double_precision ? "double" : "single") &&
           cJSON_AddBoolToObject(run, "tf32", o->job.tf32);
}

static mgk_status print_run(const mgk_rank_options *o, const mgk_source_input *inputs,
                            const char *device, char **out)
{
    char *text = NULL;
    cJSON *run = cJSON_CreateObject();
    if (cJSON_AddStringToObject(run, "software", "mgk " MGK_VERSION) &&
        cJSON_AddStringToObject(run, "method", o->method ? o->method : "auto") &&
        cJSON_AddStringToObject(run, "device", device) &&
        (!o->dataset || cJSON_AddStringToObject(run, "dataset", o->dataset)) &&
        add_layers(run, o) && (!o->model || add_model(run, o, inputs[0].source.n_max)))
        text = cJSON_PrintUnformatted(run);
    mgk_status status =
        text ? mgk_copy_string(text, out) : mgk_fail(STATUS_MEMORY, "no memory for the settings");
    cJSON_free(text);
    cJSON_Delete(run);
    return status;
}

mgk_status mgk_rank_record_settings(const mgk_rank_options *options, const mgk_source_input *inputs,
                                    size_t input_count, const char *device, mgk_rank_settings *out)
{
    out->seed = options->job.seed;
    out->matrices_per_layer = (size_t)options->matrices;
    TRY(mgk_alloc(input_count, sizeof(*out->origins), &out->origins));
    for (size_t i = 0; i < input_count; i++) {
        mgk_rank_origin *origin = &out->origins[out->origin_count++];
        memcpy(origin->sha256, inputs[i].sha256, sizeof(origin->sha256));
        TRY(copy_path(inputs[i].name, &origin->path));
    }
    return print_run(options, inputs, device, &out->run);
}
