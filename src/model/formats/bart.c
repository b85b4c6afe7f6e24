/* SPDX-License-Identifier: MIT */
/*
 * The encoders of Hugging Face's bart and its relatives, which differ in where norms stand and in
 * their positions: learned ones, of which the first two rows of the table are not used, or
 * sinusoids, which the file may hold. Decoders are left out.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/formats/format.h"
#include "model/formats/hugging_face.h"

static const mgk_tensor_row rows[] = {
    {.ours = "embedding.token.weight", .theirs = "shared.weight"},
    {.ours = "embedding.position.weight", .theirs = "encoder.embed_positions.weight"},
    {.ours = "embedding.norm.weight", .theirs = "encoder.layernorm_embedding.weight"},
    {.ours = "embedding.norm.bias", .theirs = "encoder.layernorm_embedding.bias"},
    {.ours = "norm.weight", .theirs = "encoder.layer_norm.weight"},
    {.ours = "norm.bias", .theirs = "encoder.layer_norm.bias"},
    {.ours = NULL},
};

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
    {.ours = "feed_forward.in.weight", .theirs = "fc1.weight"},
    {.ours = "feed_forward.in.bias", .theirs = "fc1.bias"},
    {.ours = "feed_forward.out.weight", .theirs = "fc2.weight"},
    {.ours = "feed_forward.out.bias", .theirs = "fc2.bias"},
    {.ours = "norm2.weight", .theirs = "final_layer_norm.weight"},
    {.ours = "norm2.bias", .theirs = "final_layer_norm.bias"},
    {.ours = NULL},
};

static const char root[] = "encoder.layers.0.self_attn.q_proj.weight";
static const mgk_tensor_names names = {root, "encoder.layers.", mgk_hugging_face_bart_rows, rows};

static const struct family {
    const char *type;
    bool pre_norm;       /* and a norm after the last layer */
    bool embedding_norm; /* a norm before the first layer */
    size_t unused;       /* rows of the table before the first position */
    bool sinusoidal;     /* the file need not hold the table */
} families[] = {
    {"bart", false, true, 2, false},
    {"mbart", true, true, 2, false},
    {"marian", false, false, 0, true},
    {"pegasus", true, false, 0, true},
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

static mgk_status configure(const mgk_checkpoint *checkpoint, const mgk_model_options *options,
                            mgk_config *config)
{
    const struct family *family = family_of(checkpoint);
    bool scaled;
    (void)options;
    mgk_config_defaults(MGK_FAMILY_ENCODER, config);
    strcpy(config->attention, "softmax");
    config->mixtures = 1;
    config->classes = 0;
    config->dropout = 0;
    config->pre_norm = family->pre_norm;
    config->embedding_norm = family->embedding_norm;
    TRY(mgk_checkpoint_needed(checkpoint, "vocab_size", &config->vocabulary));
    TRY(mgk_checkpoint_needed(checkpoint, "encoder_layers", &config->layers));
    TRY(mgk_checkpoint_needed(checkpoint, "encoder_ffn_dim", &config->hidden));
    TRY(mgk_hugging_face_heads(checkpoint, "encoder_attention_heads", "d_model", config));
    TRY(mgk_checkpoint_integer(checkpoint, "max_position_embeddings", 1024, &config->length));
    TRY(mgk_hugging_face_activation(checkpoint, "activation_function", "gelu",
                                    &config->activation));
    TRY(mgk_checkpoint_flag(checkpoint, "scale_embedding", false, &scaled));
    config->embedding_scale = scaled ? sqrt(config->dim) : 1;
    return mgk_hugging_face_padding(checkpoint, config);
}

/*
 * values [N, C], or NULL: for position t, sin of t·10000^(−2i/C) in the first half of the columns,
 * the larger one if C is odd, cos in the second; rounded to single precision, as in files.
 */
static mgk_status compute_sinusoids(const mgk_checkpoint *checkpoint, const mgk_config *config,
                                    const mgk_recipe *recipe, const mgk_parameter *parameter,
                                    double *values)
{
    const size_t dim = (size_t)config->dim, half = (dim + 1) / 2;
    (void)checkpoint, (void)recipe;
    for (size_t i = 0; values && i < parameter->count; i++) {
        size_t column = i % dim, frequency = column < half ? column : column - half;
        double angle = (double)(i / dim) / pow(10000, 2 * (double)frequency / (double)dim);
        values[i] = (double)(float)(column < half ? sin(angle) : cos(angle));
    }
    return STATUS_OK;
}

static mgk_status recipe(const mgk_checkpoint *checkpoint, const mgk_config *config,
                         const mgk_parameter *parameter, mgk_recipe *out)
{
    const struct family *family = family_of(checkpoint);
    (void)config;
    TRY(mgk_recipe_by_names(checkpoint, &names, parameter, out));
    if (strcmp(parameter->name, "embedding.token.weight") == 0)
        mgk_hugging_face_encoder_tokens(checkpoint, root, out);
    if (strcmp(parameter->name, "embedding.position.weight") != 0)
        return STATUS_OK;
    out->first = family->unused;
    out->rows = parameter->shape[0] + family->unused;
    if (family->sinusoidal && !mgk_checkpoint_find(checkpoint, "%s", out->name))
        out->compute = compute_sinusoids;
    return STATUS_OK;
}

static const char *const types[] = {"bart", "mbart", "marian", "pegasus", NULL};
static const char *const apart[] = {"classification_head", NULL};
static const char *const beside[] = {"shared.weight", "encoder.version", NULL};

const mgk_model_format mgk_format_bart = {.name = "Hugging Face's bart and its relatives, encoders",
                                          .model_types = types,
                                          .beside = beside,
                                          .apart = apart,
                                          .decoder = mgk_hugging_face_decoder,
                                          .root = root,
                                          .anchor = root,
                                          .configure = configure,
                                          .recipe = recipe};
