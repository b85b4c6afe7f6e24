/* SPDX-License-Identifier: MIT */
/*
 * The encoders and decoders of Hugging Face's t5 and mt5: pre-norm, RMS norms, no biases of maps,
 * scores that are not scaled, and a bias of each head for classes of distances, which layer 0 holds
 * for all layers. There is no end of positions.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/formats/format.h"
#include "model/formats/hugging_face.h"

#define ROWS(side)                                                                              \
    {                                                                                           \
        {.ours = "embedding.token.weight", .theirs = "shared.weight"},                          \
            {.ours = "distance.bias",                                                           \
             .theirs = side ".block.0.layer.0.SelfAttention.relative_attention_bias.weight"},   \
            {.ours = "norm.weight", .theirs = side ".final_layer_norm.weight"}, {.ours = NULL}, \
    }

/* The feed-forward is the last part of a layer, behind that of a decoder's attention to the
 * encoder. With a gate its first map has another name. */
#define LAYER_ROWS(last, in)                                                                    \
    {                                                                                           \
        {.ours = "attention.query.weight", .theirs = "layer.0.SelfAttention.q.weight"},         \
            {.ours = "attention.key.weight", .theirs = "layer.0.SelfAttention.k.weight"},       \
            {.ours = "attention.value.weight", .theirs = "layer.0.SelfAttention.v.weight"},     \
            {.ours = "attention.output.weight", .theirs = "layer.0.SelfAttention.o.weight"},    \
            {.ours = "norm1.weight", .theirs = "layer.0.layer_norm.weight"},                    \
            {.ours = "cross.query.weight", .theirs = "layer.1.EncDecAttention.q.weight"},       \
            {.ours = "cross.key.weight", .theirs = "layer.1.EncDecAttention.k.weight"},         \
            {.ours = "cross.value.weight", .theirs = "layer.1.EncDecAttention.v.weight"},       \
            {.ours = "cross.output.weight", .theirs = "layer.1.EncDecAttention.o.weight"},      \
            {.ours = "cross_norm.weight", .theirs = "layer.1.layer_norm.weight"},               \
            {.ours = "feed_forward.gate.weight", .theirs = last ".DenseReluDense.wi_0.weight"}, \
            {.ours = "feed_forward.in.weight", .theirs = last ".DenseReluDense." in ".weight"}, \
            {.ours = "feed_forward.out.weight", .theirs = last ".DenseReluDense.wo.weight"},    \
            {.ours = "norm2.weight", .theirs = last ".layer_norm.weight"}, {.ours = NULL},      \
    }

static const mgk_tensor_row encoder_rows[] = ROWS("encoder"), decoder_rows[] = ROWS("decoder");
static const mgk_tensor_row layer_rows[] = LAYER_ROWS("layer.1", "wi");
static const mgk_tensor_row gated_rows[] = LAYER_ROWS("layer.1", "wi_1");
static const mgk_tensor_row decoder_layer_rows[] = LAYER_ROWS("layer.2", "wi");
static const mgk_tensor_row gated_decoder_rows[] = LAYER_ROWS("layer.2", "wi_1");

static const char root[] = "encoder.block.0.layer.0.SelfAttention.q.weight";
static const char decoder_root[] = "decoder.block.0.layer.0.SelfAttention.q.weight";

/* Without a gate, and with one. */
static const mgk_tensor_names encoder_names[] = {
    {root, "encoder.block.", layer_rows, encoder_rows},
    {root, "encoder.block.", gated_rows, encoder_rows}};
static const mgk_tensor_names decoder_names[] = {
    {decoder_root, "decoder.block.", decoder_layer_rows, decoder_rows},
    {decoder_root, "decoder.block.", gated_decoder_rows, decoder_rows}};

/*
 * "relu", or "gated-" and an activation; "gated-gelu" is that of T5 1.1, the tanh form. The keys
 * that transformers derives from it and writes, too, go first.
 */
static mgk_status configure_feed_forward(const mgk_checkpoint *checkpoint, const char *usual,
                                         mgk_config *config)
{
    static const char key[] = "feed_forward_proj", gated[] = "gated-", own[] = "dense_act_fn";
    const char *name, *activation;
    TRY(mgk_checkpoint_string(checkpoint, key, usual, &name));
    config->gated = strncmp(name, gated, strlen(gated)) == 0;
    if (strcmp(name, "gated-gelu") == 0)
        name = "gated-gelu_new";
    if (config->gated)
        name += strlen(gated);
    TRY(mgk_checkpoint_flag(checkpoint, "is_gated_act", config->gated, &config->gated));
    TRY(mgk_checkpoint_string(checkpoint, own, NULL, &activation));
    return mgk_hugging_face_activation_of(checkpoint, activation ? own : key,
                                          activation ? activation : name, &config->activation);
}

