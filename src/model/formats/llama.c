/* SPDX-License-Identifier: MIT */
/*
 * Hugging Face's llama and the families whose tensors are called alike. Llama itself is a pre-norm
 * language model with RMS norms, rotary positions, a gated feed-forward block and keys that heads
 * share; the others say what they do differently.
 */
#include <string.h>

#include "model/formats/decoder.h"
#include "model/formats/format.h"

/* ---- names ----------------------------------------------------------------------------------- */

static const mgk_tensor_row rows[] = {
    {.ours = "embedding.token.weight", .theirs = "embed_tokens.weight"},
    {.ours = "norm.weight", .theirs = "norm.weight"},
    {.ours = "norm.bias", .theirs = "norm.bias"},
    {.ours = NULL},
};

static const mgk_tensor_row layer_rows[] = {
    {.ours = "attention.query.weight", .theirs = "self_attn.q_proj.weight"},
    {.ours = "attention.query.bias", .theirs = "self_attn.q_proj.bias"},
    {.ours = "attention.key.weight", .theirs = "self_attn.k_proj.weight"},
    {.ours = "attention.key.bias", .theirs = "self_attn.k_proj.bias"},
    {.ours = "attention.value.weight", .theirs = "self_attn.v_proj.weight"},
    {.ours = "attention.value.bias", .theirs = "self_attn.v_proj.bias"},
    {.ours = "attention.query_norm.weight", .theirs = "self_attn.q_norm.weight"},
    {.ours = "attention.key_norm.weight", .theirs = "self_attn.k_norm.weight"},
    {.ours = "attention.output.weight", .theirs = "self_attn.o_proj.weight"},
    {.ours = "attention.output.bias", .theirs = "self_attn.o_proj.bias"},
    {.ours = "norm1.weight", .theirs = "input_layernorm.weight"},
    {.ours = "norm1.bias", .theirs = "input_layernorm.bias"},
    {.ours = "norm2.weight", .theirs = "post_attention_layernorm.weight"},
    {.ours = "norm2.bias", .theirs = "post_attention_layernorm.bias"},
    {.ours = "feed_forward.gate.weight", .theirs = "mlp.gate_proj.weight"},
    {.ours = "feed_forward.gate.bias", .theirs = "mlp.gate_proj.bias"},
    {.ours = "feed_forward.in.weight", .theirs = "mlp.up_proj.weight"},
    {.ours = "feed_forward.in.bias", .theirs = "mlp.up_proj.bias"},
    {.ours = "feed_forward.out.weight", .theirs = "mlp.down_proj.weight"},
    {.ours = "feed_forward.out.bias", .theirs = "mlp.down_proj.bias"},
    {.ours = "feed_forward.shared.router.weight", .theirs = "mlp.shared_expert_gate.weight"},
    {.ours = "feed_forward.shared.gate.weight", .theirs = "mlp.shared_expert.gate_proj.weight"},
    {.ours = "feed_forward.shared.in.weight", .theirs = "mlp.shared_expert.up_proj.weight"},
    {.ours = "feed_forward.shared.out.weight", .theirs = "mlp.shared_expert.down_proj.weight"},
    {.ours = NULL},
};

static const char root[] = "embed_tokens.weight";
static const mgk_tensor_names names = {root, "layers.", layer_rows, rows};

/* Norms of branches, and in gemma of inputs, too. */
static const mgk_tensor_row branch_rows[] = {
    {.ours = "branch_norm1.weight", .theirs = "post_attention_layernorm.weight"},
    {.ours = "norm2.weight", .theirs = "pre_feedforward_layernorm.weight"},
    {.ours = "branch_norm2.weight", .theirs = "post_feedforward_layernorm.weight"},
    {.ours = NULL},
};
static const mgk_tensor_names branch_names = {root, "layers.", branch_rows, NULL};

