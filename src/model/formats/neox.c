/* SPDX-License-Identifier: MIT */
/*
 * Hugging Face's gpt_neox, bloom and falcon, whose tensors have Megatron's names: queries, keys and
 * values are one tensor, a key head after the other. gpt_neox has parallel blocks with a norm each
 * and rotates a quarter of a head. bloom has ALiBi and a norm of its embedding. falcon has parallel
 * blocks with one norm or two, or none of it, with rotary positions or ALiBi.
 */
#include <math.h>
#include <string.h>

#include "model/formats/decoder.h"
#include "model/formats/format.h"

/* ---- names ----------------------------------------------------------------------------------- */

static const mgk_tensor_row neox_rows[] = {
    {.ours = "attention.query.weight",
     .theirs = "attention.query_key_value.weight",
     .part = 0,
     .fused = MGK_FUSED_BY_GROUP},
    {.ours = "attention.key.weight",
     .theirs = "attention.query_key_value.weight",
     .part = 1,
     .fused = MGK_FUSED_BY_GROUP},
    {.ours = "attention.value.weight",
     .theirs = "attention.query_key_value.weight",
     .part = 2,
     .fused = MGK_FUSED_BY_GROUP},
    {.ours = "attention.query.bias",
     .theirs = "attention.query_key_value.bias",
     .part = 0,
     .fused = MGK_FUSED_BY_GROUP},
    {.ours = "attention.key.bias",
     .theirs = "attention.query_key_value.bias",
     .part = 1,
     .fused = MGK_FUSED_BY_GROUP},
    {.ours = "attention.value.bias",
     .theirs = "attention.query_key_value.bias",
     .part = 2,
     .fused = MGK_FUSED_BY_GROUP},
    {.ours = "attention.output.weight", .theirs = "attention.dense.weight"},
    {.ours = "attention.output.bias", .theirs = "attention.dense.bias"},
    {.ours = NULL},
};

static const mgk_tensor_row bloom_rows[] = {
    {.ours = "attention.query.weight",
     .theirs = "self_attention.query_key_value.weight",
     .part = 0,
     .fused = MGK_FUSED_BY_GROUP},
    {.ours = "attention.key.weight",
     .theirs = "self_attention.query_key_value.weight",
     .part = 1,
     .fused = MGK_FUSED_BY_GROUP},
    {.ours = "attention.value.weight",
     .theirs = "self_attention.query_key_value.weight",
     .part = 2,
     .fused = MGK_FUSED_BY_GROUP},
    {.ours = "attention.query.bias",
     .theirs = "self_attention.query_key_value.bias",
     .part = 0,
     .fused = MGK_FUSED_BY_GROUP},
    {.ours = "attention.key.bias",
     .theirs = "self_attention.query_key_value.bias",
     .part = 1,
     .fused = MGK_FUSED_BY_GROUP},
    {.ours = "attention.value.bias",
     .theirs = "self_attention.query_key_value.bias",
     .part = 2,
     .fused = MGK_FUSED_BY_GROUP},
    {.ours = "attention.output.weight", .theirs = "self_attention.dense.weight"},
    {.ours = "attention.output.bias", .theirs = "self_attention.dense.bias"},
    {.ours = NULL},
};

static const mgk_tensor_row shared_rows[] = {
    {.ours = "norm1.weight", .theirs = "input_layernorm.weight"},
    {.ours = "norm1.bias", .theirs = "input_layernorm.bias"},
    {.ours = "norm2.weight", .theirs = "post_attention_layernorm.weight"},
    {.ours = "norm2.bias", .theirs = "post_attention_layernorm.bias"},
    {.ours = "feed_forward.in.weight", .theirs = "mlp.dense_h_to_4h.weight"},
    {.ours = "feed_forward.in.bias", .theirs = "mlp.dense_h_to_4h.bias"},
    {.ours = "feed_forward.out.weight", .theirs = "mlp.dense_4h_to_h.weight"},
    {.ours = "feed_forward.out.bias", .theirs = "mlp.dense_4h_to_h.bias"},
    {.ours = NULL},
};

static const mgk_tensor_row neox_ends[] = {
    {.ours = "embedding.token.weight", .theirs = "embed_in.weight"},
    {.ours = "norm.weight", .theirs = "final_layer_norm.weight"},
    {.ours = "norm.bias", .theirs = "final_layer_norm.bias"},
    {.ours = NULL},
};

static const mgk_tensor_row bloom_ends[] = {
    {.ours = "embedding.token.weight", .theirs = "word_embeddings.weight"},
    {.ours = "embedding.norm.weight", .theirs = "word_embeddings_layernorm.weight"},
    {.ours = "embedding.norm.bias", .theirs = "word_embeddings_layernorm.bias"},
    {.ours = "norm.weight", .theirs = "ln_f.weight"},
    {.ours = "norm.bias", .theirs = "ln_f.bias"},
    {.ours = NULL},
};

