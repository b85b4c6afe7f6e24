/* SPDX-License-Identifier: MIT */
/*
 * Hugging Face's clip_text_model: a pre-norm encoder with a causal mask and learned positions. The
 * model of pictures is in vit.c.
 */
#include "model/formats/clip.h"

#include <string.h>

#include "base/memory.h"
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

static mgk_status scale(const mgk_checkpoint *checkpoint, const mgk_recipe *recipe,
                        const mgk_parameter *parameter, double factor, double *values)
{
    const mgk_tensor_info *tensor;
    TRY(mgk_checkpoint_expect(checkpoint, recipe->name, parameter->axes, parameter->shape,
                              &tensor));
    if (!values)
        return STATUS_OK;
    TRY(mgk_tensors_read(checkpoint->tensors, tensor, 0, tensor->count, MGK_DTYPE_F64, values));
    for (size_t i = 0; i < parameter->count; i++)
        values[i] *= factor;
    return STATUS_OK;
}

static const double steepness = 1.702;

static mgk_status compute_in(const mgk_checkpoint *checkpoint, const mgk_config *config,
                             const mgk_recipe *recipe, const mgk_parameter *parameter,
                             double *values)
{
    (void)config;
    return scale(checkpoint, recipe, parameter, steepness, values);
}

static mgk_status compute_out(const mgk_checkpoint *checkpoint, const mgk_config *config,
                              const mgk_recipe *recipe, const mgk_parameter *parameter,
                              double *values)
{
    (void)config;
    return scale(checkpoint, recipe, parameter, 1 / steepness, values);
}

mgk_status mgk_clip_recipe(const mgk_checkpoint *checkpoint, const char *fallback, const char *name,
                           mgk_recipe *out)
{
    bool quick;
    TRY(is_quick(checkpoint, fallback, &quick));
    if (quick && strncmp(name, "feed_forward.in.", strlen("feed_forward.in.")) == 0)
        out->compute = compute_in;
    if (quick && strcmp(name, "feed_forward.out.weight") == 0)
        out->compute = compute_out;
    return STATUS_OK;
}

static mgk_status configure(const mgk_checkpoint *checkpoint, const mgk_model_options *options,
                            mgk_config *config)
{
    (void)options;
    mgk_config_defaults(MGK_FAMILY_ENCODER, config);
    strcpy(config->attention, "softmax");
    config->mixtures = 1;
    config->classes = 0;
    config->causal = true;
    config->dropout = 0;
    TRY(mgk_hugging_face_heads(checkpoint, "num_attention_heads", "hidden_size", config));
    TRY(mgk_checkpoint_needed(checkpoint, "num_hidden_layers", &config->layers));
    TRY(mgk_checkpoint_needed(checkpoint, "intermediate_size", &config->hidden));
    TRY(mgk_checkpoint_needed(checkpoint, "vocab_size", &config->vocabulary));
    TRY(mgk_checkpoint_needed(checkpoint, "max_position_embeddings", &config->length));
    TRY(mgk_clip_activation(checkpoint, "quick_gelu", &config->activation));
    return mgk_checkpoint_real(checkpoint, "layer_norm_eps", 1e-5, &config->norm_epsilon);
}

static mgk_status recipe(const mgk_checkpoint *checkpoint, const mgk_config *config,
                         const mgk_parameter *parameter, mgk_recipe *out)
{
    int layer;
    const char *name = mgk_layer_of_name(parameter->name, &layer);
    (void)config;
    TRY(mgk_recipe_by_names(checkpoint, &names, parameter, out));
    return layer >= 0 ? mgk_clip_recipe(checkpoint, "quick_gelu", name, out) : STATUS_OK;
}

static const char *const types[] = {"clip_text_model", NULL};

const mgk_model_format mgk_format_clip_text = {.name = "Hugging Face's clip, text",
                                               .model_types = types,
                                               .root = anchor,
                                               .configure = configure,
                                               .recipe = recipe};