static const mgk_tensor_row phi3_rows[] = {
    {.ours = "attention.query.weight",
     .theirs = "self_attn.qkv_proj.weight",
     .part = 0,
     .fused = MGK_FUSED_ADJACENT},
    {.ours = "attention.key.weight",
     .theirs = "self_attn.qkv_proj.weight",
     .part = 1,
     .fused = MGK_FUSED_ADJACENT},
    {.ours = "attention.value.weight",
     .theirs = "self_attn.qkv_proj.weight",
     .part = 2,
     .fused = MGK_FUSED_ADJACENT},
    {.ours = "feed_forward.gate.weight",
     .theirs = "mlp.gate_up_proj.weight",
     .part = 0,
     .parts = 2},
    {.ours = "feed_forward.in.weight", .theirs = "mlp.gate_up_proj.weight", .part = 1, .parts = 2},
    {.ours = NULL},
};
static const mgk_tensor_names phi3_names = {root, "layers.", phi3_rows, NULL};

/* Gate and first map in one tensor, and in glm4 norms of branches, too. */
static const mgk_tensor_row glm_rows[] = {
    {.ours = "feed_forward.gate.weight",
     .theirs = "mlp.gate_up_proj.weight",
     .part = 0,
     .parts = 2},
    {.ours = "feed_forward.in.weight", .theirs = "mlp.gate_up_proj.weight", .part = 1, .parts = 2},
    {.ours = "branch_norm1.weight", .theirs = "post_self_attn_layernorm.weight"},
    {.ours = "branch_norm2.weight", .theirs = "post_mlp_layernorm.weight"},
    {.ours = NULL},
};
static const mgk_tensor_names glm_names = {root, "layers.", glm_rows, NULL};

static const mgk_tensor_row phi_rows[] = {
    {.ours = "attention.query_norm.weight", .theirs = "self_attn.q_layernorm.weight"},
    {.ours = "attention.query_norm.bias", .theirs = "self_attn.q_layernorm.bias"},
    {.ours = "attention.key_norm.weight", .theirs = "self_attn.k_layernorm.weight"},
    {.ours = "attention.key_norm.bias", .theirs = "self_attn.k_layernorm.bias"},
    {.ours = "attention.output.weight", .theirs = "self_attn.dense.weight"},
    {.ours = "attention.output.bias", .theirs = "self_attn.dense.bias"},
    {.ours = "feed_forward.in.weight", .theirs = "mlp.fc1.weight"},
    {.ours = "feed_forward.in.bias", .theirs = "mlp.fc1.bias"},
    {.ours = "feed_forward.out.weight", .theirs = "mlp.fc2.weight"},
    {.ours = "feed_forward.out.bias", .theirs = "mlp.fc2.bias"},
    {.ours = NULL},
};
static const mgk_tensor_row phi_ends[] = {
    {.ours = "norm.weight", .theirs = "final_layernorm.weight"},
    {.ours = "norm.bias", .theirs = "final_layernorm.bias"},
    {.ours = NULL},
};
static const mgk_tensor_names phi_names = {root, "layers.", phi_rows, phi_ends};

static const mgk_tensor_row starcoder_rows[] = {
    {.ours = "feed_forward.in.weight", .theirs = "mlp.c_fc.weight"},
    {.ours = "feed_forward.in.bias", .theirs = "mlp.c_fc.bias"},
    {.ours = "feed_forward.out.weight", .theirs = "mlp.c_proj.weight"},
    {.ours = "feed_forward.out.bias", .theirs = "mlp.c_proj.bias"},
    {.ours = NULL},
};
static const mgk_tensor_names starcoder_names = {root, "layers.", starcoder_rows, NULL};

/* Mixtures of experts: a tensor for each expert, */
static const mgk_tensor_row expert_rows[] = {
    {.ours = "feed_forward.router.weight", .theirs = "mlp.gate.weight"},
    {.ours = "feed_forward.experts.gate.weight", .theirs = "mlp.experts.*.gate_proj.weight"},
    {.ours = "feed_forward.experts.in.weight", .theirs = "mlp.experts.*.up_proj.weight"},
    {.ours = "feed_forward.experts.out.weight", .theirs = "mlp.experts.*.down_proj.weight"},
    {.ours = NULL},
};
static const mgk_tensor_names expert_names = {root, "layers.", expert_rows, NULL};

/* under other names in mixtral, */
static const mgk_tensor_row mixtral_rows[] = {
    {.ours = "feed_forward.router.weight", .theirs = "block_sparse_moe.gate.weight"},
    {.ours = "feed_forward.experts.gate.weight", .theirs = "block_sparse_moe.experts.*.w1.weight"},
    {.ours = "feed_forward.experts.in.weight", .theirs = "block_sparse_moe.experts.*.w3.weight"},
    {.ours = "feed_forward.experts.out.weight", .theirs = "block_sparse_moe.experts.*.w2.weight"},
    {.ours = NULL},
};
static const mgk_tensor_names mixtral_names = {root, "layers.", mixtral_rows, NULL};

