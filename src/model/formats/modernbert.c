/* SPDX-License-Identifier: MIT */
/*
 * Hugging Face's modernbert: a pre-norm encoder with rotary positions and gated feed-forward
 * blocks. Most layers are local, with a base of their own; layer 0 reads the embeddings, which are
 * normalised already. Queries, keys and values are one tensor, the gate and its input another.
 */
#include <string.h>

#include "model/formats/format.h"
#include "model/formats/hugging_face.h"

static const mgk_tensor_row rows[] = {
    {.ours = "embedding.token.weight", .theirs = "embeddings.tok_embeddings.weight"},
    {.ours = "embedding.norm.weight", .theirs = "embeddings.norm.weight"},
    {.ours = "embedding.norm.bias", .theirs = "embeddings.norm.bias"},
    {.ours = "norm.weight", .theirs = "final_norm.weight"},
    {.ours = "norm.bias", .theirs = "final_norm.bias"},
    {.ours = NULL},
};

static const mgk_tensor_row layer_rows[] = {
    {.ours = "attention.query.weight", .theirs = "attn.Wqkv.weight", .part = 0, .parts = 3},
    {.ours = "attention.key.weight", .theirs = "attn.Wqkv.weight", .part = 1, .parts = 3},
    {.ours = "attention.value.weight", .theirs = "attn.Wqkv.weight", .part = 2, .parts = 3},
    {.ours = "attention.query.bias", .theirs = "attn.Wqkv.bias", .part = 0, .parts = 3},
    {.ours = "attention.key.bias", .theirs = "attn.Wqkv.bias", .part = 1, .parts = 3},
    {.ours = "attention.value.bias", .theirs = "attn.Wqkv.bias", .part = 2, .parts = 3},
    {.ours = "attention.output.weight", .theirs = "attn.Wo.weight"},
    {.ours = "attention.output.bias", .theirs = "attn.Wo.bias"},
    {.ours = "norm1.weight", .theirs = "attn_norm.weight"},
    {.ours = "norm1.bias", .theirs = "attn_norm.bias"},
    {.ours = "feed_forward.gate.weight", .theirs = "mlp.Wi.weight", .part = 0, .parts = 2},
    {.ours = "feed_forward.in.weight", .theirs = "mlp.Wi.weight", .part = 1, .parts = 2},
    {.ours = "feed_forward.gate.bias", .theirs = "mlp.Wi.bias", .part = 0, .parts = 2},
    {.ours = "feed_forward.in.bias", .theirs = "mlp.Wi.bias", .part = 1, .parts = 2},
    {.ours = "feed_forward.out.weight", .theirs = "mlp.Wo.weight"},
    {.ours = "feed_forward.out.bias", .theirs = "mlp.Wo.bias"},
    {.ours = "norm2.weight", .theirs = "mlp_norm.weight"},
    {.ours = "norm2.bias", .theirs = "mlp_norm.bias"},
    {.ours = NULL},
};

static const char anchor[] = "embeddings.tok_embeddings.weight";
static const mgk_tensor_names names = {anchor, "layers.", layer_rows, rows};

/* The base of one kind of layer: an old key of its own, or in "rope_parameters". */
static mgk_status read_base(const mgk_checkpoint *checkpoint, const cJSON *parameters,
                            const char *kind, const char *old, double fallback, double *out)
{
    const cJSON *own = cJSON_GetObjectItemCaseSensitive(parameters, kind);
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(checkpoint->config, old);
    const char *type = "default";
    if (cJSON_IsNull(item)) /* once the other base, now an error */
        return mgk_fail(STATUS_UNSUPPORTED, "%s: %s null is not known", checkpoint->config_path,
                        old);
    if (parameters && !own)
        return mgk_fail(STATUS_UNSUPPORTED, "%s: rope_parameters without \"%s\"",
                        checkpoint->config_path, kind);
    TRY(mgk_checkpoint_real(checkpoint, old, fallback, out));
    TRY(mgk_checkpoint_real_of(checkpoint, own, "rope_theta", out));
    TRY(mgk_checkpoint_string_of(checkpoint, own, "rope_type", &type));
    return strcmp(type, "default") == 0
               ? STATUS_OK
               : mgk_fail(STATUS_UNSUPPORTED, "%s: rope_type \"%.64s\" is not known",
                          checkpoint->config_path, type);
}

