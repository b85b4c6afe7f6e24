/* SPDX-License-Identifier: MIT */
#include "model/formats/format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/append.h"
#include "base/memory.h"
#include "base/number.h"
#include "model/formats/config_keys.h"
#include "model/formats/decoder.h"
#include "model/formats/hugging_face.h"
#include "model/formats/parts.h"
#include "model/formats/unused.h"

static const mgk_model_format *const registry[] = {
    &mgk_format_native,     &mgk_format_lra,         &mgk_format_lm,        &mgk_format_llama2c,
    &mgk_format_performer,  &mgk_format_linformer,   &mgk_format_esm,       &mgk_format_bert,
    &mgk_format_longformer, &mgk_format_gpt2,        &mgk_format_llama,     &mgk_format_neox,
    &mgk_format_bloom,      &mgk_format_opt,         &mgk_format_vit,       &mgk_format_modernbert,
    &mgk_format_deberta,    &mgk_format_clip_vision, &mgk_format_clip_text, &mgk_format_t5,
    &mgk_format_bart,       &mgk_format_whisper,     &mgk_format_reformer,
};

enum { FORMATS = sizeof(registry) / sizeof(registry[0]), TEXT = 800 };

/* The i-th model type of a format; NULL: it has no more. */
static const char *type_at(const mgk_model_format *format, size_t i)
{
    return format->families      ? format->families[i].type
           : format->model_types ? format->model_types[i]
                                 : NULL;
}

static bool reads_type(const mgk_model_format *format, const char *type)
{
    for (size_t i = 0; type_at(format, i); i++)
        if (strcmp(type_at(format, i), type) == 0)
            return true;
    return false;
}

/* Appends to text [TEXT], truncating it. */
static void append(char *text, const char *separator, const char *word)
{
    mgk_append(text, TEXT, "%s%s", *text ? separator : "", word);
}

/* Refuses a Hugging Face folder with an unknown kind of model. */
static mgk_status refuse_type(const mgk_checkpoint *checkpoint, const char *type)
{
    size_t known = 0;
    for (size_t f = 0; f < FORMATS; f++)
        for (size_t i = 0; type_at(registry[f], i); i++)
            known++;
    return mgk_fail(STATUS_UNSUPPORTED,
                    "%s: model_type \"%.64s\" is not one of the %zu that are known; "
                    "docs/models.md lists them",
                    checkpoint->config_path, type, known);
}

/* Recurrent layers have the same names in all software. */
static bool is_recurrent(const mgk_tensors *tensors)
{
    for (size_t i = 0; i < mgk_tensors_count(tensors); i++)
        if (strstr(mgk_tensors_at(tensors, i)->name, "weight_hh_l0"))
            return true;
    return false;
}

/* The known kind of model with similar tensors; NULL: none. */
static const char *similar_type(const mgk_checkpoint *checkpoint)
{
    char prefix[MGK_TENSOR_NAME];
    for (size_t f = 0; f < FORMATS; f++)
        if (registry[f]->anchor && mgk_checkpoint_prefix(checkpoint, registry[f]->anchor, prefix))
            return type_at(registry[f], 0);
    return NULL;
}

static mgk_status refuse(const mgk_checkpoint *checkpoint)
{
    const mgk_tensors *tensors = checkpoint->tensors;
    const size_t count = mgk_tensors_count(tensors);
    char known[TEXT] = "", first[TEXT] = "";
    for (size_t f = 0; f < FORMATS; f++)
        append(known, "; ", registry[f]->name);
    for (size_t i = 0; i < 3 && i < count; i++) {
        char name[96];
        snprintf(name, sizeof(name), "\"%.90s\"", mgk_tensors_at(tensors, i)->name);
        append(first, ", ", name);
    }
    if (is_recurrent(tensors))
        return mgk_fail(STATUS_FORMAT, "%s: a recurrent network, which has no attention (%s)",
                        checkpoint->path, first);
    const char *type = similar_type(checkpoint);
    if (type && !checkpoint->config)
        return mgk_fail(STATUS_FORMAT,
                        "%s: looks like Hugging Face's %s, but there is no config.json in \"%s\", "
                        "which says its shape",
                        checkpoint->path, type, checkpoint->folder);
    if (type)
        return mgk_fail(STATUS_FORMAT,
                        "%s: has no \"model_type\", and other families, too, have tensors like "
                        "those of %s: add \"model_type\": \"%s\" if it is one",
                        checkpoint->config_path, type, type);
    return mgk_fail(STATUS_FORMAT, "%s: %s of %zu %s (%s ...), but no known model; known are: %s",
                    checkpoint->path, mgk_tensors_container(tensors), count,
                    MGK_NOUN(count, "tensor", "tensors"), first, known);
}