/* falcon's norms if attention and feed-forward have their own. */
static const mgk_tensor_row own_norm_rows[] = {
    {.ours = "norm1.weight", .theirs = "ln_attn.weight"},
    {.ours = "norm1.bias", .theirs = "ln_attn.bias"},
    {.ours = "norm2.weight", .theirs = "ln_mlp.weight"},
    {.ours = "norm2.bias", .theirs = "ln_mlp.bias"},
    {.ours = NULL},
};

static const char neox_root[] = "embed_in.weight", bloom_root[] = "word_embeddings.weight";
static const mgk_tensor_names neox_names = {neox_root, "layers.", neox_rows, neox_ends};
static const mgk_tensor_names neox_others = {neox_root, "layers.", shared_rows, NULL};
static const mgk_tensor_names bloom_names = {bloom_root, "h.", bloom_rows, bloom_ends};
static const mgk_tensor_names bloom_others = {bloom_root, "h.", shared_rows, NULL};
static const mgk_tensor_names own_norm_names = {bloom_root, "h.", own_norm_rows, NULL};

/* ---- settings -------------------------------------------------------------------------------- */

static const mgk_setting shared_own[] = {
    {"dim", "hidden_size|n_embed", MGK_NEEDED},
    {"heads", "num_attention_heads|n_head", MGK_NEEDED},
    {"layers", "num_hidden_layers|n_layer", MGK_NEEDED},
    {"vocabulary", "vocab_size", MGK_NEEDED},
    {"length", "max_position_embeddings|seq_length", 2048},
    {"norm_epsilon", "layer_norm_epsilon", 1e-5},
    {"pre_norm", NULL, true},
    {"output_bias", NULL, false},
    {NULL, NULL, 0},
};
static const mgk_settings shared = {NULL, shared_own};

static const mgk_setting neox_own[] = {
    {"hidden", "intermediate_size", MGK_NEEDED},
    {"norm_epsilon", "layer_norm_eps", 1e-5},
    {"activation", "hidden_act", MGK_ACTIVATION_GELU},
    {"attention_bias", "attention_bias", true},
    {"positions", NULL, MGK_POSITIONS_ROTARY},
    {"rotary_base", "rotary_emb_base", 10000},
    {NULL, NULL, 0},
};
static const mgk_settings neox = {&shared, neox_own};

static const mgk_setting bloom_own[] = {
    {"activation", NULL, MGK_ACTIVATION_GELU_TANH},
    {"attention_bias", NULL, true},
    {"embedding_norm", NULL, true},
    {"positions", NULL, MGK_POSITIONS_ALIBI},
    {NULL, "apply_residual_connection_post_layernorm", false},
    {NULL, NULL, 0},
};
static const mgk_settings bloom = {&shared, bloom_own};

static const mgk_setting falcon_own[] = {
    {"hidden", "ffn_hidden_size", 0},          {"activation", "activation", MGK_ACTIVATION_GELU},
    {"attention_bias", "bias", false},         {"feed_forward_bias", "bias", false},
    {"positions", NULL, MGK_POSITIONS_ROTARY}, {NULL, NULL, 0},
};
static const mgk_settings falcon = {&shared, falcon_own};

/* ---- what tables cannot say ------------------------------------------------------------------ */

/* This family's own keys count, whatever others say that its files may have beside them. */
static mgk_status check_rotary(const mgk_checkpoint *checkpoint)
{
    static const struct {
        const char *own, *other;
        double usual;
    } keys[] = {{"rotary_emb_base", "rope_theta", 10000},
                {"rotary_pct", "partial_rotary_factor", 0.25}};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        double own, other;
        TRY(mgk_checkpoint_real(checkpoint, keys[i].own, keys[i].usual, &own));
        TRY(mgk_checkpoint_real(checkpoint, keys[i].other, own, &other));
        if (own != other)
            return mgk_fail(STATUS_UNSUPPORTED,
                            "%s: \"%s\" is %g, expected %g: of a gpt_neox \"%s\" counts, which is "
                            "%g if the file does not have it",
                            checkpoint->config_path, keys[i].other, other, own, keys[i].own,
                            keys[i].usual);
    }
    return STATUS_OK;
}

static mgk_status adjust_neox(const mgk_checkpoint *checkpoint, mgk_config *config)
{
    bool parallel;
    TRY(check_rotary(checkpoint));
    TRY(mgk_checkpoint_flag(checkpoint, "use_parallel_residual", true, &parallel));
    config->parallel = parallel ? MGK_PARALLEL_OWN : MGK_PARALLEL_NO;
    return STATUS_OK;
}

