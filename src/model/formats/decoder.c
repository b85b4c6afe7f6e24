/* SPDX-License-Identifier: MIT */
#include "model/formats/decoder.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "model/formats/hugging_face.h"
#include "model/formats/rotary.h"

static mgk_status find_family(const mgk_checkpoint *checkpoint, const mgk_decoder *families,
                              const mgk_decoder **out)
{
    const char *type;
    TRY(mgk_checkpoint_string(checkpoint, "model_type", "", &type));
    for (*out = families; (*out)->type; ++*out)
        if (strcmp((*out)->type, type) == 0)
            return STATUS_OK;
    return mgk_fail(STATUS_UNSUPPORTED, "%s: model_type \"%.64s\" is not known",
                    checkpoint->config_path, type);
}

/* ---- configuration --------------------------------------------------------------------------- */

static mgk_status set_head_dim(const mgk_checkpoint *checkpoint, mgk_config *config)
{
    if (config->head_dim != 0)
        return STATUS_OK;
    if (config->heads < 1 || config->dim < 1 || config->dim % config->heads)
        return mgk_fail(STATUS_FORMAT, "%s: a width of %d is not divided by %d heads",
                        checkpoint->config_path, config->dim, config->heads);
    config->head_dim = config->dim / config->heads;
    return STATUS_OK;
}

/* Sets the local layers that a list of layer types names. */
static mgk_status read_layer_types(const mgk_checkpoint *checkpoint, const cJSON *list,
                                   mgk_config *config)
{
    const cJSON *item;
    int layer = 0;
    if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) != config->layers)
        return mgk_fail(STATUS_FORMAT, "%s: \"layer_types\" is not an array of %d words",
                        checkpoint->config_path, config->layers);
    cJSON_ArrayForEach(item, list)
    {
        const char *type = cJSON_IsString(item) ? item->valuestring : "";
        if (strcmp(type, "sliding_attention") == 0)
            mgk_config_set_local(config, layer);
        else if (strcmp(type, "full_attention") != 0)
            return mgk_fail(STATUS_UNSUPPORTED, "%s: layer_types[%d] \"%.64s\" is not known",
                            checkpoint->config_path, layer, type);
        layer++;
    }
    return STATUS_OK;
}

/* Sets the local layers that a family has by default. */
static mgk_status set_usual_layers(const mgk_checkpoint *checkpoint, const mgk_decoder *family,
                                   mgk_config *config)
{
    int pattern, first;
    TRY(mgk_checkpoint_integer(checkpoint, "sliding_window_pattern", family->pattern, &pattern));
    TRY(mgk_checkpoint_integer(checkpoint, "max_window_layers", family->pattern, &first));
    if (family->local == MGK_LOCAL_MOST && pattern < 1)
        return mgk_fail(STATUS_FORMAT, "%s: \"sliding_window_pattern\" is %d, expected at least 1",
                        checkpoint->config_path, pattern);
    for (int layer = 0; layer < config->layers; layer++)
        if (family->local == MGK_LOCAL_ALL || family->local == MGK_LOCAL_USED ||
            (family->local == MGK_LOCAL_MOST && (layer + 1) % pattern != 0) ||
            (family->local == MGK_LOCAL_LATTER && layer >= first) ||
            (family->local == MGK_LOCAL_UNROTATED && mgk_config_is_unrotated(config, layer)))
            mgk_config_set_local(config, layer);
    return STATUS_OK;
}

static bool names_local(const cJSON *list)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        if (cJSON_IsString(item) && strcmp(item->valuestring, "sliding_attention") == 0)
            return true;
    }
    return false;
}

/* transformers fails with a window without keys; null says that there is none. */
static mgk_status check_window(const mgk_checkpoint *checkpoint, const mgk_decoder *family)
{
    static const char key[] = "sliding_window";
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(checkpoint->config, key);
    if (!mgk_settings_read(family->settings, "window") || !cJSON_IsNumber(item) ||
        item->valuedouble >= 1)
        return STATUS_OK;
    return mgk_fail(STATUS_FORMAT, "%s: \"%s\" is %g, expected at least 1, or null for none",
                    checkpoint->config_path, key, item->valuedouble);
}

/* The window of local layers; 0: it is not used. */
static mgk_status settle_window(const mgk_checkpoint *checkpoint, const mgk_decoder *family,
                                mgk_config *config)
{
    const mgk_local_layers local = family->local;
    bool used = true;
    if (local == MGK_LOCAL_USED || local == MGK_LOCAL_LATTER || local == MGK_LOCAL_UNROTATED)
        TRY(mgk_checkpoint_flag(checkpoint, "use_sliding_window", false, &used));
    if (used)
        return check_window(checkpoint, family);
    config->window = 0;
    return STATUS_OK;
}

static mgk_status set_local_layers(const mgk_checkpoint *checkpoint, const mgk_decoder *family,
                                   mgk_config *config)
{
    const bool listed = family->local != MGK_LOCAL_ALL && family->local != MGK_LOCAL_USED;
    const cJSON *list =
        listed ? cJSON_GetObjectItemCaseSensitive(checkpoint->config, "layer_types") : NULL;
    if (family->local == MGK_LOCAL_OWN)
        return STATUS_OK;
    TRY(settle_window(checkpoint, family, config));
    if (list && config->window == 0 && names_local(list))
        return mgk_fail(STATUS_UNSUPPORTED,
                        "%s: \"layer_types\" names sliding_attention, but there is no window",
                        checkpoint->config_path);
    if ((config->window == 0 && config->local_base == 0) || config->layers < 1 ||
        config->layers > MGK_MAX_LAYERS)
        return STATUS_OK; /* mgk_config_resolve refuses such a number */
    return list && !cJSON_IsNull(list) ? read_layer_types(checkpoint, list, config)
                                       : set_usual_layers(checkpoint, family, config);
}

