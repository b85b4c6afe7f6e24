/* SPDX-License-Identifier: MIT */
#include "model/formats/hugging_face.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/number.h"

/*
 * A bert that was saved without the module "bert.". RoBERTa's tensors have the same names, but it
 * has one type of tokens, not two.
 */
static bool is_bare_bert(const mgk_checkpoint *checkpoint)
{
    const mgk_tensor_info *types =
        mgk_checkpoint_find(checkpoint, "embeddings.token_type_embeddings.weight");
    return types && types->axes == 2 && types->shape[0] == 2 &&
           mgk_checkpoint_find(checkpoint, "encoder.layer.0.attention.self.query.weight");
}

static mgk_status tell(mgk_checkpoint *checkpoint, const char *type)
{
    checkpoint->told = type;
    return mgk_json_add(checkpoint->config, "model_type", cJSON_CreateString(type))
               ? STATUS_OK
               : mgk_fail(STATUS_MEMORY, "no memory for config.json");
}

mgk_status mgk_hugging_face_tell_type(mgk_checkpoint *checkpoint)
{
    static const struct {
        const char *tensor, *type;
    } rows[] = {
        {"bert.encoder.layer.0.attention.self.query.weight", "bert"},
        {"roberta.encoder.layer.0.attention.self.query.weight", "roberta"},
        {"distilbert.transformer.layer.0.attention.q_lin.weight", "distilbert"},
        {"transformer.h.0.attn.c_attn.weight", "gpt2"},
        {"albert.encoder.albert_layer_groups.0.albert_layers.0.attention.query.weight", "albert"},
    };
    if (!checkpoint->config || cJSON_GetObjectItemCaseSensitive(checkpoint->config, "model_type"))
        return STATUS_OK;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (mgk_tensors_find(checkpoint->tensors, rows[i].tensor))
            return tell(checkpoint, rows[i].type);
    return is_bare_bert(checkpoint) ? tell(checkpoint, "bert") : STATUS_OK;
}

mgk_status mgk_hugging_face_activation_of(const mgk_checkpoint *checkpoint, const char *key,
                                          const char *name, mgk_activation *out)
{
    static const struct {
        const char *name;
        mgk_activation activation;
    } rows[] = {
        {"gelu", MGK_ACTIVATION_GELU},          {"gelu_new", MGK_ACTIVATION_GELU_TANH},
        {"relu", MGK_ACTIVATION_RELU},          {"gelu_pytorch_tanh", MGK_ACTIVATION_GELU_TANH},
        {"silu", MGK_ACTIVATION_SILU},          {"swish", MGK_ACTIVATION_SILU},
        {"gelu_fast", MGK_ACTIVATION_GELU_TANH}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (strcmp(rows[i].name, name) == 0) {
            *out = rows[i].activation;
            return STATUS_OK;
        }
    return mgk_fail(STATUS_UNSUPPORTED, "%s: %s \"%.64s\" is not a known activation",
                    checkpoint->config_path, key, name);
}

mgk_status mgk_hugging_face_activation(const mgk_checkpoint *checkpoint, const char *key,
                                       const char *fallback, mgk_activation *out)
{
    const char *name;
    TRY(mgk_checkpoint_string(checkpoint, key, fallback, &name));
    return mgk_hugging_face_activation_of(checkpoint, key, name, out);
}

mgk_status mgk_hugging_face_heads(const mgk_checkpoint *checkpoint, const char *heads_key,
                                  const char *dim_key, mgk_config *config)
{
    TRY(mgk_checkpoint_needed(checkpoint, heads_key, &config->heads));
    TRY(mgk_checkpoint_needed(checkpoint, dim_key, &config->dim));
    if (config->heads < 1 || config->dim < 1 || config->dim % config->heads)
        return mgk_fail(STATUS_FORMAT, "%s: %s %d is not divided by %s %d", checkpoint->config_path,
                        dim_key, config->dim, heads_key, config->heads);
    config->head_dim = config->dim / config->heads;
    return STATUS_OK;
}

mgk_status mgk_hugging_face_causal(const mgk_checkpoint *checkpoint)
{
    static const char causal[] = "is_causal", both[] = "use_bidirectional_attention";
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(checkpoint->config, causal);
    bool bidirectional;
    TRY(mgk_checkpoint_flag(checkpoint, both, false, &bidirectional));
    if (!bidirectional && (!item || cJSON_IsTrue(item)))
        return STATUS_OK;
    return mgk_fail(STATUS_UNSUPPORTED, "%s: \"%s\" has a value that lets queries see later keys",
                    checkpoint->config_path, bidirectional ? both : causal);
}

/* Whether a key names this id, alone or in a list. */
static bool names_id(const mgk_checkpoint *checkpoint, const char *key, int id)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(checkpoint->config, key), *item;
    if (cJSON_IsNumber(value))
        return value->valuedouble == id;
    cJSON_ArrayForEach(item, value)
    {
        if (cJSON_IsNumber(item) && item->valuedouble == id)
            return true;
    }
    return false;
}

