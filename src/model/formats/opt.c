/* SPDX-License-Identifier: MIT */
/*
 * Hugging Face's opt: a language model with learned positions and ReLU, with norms before its
 * blocks, or, in one size, after the sums. The table of positions begins with two rows that no
 * token has.
 */
#include <string.h>

#include "model/formats/decoder.h"
#include "model/formats/format.h"

static const mgk_tensor_row rows[] = {
    {.ours = "embedding.token.weight", .theirs = "embed_tokens.weight"},
    {.ours = "embedding.position.weight", .theirs = "embed_positions.weight"},
    {.ours = "embedding.projection.weight", .theirs = "project_in.weight"},
    {.ours = "output.projection.weight", .theirs = "project_out.weight"},
    {.ours = "norm.weight", .theirs = "final_layer_norm.weight"},
    {.ours = "norm.bias", .theirs = "final_layer_norm.bias"},
    {.ours = NULL},
};

static const mgk_tensor_row layer_rows[] = {
    {.ours = "attention.query.weight", .theirs = "self_attn.q_proj.weight"},
    {.ours = "attention.query.bias", .theirs = "self_attn.q_proj.bias"},
    {.ours = "attention.key.weight", .theirs = "self_attn.k_proj.weight"},
    {.ours = "attention.key.bias", .theirs = "self_attn.k_proj.bias"},
    {.ours = "attention.value.weight", .theirs = "self_attn.v_proj.weight"},
    {.ours = "attention.value.bias", .theirs = "self_attn.v_proj.bias"},
    {.ours = "attention.output.weight", .theirs = "self_attn.out_proj.weight"},
    {.ours = "attention.output.bias", .theirs = "self_attn.out_proj.bias"},
    {.ours = "norm1.weight", .theirs = "self_attn_layer_norm.weight"},
    {.ours = "norm1.bias", .theirs = "self_attn_layer_norm.bias"},
    {.ours = "feed_forward.in.weight", .theirs = "fc1.weight"},
    {.ours = "feed_forward.in.bias", .theirs = "fc1.bias"},
    {.ours = "feed_forward.out.weight", .theirs = "fc2.weight"},
    {.ours = "feed_forward.out.bias", .theirs = "fc2.bias"},
    {.ours = "norm2.weight", .theirs = "final_layer_norm.weight"},
    {.ours = "norm2.bias", .theirs = "final_layer_norm.bias"},
    {.ours = NULL},
};

static const char root[] = "embed_positions.weight";
static const mgk_tensor_names names = {root, "layers.", layer_rows, rows};

static const mgk_setting own[] = {
    {"dim", "hidden_size", MGK_NEEDED},
    {"heads", "num_attention_heads", MGK_NEEDED},
    {"layers", "num_hidden_layers", MGK_NEEDED},
    {"hidden", "ffn_dim", MGK_NEEDED},
    {"vocabulary", "vocab_size", MGK_NEEDED},
    {"length", "max_position_embeddings", MGK_NEEDED},
    {"norm_epsilon", NULL, 1e-5},
    {"pre_norm", "do_layer_norm_before", true},
    {"attention_bias", "enable_bias", true},
    {"feed_forward_bias", "enable_bias", true},
    {"activation", "activation_function", MGK_ACTIVATION_RELU},
    {"positions", NULL, MGK_POSITIONS_LEARNED},
    {"output_bias", NULL, false},
    {NULL, "_remove_final_layer_norm", false},
    {NULL, NULL, 0},
};
static const mgk_settings opt = {NULL, own};

static mgk_status adjust(const mgk_checkpoint *checkpoint, mgk_config *config)
{
    bool affine;
    int width;
    TRY(mgk_checkpoint_flag(checkpoint, "layer_norm_elementwise_affine", true, &affine));
    config->norm_parameters = affine ? MGK_NORM_ALL : MGK_NORM_NONE;
    TRY(mgk_checkpoint_integer(checkpoint, "word_embed_proj_dim", config->dim, &width));
    config->embedding = width;
    config->embedding_outer = width != config->dim;
    return STATUS_OK;
}

static mgk_status mend(const mgk_checkpoint *checkpoint, const mgk_config *config,
                       const mgk_parameter *parameter, mgk_recipe *out)
{
    enum { SKIPPED = 2 };
    (void)checkpoint;
    if (strcmp(parameter->name, "embedding.position.weight") == 0) {
        out->first = SKIPPED;
        out->rows = (size_t)config->length + SKIPPED;
    }
    return STATUS_OK;
}

static const mgk_decoder families[] = {
    {.type = "opt",
     .settings = &opt,
     .names = &names,
     .tied = true,
     .adjust = adjust,
     .mend = mend},
    {.type = NULL},
};

const mgk_model_format mgk_format_opt = {.name = "Hugging Face's opt",
                                         .families = families,
                                         .root = root,
                                         .anchor = "layers.0.self_attn.out_proj.weight"};