/* or one for all, as the modules of transformers 5 have them. */
static const mgk_tensor_row fused_rows[] = {
    {.ours = "feed_forward.router.weight", .theirs = "mlp.gate.weight"},
    {.ours = "feed_forward.experts.gate.weight",
     .theirs = "mlp.experts.gate_up_proj",
     .part = 0,
     .parts = 2,
     .fused = MGK_FUSED_EXPERTS},
    {.ours = "feed_forward.experts.in.weight",
     .theirs = "mlp.experts.gate_up_proj",
     .part = 1,
     .parts = 2,
     .fused = MGK_FUSED_EXPERTS},
    {.ours = "feed_forward.experts.out.weight",
     .theirs = "mlp.experts.down_proj",
     .parts = 1,
     .fused = MGK_FUSED_EXPERTS},
    {.ours = NULL},
};
static const mgk_tensor_names fused_names = {"layers.0.mlp.experts.gate_up_proj", "layers.",
                                             fused_rows, NULL};

/* ---- settings -------------------------------------------------------------------------------- */

static const mgk_setting llama_own[] = {
    {"layers", "num_hidden_layers", MGK_NEEDED},
    {"heads", "num_attention_heads", MGK_NEEDED},
    {"key_heads", "num_key_value_heads", 0},
    {"dim", "hidden_size", MGK_NEEDED},
    {"head_dim", "head_dim", 0},
    {"hidden", "intermediate_size", MGK_NEEDED},
    {"vocabulary", "vocab_size", MGK_NEEDED},
    {"length", "max_position_embeddings", 2048},
    {"norm_epsilon", "rms_norm_eps", 1e-6},
    {"attention_bias", "attention_bias", false},
    {"feed_forward_bias", "mlp_bias", false},
    {"activation", "hidden_act", MGK_ACTIVATION_SILU},
    {"pre_norm", NULL, true},
    {"gated", NULL, true},
    {"norm", NULL, MGK_NORMALIZATION_RMS},
    {"positions", NULL, MGK_POSITIONS_ROTARY},
    {"output_bias", NULL, false},
    {NULL, NULL, 0},
};
static const mgk_settings llama = {NULL, llama_own};

static const mgk_setting smollm3_own[] = {
    {"key_heads", "num_key_value_heads", 4},
    {"length", "max_position_embeddings", 32768},
    {"window", "sliding_window", 0},
    {"rotary_base", NULL, 2e6},
    {NULL, NULL, 0},
};
static const mgk_settings smollm3 = {&llama, smollm3_own};

static const mgk_setting no_biases_own[] = {
    {"attention_bias", NULL, false},
    {"feed_forward_bias", NULL, false},
    {NULL, NULL, 0},
};
static const mgk_settings no_biases = {&llama, no_biases_own};

static const mgk_setting mistral_own[] = {
    {"length", "max_position_embeddings", 131072},
    {"window", "sliding_window", 4096},
    {NULL, NULL, 0},
};
static const mgk_settings mistral = {&no_biases, mistral_own};

static const mgk_setting qwen2_own[] = {
    {"attention_bias", NULL, true},     {"attention_output_bias", NULL, MGK_OUTPUT_BIAS_NONE},
    {"feed_forward_bias", NULL, false}, {"length", "max_position_embeddings", 32768},
    {"window", "sliding_window", 4096}, {NULL, NULL, 0},
};
static const mgk_settings qwen2 = {&llama, qwen2_own};

static const mgk_setting qwen3_own[] = {
    {"head_dim", "head_dim", 128},
    {"feed_forward_bias", NULL, false},
    {"query_norm", NULL, MGK_QUERY_NORM_HEAD},
    {"length", "max_position_embeddings", 32768},
    {"window", "sliding_window", 4096},
    {NULL, NULL, 0},
};
static const mgk_settings qwen3 = {&llama, qwen3_own};