mgk_status mgk_hugging_face_padding(const mgk_checkpoint *checkpoint, mgk_config *config)
{
    TRY(mgk_checkpoint_integer(checkpoint, "pad_token_id", -1, &config->padding));
    if (config->padding < 0 || config->padding >= config->vocabulary)
        config->padding = -1;
    config->padding_word =
        config->padding >= 0 && (names_id(checkpoint, "bos_token_id", config->padding) ||
                                 names_id(checkpoint, "eos_token_id", config->padding));
    return STATUS_OK;
}

/*
 * The output layer is not below the model's prefix: "lm_head.weight" next to
 * "model.embed_tokens.weight".
 */
static void output_name(const mgk_checkpoint *checkpoint, const char *output,
                        char name[MGK_TENSOR_NAME])
{
    char prefix[MGK_TENSOR_NAME] = "";
    output = output ? output : "lm_head.weight";
    mgk_checkpoint_prefix(checkpoint, output, prefix);
    snprintf(name, MGK_TENSOR_NAME, "%.100s%.100s", prefix, output);
}

mgk_status mgk_hugging_face_output(const mgk_checkpoint *checkpoint, const char *output, bool tied,
                                   mgk_config *config)
{
    char name[MGK_TENSOR_NAME];
    TRY(mgk_checkpoint_flag(checkpoint, "tie_word_embeddings", tied, &config->tied));
    output_name(checkpoint, output, name);
    const bool found = mgk_tensors_find(checkpoint->tensors, name) != NULL;
    config->tied &= !found; /* transformers ties no weights that a file has twice and different */
    if (config->tied || found)
        return STATUS_OK;
    config->family = MGK_FAMILY_ENCODER;
    config->classes = 0;
    strcpy(config->task, "text");
    return STATUS_OK;
}

mgk_status mgk_hugging_face_start(const mgk_checkpoint *checkpoint, int usual, mgk_config *config)
{
    static const char key[] = "decoder_start_token_id";
    TRY(mgk_checkpoint_integer(checkpoint, key, usual, &config->start));
    if (config->start >= 0 && config->start < config->vocabulary)
        return STATUS_OK;
    return mgk_fail(STATUS_FORMAT, "%s: \"%s\" is %d, expected 0 to %d", checkpoint->config_path,
                    key, config->start, config->vocabulary - 1);
}

mgk_status mgk_hugging_face_language_model(const mgk_checkpoint *checkpoint,
                                           const mgk_tensor_names *names, const char *output,
                                           const mgk_parameter *parameter, mgk_recipe *out)
{
    static const char weight[] = "weight";
    const bool bias = strcmp(parameter->name, "output.bias") == 0;
    if (!bias && strcmp(parameter->name, "output.weight") != 0)
        return mgk_recipe_by_names(checkpoint, names, parameter, out);
    output_name(checkpoint, output, out->name);
    if (bias)
        strcpy(out->name + strlen(out->name) - (sizeof(weight) - 1), "bias");
    return STATUS_OK;
}