/* Quantised weights are numbers only together with scales, which each method keeps elsewhere. */
static mgk_status refuse_quantised(const mgk_checkpoint *checkpoint)
{
    static const char *const keys[] = {"quantization_config", "compression_config"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        const cJSON *object;
        const char *method = "unnamed";
        TRY(mgk_checkpoint_object(checkpoint, keys[i], &object));
        TRY(mgk_checkpoint_string_of(checkpoint, object, "quant_method", &method));
        if (object)
            return mgk_fail(STATUS_UNSUPPORTED,
                            "%s: \"%s\": weights quantised by the method %.64s are not known; "
                            "real ones of 16, 32 or 64 bits are",
                            checkpoint->config_path, keys[i], method);
    }
    return STATUS_OK;
}

/* Settings of single layers may change any number. */
static mgk_status refuse_layer_settings(const mgk_checkpoint *checkpoint)
{
    static const char key[] = "per_layer_config";
    const cJSON *object;
    TRY(mgk_checkpoint_object(checkpoint, key, &object));
    return object && object->child
               ? mgk_fail(STATUS_UNSUPPORTED, "%s: \"%s\": settings of single layers are not known",
                          checkpoint->config_path, key)
               : STATUS_OK;
}

static mgk_status find_format(mgk_checkpoint *checkpoint, const mgk_model_options *options,
                              const mgk_model_format **out)
{
    const char *type;
    for (size_t i = 0; i < FORMATS; i++) {
        *out = registry[i];
        if (registry[i]->matches && registry[i]->matches(checkpoint))
            return STATUS_OK;
    }
    TRY(mgk_hugging_face_tell_type(checkpoint));
    TRY(refuse_layer_settings(checkpoint));
    TRY(mgk_parts_enter(checkpoint, options->part, options->usual_part));
    TRY(refuse_layer_settings(checkpoint)); /* those of the part */
    TRY(mgk_checkpoint_string(checkpoint, "model_type", NULL, &type));
    for (size_t i = 0; type && i < FORMATS; i++) {
        *out = registry[i];
        if (reads_type(registry[i], type))
            return STATUS_OK;
    }
    return type ? refuse_type(checkpoint, type) : refuse(checkpoint);
}

/* Replaces the format of an encoder by that of its decoder. */
static mgk_status enter_decoder(const mgk_checkpoint *checkpoint, const mgk_model_format **format)
{
    char prefix[MGK_TENSOR_NAME];
    const mgk_model_format *decoder = (*format)->decoder;
    if (!decoder || !mgk_checkpoint_prefix(checkpoint, decoder->root, prefix))
        return mgk_fail(STATUS_UNSUPPORTED, "%s: has no decoder that attends to an encoder",
                        checkpoint->path);
    *format = decoder;
    return STATUS_OK;
}

mgk_status mgk_format_configure(const mgk_model_format *format, const mgk_checkpoint *checkpoint,
                                const mgk_model_options *options, mgk_config *config)
{
    return format->families ? mgk_decoder_configure(checkpoint, format->families, config)
                            : format->configure(checkpoint, options, config);
}

static mgk_status find_recipe(const mgk_checkpoint *checkpoint, const mgk_model_format *format,
                              const mgk_config *config, const mgk_parameter *parameter,
                              mgk_recipe *out)
{
    return format->families
               ? mgk_decoder_recipe(checkpoint, format->families, config, parameter, out)
               : format->recipe(checkpoint, config, parameter, out);
}

/*
 * Checks every recipe before allocating memory, so that a few bytes of configuration cannot request
 * terabytes.
 */
static mgk_status check_recipes(const mgk_checkpoint *checkpoint, const mgk_model_format *format,
                                const mgk_config *config)
{
    mgk_parameters parameters;
    mgk_status status = mgk_parameters_build(config, &parameters);
    if (status != STATUS_OK) /* a file with an invalid configuration is malformed */
        return mgk_fail_prefix(status == STATUS_USAGE ? STATUS_FORMAT : status, checkpoint->path);
    for (size_t i = 0; i < parameters.count; i++) {
        mgk_recipe recipe = {.name = ""};
        CHECK(find_recipe(checkpoint, format, config, &parameters.list[i], &recipe));
        CHECK(mgk_recipe_check(checkpoint, config, &recipe, &parameters.list[i]));
    }
out:
    mgk_parameters_free(&parameters);
    return status;
}

