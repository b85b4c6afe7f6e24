/* SPDX-License-Identifier: MIT */
/*
 * Hugging Face's esm: pre-norm encoders of proteins. ESM-2 rotates queries and keys, ESM-1b has
 * learned positions that begin after the id of padding. In training a part of the tokens were
 * masked, with embeddings of 0, and the others are scaled as if it were always that part
 * ("token_dropout").
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/formats/format.h"
#include "model/formats/hugging_face.h"

static const mgk_tensor_row rows[] = {
    {.ours = "embedding.token.weight", .theirs = "embeddings.word_embeddings.weight"},
    {.ours = "embedding.position.weight", .theirs = "embeddings.position_embeddings.weight"},
    {.ours = "embedding.norm.weight", .theirs = "embeddings.layer_norm.weight"},
    {.ours = "embedding.norm.bias", .theirs = "embeddings.layer_norm.bias"},
    {.ours = "norm.weight", .theirs = "encoder.emb_layer_norm_after.weight"},
    {.ours = "norm.bias", .theirs = "encoder.emb_layer_norm_after.bias"},
    {.ours = NULL},
};

static const mgk_tensor_row layer_rows[] = {
    {.ours = "attention.query.weight", .theirs = "attention.self.query.weight"},
    {.ours = "attention.query.bias", .theirs = "attention.self.query.bias"},
    {.ours = "attention.key.weight", .theirs = "attention.self.key.weight"},
    {.ours = "attention.key.bias", .theirs = "attention.self.key.bias"},
    {.ours = "attention.value.weight", .theirs = "attention.self.value.weight"},
    {.ours = "attention.value.bias", .theirs = "attention.self.value.bias"},
    {.ours = "attention.output.weight", .theirs = "attention.output.dense.weight"},
    {.ours = "attention.output.bias", .theirs = "attention.output.dense.bias"},
    {.ours = "norm1.weight", .theirs = "attention.LayerNorm.weight"},
    {.ours = "norm1.bias", .theirs = "attention.LayerNorm.bias"},
    {.ours = "feed_forward.in.weight", .theirs = "intermediate.dense.weight"},
    {.ours = "feed_forward.in.bias", .theirs = "intermediate.dense.bias"},
    {.ours = "feed_forward.out.weight", .theirs = "output.dense.weight"},
    {.ours = "feed_forward.out.bias", .theirs = "output.dense.bias"},
    {.ours = "norm2.weight", .theirs = "LayerNorm.weight"},
    {.ours = "norm2.bias", .theirs = "LayerNorm.bias"},
    {.ours = NULL},
};

static const char root[] = "embeddings.word_embeddings.weight";
static const mgk_tensor_names names = {root, "encoder.layer.", layer_rows, rows};

/* Refuses what would change numbers, and what the reference ignores. */
static mgk_status refuse_variants(const mgk_checkpoint *checkpoint, const mgk_config *config)
{
    static const char *const keys[] = {"is_folding_model", "is_decoder"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        bool set;
        TRY(mgk_checkpoint_flag(checkpoint, keys[i], false, &set));
        if (set)
            return mgk_fail(STATUS_UNSUPPORTED, "%s: %s true is not known", checkpoint->config_path,
                            keys[i]);
    }
    return config->activation == MGK_ACTIVATION_GELU
               ? STATUS_OK
               : mgk_fail(STATUS_UNSUPPORTED, "%s: hidden_act is another than gelu, which esm has",
                          checkpoint->config_path);
}

/*
 * The frequencies of rotary positions, where the file has them, once for the model or in every
 * layer. They may have been rounded to 16 bits, and the model was trained with these. Here they are
 * divisors of the exact ones.
 */
static mgk_status read_frequencies(const mgk_checkpoint *checkpoint, mgk_config *config)
{
    static const char own[] = "rotary_embeddings.inv_freq";
    const size_t count = (size_t)config->head_dim / 2;
    char prefix[MGK_TENSOR_NAME], name[MGK_TENSOR_NAME];
    double values[MGK_MAX_FREQUENCIES];
    const mgk_tensor_info *tensor;
    if (!mgk_checkpoint_prefix(checkpoint, own, prefix))
        return STATUS_OK;
    if (count > MGK_MAX_FREQUENCIES)
        return mgk_fail(STATUS_UNSUPPORTED, "%s: heads of %d numbers, expected at most %d",
                        checkpoint->config_path, config->head_dim, 2 * MGK_MAX_FREQUENCIES);
    snprintf(name, sizeof(name), "%.200s%s", prefix, own);
    TRY(mgk_checkpoint_expect(checkpoint, name, 1, &count, &tensor));
    TRY(mgk_tensors_read(checkpoint->tensors, tensor, 0, count, MGK_DTYPE_F64, values));
    config->rotary_scaling = MGK_ROTARY_LONG;
    config->rotary_original = config->length;
    for (size_t i = 0; i < count; i++)
        config->rotary_short[i] = config->rotary_long[i] =
            pow(config->rotary_base, -2.0 * (double)i / config->head_dim) / values[i];
    return STATUS_OK;
}