/* The text of qwen2_vl and qwen2_5_vl, and of qwen3_vl. */
static const mgk_setting qwen2_vl_own[] = {
    {"key_heads", "num_key_value_heads", 8},
    {"norm_epsilon", "rms_norm_eps", 1e-5},
    {"rotary_base", NULL, 1e6},
    {NULL, NULL, 0},
};
static const mgk_settings qwen2_vl = {&qwen2, qwen2_vl_own};

static const mgk_setting qwen3_vl_own[] = {
    {"length", "max_position_embeddings", 128000},
    {"rotary_base", NULL, 500000},
    {"window", NULL, 0},
    {NULL, NULL, 0},
};
static const mgk_settings qwen3_vl = {&qwen3, qwen3_vl_own};

static const mgk_setting mixtral_own[] = {
    {"experts", "num_local_experts|num_experts", 8},
    {"experts_used", "num_experts_per_tok", 2},
    {"experts_normalized", NULL, true},
    {"norm_epsilon", "rms_norm_eps", 1e-5},
    {"rotary_base", NULL, 1e6},
    {"window", "sliding_window", 0},
    {NULL, NULL, 0},
};
static const mgk_settings mixtral = {&mistral, mixtral_own};

static const mgk_setting qwen2_moe_own[] = {
    {"attention_bias", "qkv_bias", true},
    {"hidden", "moe_intermediate_size", 1408},
    {"experts", "num_experts|num_local_experts", 60},
    {"experts_used", "num_experts_per_tok", 4},
    {"experts_normalized", "norm_topk_prob", false},
    {"experts_shared", "shared_expert_intermediate_size", 5632},
    {NULL, "decoder_sparse_step", 1}, /* all layers are mixtures */
    {NULL, NULL, 0},
};
static const mgk_settings qwen2_moe = {&qwen2, qwen2_moe_own};

static const mgk_setting qwen3_moe_own[] = {
    {"head_dim", "head_dim", 0},
    {"hidden", "moe_intermediate_size", 768},
    {"experts", "num_experts|num_local_experts", 128},
    {"experts_used", "num_experts_per_tok", 8},
    {"experts_normalized", "norm_topk_prob", false},
    {NULL, "decoder_sparse_step", 1},
    {NULL, NULL, 0},
};
static const mgk_settings qwen3_moe = {&qwen3, qwen3_moe_own};

static const mgk_setting gemma_own[] = {
    {"head_dim", "head_dim", 256},
    {"feed_forward_bias", NULL, false},
    {"length", "max_position_embeddings", 8192},
    {"activation", "hidden_act", MGK_ACTIVATION_GELU_TANH},
    {NULL, "use_bidirectional_attention", false},
    {NULL, NULL, 0},
};
static const mgk_settings gemma = {&llama, gemma_own};

static const mgk_setting branches_own[] = {
    /* what gemma2 and gemma3 share */
    {"activation", "hidden_activation", MGK_ACTIVATION_GELU_TANH},
    {"branch_norm", NULL, true},
    {"window", "sliding_window", 4096},
    {"attention_scale", "query_pre_attn_scalar", 256}, /* becomes 1 / sqrt of it */
    {NULL, NULL, 0},
};
static const mgk_settings branches = {&gemma, branches_own};

static const mgk_setting gemma2_own[] = {
    {"attention_cap", "attn_logit_softcapping", 50},
    {"logit_cap", "final_logit_softcapping", 30},
    {NULL, "sliding_window_pattern", 2},
    {NULL, NULL, 0},
};
static const mgk_settings gemma2 = {&branches, gemma2_own};

static const mgk_setting gemma3_own[] = {
    {"query_norm", NULL, MGK_QUERY_NORM_HEAD},
    {"length", "max_position_embeddings", 131072},
    {"rotary_base", NULL, 1e6},
    {"local_base", "rope_local_base_freq", 10000},
    {NULL, "attn_logit_softcapping", 0},
    {"logit_cap", "final_logit_softcapping", 0},
    {NULL, NULL, 0},
};
static const mgk_settings gemma3 = {&branches, gemma3_own};

static const mgk_setting phi3_own[] = {
    {"norm_epsilon", "rms_norm_eps", 1e-5},
    {"length", "max_position_embeddings", 4096},
    {"window", "sliding_window", 0},
    {NULL, NULL, 0},
};
static const mgk_settings phi3 = {&no_biases, phi3_own};

