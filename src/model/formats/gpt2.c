/* SPDX-License-Identifier: MIT */
/*
 * Hugging Face's gpt2, gpt_bigcode, gpt_neo, gptj and codegen. gpt2 is a pre-norm language model
 * with learned positions, its output usually tied to the embedding; weights are [in, out], and
 * those of queries, keys and values are adjacent. In gpt_bigcode all heads share a key, and weights
 * are [out, in]. gpt_neo does not scale its scores, and some of its layers have a window. gptj and
 * codegen have rotary positions and parallel blocks.
 */
#include <string.h>

#include "model/formats/decoder.h"
#include "model/formats/format.h"

static const mgk_tensor_row rows[] = {
    {.ours = "embedding.token.weight", .theirs = "wte.weight"},
    {.ours = "embedding.position.weight", .theirs = "wpe.weight"},
    {.ours = "norm.weight", .theirs = "ln_f.weight"},
    {.ours = "norm.bias", .theirs = "ln_f.bias"},
    {.ours = NULL},
};

static const mgk_tensor_row gpt2_rows[] = {
    {.ours = "attention.query.weight",
     .theirs = "attn.c_attn.weight",
     .transposed = true,
     .part = 0,
     .parts = 3},
    {.ours = "attention.key.weight",
     .theirs = "attn.c_attn.weight",
     .transposed = true,
     .part = 1,
     .parts = 3},
    {.ours = "attention.value.weight",
     .theirs = "attn.c_attn.weight",
     .transposed = true,
     .part = 2,
     .parts = 3},
    {.ours = "attention.query.bias", .theirs = "attn.c_attn.bias", .part = 0, .parts = 3},
    {.ours = "attention.key.bias", .theirs = "attn.c_attn.bias", .part = 1, .parts = 3},
    {.ours = "attention.value.bias", .theirs = "attn.c_attn.bias", .part = 2, .parts = 3},
    {.ours = "attention.output.weight", .theirs = "attn.c_proj.weight", .transposed = true},
    {.ours = "attention.output.bias", .theirs = "attn.c_proj.bias"},
    {.ours = "norm1.weight", .theirs = "ln_1.weight"},
    {.ours = "norm1.bias", .theirs = "ln_1.bias"},
    {.ours = "feed_forward.in.weight", .theirs = "mlp.c_fc.weight", .transposed = true},
    {.ours = "feed_forward.in.bias", .theirs = "mlp.c_fc.bias"},
    {.ours = "feed_forward.out.weight", .theirs = "mlp.c_proj.weight", .transposed = true},
    {.ours = "feed_forward.out.bias", .theirs = "mlp.c_proj.bias"},
    {.ours = "norm2.weight", .theirs = "ln_2.weight"},
    {.ours = "norm2.bias", .theirs = "ln_2.bias"},
    {.ours = NULL},
};

static const mgk_tensor_row neo_rows[] = {
    {.ours = "attention.query.weight", .theirs = "attn.attention.q_proj.weight"},
    {.ours = "attention.key.weight", .theirs = "attn.attention.k_proj.weight"},
    {.ours = "attention.value.weight", .theirs = "attn.attention.v_proj.weight"},
    {.ours = "attention.output.weight", .theirs = "attn.attention.out_proj.weight"},
    {.ours = "attention.output.bias", .theirs = "attn.attention.out_proj.bias"},
    {.ours = "norm1.weight", .theirs = "ln_1.weight"},
    {.ours = "norm1.bias", .theirs = "ln_1.bias"},
    {.ours = "feed_forward.in.weight", .theirs = "mlp.c_fc.weight"},
    {.ours = "feed_forward.in.bias", .theirs = "mlp.c_fc.bias"},
    {.ours = "feed_forward.out.weight", .theirs = "mlp.c_proj.weight"},
    {.ours = "feed_forward.out.bias", .theirs = "mlp.c_proj.bias"},
    {.ours = "norm2.weight", .theirs = "ln_2.weight"},
    {.ours = "norm2.bias", .theirs = "ln_2.bias"},
    {.ours = NULL},
};

