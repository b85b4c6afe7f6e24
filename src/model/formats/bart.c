/* SPDX-License-Identifier: MIT */
/*
 * The encoders and decoders of Hugging Face's bart and its relatives, which differ in where norms
 * stand and in their positions: learned ones, of which the first two rows of the table are not
 * used, or sinusoids, which the file may hold.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/formats/format.h"
#include "model/formats/hugging_face.h"

#define ROWS(side)                                                                           \
    {                                                                                        \
        {.ours = "embedding.token.weight", .theirs = "shared.weight"},                       \
            {.ours = "embedding.position.weight", .theirs = side ".embed_positions.weight"}, \
            {.ours = "embedding.norm.weight", .theirs = side ".layernorm_embedding.weight"}, \
            {.ours = "embedding.norm.bias", .theirs = side ".layernorm_embedding.bias"},     \
            {.ours = "norm.weight", .theirs = side ".layer_norm.weight"},                    \
            {.ours = "norm.bias", .theirs = side ".layer_norm.bias"}, {.ours = NULL},        \
    }

static const mgk_tensor_row encoder_rows[] = ROWS("encoder"), decoder_rows[] = ROWS("decoder");

const mgk_tensor_row mgk_hugging_face_bart_rows[] = {
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
    {.ours = "cross.query.weight", .theirs = "encoder_attn.q_proj.weight"},
    {.ours = "cross.query.bias", .theirs = "encoder_attn.q_proj.bias"},
    {.ours = "cross.key.weight", .theirs = "encoder_attn.k_proj.weight"},
    {.ours = "cross.key.bias", .theirs = "encoder_attn.k_proj.bias"},
    {.ours = "cross.value.weight", .theirs = "encoder_attn.v_proj.weight"},
    {.ours = "cross.value.bias", .theirs = "encoder_attn.v_proj.bias"},
    {.ours = "cross.output.weight", .theirs = "encoder_attn.out_proj.weight"},
    {.ours = "cross.output.bias", .theirs = "encoder_attn.out_proj.bias"},
    {.ours = "cross_norm.weight", .theirs = "encoder_attn_layer_norm.weight"},
    {.ours = "cross_norm.bias", .theirs = "encoder_attn_layer_norm.bias"},
    {.ours = "feed_forward.in.weight", .theirs = "fc1.weight"},
    {.ours = "feed_forward.in.bias", .theirs = "fc1.bias"},
    {.ours = "feed_forward.out.weight", .theirs = "fc2.weight"},
    {.ours = "feed_forward.out.bias", .theirs = "fc2.bias"},
    {.ours = "norm2.weight", .theirs = "final_layer_norm.weight"},
    {.ours = "norm2.bias", .theirs = "final_layer_norm.bias"},
    {.ours = NULL},
};

/* An encoder or decoder, as keys of config.json and names of tensors call it. */
struct side {
    const char *name;
    mgk_tensor_names names;
    const char *tokens; /* the embedding that is its own */
};

static const struct side encoder = {
    .name = "encoder",
    .names = {"encoder.layers.0.self_attn.q_proj.weight", "encoder.layers.",
              mgk_hugging_face_bart_rows, encoder_rows},
    .tokens = "encoder.embed_tokens.weight",
};

static const struct side decoder = {
    .name = "decoder",
    .names = {"decoder.layers.0.self_attn.q_proj.weight", "decoder.layers.",
              mgk_hugging_face_bart_rows, decoder_rows},
    .tokens = "decoder.embed_tokens.weight",
};

static const struct family {
    const char *type;
    bool pre_norm;       /* and a norm after the last layer */
    bool embedding_norm; /* a norm before the first layer */
    size_t unused;       /* rows of the table before the first position */
    bool sinusoidal;     /* the file need not hold the table */
    int start;           /* the usual id before a target; -1: the target's last token */
} families[] = {
    {"bart", false, true, 2, false, 2},
    {"mbart", true, true, 2, false, -1},
    {"marian", false, false, 0, true, 58100},
    {"pegasus", true, false, 0, true, 0},
};

