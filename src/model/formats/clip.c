/* SPDX-License-Identifier: MIT */
/*
 * Hugging Face's models of text in clip and siglip: pre-norm encoders with learned positions, that
 * of clip with a causal mask. The models of pictures are in vit.c.
 */
#include "model/formats/clip.h"

#include <string.h>

#include "model/formats/format.h"
#include "model/formats/hugging_face.h"

const mgk_tensor_row mgk_clip_rows[] = {
    {.ours = "attention.query.weight", .theirs = "self_attn.q_proj.weight"},
    {.ours = "attention.query.bias", .theirs = "self_attn.q_proj.bias"},
    {.ours = "attention.key.weight", .theirs = "self_attn.k_proj.weight"},
    {.ours = "attention.key.bias", .theirs = "self_attn.k_proj.bias"},
    {.ours = "attention.value.weight", .theirs = "self_attn.v_proj.weight"},
    {.ours = "attention.value.bias", .theirs = "self_attn.v_proj.bias"},
    {.ours = "attention.output.weight", .theirs = "self_attn.out_proj.weight"},
    {.ours = "attention.output.bias", .theirs = "self_attn.out_proj.bias"},
    {.ours = "norm1.weight", .theirs = "layer_norm1.weight"},
    {.ours = "norm1.bias", .theirs = "layer_norm1.bias"},
    {.ours = "feed_forward.in.weight", .theirs = "mlp.fc1.weight"},
    {.ours = "feed_forward.in.bias", .theirs = "mlp.fc1.bias"},
    {.ours = "feed_forward.out.weight", .theirs = "mlp.fc2.weight"},
    {.ours = "feed_forward.out.bias", .theirs = "mlp.fc2.bias"},
    {.ours = "norm2.weight", .theirs = "layer_norm2.weight"},
    {.ours = "norm2.bias", .theirs = "layer_norm2.bias"},
    {.ours = NULL},
};

static const mgk_tensor_row rows[] = {
    {.ours = "embedding.token.weight", .theirs = "embeddings.token_embedding.weight"},
    {.ours = "embedding.position.weight", .theirs = "embeddings.position_embedding.weight"},
    {.ours = "norm.weight", .theirs = "final_layer_norm.weight"},
    {.ours = "norm.bias", .theirs = "final_layer_norm.bias"},
    {.ours = NULL},
};

static const char anchor[] = "embeddings.token_embedding.weight";
static const mgk_tensor_names names = {anchor, "encoder.layers.", mgk_clip_rows, rows};

static mgk_status is_quick(const mgk_checkpoint *checkpoint, const char *fallback, bool *out)
{
    const char *name;
    TRY(mgk_checkpoint_string(checkpoint, "hidden_act", fallback, &name));
    *out = strcmp(name, "quick_gelu") == 0;
    return STATUS_OK;
}

mgk_status mgk_clip_activation(const mgk_checkpoint *checkpoint, const char *fallback,
                               mgk_activation *out)
{
    bool quick;
    TRY(is_quick(checkpoint, fallback, &quick));
    *out = MGK_ACTIVATION_SILU;
    return quick ? STATUS_OK : mgk_hugging_face_activation(checkpoint, "hidden_act", fallback, out);
}

static const double steepness = 1.702;

mgk_status mgk_clip_recipe(const mgk_checkpoint *checkpoint, const char *fallback, const char *name,
                           mgk_recipe *out)
{
    bool quick;
    TRY(is_quick(checkpoint, fallback, &quick));
    if (quick && strncmp(name, "feed_forward.in.", strlen("feed_forward.in.")) == 0)
        out->times = steepness;
    if (quick && strcmp(name, "feed_forward.out.weight") == 0)
        out->times = 1 / steepness;
    return STATUS_OK;
}

static bool is_clip(const mgk_checkpoint *checkpoint)
{
    const char *type;
    return mgk_checkpoint_string(checkpoint, "model_type", "", &type) == STATUS_OK &&
           strcmp(type, "clip_text_model") == 0;
}

/* The default activation. */
static const char *usual(const mgk_checkpoint *checkpoint)
{
    return is_clip(checkpoint) ? "quick_gelu" : "gelu_pytorch_tanh";
}

static mgk_status configure(const mgk_checkpoint *checkpoint, const mgk_model_options *options,
                            mgk_config *config)
{
    (void)options;
    mgk_config_defaults(MGK_FAMILY_ENCODER, config);
    strcpy(config->attention, "softmax");
    config->mixtures = 1;
    config->classes = 0;
    config->causal = is_clip(checkpoint);
    if (config->causal)
        TRY(mgk_hugging_face_causal(checkpoint));
    config->dropout = 0;
    TRY(mgk_hugging_face_heads(checkpoint, "num_attention_heads", "hidden_size", config));
    TRY(mgk_checkpoint_needed(checkpoint, "num_hidden_layers", &config->layers));
    TRY(mgk_checkpoint_needed(checkpoint, "intermediate_size", &config->hidden));
    TRY(mgk_checkpoint_needed(checkpoint, "vocab_size", &config->vocabulary));
    TRY(mgk_checkpoint_needed(checkpoint, "max_position_embeddings", &config->length));
    TRY(mgk_clip_activation(checkpoint, usual(checkpoint), &config->activation));
    return mgk_checkpoint_real(checkpoint, "layer_norm_eps", is_clip(checkpoint) ? 1e-5 : 1e-6,
                               &config->norm_epsilon);
}

static mgk_status recipe(const mgk_checkpoint *checkpoint, const mgk_config *config,
                         const mgk_parameter *parameter, mgk_recipe *out)
{
    int layer;
    const char *name = mgk_layer_of_name(parameter->name, &layer);
    (void)config;
    TRY(mgk_recipe_by_names(checkpoint, &names, parameter, out));
    return layer >= 0 ? mgk_clip_recipe(checkpoint, usual(checkpoint), name, out) : STATUS_OK;
}

static const char *const types[] = {"clip_text_model", "siglip_text_model", NULL};
static const char *const apart[] = {"head", NULL};

const mgk_model_format mgk_format_clip_text = {.name = "Hugging Face's clip, text",
                                               .apart = apart,
                                               .model_types = types,
                                               .root = anchor,
                                               .configure = configure,
                                               .recipe = recipe};