static const mgk_setting olmo_own[] = {
    {"feed_forward_bias", NULL, false},
    {"norm", NULL, MGK_NORMALIZATION_LAYER},
    {"norm_parameters", NULL, MGK_NORM_NONE},
    {"norm_epsilon", NULL, 1e-5},
    {NULL, "clip_qkv", (double)NAN}, /* no number is known */
    {NULL, NULL, 0},
};
static const mgk_settings olmo = {&llama, olmo_own};

static const mgk_setting olmo2_own[] = {
    {"feed_forward_bias", NULL, false},
    {"norm_epsilon", "rms_norm_eps", 1e-5},
    {"pre_norm", NULL, false},
    {"branch_norm", NULL, true},
    {"query_norm", NULL, MGK_QUERY_NORM_WIDTH},
    {NULL, NULL, 0},
};
static const mgk_settings olmo2 = {&llama, olmo2_own};

static const mgk_setting olmo3_own[] = {
    {"length", "max_position_embeddings", 2048},
    {"window", "sliding_window", 4096},
    {"rotary_base", NULL, 500000},
    {"local_base", NULL, 500000},
    {NULL, "rope_theta", 500000}, /* versions of transformers differ in the layers that have it */
    {NULL, "sliding_window_pattern", 4},
    {NULL, NULL, 0},
};
static const mgk_settings olmo3 = {&olmo2, olmo3_own};

static const mgk_setting olmoe_own[] = {
    {"feed_forward_bias", NULL, false},
    {"norm_epsilon", "rms_norm_eps", 1e-5},
    {"query_norm", NULL, MGK_QUERY_NORM_WIDTH},
    {"length", "max_position_embeddings", 4096},
    {"experts", "num_experts|num_local_experts", 64},
    {"experts_used", "num_experts_per_tok", 8},
    {"experts_normalized", "norm_topk_prob", false},
    {NULL, "clip_qkv", (double)NAN},
    {NULL, NULL, 0},
};
static const mgk_settings olmoe = {&llama, olmoe_own};

static const mgk_setting granite_own[] = {
    {"embedding_scale", "embedding_multiplier", 1},
    {"attention_scale", "attention_multiplier", 1},
    {"logit_scale", "logits_scaling", 1}, /* becomes its inverse */
    {NULL, NULL, 0},
};
static const mgk_settings granite = {&llama, granite_own};

static const mgk_setting cohere_own[] = {
    {"feed_forward_bias", NULL, false},
    {"norm", NULL, MGK_NORMALIZATION_LAYER},
    {"norm_parameters", NULL, MGK_NORM_WEIGHT},
    {"norm_epsilon", "layer_norm_eps", 1e-5},
    {"parallel", NULL, MGK_PARALLEL_SHARED},
    {"length", "max_position_embeddings", 8192},
    {"rotary_base", NULL, 500000},
    {"logit_scale", "logit_scale", 0.0625},
    {NULL, "use_qk_norm", false},
    {NULL, NULL, 0},
};
static const mgk_settings cohere = {&llama, cohere_own};

static const mgk_setting cohere2_own[] = {
    {"rotary_base", NULL, 10000},
    {"window", "sliding_window", 4096},
    {NULL, NULL, 0},
};
static const mgk_settings cohere2 = {&cohere, cohere2_own};

static const mgk_setting glm_own[] = {
    {"key_heads", "num_key_value_heads", 2},
    {"head_dim", "head_dim", 128},
    {"attention_bias", "attention_bias", true},
    {"attention_output_bias", NULL, MGK_OUTPUT_BIAS_NONE},
    {"feed_forward_bias", NULL, false},
    {"norm_epsilon", "rms_norm_eps", 0.00000015625},
    {"length", "max_position_embeddings", 131072},
    {NULL, "rotary_pct", 0.5}, /* not its name for the part that is rotated */
    {NULL, NULL, 0},
};
static const mgk_settings glm = {&llama, glm_own};

static const mgk_setting glm4_own[] = {
    {"branch_norm", NULL, true},
    {NULL, NULL, 0},
};
static const mgk_settings glm4 = {&glm, glm4_own};