static const mgk_tensor_row gptj_rows[] = {
    {.ours = "attention.query.weight", .theirs = "attn.q_proj.weight"},
    {.ours = "attention.key.weight", .theirs = "attn.k_proj.weight"},
    {.ours = "attention.value.weight", .theirs = "attn.v_proj.weight"},
    {.ours = "attention.output.weight", .theirs = "attn.out_proj.weight"},
    {.ours = "norm1.weight", .theirs = "ln_1.weight"},
    {.ours = "norm1.bias", .theirs = "ln_1.bias"},
    {.ours = "feed_forward.in.weight", .theirs = "mlp.fc_in.weight"},
    {.ours = "feed_forward.in.bias", .theirs = "mlp.fc_in.bias"},
    {.ours = "feed_forward.out.weight", .theirs = "mlp.fc_out.weight"},
    {.ours = "feed_forward.out.bias", .theirs = "mlp.fc_out.bias"},
    {.ours = NULL},
};

/* The model was trained in four parts, whose queries, values and keys follow each other. */
static const mgk_tensor_row codegen_rows[] = {
    {.ours = "attention.query.weight",
     .theirs = "attn.qkv_proj.weight",
     .part = 0,
     .fused = MGK_FUSED_BY_QUARTER},
    {.ours = "attention.value.weight",
     .theirs = "attn.qkv_proj.weight",
     .part = 1,
     .fused = MGK_FUSED_BY_QUARTER},
    {.ours = "attention.key.weight",
     .theirs = "attn.qkv_proj.weight",
     .part = 2,
     .fused = MGK_FUSED_BY_QUARTER},
    {.ours = NULL},
};

/* With one key head the rows of a group are those of all. */
static const mgk_tensor_row bigcode_rows[] = {
    {.ours = "attention.query.weight",
     .theirs = "attn.c_attn.weight",
     .part = 0,
     .fused = MGK_FUSED_BY_GROUP},
    {.ours = "attention.key.weight",
     .theirs = "attn.c_attn.weight",
     .part = 1,
     .fused = MGK_FUSED_BY_GROUP},
    {.ours = "attention.value.weight",
     .theirs = "attn.c_attn.weight",
     .part = 2,
     .fused = MGK_FUSED_BY_GROUP},
    {.ours = "attention.query.bias",
     .theirs = "attn.c_attn.bias",
     .part = 0,
     .fused = MGK_FUSED_BY_GROUP},
    {.ours = "attention.key.bias",
     .theirs = "attn.c_attn.bias",
     .part = 1,
     .fused = MGK_FUSED_BY_GROUP},
    {.ours = "attention.value.bias",
     .theirs = "attn.c_attn.bias",
     .part = 2,
     .fused = MGK_FUSED_BY_GROUP},
    {.ours = "attention.output.weight", .theirs = "attn.c_proj.weight"},
    {.ours = "attention.output.bias", .theirs = "attn.c_proj.bias"},
    {.ours = NULL},
};

static const char root[] = "wte.weight";
static const mgk_tensor_names gpt2_names = {root, "h.", gpt2_rows, rows};
static const mgk_tensor_names neo_names = {root, "h.", neo_rows, rows};
static const mgk_tensor_names gptj_names = {root, "h.", gptj_rows, rows};
static const mgk_tensor_names codegen_names = {root, "h.", codegen_rows, NULL};
static const mgk_tensor_names bigcode_names = {root, "h.", bigcode_rows, NULL};

static const mgk_setting shared_own[] = {
    {"heads", "n_head", MGK_NEEDED},
    {"dim", "n_embd", MGK_NEEDED},
    {"layers", "n_layer", MGK_NEEDED},
    {"vocabulary", "vocab_size", MGK_NEEDED},
    {"length", "n_positions", MGK_NEEDED},
    {"hidden", "n_inner", 0},
    {"norm_epsilon", "layer_norm_epsilon", 1e-5},
    {"activation", "activation_function", MGK_ACTIVATION_GELU_TANH},
    {"pre_norm", NULL, true},
    {"output_bias", NULL, false},
    {NULL, NULL, 0},
};
static const mgk_settings shared = {NULL, shared_own};

