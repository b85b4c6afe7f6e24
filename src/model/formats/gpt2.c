/* SPDX-License-Identifier: MIT */
/*
 * Hugging Face's gpt2 and gptj. gpt2 is a pre-norm language model with learned positions, its
 * output usually tied to the embedding; weights are [in, out], and those of queries, keys and
 * values are adjacent. gptj has rotary positions and parallel blocks.
 */
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

static const char root[] = "wte.weight";
static const mgk_tensor_names gpt2_names = {root, "h.", gpt2_rows, rows};
static const mgk_tensor_names gptj_names = {root, "h.", gptj_rows, rows};

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

static const mgk_setting gpt2_own[] = {
    {"attention_bias", NULL, true},       {"positions", NULL, MGK_POSITIONS_LEARNED},
    {NULL, "scale_attn_weights", true},   {NULL, "scale_attn_by_inverse_layer_idx", false},
    {NULL, "add_cross_attention", false}, {NULL, NULL, 0},
};
static const mgk_settings gpt2 = {&shared, gpt2_own};

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

static const mgk_decoder families[] = {
    {.type = "gpt2", .settings = &gpt2, .names = &gpt2_names, .tied = true, .adjust = adjust},
    {.type = "gptj",
     .settings = &gptj,
     .names = &gptj_names,
     .interleaved = true,
     .adjust = adjust},
    {.type = NULL},
};

static const char *const types[] = {"gpt2", "gptj", NULL};

static mgk_status configure(const mgk_checkpoint *checkpoint, const mgk_model_options *options,
                            mgk_config *config)
{
    (void)options;
    return mgk_decoder_configure(checkpoint, families, config);
}

static mgk_status recipe(const mgk_checkpoint *checkpoint, const mgk_config *config,
                         const mgk_parameter *parameter, mgk_recipe *out)
{
    return mgk_decoder_recipe(checkpoint, families, config, parameter, out);
}

const mgk_model_format mgk_format_gpt2 = {.name = "Hugging Face's gpt2, gptj",
                                          .model_types = types,
                                          .root = root,
                                          .anchor = "h.0.attn.c_attn.weight",
                                          .configure = configure,
                                          .recipe = recipe};