static const mgk_setting stablelm_own[] = {
    {"attention_bias", "use_qkv_bias", false},
    {"attention_output_bias", NULL, MGK_OUTPUT_BIAS_NONE},
    {"feed_forward_bias", NULL, false},
    {"norm", NULL, MGK_NORMALIZATION_LAYER},
    {"norm_epsilon", "layer_norm_eps", 1e-5},
    {"length", "max_position_embeddings", 4096},
    {NULL, "qk_layernorm", false},
    {NULL, NULL, 0},
};
static const mgk_settings stablelm = {&llama, stablelm_own};

static const mgk_setting starcoder2_own[] = {
    {"attention_bias", "use_bias", true},
    {"feed_forward_bias", "use_bias", true},
    {"gated", NULL, false},
    {"activation", "hidden_act", MGK_ACTIVATION_GELU_TANH},
    {"norm", NULL, MGK_NORMALIZATION_LAYER},
    {"norm_epsilon", "norm_epsilon", 1e-5},
    {"length", "max_position_embeddings", 4096},
    {"window", "sliding_window", 0},
    {NULL, NULL, 0},
};
static const mgk_settings starcoder2 = {&llama, starcoder2_own};

static const mgk_setting phi_own[] = {
    {"attention_bias", NULL, true},
    {"feed_forward_bias", NULL, true},
    {"output_bias", NULL, true},
    {"gated", NULL, false},
    {"activation", "hidden_act", MGK_ACTIVATION_GELU_TANH},
    {"norm", NULL, MGK_NORMALIZATION_LAYER},
    {"norm_epsilon", "layer_norm_eps", 1e-5},
    {"parallel", NULL, MGK_PARALLEL_SHARED},
    {NULL, NULL, 0},
};
static const mgk_settings phi = {&llama, phi_own};

/* ---- what tables cannot say ------------------------------------------------------------------ */

/* The first files name the exact GELU, but the model was trained with the other form. */
static mgk_status adjust_gemma(const mgk_checkpoint *checkpoint, mgk_config *config)
{
    (void)checkpoint;
    if (config->activation == MGK_ACTIVATION_GELU)
        config->activation = MGK_ACTIVATION_GELU_TANH;
    config->embedding_scale = config->dim > 0 ? sqrt(config->dim) : 1;
    return STATUS_OK;
}

/* Refuses what is divided by, unless it is above 0. */
static mgk_status check_divisor(const mgk_checkpoint *checkpoint, const char *key, double value)
{
    return value > 0 ? STATUS_OK
                     : mgk_fail(STATUS_FORMAT, "%s: \"%s\" is %g, expected more than 0",
                                checkpoint->config_path, key, value);
}

static mgk_status adjust_gemma2(const mgk_checkpoint *checkpoint, mgk_config *config)
{
    TRY(check_divisor(checkpoint, "query_pre_attn_scalar", config->attention_scale));
    config->embedding_scale = config->dim > 0 ? sqrt(config->dim) : 1;
    config->attention_scale = 1 / sqrt(config->attention_scale);
    return STATUS_OK;
}

static mgk_status adjust_granite(const mgk_checkpoint *checkpoint, mgk_config *config)
{
    TRY(check_divisor(checkpoint, "logits_scaling", config->logit_scale));
    config->logit_scale = 1 / config->logit_scale;
    return STATUS_OK;
}

static mgk_status adjust_experts(const mgk_checkpoint *checkpoint, mgk_config *config)
{
    const bool usual = cJSON_GetObjectItemCaseSensitive(checkpoint->config, "num_experts") != NULL;
    if (config->experts < 1)
        return mgk_fail(STATUS_FORMAT, "%s: \"%s\" is %d, expected 1 to 4096",
                        checkpoint->config_path, usual ? "num_experts" : "num_local_experts",
                        config->experts);
    return STATUS_OK;
}

/* Refuses layers that are no mixtures. */
static mgk_status adjust_qwen3_moe(const mgk_checkpoint *checkpoint, mgk_config *config)
{
    const cJSON *dense = cJSON_GetObjectItemCaseSensitive(checkpoint->config, "mlp_only_layers");
    if (dense && !cJSON_IsNull(dense) && !(cJSON_IsArray(dense) && cJSON_GetArraySize(dense) == 0))
        return mgk_fail(STATUS_UNSUPPORTED,
                        "%s: \"mlp_only_layers\" names layers without experts, which are not known "
                        "beside others",
                        checkpoint->config_path);
    return adjust_experts(checkpoint, config);
}