/* What encoder and decoder have in common. */
static mgk_status configure_side(const mgk_checkpoint *checkpoint, mgk_config *config)
{
    enum { NO_END = 1 << 20 };
    const char *type;
    strcpy(config->attention, "softmax");
    config->mixtures = 1;
    config->dropout = 0;
    config->pre_norm = true;
    config->norm = MGK_NORMALIZATION_RMS;
    config->attention_bias = config->feed_forward_bias = false;
    config->attention_scale = 1;
    config->embedding_scale = 1;
    config->positions = MGK_POSITIONS_NONE;
    config->length = NO_END;
    TRY(mgk_checkpoint_string(checkpoint, "model_type", "", &type));
    TRY(mgk_checkpoint_needed(checkpoint, "vocab_size", &config->vocabulary));
    TRY(mgk_checkpoint_needed(checkpoint, "d_model", &config->dim));
    TRY(mgk_checkpoint_needed(checkpoint, "d_kv", &config->head_dim));
    TRY(mgk_checkpoint_needed(checkpoint, "d_ff", &config->hidden));
    TRY(mgk_checkpoint_needed(checkpoint, "num_layers", &config->layers));
    TRY(mgk_checkpoint_needed(checkpoint, "num_heads", &config->heads));
    TRY(mgk_checkpoint_integer(checkpoint, "relative_attention_num_buckets", 32, &config->buckets));
    TRY(mgk_checkpoint_integer(checkpoint, "relative_attention_max_distance", config->bucket_limit,
                               &config->bucket_limit));
    TRY(mgk_checkpoint_real(checkpoint, "layer_norm_epsilon", 1e-6, &config->norm_epsilon));
    TRY(mgk_hugging_face_padding(checkpoint, config));
    return configure_feed_forward(checkpoint, strcmp(type, "mt5") == 0 ? "gated-gelu" : "relu",
                                  config);
}

static mgk_status configure(const mgk_checkpoint *checkpoint, const mgk_model_options *options,
                            mgk_config *config)
{
    (void)options;
    mgk_config_defaults(MGK_FAMILY_ENCODER, config);
    config->classes = 0;
    return configure_side(checkpoint, config);
}

/*
 * The output of t5 before 1.1, whose output layer is the embedding, is scaled by C^(−1/2). Newer
 * files tell the two apart by a key of its own, older ones by the tie; mt5 is as 1.1.
 */
static mgk_status configure_scale(const mgk_checkpoint *checkpoint, mgk_config *config)
{
    const char *type;
    bool tied, scaled;
    TRY(mgk_checkpoint_string(checkpoint, "model_type", "", &type));
    TRY(mgk_checkpoint_flag(checkpoint, "tie_word_embeddings", true, &tied));
    TRY(mgk_checkpoint_flag(checkpoint, "scale_decoder_outputs", tied, &scaled));
    config->logit_scale = scaled && strcmp(type, "mt5") != 0 ? 1 / sqrt(config->dim) : 1;
    return STATUS_OK;
}

static mgk_status configure_decoder(const mgk_checkpoint *checkpoint,
                                    const mgk_model_options *options, mgk_config *config)
{
    (void)options;
    mgk_config_defaults(MGK_FAMILY_LM, config);
    TRY(mgk_hugging_face_causal(checkpoint));
    TRY(configure_side(checkpoint, config));
    TRY(mgk_checkpoint_integer(checkpoint, "num_decoder_layers", config->layers, &config->layers));
    TRY(mgk_hugging_face_start(checkpoint, config->padding > 0 ? config->padding : 0, config));
    TRY(configure_scale(checkpoint, config));
    config->memory = config->dim;
    config->output_bias = false;
    return mgk_hugging_face_output(checkpoint, NULL, true, config);
}

static mgk_status recipe(const mgk_checkpoint *checkpoint, const mgk_config *config,
                         const mgk_parameter *parameter, mgk_recipe *out)
{
    TRY(mgk_recipe_by_names(checkpoint, &encoder_names[config->gated], parameter, out));
    if (strcmp(parameter->name, "embedding.token.weight") == 0)
        mgk_hugging_face_tokens(checkpoint, root, "encoder.embed_tokens.weight", out);
    return STATUS_OK;
}

static mgk_status recipe_of_decoder(const mgk_checkpoint *checkpoint, const mgk_config *config,
                                    const mgk_parameter *parameter, mgk_recipe *out)
{
    TRY(mgk_hugging_face_language_model(checkpoint, &decoder_names[config->gated], NULL, parameter,
                                        out));
    if (strcmp(parameter->name, "embedding.token.weight") == 0)
        mgk_hugging_face_tokens(checkpoint, decoder_root, "decoder.embed_tokens.weight", out);
    return STATUS_OK;
}

static const char *const types[] = {"t5", "mt5", NULL};
static const char *const apart[] = {"classification_head", NULL};
static const char *const beside[] = {"shared.weight", NULL};
/* Early files hold distances of the attention to the encoder, which the model does not use. */
static const char *const beside_decoder[] = {
    "shared.weight", "encoder.", "EncDecAttention.relative_attention_bias.weight", NULL};

const mgk_model_format mgk_format_t5 = {.name = "Hugging Face's t5, its encoder",
                                        .model_types = types,
                                        .beside = beside,
                                        .apart = apart,
                                        .decoder = &mgk_format_t5_decoder,
                                        .root = root,
                                        .anchor = root,
                                        .configure = configure,
                                        .recipe = recipe};

const mgk_model_format mgk_format_t5_decoder = {.name = "Hugging Face's t5, its decoder",
                                                .model_types = types,
                                                .beside = beside_decoder,
                                                .apart = apart,
                                                .root = decoder_root,
                                                .configure = configure_decoder,
                                                .recipe = recipe_of_decoder};