static void set_hidden(mgk_config *config)
{
    if (config->hidden == 0)
        config->hidden = config->dim <= 1 << 18 ? 4 * config->dim : 0;
}

/* In its exact mode transformers adds up the slices of a product, and leaves out the bias. */
static mgk_status adjust_bloom(const mgk_checkpoint *checkpoint, mgk_config *config)
{
    bool exact;
    int slices;
    TRY(mgk_checkpoint_flag(checkpoint, "slow_but_exact", false, &exact));
    TRY(mgk_checkpoint_integer(checkpoint, "pretraining_tp", 1, &slices));
    config->hidden = 0;
    set_hidden(config);
    return exact && slices > 1
               ? mgk_fail(STATUS_UNSUPPORTED,
                          "%s: \"slow_but_exact\" is true with \"pretraining_tp\" %d, which "
                          "leaves biases out: expected false",
                          checkpoint->config_path, slices)
               : STATUS_OK;
}

/* A new falcon has groups of heads, an older one a key for all heads, the first one a key a head.
 */
static mgk_status set_key_heads(const mgk_checkpoint *checkpoint, bool newer, mgk_config *config)
{
    const char *key = cJSON_GetObjectItemCaseSensitive(checkpoint->config, "n_head_kv")
                          ? "n_head_kv"
                          : "num_kv_heads";
    bool single;
    TRY(mgk_checkpoint_flag(checkpoint, "multi_query", true, &single));
    if (newer)
        return mgk_checkpoint_integer(checkpoint, key, config->heads, &config->key_heads);
    config->key_heads = single ? 1 : config->heads;
    return STATUS_OK;
}

static mgk_status adjust_falcon(const mgk_checkpoint *checkpoint, mgk_config *config)
{
    bool newer, parallel, alibi;
    int norms;
    TRY(mgk_checkpoint_flag(checkpoint, "new_decoder_architecture", false, &newer));
    TRY(mgk_checkpoint_flag(checkpoint, "parallel_attn", true, &parallel));
    TRY(mgk_checkpoint_flag(checkpoint, "alibi", false, &alibi));
    TRY(mgk_checkpoint_integer(checkpoint, "num_ln_in_parallel_attn", newer ? 2 : 1, &norms));
    TRY(set_key_heads(checkpoint, newer, config));
    set_hidden(config);
    if (newer && !parallel)
        return mgk_fail(STATUS_UNSUPPORTED,
                        "%s: \"parallel_attn\" is false, which is not known with "
                        "new_decoder_architecture",
                        checkpoint->config_path);
    config->parallel = !parallel             ? MGK_PARALLEL_NO
                       : newer && norms == 2 ? MGK_PARALLEL_OWN
                                             : MGK_PARALLEL_SHARED;
    if (alibi) { /* scaled together with the scores */
        config->positions = MGK_POSITIONS_ALIBI;
        config->alibi_scale = config->head_dim > 0 ? 1 / sqrt(config->head_dim) : 1;
        config->alibi_rounded = true;
    }
    return STATUS_OK;
}

static mgk_status mend_falcon(const mgk_checkpoint *checkpoint, const mgk_config *config,
                              const mgk_parameter *parameter, mgk_recipe *out)
{
    return config->parallel == MGK_PARALLEL_OWN &&
                   mgk_tensor_row_of(&own_norm_names, parameter->name)
               ? mgk_recipe_by_names(checkpoint, &own_norm_names, parameter, out)
               : STATUS_OK;
}

/* ---- families -------------------------------------------------------------------------------- */

static const mgk_decoder neox_families[] = {
    {.type = "gpt_neox",
     .settings = &neox,
     .names = &neox_names,
     .others = &neox_others,
     .output = "embed_out.weight",
     .rotary_part = 0.25,
     .adjust = adjust_neox},
    {.type = NULL},
};

static const mgk_decoder bloom_families[] = {
    {.type = "bloom",
     .settings = &bloom,
     .names = &bloom_names,
     .others = &bloom_others,
     .tied = true,
     .adjust = adjust_bloom},
    {.type = "falcon",
     .settings = &falcon,
     .names = &bloom_names,
     .others = &bloom_others,
     .tied = true,
     .adjust = adjust_falcon,
     .mend = mend_falcon},
    {.type = NULL},
};

const mgk_model_format mgk_format_neox = {.name = "Hugging Face's gpt_neox",
                                          .families = neox_families,
                                          .root = neox_root,
                                          .anchor = "layers.0.attention.query_key_value.weight"};

const mgk_model_format mgk_format_bloom = {.name = "Hugging Face's bloom, falcon",
                                           .families = bloom_families,
                                           .root = bloom_root,
                                           .anchor = "h.0.self_attention.query_key_value.weight"};