/* transformers gives the window to every second layer at first, unless layers are listed. */
static mgk_status adjust_qwen2_moe(const mgk_checkpoint *checkpoint, mgk_config *config)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(checkpoint->config, "layer_types");
    bool used;
    TRY(mgk_checkpoint_flag(checkpoint, "use_sliding_window", false, &used));
    if (used && !cJSON_IsArray(list))
        return mgk_fail(STATUS_UNSUPPORTED,
                        "%s: \"use_sliding_window\" is true, expected false without "
                        "\"layer_types\"",
                        checkpoint->config_path);
    if (config->experts_shared == 0) /* transformers saves tensors without numbers then */
        return mgk_fail(STATUS_UNSUPPORTED,
                        "%s: \"shared_expert_intermediate_size\" is 0, expected at least 1",
                        checkpoint->config_path);
    return adjust_qwen3_moe(checkpoint, config);
}

/* "no_rope_layers" says 1 of layers with positions; without it every fourth layer has none. */
static mgk_status adjust_smollm3(const mgk_checkpoint *checkpoint, mgk_config *config)
{
    static const char key[] = "no_rope_layers", step[] = "no_rope_layer_interval";
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(checkpoint->config, key);
    const bool listed = list && !cJSON_IsNull(list);
    int interval;
    TRY(mgk_checkpoint_integer(checkpoint, step, 4, &interval));
    if (!listed && interval < 1)
        return mgk_fail(STATUS_FORMAT, "%s: \"%s\" is %d, expected at least 1",
                        checkpoint->config_path, step, interval);
    for (int layer = 0; layer < config->layers && layer < MGK_MAX_LAYERS; layer++) {
        const cJSON *item = cJSON_IsArray(list) ? cJSON_GetArrayItem(list, layer) : NULL;
        if (listed && !cJSON_IsNumber(item))
            return mgk_fail(STATUS_FORMAT, "%s: \"%s\" is not an array of %d numbers",
                            checkpoint->config_path, key, config->layers);
        if (listed ? item->valuedouble == 0 : (layer + 1) % interval == 0)
            mgk_config_set_unrotated(config, layer);
    }
    return STATUS_OK;
}

/* A window alone says which layers have positions, and transformers fails without one. */
static mgk_status adjust_cohere2(const mgk_checkpoint *checkpoint, mgk_config *config)
{
    return config->window != 0
               ? STATUS_OK
               : mgk_fail(STATUS_FORMAT, "%s: \"sliding_window\" is null or 0, expected at least 1",
                          checkpoint->config_path);
}

static mgk_status adjust_stablelm(const mgk_checkpoint *checkpoint, mgk_config *config)
{
    bool parallel;
    TRY(mgk_checkpoint_flag(checkpoint, "use_parallel_residual", false, &parallel));
    config->parallel = parallel ? MGK_PARALLEL_SHARED : MGK_PARALLEL_NO;
    return STATUS_OK;
}

static mgk_status adjust_phi(const mgk_checkpoint *checkpoint, mgk_config *config)
{
    bool normed;
    TRY(mgk_checkpoint_flag(checkpoint, "qk_layernorm", false, &normed));
    config->query_norm = normed ? MGK_QUERY_NORM_HEAD : MGK_QUERY_NORM_NONE;
    return STATUS_OK;
}

/* Branches are multiplied by a constant before they are added. */
static mgk_status mend_granite(const mgk_checkpoint *checkpoint, const mgk_config *config,
                               const mgk_parameter *parameter, mgk_recipe *out)
{
    (void)config;
    if (strstr(parameter->name, "attention.output.") ||
        strstr(parameter->name, "feed_forward.out."))
        return mgk_checkpoint_real(checkpoint, "residual_multiplier", 1, &out->times);
    return STATUS_OK;
}

/* ---- families -------------------------------------------------------------------------------- */

