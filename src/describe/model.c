/* SPDX-License-Identifier: MIT */
/* Describes a model: configuration, tensors and cost. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "describe/describe.h"
#include "model/core/cost.h"
#include "run/job.h"
#include "run/own_tokenizer.h"

/* Adds the parts multiplied by `factor`, and their sum. */
static mgk_status add_parts(cJSON *object, const char *name, const double parts[MGK_COST_PARTS],
                            double factor)
{
    cJSON *list = cJSON_CreateObject();
    TRY(mgk_describe_add(object, name, list));
    for (int part = 0; part < MGK_COST_PARTS; part++)
        TRY(mgk_describe_add(list, mgk_cost_part_name((mgk_cost_part)part),
                             cJSON_CreateNumber(factor * parts[part])));
    return mgk_describe_add(list, "total", cJSON_CreateNumber(factor * mgk_cost_sum(parts)));
}

static mgk_status add_cost(const mgk_config *config, cJSON *tree)
{
    mgk_cost cost;
    TRY(mgk_cost_of(config, config->length, &cost));
    TRY(add_parts(tree, "parameters", cost.parameters, 1));
    TRY(mgk_describe_add(tree, "flops_length", cJSON_CreateNumber(config->length)));
    TRY(add_parts(tree, "flops_forward", cost.flops, 1));
    TRY(add_parts(tree, "flops_training", cost.flops, MGK_COST_TRAINING));
    cJSON *layer = cJSON_CreateObject();
    TRY(mgk_describe_add(tree, "attention_of_one_layer", layer));
    TRY(mgk_describe_add(layer, "parameters", cJSON_CreateNumber(cost.layer_parameters)));
    TRY(mgk_describe_add(layer, "flops_forward", cJSON_CreateNumber(cost.layer_flops)));
    return mgk_describe_add(layer, "flops_training",
                            cJSON_CreateNumber(MGK_COST_TRAINING * cost.layer_flops));
}

/* Removes the settings whose names begin so. */
static void remove_settings(cJSON *settings, const char *beginning)
{
    cJSON *next;
    for (cJSON *item = settings ? settings->child : NULL; item; item = next) {
        next = item->next;
        if (strncmp(item->string, beginning, strlen(beginning)) == 0)
            cJSON_Delete(cJSON_DetachItemViaPointer(settings, item));
    }
}

/* Settings of pictures, of sounds and of decoders are of models that have to do with these. */
static mgk_status add_config(const mgk_config *config, cJSON *tree)
{
    static const char *const of_pictures[] = {"patch", "image", "resampling"};
    static const char *const of_decoders[] = {"memory", "start"};
    char *text;
    TRY(mgk_config_to_json(config, &text));
    cJSON *settings = cJSON_Parse(text);
    for (size_t i = 0; config->picture.patch == 0 && i < 3; i++)
        remove_settings(settings, of_pictures[i]);
    if (config->sound.bands == 0)
        remove_settings(settings, "sound");
    for (size_t i = 0; config->memory == 0 && i < 2; i++)
        remove_settings(settings, of_decoders[i]);
    mgk_status status = mgk_describe_add(tree, "configuration", settings);
    mgk_free(text);
    return status;
}

static mgk_status add_tensors(const mgk_parameters *parameters, cJSON *tree)
{
    cJSON *list = cJSON_CreateObject();
    TRY(mgk_describe_add(tree, "tensors", list));
    for (size_t i = 0; i < parameters->count; i++) {
        const mgk_parameter *parameter = &parameters->list[i];
        double shape[MGK_PARAMETER_AXES];
        for (int axis = 0; axis < parameter->axes; axis++)
            shape[axis] = (double)parameter->shape[axis];
        TRY(mgk_describe_add(list, parameter->name,
                             cJSON_CreateDoubleArray(shape, parameter->axes)));
    }
    return STATUS_OK;
}