static const mgk_setting learned_own[] = {
    {"attention_bias", NULL, true},
    {"positions", NULL, MGK_POSITIONS_LEARNED},
    {NULL, "scale_attn_weights", true},
    {NULL, "add_cross_attention", false},
    {NULL, NULL, 0},
};
static const mgk_settings learned = {&shared, learned_own};

static const mgk_setting gpt2_own[] = {
    {NULL, "scale_attn_by_inverse_layer_idx", false},
    {NULL, NULL, 0},
};
static const mgk_settings gpt2 = {&learned, gpt2_own};

static const mgk_setting neo_own[] = {
    {"heads", "num_heads|num_attention_heads", MGK_NEEDED},
    {"dim", "hidden_size", MGK_NEEDED},
    {"layers", "num_layers|num_hidden_layers", MGK_NEEDED},
    {"length", "max_position_embeddings", 2048},
    {"hidden", "intermediate_size", 0},
    {"window", "window_size", 256},
    {"attention_bias", NULL, false},
    {"attention_output_bias", NULL, MGK_OUTPUT_BIAS_OWN},
    {"attention_scale", NULL, 1},
    {"positions", NULL, MGK_POSITIONS_LEARNED},
    {NULL, NULL, 0},
};
static const mgk_settings neo = {&shared, neo_own};

static const mgk_setting gptj_own[] = {
    {"positions", NULL, MGK_POSITIONS_ROTARY},
    {"rotary_dim", "rotary_dim", 64},
    {NULL, "rope_theta", 10000}, /* its base, whatever the file says */
    {NULL, "rope_scaling", 0},
    {NULL, "rope_parameters", 0},
    {"parallel", NULL, MGK_PARALLEL_SHARED},
    {"output_bias", NULL, true},
    {NULL, NULL, 0},
};
static const mgk_settings gptj = {&shared, gptj_own};

static mgk_status adjust(const mgk_checkpoint *checkpoint, mgk_config *config)
{
    (void)checkpoint;
    if (config->hidden == 0)
        config->hidden = config->dim <= 1 << 18 ? 4 * config->dim : 0;
    return STATUS_OK;
}

static mgk_status adjust_codegen(const mgk_checkpoint *checkpoint, mgk_config *config)
{
    if (config->rotary_dim < 1)
        return mgk_fail(STATUS_FORMAT, "%s: \"rotary_dim\" is %d, expected at least 1",
                        checkpoint->config_path, config->rotary_dim);
    if (config->dim % 4 != 0)
        return mgk_fail(STATUS_FORMAT, "%s: \"n_embd\" is %d, expected a multiple of 4",
                        checkpoint->config_path, config->dim);
    return adjust(checkpoint, config);
}

static mgk_status adjust_bigcode(const mgk_checkpoint *checkpoint, mgk_config *config)
{
    bool single;
    TRY(mgk_checkpoint_flag(checkpoint, "multi_query", true, &single));
    config->key_heads = single ? 1 : config->heads;
    return adjust(checkpoint, config);
}

/* Layer `layer` of gpt_neo by its word, one of the value of `key`. `known`: the layer is known. */
static mgk_status take_layer(const mgk_checkpoint *checkpoint, const char *key, const cJSON *item,
                             int layer, bool known, mgk_config *config)
{
    const char *word = cJSON_IsString(item) ? item->valuestring : "";
    const bool local = strcmp(word, "local") == 0;
    if (!local && strcmp(word, "global") != 0)
        return mgk_fail(STATUS_UNSUPPORTED, "%s: \"%s\" names \"%.64s\", which is not known",
                        checkpoint->config_path, key, word);
    if (layer >= config->layers)
        return mgk_fail(STATUS_FORMAT, "%s: \"%s\" names more than %d layers",
                        checkpoint->config_path, key, config->layers);
    if (known && local != mgk_config_is_local(config, layer))
        return mgk_fail(STATUS_FORMAT, "%s: \"%s\" differs from \"attention_layers\"",
                        checkpoint->config_path, key);
    if (local)
        mgk_config_set_local(config, layer);
    return STATUS_OK;
}