static const mgk_decoder families[] = {
    {.type = "llama", .settings = &llama, .names = &names},
    {.type = "smollm3",
     .settings = &smollm3,
     .names = &names,
     .tied = true,
     .local = MGK_LOCAL_UNROTATED,
     .adjust = adjust_smollm3},
    {.type = "mistral", .settings = &mistral, .names = &names},
    {.type = "qwen2",
     .settings = &qwen2,
     .names = &names,
     .local = MGK_LOCAL_LATTER,
     .pattern = 28},
    {.type = "qwen2_vl_text",
     .settings = &qwen2_vl,
     .names = &names,
     .local = MGK_LOCAL_LATTER,
     .pattern = 80},
    {.type = "qwen2_5_vl_text",
     .settings = &qwen2_vl,
     .names = &names,
     .local = MGK_LOCAL_LATTER,
     .pattern = 80},
    {.type = "qwen3",
     .settings = &qwen3,
     .names = &names,
     .local = MGK_LOCAL_LATTER,
     .pattern = 28},
    {.type = "qwen3_vl_text", .settings = &qwen3_vl, .names = &names},
    {.type = "mixtral",
     .settings = &mixtral,
     .names = &mixtral_names,
     .others = &names,
     .fused = &fused_names,
     .adjust = adjust_experts},
    {.type = "qwen2_moe",
     .settings = &qwen2_moe,
     .names = &expert_names,
     .others = &names,
     .fused = &fused_names,
     .local = MGK_LOCAL_LATTER,
     .pattern = 28,
     .adjust = adjust_qwen2_moe},
    {.type = "qwen3_moe",
     .settings = &qwen3_moe,
     .names = &expert_names,
     .others = &names,
     .fused = &fused_names,
     .local = MGK_LOCAL_USED,
     .adjust = adjust_qwen3_moe},
    {.type = "olmoe",
     .settings = &olmoe,
     .names = &expert_names,
     .others = &names,
     .fused = &fused_names,
     .adjust = adjust_experts},
    {.type = "gemma",
     .settings = &gemma,
     .names = &names,
     .tied = true,
     .less_one = true,
     .adjust = adjust_gemma},
    {.type = "gemma2",
     .settings = &gemma2,
     .names = &branch_names,
     .others = &names,
     .tied = true,
     .less_one = true,
     .local = MGK_LOCAL_MOST,
     .pattern = 2,
     .adjust = adjust_gemma2},
    {.type = "gemma3_text",
     .settings = &gemma3,
     .names = &branch_names,
     .others = &names,
     .tied = true,
     .less_one = true,
     .local = MGK_LOCAL_MOST,
     .pattern = 6,
     .adjust = adjust_gemma2},
    {.type = "phi",
     .settings = &phi,
     .names = &phi_names,
     .others = &names,
     .rotary_part = 0.5,
     .adjust = adjust_phi},
    {.type = "phi3", .settings = &phi3, .names = &phi3_names, .others = &names, .rotary_part = 1},
    {.type = "olmo", .settings = &olmo, .names = &names},
    {.type = "olmo2", .settings = &olmo2, .names = &branch_names, .others = &names},
    {.type = "olmo3",
     .settings = &olmo3,
     .names = &branch_names,
     .others = &names,
     .local = MGK_LOCAL_MOST,
     .pattern = 4},
    {.type = "granite",
     .settings = &granite,
     .names = &names,
     .adjust = adjust_granite,
     .mend = mend_granite},
    {.type = "cohere", .settings = &cohere, .names = &names, .tied = true, .interleaved = true},
    {.type = "cohere2",
     .settings = &cohere2,
     .names = &names,
     .tied = true,
     .interleaved = true,
     .local = MGK_LOCAL_MOST,
     .pattern = 4,
     .rotates_local = true,
     .adjust = adjust_cohere2},
    {.type = "glm",
     .settings = &glm,
     .names = &glm_names,
     .others = &names,
     .interleaved = true,
     .rotary_part = 0.5},
    {.type = "glm4",
     .settings = &glm4,
     .names = &glm_names,
     .others = &names,
     .interleaved = true,
     .rotary_part = 0.5},
    {.type = "stablelm",
     .settings = &stablelm,
     .names = &names,
     .rotary_part = 0.25,
     .adjust = adjust_stablelm},
    {.type = "starcoder2",
     .settings = &starcoder2,
     .names = &starcoder_names,
     .others = &names,
     .tied = true},
    {.type = NULL},
};

const mgk_model_format mgk_format_llama = {.name = "Hugging Face's llama and its relatives",
                                           .families = families,
                                           .root = root,
                                           .anchor = "layers.0.self_attn.q_proj.weight"};
