/* SPDX-License-Identifier: MIT */
/*
 * The toolkit's own format: safetensors whose metadata holds format = "mgk", config = the
 * configuration as JSON and, if they are known, training_step and tokenizer, the text of a
 * tokenizer.json or of a list of words; tensors are named as in parameters.c.
 */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "model/containers/safetensors.h"
#include "model/formats/format.h"

static const char step_key[] = "training_step", tokenizer_key[] = "tokenizer";

static bool matches(const mgk_checkpoint *checkpoint)
{
    const char *format = mgk_tensors_text(checkpoint->tensors, "format");
    return format && strcmp(format, "mgk") == 0 &&
           mgk_tensors_text(checkpoint->tensors, "config") != NULL;
}

static mgk_status configure(const mgk_checkpoint *checkpoint, const mgk_model_options *options,
                            mgk_config *config)
{
    (void)options;
    const char *text = mgk_tensors_text(checkpoint->tensors, "config");
    mgk_status status = mgk_config_from_json(text, strlen(text), config);
    return status == STATUS_OK ? status : mgk_fail_prefix(status, checkpoint->path);
}

static mgk_status read_step(const mgk_checkpoint *checkpoint, int64_t *step)
{
    const char *text = mgk_tensors_text(checkpoint->tensors, step_key), *end;
    if (!text || (mgk_read_int64(text, &end, step) && !*end && *step >= 0))
        return STATUS_OK;
    return mgk_fail(STATUS_FORMAT, "%s: %s is \"%.40s\", expected a number of steps",
                    checkpoint->path, step_key, text);
}

static const char *tokenizer(const mgk_checkpoint *checkpoint)
{
    return mgk_tensors_text(checkpoint->tensors, tokenizer_key);
}

static mgk_status recipe(const mgk_checkpoint *checkpoint, const mgk_config *config,
                         const mgk_parameter *parameter, mgk_recipe *out)
{
    (void)checkpoint, (void)config;
    snprintf(out->name, sizeof(out->name), "%s", parameter->name);
    return STATUS_OK;
}

/* The states of mgk-train hold moments and the best weights so far, too. */
static const char *const apart[] = {"m", "v", "best", NULL};

const mgk_model_format mgk_format_native = {.name = "models of mgk-train",
                                            .apart = apart,
                                            .matches = matches,
                                            .configure = configure,
                                            .step = read_step,
                                            .tokenizer = tokenizer,
                                            .recipe = recipe};

mgk_status mgk_format_read_tensors(const mgk_checkpoint *checkpoint, const char *prefix,
                                   const mgk_parameters *parameters, double *values)
{
    for (size_t i = 0; i < parameters->count; i++) {
        const mgk_parameter *parameter = &parameters->list[i];
        const mgk_tensor_info *tensor;
        char name[2 * MGK_PARAMETER_NAME];
        snprintf(name, sizeof(name), "%s%s", prefix, parameter->name);
        TRY(mgk_checkpoint_expect(checkpoint, name, parameter->axes, parameter->shape, &tensor));
        TRY(mgk_tensors_read(checkpoint->tensors, tensor, 0, tensor->count, MGK_DTYPE_F64,
                             values + parameter->offset));
    }
    return STATUS_OK;
}

static mgk_tensor_view view_of(const mgk_parameter *parameter, const char *name, mgk_dtype storage,
                               const double *values)
{
    mgk_tensor_view view = {.name = name,
                            .storage = storage,
                            .axes = parameter->axes,
                            .source = MGK_DTYPE_F64,
                            .data = values + parameter->offset};
    memcpy(view.shape, parameter->shape, sizeof(parameter->shape));
    return view;
}

mgk_status mgk_model_save(const mgk_model *model, const char *path, bool force,
                          const mgk_model_note *notes, size_t note_count,
                          const mgk_model_extra *extras, size_t extra_count)
{
    mgk_dtype storage = model->device->precision == MGK_DOUBLE ? MGK_DTYPE_F64 : MGK_DTYPE_F32;
    return mgk_model_save_as(model, storage, path, force, notes, note_count, extras, extra_count);
}

mgk_status mgk_model_save_as(const mgk_model *model, mgk_dtype storage, const char *path,
                             bool force, const mgk_model_note *notes, size_t note_count,
                             const mgk_model_extra *extras, size_t extra_count)
{
    const mgk_parameters *parameters = &model->parameters;
    size_t count = parameters->count * (1 + extra_count), k = 0, facts = 0;
    char step[24];
    mgk_status status;
    double *weights = NULL;
    mgk_tensor_view *views = NULL;
    mgk_metadata *metadata = NULL;
    char(*names)[2 * MGK_PARAMETER_NAME] = NULL;
    char *config = NULL;
    CHECK(mgk_alloc(parameters->total, sizeof(*weights), &weights));
    CHECK(mgk_model_download(model, model->weights, weights));
    CHECK(mgk_alloc(count, sizeof(*views), &views));
    CHECK(mgk_alloc(count, sizeof(*names), &names));
    CHECK(mgk_alloc(note_count + 4, sizeof(*metadata), &metadata));
    CHECK(mgk_config_to_json(&model->config, &config));
    metadata[facts++] = (mgk_metadata){"format", "mgk"};
    metadata[facts++] = (mgk_metadata){"config", config};
    snprintf(step, sizeof(step), "%lld", (long long)model->step);
    if (model->step >= 0)
        metadata[facts++] = (mgk_metadata){step_key, step};
    if (model->tokenizer)
        metadata[facts++] = (mgk_metadata){tokenizer_key, model->tokenizer};
    for (size_t i = 0; i < note_count; i++)
        metadata[facts++] = (mgk_metadata){notes[i].key, notes[i].value};
    for (size_t i = 0; i < parameters->count; i++, k++)
        views[k] = view_of(&parameters->list[i], parameters->list[i].name, storage, weights);
    for (size_t e = 0; e < extra_count; e++)
        for (size_t i = 0; i < parameters->count; i++, k++) {
            snprintf(names[k], sizeof(*names), "%s%s", extras[e].prefix, parameters->list[i].name);
            views[k] = view_of(&parameters->list[i], names[k], storage, extras[e].values);
        }
    CHECK(mgk_safetensors_write(path, force, views, count, metadata, facts));
out:
    mgk_free(config);
    mgk_free(metadata);
    mgk_free(names);
    mgk_free(views);
    mgk_free(weights);
    return status;
}