/* The row of config.json's model_type, which has been recognised. */
static const struct family *family_of(const mgk_checkpoint *checkpoint)
{
    const char *type = "";
    if (mgk_checkpoint_string(checkpoint, "model_type", "", &type) == STATUS_OK)
        for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
            if (strcmp(families[i].type, type) == 0)
                return &families[i];
    return &families[0];
}

mgk_status mgk_hugging_face_bart_side(const mgk_checkpoint *checkpoint, const char *side,
                                      mgk_config *config)
{
    char layers[32], heads[32], hidden[32];
    bool scaled;
    snprintf(layers, sizeof(layers), "%.10s_layers", side);
    snprintf(heads, sizeof(heads), "%.10s_attention_heads", side);
    snprintf(hidden, sizeof(hidden), "%.10s_ffn_dim", side);
    strcpy(config->attention, "softmax");
    config->mixtures = 1;
    config->dropout = 0;
    config->attention_bias = true;
    config->positions = MGK_POSITIONS_LEARNED;
    TRY(mgk_checkpoint_needed(checkpoint, "vocab_size", &config->vocabulary));
    TRY(mgk_checkpoint_needed(checkpoint, layers, &config->layers));
    TRY(mgk_checkpoint_needed(checkpoint, hidden, &config->hidden));
    TRY(mgk_hugging_face_heads(checkpoint, heads, "d_model", config));
    TRY(mgk_hugging_face_activation(checkpoint, "activation_function", "gelu",
                                    &config->activation));
    TRY(mgk_checkpoint_flag(checkpoint, "scale_embedding", false, &scaled));
    config->embedding_scale = scaled ? sqrt(config->dim) : 1;
    return mgk_hugging_face_padding(checkpoint, config);
}

static mgk_status configure_side(const mgk_checkpoint *checkpoint, const struct side *side,
                                 mgk_config *config)
{
    const struct family *family = family_of(checkpoint);
    TRY(mgk_hugging_face_bart_side(checkpoint, side->name, config));
    config->pre_norm = family->pre_norm;
    config->embedding_norm = family->embedding_norm;
    return mgk_checkpoint_integer(checkpoint, "max_position_embeddings", 1024, &config->length);
}

static mgk_status configure(const mgk_checkpoint *checkpoint, const mgk_model_options *options,
                            mgk_config *config)
{
    (void)options;
    mgk_config_defaults(MGK_FAMILY_ENCODER, config);
    config->classes = 0;
    return configure_side(checkpoint, &encoder, config);
}

static const char logits_bias[] = "final_logits_bias";

/* Marian's decoder may have words of its own. */
static mgk_status configure_decoder(const mgk_checkpoint *checkpoint,
                                    const mgk_model_options *options, mgk_config *config)
{
    const struct family *family = family_of(checkpoint);
    char prefix[MGK_TENSOR_NAME];
    bool shared;
    (void)options;
    mgk_config_defaults(MGK_FAMILY_LM, config);
    TRY(mgk_hugging_face_causal(checkpoint));
    TRY(configure_side(checkpoint, &decoder, config));
    TRY(mgk_checkpoint_flag(checkpoint, "share_encoder_decoder_embeddings", true, &shared));
    if (!shared)
        TRY(mgk_checkpoint_integer(checkpoint, "decoder_vocab_size", config->vocabulary,
                                   &config->vocabulary));
    config->memory = config->dim;
    config->output_bias = mgk_checkpoint_prefix(checkpoint, logits_bias, prefix);
    if (family->start >= 0)
        TRY(mgk_hugging_face_start(checkpoint, family->start, config));
    return mgk_hugging_face_output(checkpoint, NULL, true, config);
}

/*
 * values [N, C], or NULL: for position t, sin of t·10000^(−2i/C) in the first half of the columns,
 * the larger one if C is odd, cos in the second; rounded to single precision, as in files.
 */
