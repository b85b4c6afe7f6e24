/* SPDX-License-Identifier: MIT */
/*
 * The encoders of Hugging Face's t5 and mt5: pre-norm, RMS norms, no biases of maps, scores that
 * are not scaled, and a bias of each head for classes of distances, which layer 0 holds for all
 * layers. There is no end of positions. Decoders are left out.
 */
#include <stdio.h>
#include <string.h>

#include "model/formats/format.h"
#include "model/formats/hugging_face.h"

static const mgk_tensor_row rows[] = {
    {.ours = "embedding.token.weight", .theirs = "shared.weight"},
    {.ours = "distance.bias",
     .theirs = "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"},
    {.ours = "norm.weight", .theirs = "encoder.final_layer_norm.weight"},
    {.ours = NULL},
};

/* With a gate the first map has another name. */
#define LAYER_ROWS(in)                                                                            \
    {                                                                                             \
        {.ours = "attention.query.weight", .theirs = "layer.0.SelfAttention.q.weight"},           \
            {.ours = "attention.key.weight", .theirs = "layer.0.SelfAttention.k.weight"},         \
            {.ours = "attention.value.weight", .theirs = "layer.0.SelfAttention.v.weight"},       \
            {.ours = "attention.output.weight", .theirs = "layer.0.SelfAttention.o.weight"},      \
            {.ours = "norm1.weight", .theirs = "layer.0.layer_norm.weight"},                      \
            {.ours = "feed_forward.gate.weight", .theirs = "layer.1.DenseReluDense.wi_0.weight"}, \
            {.ours = "feed_forward.in.weight", .theirs = "layer.1.DenseReluDense." in ".weight"}, \
            {.ours = "feed_forward.out.weight", .theirs = "layer.1.DenseReluDense.wo.weight"},    \
            {.ours = "norm2.weight", .theirs = "layer.1.layer_norm.weight"}, {.ours = NULL},      \
    }

static const mgk_tensor_row layer_rows[] = LAYER_ROWS("wi"), gated_rows[] = LAYER_ROWS("wi_1");

static const char root[] = "encoder.block.0.layer.0.SelfAttention.q.weight";
static const mgk_tensor_names names = {root, "encoder.block.", layer_rows, rows};
static const mgk_tensor_names gated_names = {root, "encoder.block.", gated_rows, rows};

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

static mgk_status configure(const mgk_checkpoint *checkpoint, const mgk_model_options *options,
                            mgk_config *config)
{
    enum { NO_END = 1 << 20 };
    const char *type;
    (void)options;
    mgk_config_defaults(MGK_FAMILY_ENCODER, config);
    strcpy(config->attention, "softmax");
    config->mixtures = 1;
    config->classes = 0;
    config->dropout = 0;
    config->norm = MGK_NORMALIZATION_RMS;
    config->attention_bias = config->feed_forward_bias = false;
    config->attention_scale = 1;
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

static mgk_status recipe(const mgk_checkpoint *checkpoint, const mgk_config *config,
                         const mgk_parameter *parameter, mgk_recipe *out)
{
    TRY(mgk_recipe_by_names(checkpoint, config->gated ? &gated_names : &names, parameter, out));
    if (strcmp(parameter->name, "embedding.token.weight") == 0)
        mgk_hugging_face_encoder_tokens(checkpoint, root, out);
    return STATUS_OK;
}

static const char *const types[] = {"t5", "mt5", NULL};
static const char *const apart[] = {"classification_head", NULL};
static const char *const beside[] = {"shared.weight", NULL};

const mgk_model_format mgk_format_t5 = {.name = "Hugging Face's t5, its encoder",
                                        .model_types = types,
                                        .beside = beside,
                                        .apart = apart,
                                        .decoder = mgk_hugging_face_decoder,
                                        .root = root,
                                        .anchor = root,
                                        .configure = configure,
                                        .recipe = recipe};