/* Which layers are local: "layer_types", or all but every n-th in old files. */
static mgk_status read_layers(const mgk_checkpoint *checkpoint, mgk_config *config)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(checkpoint->config, "layer_types");
    const int layers = config->layers < MGK_MAX_LAYERS ? config->layers : MGK_MAX_LAYERS;
    int every;
    list = cJSON_IsNull(list) ? NULL : list;
    TRY(mgk_checkpoint_integer(checkpoint, "global_attn_every_n_layers", 3, &every));
    if (every < 1)
        return mgk_fail(STATUS_FORMAT, "%s: global_attn_every_n_layers %d: expected at least 1",
                        checkpoint->config_path, every);
    if (list && (!cJSON_IsArray(list) || cJSON_GetArraySize(list) != config->layers))
        return mgk_fail(STATUS_FORMAT, "%s: layer_types does not name %d layers",
                        checkpoint->config_path, config->layers);
    const cJSON *item = list ? list->child : NULL;
    for (int layer = 0; layer < layers; layer++, item = item ? item->next : NULL) {
        const char *kind = list ? cJSON_GetStringValue(item) : NULL;
        bool local = kind ? strcmp(kind, "sliding_attention") == 0 : layer % every != 0;
        if (list && (!kind || (!local && strcmp(kind, "full_attention") != 0)))
            return mgk_fail(STATUS_UNSUPPORTED, "%s: layer_types: that of layer %d is not known",
                            checkpoint->config_path, layer);
        if (local)
            mgk_config_set_local(config, layer);
    }
    return STATUS_OK;
}

static mgk_status configure_positions(const mgk_checkpoint *checkpoint, mgk_config *config)
{
    const cJSON *parameters, *scaling;
    int width, side;
    config->positions = MGK_POSITIONS_ROTARY;
    TRY(mgk_checkpoint_object(checkpoint, "rope_parameters", &parameters));
    TRY(mgk_checkpoint_object(checkpoint, "rope_scaling", &scaling));
    if (scaling)
        return mgk_fail(STATUS_UNSUPPORTED, "%s: \"rope_scaling\" is not known",
                        checkpoint->config_path);
    TRY(read_base(checkpoint, parameters, "full_attention", "global_rope_theta", 160000,
                  &config->rotary_base));
    TRY(read_base(checkpoint, parameters, "sliding_attention", "local_rope_theta", 10000,
                  &config->local_base));
    TRY(mgk_checkpoint_integer(checkpoint, "local_attention", 128, &width));
    if (width < 0 || width > 1 << 21)
        return mgk_fail(STATUS_FORMAT, "%s: local_attention %d: expected 0 to %d",
                        checkpoint->config_path, width, 1 << 21);
    TRY(mgk_checkpoint_integer(checkpoint, "sliding_window", width / 2, &side));
    if (side != width / 2)
        return mgk_fail(STATUS_UNSUPPORTED,
                        "%s: sliding_window %d and local_attention %d: expected half of it",
                        checkpoint->config_path, side, width);
    config->window = width / 2 + 1; /* so many keys on each side, the own one included */
    return read_layers(checkpoint, config);
}

static mgk_status configure(const mgk_checkpoint *checkpoint, const mgk_model_options *options,
                            mgk_config *config)
{
    bool norm_bias;
    (void)options;
    mgk_config_defaults(MGK_FAMILY_ENCODER, config);
    strcpy(config->attention, "softmax");
    config->mixtures = 1;
    config->classes = 0;
    config->dropout = 0;
    config->gated = config->embedding_norm = true;
    config->first_norm = false;
    TRY(mgk_hugging_face_heads(checkpoint, "num_attention_heads", "hidden_size", config));
    TRY(mgk_checkpoint_needed(checkpoint, "num_hidden_layers", &config->layers));
    TRY(mgk_checkpoint_needed(checkpoint, "intermediate_size", &config->hidden));
    TRY(mgk_checkpoint_needed(checkpoint, "vocab_size", &config->vocabulary));
    TRY(mgk_checkpoint_integer(checkpoint, "max_position_embeddings", 8192, &config->length));
    TRY(mgk_checkpoint_real(checkpoint, "norm_eps", 1e-5, &config->norm_epsilon));
    TRY(mgk_checkpoint_flag(checkpoint, "norm_bias", false, &norm_bias));
    TRY(mgk_checkpoint_flag(checkpoint, "attention_bias", false, &config->attention_bias));
    TRY(mgk_checkpoint_flag(checkpoint, "mlp_bias", false, &config->feed_forward_bias));
    TRY(mgk_hugging_face_activation(checkpoint, "hidden_activation", "gelu", &config->activation));
    TRY(mgk_hugging_face_padding(checkpoint, config));
    config->norm_parameters = norm_bias ? MGK_NORM_ALL : MGK_NORM_WEIGHT;
    return configure_positions(checkpoint, config);
}

static mgk_status recipe(const mgk_checkpoint *checkpoint, const mgk_config *config,
                         const mgk_parameter *parameter, mgk_recipe *out)
{
    (void)config;
    return mgk_recipe_by_names(checkpoint, &names, parameter, out);
}

static const char *const types[] = {"modernbert", NULL};

const mgk_model_format mgk_format_modernbert = {.name = "Hugging Face's modernbert",
                                                .model_types = types,
                                                .root = anchor,
                                                .configure = configure,
                                                .recipe = recipe};