static mgk_status compute_sinusoids(const mgk_checkpoint *checkpoint, const mgk_config *config,
                                    const mgk_recipe *recipe, const mgk_parameter *parameter,
                                    double *values)
{
    enum { MOST = 1 << 25 }; /* numbers, far more than any model has: no file bounds them */
    const size_t dim = (size_t)config->dim, half = (dim + 1) / 2;
    (void)recipe;
    if (parameter->count > MOST)
        return mgk_fail(STATUS_UNSUPPORTED,
                        "%s: %d positions of %d numbers without a table of them are not known",
                        checkpoint->config_path, config->length, config->dim);
    for (size_t i = 0; values && i < parameter->count; i++) {
        size_t column = i % dim, frequency = column < half ? column : column - half;
        double angle = (double)(i / dim) / pow(10000, 2 * (double)frequency / (double)dim);
        values[i] = (double)(float)(column < half ? sin(angle) : cos(angle));
    }
    return STATUS_OK;
}

static mgk_status recipe_of(const mgk_checkpoint *checkpoint, const struct side *side,
                            const mgk_parameter *parameter, mgk_recipe *out)
{
    const struct family *family = family_of(checkpoint);
    TRY(mgk_hugging_face_language_model(checkpoint, &side->names, NULL, parameter, out));
    if (strcmp(parameter->name, "embedding.token.weight") == 0)
        mgk_hugging_face_tokens(checkpoint, side->names.anchor, side->tokens, out);
    if (strcmp(parameter->name, "embedding.position.weight") != 0)
        return STATUS_OK;
    out->first = family->unused;
    out->rows = parameter->shape[0] + family->unused;
    if (family->sinusoidal && !mgk_checkpoint_find(checkpoint, "%s", out->name))
        out->compute = compute_sinusoids;
    return STATUS_OK;
}

static mgk_status recipe(const mgk_checkpoint *checkpoint, const mgk_config *config,
                         const mgk_parameter *parameter, mgk_recipe *out)
{
    (void)config;
    return recipe_of(checkpoint, &encoder, parameter, out);
}

/* The bias of logits is a matrix of one row. */
static mgk_status recipe_of_decoder(const mgk_checkpoint *checkpoint, const mgk_config *config,
                                    const mgk_parameter *parameter, mgk_recipe *out)
{
    char prefix[MGK_TENSOR_NAME] = "";
    if (strcmp(parameter->name, "output.bias") != 0)
        return recipe_of(checkpoint, &decoder, parameter, out);
    mgk_checkpoint_prefix(checkpoint, logits_bias, prefix);
    snprintf(out->name, sizeof(out->name), "%.100s%s", prefix, logits_bias);
    out->axes = 2;
    out->shape[0] = 1;
    out->shape[1] = (size_t)config->vocabulary;
    return STATUS_OK;
}

static const char *const types[] = {"bart", "mbart", "marian", "pegasus", NULL};
static const char *const apart[] = {"classification_head", NULL};
static const char *const beside[] = {"shared.weight", "encoder.version", NULL};
static const char *const beside_decoder[] = {"shared.weight", "encoder.", "decoder.version", NULL};

const mgk_model_format mgk_format_bart = {.name = "Hugging Face's bart and its relatives, encoders",
                                          .model_types = types,
                                          .beside = beside,
                                          .apart = apart,
                                          .decoder = &mgk_format_bart_decoder,
                                          .root = "encoder.layers.0.self_attn.q_proj.weight",
                                          .anchor = "encoder.layers.0.self_attn.q_proj.weight",
                                          .configure = configure,
                                          .recipe = recipe};

const mgk_model_format mgk_format_bart_decoder = {
    .name = "Hugging Face's bart and its relatives, decoders",
    .model_types = types,
    .beside = beside_decoder,
    .apart = apart,
    .root = "decoder.layers.0.self_attn.q_proj.weight",
    .configure = configure_decoder,
    .recipe = recipe_of_decoder};
