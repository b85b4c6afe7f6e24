#include "model/hugging_face.h"

#include <stdio.h>
#include <string.h>

static const mgk_tensor_row *find_row(const mgk_tensor_row *rows, const char *name)
{
    for (; rows->ours; rows++)
        if (strcmp(rows->ours, name) == 0)
            return rows;
    return NULL;
}

/* "x.LayerNorm.weight" was "x.LayerNorm.gamma" once. */
static void use_old_name(const mgk_checkpoint *checkpoint, char name[MGK_TENSOR_NAME])
{
    static const char *const words[][2] = {{"LayerNorm.weight", "LayerNorm.gamma"},
                                           {"LayerNorm.bias", "LayerNorm.beta"}};
    if (mgk_tensors_find(checkpoint->tensors, name))
        return;
    for (size_t i = 0; i < 2; i++) {
        char *at = strstr(name, words[i][0]);
        if (!at)
            continue;
        char old[MGK_TENSOR_NAME];
        snprintf(old, sizeof(old), "%.*s%s", (int)(at - name), name, words[i][1]);
        if (mgk_tensors_find(checkpoint->tensors, old))
            memcpy(name, old, sizeof(old));
    }
}

mgk_status mgk_hugging_face_recipe(const mgk_checkpoint *checkpoint, const mgk_tensor_names *names,
                                   const mgk_parameter *parameter, mgk_recipe *out)
{
    char prefix[MGK_TENSOR_NAME] = "";
    int layer;
    const char *name = mgk_layer_of_name(parameter->name, &layer);
    const mgk_tensor_row *row = find_row(layer < 0 ? names->rows : names->layer_rows, name);
    if (!row)
        return mgk_fail(STATUS_UNSUPPORTED, "%s: this kind of model has no \"%s\"",
                        checkpoint->path, parameter->name);
    mgk_checkpoint_prefix(checkpoint, names->anchor, prefix);
    if (layer < 0)
        snprintf(out->name, sizeof(out->name), "%.100s%.100s", prefix, row->theirs);
    else
        snprintf(out->name, sizeof(out->name), "%.100s%.40s%d.%.60s", prefix, names->layer, layer,
                 row->theirs);
    use_old_name(checkpoint, out->name);
    out->transposed = row->transposed;
    if (row->parts > 0) {
        out->rows = row->parts * parameter->shape[0];
        out->first = row->part * parameter->shape[0];
    }
    return STATUS_OK;
}

mgk_status mgk_hugging_face_activation(const mgk_checkpoint *checkpoint, const char *key,
                                       const char *fallback, mgk_activation *out)
{
    static const struct {
        const char *name;
        mgk_activation activation;
    } rows[] = {
        {"gelu", MGK_ACTIVATION_GELU},          {"gelu_new", MGK_ACTIVATION_GELU_TANH},
        {"relu", MGK_ACTIVATION_RELU},          {"gelu_pytorch_tanh", MGK_ACTIVATION_GELU_TANH},
        {"silu", MGK_ACTIVATION_SILU},          {"swish", MGK_ACTIVATION_SILU},
        {"gelu_fast", MGK_ACTIVATION_GELU_TANH}};
    const char *name;
    TRY(mgk_checkpoint_string(checkpoint, key, fallback, &name));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (strcmp(rows[i].name, name) == 0) {
            *out = rows[i].activation;
            return STATUS_OK;
        }
    return mgk_fail(STATUS_UNSUPPORTED, "%s: %s \"%.64s\" is not a known activation",
                    checkpoint->config_path, key, name);
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

mgk_status mgk_hugging_face_padding(const mgk_checkpoint *checkpoint, mgk_config *config)
{
    TRY(mgk_checkpoint_integer(checkpoint, "pad_token_id", -1, &config->padding));
    if (config->padding < 0 || config->padding >= config->vocabulary)
        config->padding = -1;
    return STATUS_OK;
}