/* The score of softmax with another scale, a cap or a bias. */
static void describe_terms(const mgk_config *config, char *text, size_t size)
{
    char product[64] = "q_i.k_j", dot[96], capped[160], bias[64] = "";
    if (config->relative > 0) /* k and q of distances, see kernels/attention_operations.h */
        snprintf(product, sizeof(product), "(q_i.k_j + q_i.k(i - j) + q(j - i).k_j)");
    if (config->positions == MGK_POSITIONS_ALIBI && config->alibi_scale != 1)
        snprintf(bias, sizeof(bias), " + %.6g slope_h (j - i)", config->alibi_scale);
    else if (config->positions == MGK_POSITIONS_ALIBI)
        snprintf(bias, sizeof(bias), " + slope_h (j - i)");
    else if (config->buckets > 0)
        snprintf(bias, sizeof(bias), " + bias_h(j - i)");
    if (config->attention_scale > 0)
        snprintf(dot, sizeof(dot), "%.6g %s", config->attention_scale, product);
    else
        snprintf(dot, sizeof(dot), "%s / sqrt(D)", product);
    snprintf(capped, sizeof(capped), "%s", dot);
    if (config->attention_cap > 0)
        snprintf(capped, sizeof(capped), "%.6g tanh(%s / %.6g)", config->attention_cap, dot,
                 config->attention_cap);
    snprintf(text, size, "exp(%s%s)", capped, bias);
}

/* The score of a kind, or what the model computes instead. */
static void describe_score(const mgk_config *config, const mgk_attention_kind *kind, char *text,
                           size_t size)
{
    if (kind->terms && (config->attention_scale > 0 || config->attention_cap > 0 ||
                        config->relative > 0 || mgk_config_has_distances(config)))
        describe_terms(config, text, size);
    else
        snprintf(text, size, "%s", kind->score);
}

/* Whether a layer below has the kind of this one. */
static bool was_described(const mgk_config *config, int layer)
{
    const mgk_attention_kind *kind = mgk_config_kind(config, layer);
    for (int below = 0; below < layer; below++)
        if (mgk_config_kind(config, below) == kind)
            return true;
    return false;
}

/* The score of each kind: a text, or an object if the model has several. */
static mgk_status add_scores(const mgk_config *config, cJSON *tree)
{
    const bool several = strchr(config->attention, ',') != NULL;
    cJSON *scores = several ? cJSON_CreateObject() : NULL;
    char score[512];
    if (several)
        TRY(mgk_describe_add(tree, "score", scores));
    for (int layer = 0; layer < (several ? config->layers : 1); layer++) {
        const mgk_attention_kind *kind = mgk_config_kind(config, layer);
        if (was_described(config, layer))
            continue;
        describe_score(config, kind, score, sizeof(score));
        TRY(mgk_describe_add(several ? scores : tree, several ? kind->name : "score",
                             cJSON_CreateString(score)));
    }
    return STATUS_OK;
}

/* The tokenizer that the file carries, or why it cannot be read. */
static mgk_status add_tokenizer(const mgk_model *model, const char *path, cJSON *tree)
{
    mgk_tokenizer *tokenizer;
    char text[120];
    if (!model->tokenizer)
        return STATUS_OK;
    mgk_status status = mgk_own_tokenizer_open(
        model->tokenizer, model->config.family == MGK_FAMILY_LM, path, &tokenizer);
    if (status == STATUS_MEMORY)
        return status;
    if (status == STATUS_OK)
        snprintf(text, sizeof(text), "%s, %d tokens", mgk_tokenizer_kind(tokenizer),
                 mgk_tokenizer_vocabulary(tokenizer));
    mgk_tokenizer_close(tokenizer);
    return mgk_describe_add(tree, "tokenizer",
                            cJSON_CreateString(status == STATUS_OK ? text : mgk_fail_message()));
}

mgk_status mgk_describe_model(const char *path, const mgk_job *job, cJSON *tree)
{
    mgk_status status;
    mgk_model_view file;
    TRY(mgk_model_view_outline(path, job, &file));
    const mgk_model *model = file.model;
    CHECK(mgk_describe_add(tree, "sha256", cJSON_CreateString(file.sha256)));
    CHECK(mgk_describe_add(tree, "kind", cJSON_CreateString("model")));
    if (model->step >= 0)
        CHECK(mgk_describe_add(tree, "training_step", cJSON_CreateNumber((double)model->step)));
    CHECK(add_tokenizer(model, path, tree));
    CHECK(add_scores(&model->config, tree));
    if (model->remark)
        CHECK(mgk_describe_add(tree, "remark", cJSON_CreateString(model->remark)));
    CHECK(add_config(&model->config, tree));
    CHECK(add_cost(&model->config, tree));
    CHECK(add_tensors(&model->parameters, tree));
out:
    mgk_model_view_close(&file);
    return status;
}
