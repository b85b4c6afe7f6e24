/* SPDX-License-Identifier: MIT */
/*
 * Hugging Face's llama: a pre-norm language model with RMS norms, rotary positions, a gated
 * feed-forward block and keys shared by several heads.
 */
#include <math.h>
#include <string.h>

#include "model/formats/format.h"
#include "model/formats/hugging_face.h"

static const mgk_tensor_row rows[] = {
    {.ours = "embedding.token.weight", .theirs = "embed_tokens.weight"},
    {.ours = "norm.weight", .theirs = "norm.weight"},
    {.ours = NULL},
};

static const mgk_tensor_row layer_rows[] = {
    {.ours = "attention.query.weight", .theirs = "self_attn.q_proj.weight"},
    {.ours = "attention.query.bias", .theirs = "self_attn.q_proj.bias"},
    {.ours = "attention.key.weight", .theirs = "self_attn.k_proj.weight"},
    {.ours = "attention.key.bias", .theirs = "self_attn.k_proj.bias"},
    {.ours = "attention.value.weight", .theirs = "self_attn.v_proj.weight"},
    {.ours = "attention.value.bias", .theirs = "self_attn.v_proj.bias"},
    {.ours = "attention.output.weight", .theirs = "self_attn.o_proj.weight"},
    {.ours = "attention.output.bias", .theirs = "self_attn.o_proj.bias"},
    {.ours = "norm1.weight", .theirs = "input_layernorm.weight"},
    {.ours = "norm2.weight", .theirs = "post_attention_layernorm.weight"},
    {.ours = "feed_forward.gate.weight", .theirs = "mlp.gate_proj.weight"},
    {.ours = "feed_forward.gate.bias", .theirs = "mlp.gate_proj.bias"},
    {.ours = "feed_forward.in.weight", .theirs = "mlp.up_proj.weight"},
    {.ours = "feed_forward.in.bias", .theirs = "mlp.up_proj.bias"},
    {.ours = "feed_forward.out.weight", .theirs = "mlp.down_proj.weight"},
    {.ours = "feed_forward.out.bias", .theirs = "mlp.down_proj.bias"},
    {.ours = NULL},
};

static const char root[] = "embed_tokens.weight";
static const mgk_tensor_names names = {root, "layers.", layer_rows, rows};

static mgk_status read_type(const mgk_checkpoint *checkpoint, const cJSON *scaling,
                            mgk_config *config)
{
    const char *name = "default";
    double factor = NAN;
    TRY(mgk_checkpoint_string_of(checkpoint, scaling, "type", &name));
    TRY(mgk_checkpoint_string_of(checkpoint, scaling, "rope_type", &name));
    TRY(mgk_checkpoint_real_of(checkpoint, scaling, "factor", &factor));
    if (strcmp(name, "linear") == 0)
        config->rotary_scaling = MGK_ROTARY_LINEAR;
    else if (strcmp(name, "llama3") == 0)
        config->rotary_scaling = MGK_ROTARY_LLAMA3;
    else if (strcmp(name, "default") != 0)
        return mgk_fail(STATUS_UNSUPPORTED, "%s: rope_type \"%.64s\" is not known",
                        checkpoint->config_path, name);
    if (config->rotary_scaling == MGK_ROTARY_PLAIN)
        return STATUS_OK;
    if (isnan(factor))
        return mgk_fail(STATUS_FORMAT, "%s: rope_type \"%s\" without a \"factor\"",
                        checkpoint->config_path, name);
    config->rotary_factor = factor;
    return STATUS_OK;
}