/* Describes unused tensors and assumptions in one line, for people; *news as in model.h. */
static mgk_status describe_rest(const mgk_checkpoint *checkpoint, const mgk_model_format *format,
                                const mgk_config *config, const char *assumed, char **remark,
                                bool *news)
{
    char text[TEXT];
    TRY(mgk_unused_check(checkpoint, format, config, text, sizeof(text), news));
    *news = *news || *assumed || checkpoint->told;
    if (*assumed)
        append(text, "; ", assumed);
    if (checkpoint->told) {
        append(text, "; ", "config.json has no model_type; its tensors' names tell ");
        append(text, "", checkpoint->told);
    }
    return *text ? mgk_copy_string(text, remark) : STATUS_OK;
}

static mgk_status read_weights(const mgk_checkpoint *checkpoint, const mgk_model_format *format,
                               mgk_model *model)
{
    for (size_t i = 0; i < model->parameters.count; i++) {
        const mgk_parameter *parameter = &model->parameters.list[i];
        mgk_recipe recipe = {.name = ""};
        TRY(find_recipe(checkpoint, format, &model->config, parameter, &recipe));
        TRY(mgk_recipe_follow(checkpoint, &recipe, parameter, model));
    }
    return STATUS_OK;
}

static mgk_status make_model(const mgk_checkpoint *checkpoint, const mgk_model_format *format,
                             const mgk_model_options *options, const mgk_config *config,
                             mgk_device *device, mgk_model **out)
{
    mgk_status status;
    mgk_model *model = NULL;
    char *remark = NULL;
    bool news;
    char assumed[TEXT] = "";
    if (format->assumed)
        CHECK(format->assumed(checkpoint, options, config, assumed, sizeof(assumed)));
    CHECK(check_recipes(checkpoint, format, config));
    CHECK(describe_rest(checkpoint, format, config, assumed, &remark, &news));
    CHECK(mgk_model_create_empty(config, device, &model));
    if (device)
        CHECK(read_weights(checkpoint, format, model));
    if (format->step)
        CHECK(format->step(checkpoint, &model->step));
    else if (mgk_format_has_types(format))
        CHECK(mgk_hugging_face_step(checkpoint, &model->step));
    const char *tokenizer = format->tokenizer ? format->tokenizer(checkpoint) : NULL;
    if (tokenizer)
        CHECK(mgk_copy_string(tokenizer, &model->tokenizer));
    CHECK(mgk_copy_string(checkpoint->folder, &model->folder));
    model->remark = remark;
    model->news = news;
    remark = NULL;
    *out = model;
    model = NULL;
out:
    mgk_free(remark);
    mgk_model_free(model);
    return status;
}

/* A file with a value out of range is malformed. Formats without model types do not read
 * config.json. */
static mgk_status resolve(const mgk_checkpoint *checkpoint, const mgk_model_format *format,
                          mgk_config *config)
{
    mgk_status status = mgk_config_resolve(config);
    if (status == STATUS_OK)
        return STATUS_OK;
    status = status == STATUS_USAGE ? STATUS_FORMAT : status;
    return mgk_format_has_types(format) ? mgk_config_keys_name(checkpoint, config, status)
                                        : mgk_fail_prefix(status, checkpoint->path);
}

mgk_status mgk_model_load(const char *path, const mgk_model_options *options, mgk_device *device,
                          mgk_model **out)
{
    static const mgk_model_options usual = {0};
    const mgk_model_format *format;
    mgk_checkpoint checkpoint;
    mgk_config config;
    mgk_status status;
    *out = NULL;
    TRY(mgk_checkpoint_open(path, &checkpoint));
    options = options ? options : &usual;
    CHECK(refuse_quantised(&checkpoint));
    CHECK(find_format(&checkpoint, options, &format));
    const bool encodes = format->decoder != NULL;
    if (options->encoder && !encodes)
        CHECK(mgk_fail(STATUS_USAGE, "%s: not an encoder-decoder model", path));
    if (options->decoder)
        CHECK(enter_decoder(&checkpoint, &format));
    if (!format->asks && (options->head_dim || options->attention))
        CHECK(mgk_fail(
            STATUS_USAGE,
            "%s: says its head dimension and attention itself, without `head_dim` and `attention`",
            path));
    if (options->trained_with && !format->trained_with)
        CHECK(mgk_fail(STATUS_USAGE,
                       "%s: `trained_with` is for checkpoints of the code of Transformer-MGK",
                       path));
    CHECK(mgk_format_configure(format, &checkpoint, options, &config));
    CHECK(resolve(&checkpoint, format, &config));
    CHECK(make_model(&checkpoint, format, options, &config, device, out));
    (*out)->encodes = encodes && !options->decoder;
out:
    mgk_checkpoint_close(&checkpoint);
    return status;
}