/* "attention_layers": a word for each layer; *count 0: there is none. */
static mgk_status read_layers(const mgk_checkpoint *checkpoint, mgk_config *config, int *count)
{
    static const char key[] = "attention_layers";
    const cJSON *item, *list = cJSON_GetObjectItemCaseSensitive(checkpoint->config, key);
    *count = 0;
    if (list && !cJSON_IsArray(list) && !cJSON_IsNull(list))
        return mgk_fail(STATUS_FORMAT, "%s: \"%s\" is not a list of words", checkpoint->config_path,
                        key);
    cJSON_ArrayForEach(item, list)
        TRY(take_layer(checkpoint, key, item, (*count)++, false, config));
    return STATUS_OK;
}

/* "attention_types": [[["global", "local"], 6], …], so many times these words. */
static mgk_status read_types(const mgk_checkpoint *checkpoint, bool known, mgk_config *config,
                             int *count)
{
    static const char key[] = "attention_types";
    const cJSON *part, *item, *list = cJSON_GetObjectItemCaseSensitive(checkpoint->config, key);
    *count = 0;
    cJSON_ArrayForEach(part, list)
    {
        const cJSON *words = cJSON_GetArrayItem(part, 0), *times = cJSON_GetArrayItem(part, 1);
        if (!cJSON_IsArray(part) || !cJSON_IsArray(words) || cJSON_GetArraySize(words) == 0 ||
            !cJSON_IsNumber(times) || times->valuedouble != times->valueint)
            return mgk_fail(STATUS_FORMAT, "%s: \"%s\" is not made of lists of words and numbers",
                            checkpoint->config_path, key);
        for (int i = 0; i < times->valueint; i++)
            cJSON_ArrayForEach(item, words)
                TRY(take_layer(checkpoint, key, item, (*count)++, known, config));
    }
    return STATUS_OK;
}

static mgk_status check_count(const mgk_checkpoint *checkpoint, const char *key, int count,
                              const mgk_config *config)
{
    return count == config->layers
               ? STATUS_OK
               : mgk_fail(STATUS_FORMAT, "%s: \"%s\" names %d layers, expected %d",
                          checkpoint->config_path, key, count, config->layers);
}

/* Files have both lists, and transformers follows the first. Without any it has 24 layers, which is
 * not read: a list names as many layers as there are. */
static mgk_status adjust_neo(const mgk_checkpoint *checkpoint, mgk_config *config)
{
    int layers, types;
    if (config->layers < 1 || config->layers > MGK_MAX_LAYERS)
        return STATUS_OK; /* mgk_config_resolve refuses such a number */
    TRY(read_layers(checkpoint, config, &layers));
    if (layers > 0)
        TRY(check_count(checkpoint, "attention_layers", layers, config));
    TRY(read_types(checkpoint, layers > 0, config, &types));
    if (types > 0 || layers == 0)
        TRY(check_count(checkpoint, "attention_types", types, config));
    if (config->window < 1)
        return mgk_fail(STATUS_FORMAT, "%s: \"window_size\" is %d, expected at least 1",
                        checkpoint->config_path, config->window);
    return adjust(checkpoint, config);
}

static const mgk_decoder families[] = {
    {.type = "gpt2", .settings = &gpt2, .names = &gpt2_names, .tied = true, .adjust = adjust},
    {.type = "gpt_bigcode",
     .settings = &learned,
     .names = &bigcode_names,
     .others = &neo_names,
     .tied = true,
     .adjust = adjust_bigcode},
    {.type = "gpt_neo",
     .settings = &neo,
     .names = &neo_names,
     .tied = true,
     .local = MGK_LOCAL_OWN,
     .adjust = adjust_neo},
    {.type = "gptj",
     .settings = &gptj,
     .names = &gptj_names,
     .interleaved = true,
     .adjust = adjust},
    {.type = "codegen",
     .settings = &gptj,
     .names = &codegen_names,
     .others = &gptj_names,
     .interleaved = true,
     .adjust = adjust_codegen},
    {.type = NULL},
};

const mgk_model_format mgk_format_gpt2 = {
    .name = "Hugging Face's gpt2, gpt_bigcode, gpt_neo, gptj, codegen",
    .families = families,
    .root = root,
    .anchor = "h.0.attn.c_attn.weight"};