static mgk_status configure_rotary(const mgk_checkpoint *checkpoint, mgk_config *config)
{
    const cJSON *scaling, *newer;
    double original = config->rotary_original, part = 1;
    config->positions = MGK_POSITIONS_ROTARY;
    TRY(mgk_checkpoint_object(checkpoint, "rope_parameters", &newer));
    TRY(mgk_checkpoint_object(checkpoint, "rope_scaling", &scaling));
    /* Older files have rope_scaling; transformers prefers it if both exist. */
    scaling = scaling ? scaling : newer;
    TRY(read_type(checkpoint, scaling, config));
    TRY(mgk_checkpoint_real(checkpoint, "rope_theta", config->rotary_base, &config->rotary_base));
    TRY(mgk_checkpoint_real_of(checkpoint, newer, "rope_theta", &config->rotary_base));
    TRY(mgk_checkpoint_real(checkpoint, "partial_rotary_factor", 1, &part));
    TRY(mgk_checkpoint_real_of(checkpoint, newer, "partial_rotary_factor", &part));
    if (part != 1)
        return mgk_fail(STATUS_UNSUPPORTED, "%s: partial_rotary_factor %g is not known",
                        checkpoint->config_path, part);
    TRY(mgk_checkpoint_real_of(checkpoint, scaling, "low_freq_factor", &config->rotary_low));
    TRY(mgk_checkpoint_real_of(checkpoint, scaling, "high_freq_factor", &config->rotary_high));
    TRY(mgk_checkpoint_real_of(checkpoint, scaling, "original_max_position_embeddings", &original));
    config->rotary_original = original >= 1 && original <= 1 << 20 ? (int)original : 0;
    return STATUS_OK;
}

static mgk_status configure(const mgk_checkpoint *checkpoint, const mgk_model_options *options,
                            mgk_config *config)
{
    int usual;
    (void)options;
    mgk_config_defaults(MGK_FAMILY_LM, config);
    strcpy(config->attention, "softmax");
    config->mixtures = 1;
    config->pre_norm = config->gated = true;
    config->norm = MGK_NORMALIZATION_RMS;
    config->embedding_scale = 1;
    config->dropout = 0;
    TRY(mgk_checkpoint_needed(checkpoint, "num_attention_heads", &config->heads));
    TRY(mgk_checkpoint_needed(checkpoint, "hidden_size", &config->dim));
    usual = config->heads > 0 ? config->dim / config->heads : 0;
    TRY(mgk_checkpoint_integer(checkpoint, "head_dim", usual, &config->head_dim));
    TRY(mgk_checkpoint_integer(checkpoint, "num_key_value_heads", config->heads,
                               &config->key_heads));
    TRY(mgk_checkpoint_needed(checkpoint, "num_hidden_layers", &config->layers));
    TRY(mgk_checkpoint_needed(checkpoint, "intermediate_size", &config->hidden));
    TRY(mgk_checkpoint_needed(checkpoint, "vocab_size", &config->vocabulary));
    TRY(mgk_checkpoint_integer(checkpoint, "max_position_embeddings", 2048, &config->length));
    TRY(mgk_checkpoint_real(checkpoint, "rms_norm_eps", 1e-6, &config->norm_epsilon));
    TRY(mgk_checkpoint_flag(checkpoint, "attention_bias", false, &config->attention_bias));
    TRY(mgk_checkpoint_flag(checkpoint, "mlp_bias", false, &config->feed_forward_bias));
    TRY(mgk_hugging_face_activation(checkpoint, "hidden_act", "silu", &config->activation));
    TRY(mgk_hugging_face_padding(checkpoint, config));
    TRY(configure_rotary(checkpoint, config));
    return mgk_hugging_face_output(checkpoint, false, config);
}

static mgk_status recipe(const mgk_checkpoint *checkpoint, const mgk_config *config,
                         const mgk_parameter *parameter, mgk_recipe *out)
{
    (void)config;
    return mgk_hugging_face_language_model(checkpoint, &names, parameter, out);
}

static const char *const types[] = {"llama", NULL};

const mgk_model_format mgk_format_llama = {.name = "Hugging Face's llama",
                                           .model_types = types,
                                           .root = root,
                                           .anchor = "layers.0.self_attn.q_proj.weight",
                                           .configure = configure,
                                           .recipe = recipe};