static void rotate_local_layers(mgk_config *config)
{
    for (int layer = 0; layer < config->layers && layer < MGK_MAX_LAYERS; layer++)
        if (!mgk_config_is_local(config, layer))
            mgk_config_set_unrotated(config, layer);
}

mgk_status mgk_decoder_configure(const mgk_checkpoint *checkpoint, const mgk_decoder *families,
                                 mgk_config *config)
{
    const mgk_decoder *family;
    TRY(find_family(checkpoint, families, &family));
    mgk_config_defaults(MGK_FAMILY_LM, config);
    strcpy(config->attention, "softmax");
    config->mixtures = 1;
    config->embedding_scale = 1;
    config->dropout = 0;
    config->head_dim = 0;
    TRY(mgk_hugging_face_causal(checkpoint));
    TRY(mgk_settings_apply(checkpoint, family->settings, config));
    TRY(set_head_dim(checkpoint, config));
    if (family->adjust)
        TRY(family->adjust(checkpoint, config));
    if (config->positions == MGK_POSITIONS_ROTARY)
        TRY(mgk_rotary_configure(checkpoint, family->rotary_part, config));
    TRY(set_local_layers(checkpoint, family, config));
    if (family->rotates_local)
        rotate_local_layers(config);
    TRY(mgk_hugging_face_padding(checkpoint, config));
    return mgk_hugging_face_output(checkpoint, family->output, family->tied, config);
}

/* ---- recipes --------------------------------------------------------------------------------- */

/* The rows of queries, keys and values in a tensor of all three. */
static void split_fused(const mgk_config *config, const mgk_tensor_row *row, mgk_recipe *recipe)
{
    const size_t dim = (size_t)config->head_dim, groups = (size_t)config->key_heads;
    const size_t queries = (size_t)config->heads * dim, keys = groups * dim;
    recipe->rows = queries + 2 * keys;
    if (row->fused == MGK_FUSED_BY_QUARTER) {
        recipe->block = queries / 4;
        recipe->stride = 3 * recipe->block;
        recipe->first = row->part * recipe->block;
        return;
    }
    if (row->fused == MGK_FUSED_ADJACENT) {
        recipe->first = row->part == 0 ? 0 : queries + (row->part - 1) * keys;
        return;
    }
    recipe->block = row->part == 0 ? queries / groups : dim;
    recipe->stride = queries / groups + 2 * dim;
    recipe->first = row->part == 0 ? 0 : queries / groups + (row->part - 1) * dim;
}

/* The matrices of all experts in a tensor. */
static void split_experts(const mgk_config *config, const mgk_tensor_row *row,
                          const mgk_parameter *parameter, mgk_recipe *recipe)
{
    const size_t experts = (size_t)config->experts;
    recipe->block = parameter->shape[0] / experts;
    recipe->stride = row->parts * recipe->block;
    recipe->first = row->part * recipe->block;
    recipe->rows = 0;
    recipe->axes = 3;
    recipe->shape[0] = experts;
    recipe->shape[1] = recipe->stride;
    recipe->shape[2] = parameter->shape[1];
}

/* What a row says beyond the name of a tensor, or of equal parts of it. */
static void take_rows(const mgk_config *config, const mgk_tensor_row *row,
                      const mgk_parameter *parameter, mgk_recipe *recipe)
{
    if (row->fused == MGK_FUSED_EXPERTS)
        split_experts(config, row, parameter, recipe);
    else if (row->fused != MGK_FUSED_NOT)
        split_fused(config, row, recipe);
    else if (strchr(row->theirs, '*'))
        recipe->tensors = (size_t)config->experts;
}

/* Norms, and those of queries and keys, but no biases. */
static bool is_gain(const char *name)
{
    return strstr(name, "norm") && mgk_ends_with(name, ".weight");
}

/* What is rotated: queries, keys and their norms. */
static bool is_turned(const mgk_config *config, const char *name)
{
    const bool normed = config->query_norm == MGK_QUERY_NORM_HEAD;
    return strstr(name, "attention.query.") || strstr(name, "attention.key.") ||
           (normed &&
            (strstr(name, "attention.query_norm.") || strstr(name, "attention.key_norm.")));
}

mgk_status mgk_decoder_recipe(const mgk_checkpoint *checkpoint, const mgk_decoder *families,
                              const mgk_config *config, const mgk_parameter *parameter,
                              mgk_recipe *out)
{
    const mgk_decoder *family;
    char prefix[MGK_TENSOR_NAME];
    TRY(find_family(checkpoint, families, &family));
    const bool fused =
        family->fused && mgk_checkpoint_prefix(checkpoint, family->fused->anchor, prefix);
    const mgk_tensor_names *own = fused ? family->fused : family->names;
    const mgk_tensor_row *row = mgk_tensor_row_of(own, parameter->name);
    const mgk_tensor_names *names = row || !family->others ? own : family->others;
    TRY(mgk_hugging_face_language_model(checkpoint, names, family->output, parameter, out));
    if (row)
        take_rows(config, row, parameter, out);
    if (family->less_one && is_gain(parameter->name))
        out->more = 1;
    if (is_turned(config, parameter->name))
        mgk_rotary_order(config, family->interleaved, out);
    return family->mend ? family->mend(checkpoint, config, parameter, out) : STATUS_OK;
}
