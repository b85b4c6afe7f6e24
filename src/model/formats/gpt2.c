/* SPDX-License-Identifier: MIT */
/*
 * Hugging Face's gpt2: a pre-norm language model with learned positions, its output usually tied to
 * the embedding. Weights are [in, out]; those of queries, keys and values are adjacent.
 */
#include <string.h>

#include "model/formats/format.h"
#include "model/formats/hugging_face.h"

static const mgk_tensor_row rows[] = {
    {.ours = "embedding.token.weight", .theirs = "wte.weight"},
    {.ours = "embedding.position.weight", .theirs = "wpe.weight"},
    {.ours = "norm.weight", .theirs = "ln_f.weight"},
    {.ours = "norm.bias", .theirs = "ln_f.bias"},
    {.ours = NULL},
};

static const mgk_tensor_row layer_rows[] = {
    {"attention.query.weight", "attn.c_attn.weight", true, 0, 3},
    {"attention.key.weight", "attn.c_attn.weight", true, 1, 3},
    {"attention.value.weight", "attn.c_attn.weight", true, 2, 3},
    {"attention.query.bias", "attn.c_attn.bias", false, 0, 3},
    {"attention.key.bias", "attn.c_attn.bias", false, 1, 3},
    {"attention.value.bias", "attn.c_attn.bias", false, 2, 3},
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

static const char root[] = "wte.weight";
static const mgk_tensor_names names = {root, "h.", layer_rows, rows};

/* Rarely used switches that would change the scores. */
static mgk_status check_scores(const mgk_checkpoint *checkpoint)
{
    bool scaled, by_layer;
    TRY(mgk_checkpoint_flag(checkpoint, "scale_attn_weights", true, &scaled));
    TRY(mgk_checkpoint_flag(checkpoint, "scale_attn_by_inverse_layer_idx", false, &by_layer));
    if (!scaled || by_layer)
        return mgk_fail(STATUS_UNSUPPORTED,
                        "%s: attention scores that are not scaled by 1 / sqrt(D) alone are not "
                        "known",
                        checkpoint->config_path);
    return STATUS_OK;
}

static mgk_status configure(const mgk_checkpoint *checkpoint, const mgk_model_options *options,
                            mgk_config *config)
{
    (void)options;
    mgk_config_defaults(MGK_FAMILY_LM, config);
    strcpy(config->attention, "softmax");
    config->mixtures = 1;
    config->pre_norm = true;
    config->attention_bias = true;
    config->embedding_scale = 1;
    config->dropout = 0;
    config->positions = MGK_POSITIONS_LEARNED;
    TRY(check_scores(checkpoint));
    TRY(mgk_hugging_face_heads(checkpoint, "n_head", "n_embd", config));
    TRY(mgk_checkpoint_needed(checkpoint, "n_layer", &config->layers));
    TRY(mgk_checkpoint_needed(checkpoint, "vocab_size", &config->vocabulary));
    TRY(mgk_checkpoint_needed(checkpoint, "n_positions", &config->length));
    int usual = config->dim <= 1 << 18 ? 4 * config->dim : 0;
    TRY(mgk_checkpoint_integer(checkpoint, "n_inner", usual, &config->hidden));
    TRY(mgk_checkpoint_real(checkpoint, "layer_norm_epsilon", 1e-5, &config->norm_epsilon));
    TRY(mgk_hugging_face_activation(checkpoint, "activation_function", "gelu_new",
                                    &config->activation));
    return mgk_hugging_face_output(checkpoint, true, config);
}

static mgk_status recipe(const mgk_checkpoint *checkpoint, const mgk_config *config,
                         const mgk_parameter *parameter, mgk_recipe *out)
{
    (void)config;
    return mgk_hugging_face_language_model(checkpoint, &names, parameter, out);
}

static const char *const types[] = {"gpt2", NULL};

const mgk_model_format mgk_format_gpt2 = {.name = "Hugging Face's gpt2",
                                          .model_types = types,
                                          .root = root,
                                          .anchor = "h.0.attn.c_attn.weight",
                                          .configure = configure,
                                          .recipe = recipe};