static mgk_status configure_positions(const mgk_checkpoint *checkpoint, mgk_config *config)
{
    const char *kind;
    TRY(mgk_checkpoint_string(checkpoint, "position_embedding_type", "absolute", &kind));
    if (strcmp(kind, "absolute") == 0)
        return mgk_hugging_face_places(checkpoint, config);
    if (strcmp(kind, "rotary") != 0)
        return mgk_fail(STATUS_UNSUPPORTED, "%s: position_embedding_type \"%.64s\" is not known",
                        checkpoint->config_path, kind);
    config->positions = MGK_POSITIONS_ROTARY;
    TRY(mgk_checkpoint_needed(checkpoint, "max_position_embeddings", &config->length));
    TRY(mgk_checkpoint_real(checkpoint, "rope_theta", 10000, &config->rotary_base));
    return read_frequencies(checkpoint, config);
}

/* In training 15 % of the tokens were chosen, and 80 % of these masked, whatever config.json says.
 */
static mgk_status configure_mask(const mgk_checkpoint *checkpoint, mgk_config *config)
{
    bool drops;
    TRY(mgk_checkpoint_flag(checkpoint, "token_dropout", false, &drops));
    if (!drops)
        return STATUS_OK;
    config->embedding_scale = 1 - 0.15 * 0.8;
    TRY(mgk_checkpoint_needed(checkpoint, "mask_token_id", &config->mask_token));
    return config->mask_token > 0 && config->mask_token < config->vocabulary
               ? STATUS_OK
               : mgk_fail(STATUS_FORMAT, "%s: mask_token_id %d: expected 1 to %d",
                          checkpoint->config_path, config->mask_token, config->vocabulary - 1);
}

static mgk_status configure(const mgk_checkpoint *checkpoint, const mgk_model_options *options,
                            mgk_config *config)
{
    (void)options;
    mgk_config_defaults(MGK_FAMILY_ENCODER, config);
    strcpy(config->attention, "softmax");
    config->mixtures = 1;
    config->classes = 0;
    config->dropout = 0;
    TRY(mgk_hugging_face_heads(checkpoint, "num_attention_heads", "hidden_size", config));
    TRY(mgk_checkpoint_needed(checkpoint, "num_hidden_layers", &config->layers));
    TRY(mgk_checkpoint_needed(checkpoint, "intermediate_size", &config->hidden));
    TRY(mgk_checkpoint_needed(checkpoint, "vocab_size", &config->vocabulary));
    TRY(mgk_checkpoint_real(checkpoint, "layer_norm_eps", 1e-12, &config->norm_epsilon));
    TRY(mgk_checkpoint_flag(checkpoint, "emb_layer_norm_before", false, &config->embedding_norm));
    TRY(mgk_hugging_face_activation(checkpoint, "hidden_act", "gelu", &config->activation));
    TRY(refuse_variants(checkpoint, config));
    TRY(mgk_hugging_face_padding(checkpoint, config));
    TRY(configure_mask(checkpoint, config));
    return configure_positions(checkpoint, config);
}

static mgk_status recipe(const mgk_checkpoint *checkpoint, const mgk_config *config,
                         const mgk_parameter *parameter, mgk_recipe *out)
{
    (void)config;
    if (strcmp(parameter->name, "embedding.position.weight") == 0)
        out->compute = mgk_hugging_face_compute_places;
    return mgk_recipe_by_names(checkpoint, &names, parameter, out);
}

static const char *const types[] = {"esm", NULL};
/* Models with rotary positions have kept the table of the others. */
static const char *const beside[] = {"embeddings.position_embeddings.weight", NULL};
static const char *const apart[] = {"contact_head", NULL};

const mgk_model_format mgk_format_esm = {.name = "Hugging Face's esm",
                                         .model_types = types,
                                         .beside = beside,
                                         .apart = apart,
                                         .root = root,
                                         .anchor = "encoder.emb_layer_norm_after.weight",
                                         .configure = configure,
                                         .recipe = recipe};