void mgk_hugging_face_tokens(const mgk_checkpoint *checkpoint, const char *anchor, const char *own,
                             mgk_recipe *out)
{
    static const char shared[] = "shared.weight";
    char prefix[MGK_TENSOR_NAME] = "";
    mgk_checkpoint_prefix(checkpoint, anchor, prefix);
    snprintf(out->name, sizeof(out->name), "%.100s%s", prefix,
             mgk_checkpoint_find(checkpoint, "%s%s", prefix, own) ? own : shared);
}

mgk_status mgk_hugging_face_places(const mgk_checkpoint *checkpoint, mgk_config *config)
{
    TRY(mgk_checkpoint_needed(checkpoint, "max_position_embeddings", &config->length));
    config->positions_skip_padding = true;
    if (config->padding < 0 || config->padding >= config->vocabulary)
        return mgk_fail(STATUS_FORMAT, "%s: pad_token_id %d: expected 0 to %d",
                        checkpoint->config_path, config->padding, config->vocabulary - 1);
    if (config->length <= config->padding + 1)
        return mgk_fail(STATUS_FORMAT,
                        "%s: max_position_embeddings %d: expected more than pad_token_id %d + 1",
                        checkpoint->config_path, config->length, config->padding);
    config->length -= config->padding + 1;
    return STATUS_OK;
}

mgk_status mgk_hugging_face_compute_places(const mgk_checkpoint *checkpoint,
                                           const mgk_config *config, const mgk_recipe *recipe,
                                           const mgk_parameter *parameter, double *values)
{
    const size_t width = parameter->shape[1], length = (size_t)config->length;
    const size_t padding = (size_t)config->padding;
    const size_t table[] = {padding + 1 + length, width}, types[] = {recipe->plus_rows, width};
    const mgk_tensor_info *places, *kinds = NULL;
    double *kind = NULL;
    mgk_status status = STATUS_OK;
    TRY(mgk_checkpoint_expect(checkpoint, recipe->name, 2, table, &places));
    if (recipe->plus[0])
        TRY(mgk_checkpoint_expect(checkpoint, recipe->plus, 2, types, &kinds));
    if (!values)
        return STATUS_OK;
    CHECK(mgk_tensors_read(checkpoint->tensors, places, (padding + 1) * width, length * width,
                           MGK_DTYPE_F64, values));
    CHECK(mgk_tensors_read(checkpoint->tensors, places, padding * width, width, MGK_DTYPE_F64,
                           values + length * width));
    CHECK(mgk_alloc(width, sizeof(*kind), &kind));
    if (kinds)
        CHECK(mgk_tensors_read(checkpoint->tensors, kinds, 0, width, MGK_DTYPE_F64, kind));
    for (size_t i = 0; i < parameter->count; i++)
        values[i] += kind[i % width];
out:
    mgk_free(kind);
    return status;
}

/* The number in "checkpoint-500"; -1: another name. */
static int64_t step_of_name(const char *folder)
{
    static const char mark[] = "checkpoint-";
    char *path = realpath(folder, NULL);
    const char *name = path ? mgk_file_name(path) : folder;
    const char *digits = name + sizeof(mark) - 1, *end;
    int64_t step = -1;
    if (strncmp(name, mark, sizeof(mark) - 1) != 0 || !(*digits >= '0' && *digits <= '9') ||
        !mgk_read_int64(digits, &end, &step) || *end != '\0')
        step = -1;
    free(path);
    return step;
}

mgk_status mgk_hugging_face_step(const mgk_checkpoint *checkpoint, int64_t *out)
{
    char *path = NULL;
    cJSON *state = NULL;
    mgk_status status = mgk_checkpoint_json(checkpoint, "trainer_state.json", &path, &state);
    const cJSON *step = cJSON_GetObjectItemCaseSensitive(state, "global_step");
    const bool known = cJSON_IsNumber(step) && step->valuedouble >= 0 && step->valuedouble <= 1e15;
    *out = known ? (int64_t)step->valuedouble : step_of_name(checkpoint->folder);
    cJSON_Delete(state);
    mgk_free(path);
    return status == STATUS_MEMORY ? status : STATUS_OK; /* the model does not need it */
}
