/* SPDX-License-Identifier: MIT */
/*
 * Hugging Face's bert and its relatives: post-norm encoders whose embeddings are words, learned
 * positions and often types of tokens. The first type is added to the positions: all tokens have it
 * unless a second sentence follows. roberta's positions begin after the id of padding, and padding
 * is not counted. electra and albert embed words in fewer numbers; albert's layers share their
 * parameters. mpnet adds a bias to scores, which depends on the distance of query and key. Those in
 * bert_kinds.c have another kind of attention than softmax.
 * sentence-transformers saves such models.
 */
#include <stdio.h>
#include <string.h>

#include "model/formats/bert_kinds.h"
#include "model/formats/format.h"
#include "model/formats/hugging_face.h"

static const mgk_tensor_row embedding_rows[] = {
    {.ours = "embedding.token.weight", .theirs = "embeddings.word_embeddings.weight"},
    {.ours = "embedding.position.weight", .theirs = "embeddings.position_embeddings.weight"},
    {.ours = "embedding.norm.weight", .theirs = "embeddings.LayerNorm.weight"},
    {.ours = "embedding.norm.bias", .theirs = "embeddings.LayerNorm.bias"},
    {.ours = "embedding.projection.weight", .theirs = "embeddings_project.weight"},
    {.ours = "embedding.projection.bias", .theirs = "embeddings_project.bias"},
    {.ours = NULL},
};

static const mgk_tensor_row albert_embedding_rows[] = {
    {.ours = "embedding.token.weight", .theirs = "embeddings.word_embeddings.weight"},
    {.ours = "embedding.position.weight", .theirs = "embeddings.position_embeddings.weight"},
    {.ours = "embedding.norm.weight", .theirs = "embeddings.LayerNorm.weight"},
    {.ours = "embedding.norm.bias", .theirs = "embeddings.LayerNorm.bias"},
    {.ours = "embedding.projection.weight", .theirs = "encoder.embedding_hidden_mapping_in.weight"},
    {.ours = "embedding.projection.bias", .theirs = "encoder.embedding_hidden_mapping_in.bias"},
    {.ours = NULL},
};

static const mgk_tensor_row bert_rows[] = {
    {.ours = "attention.query.weight", .theirs = "attention.self.query.weight"},
    {.ours = "attention.query.bias", .theirs = "attention.self.query.bias"},
    {.ours = "attention.key.weight", .theirs = "attention.self.key.weight"},
    {.ours = "attention.key.bias", .theirs = "attention.self.key.bias"},
    {.ours = "attention.value.weight", .theirs = "attention.self.value.weight"},
    {.ours = "attention.value.bias", .theirs = "attention.self.value.bias"},
    {.ours = "attention.output.weight", .theirs = "attention.output.dense.weight"},
    {.ours = "attention.output.bias", .theirs = "attention.output.dense.bias"},
    {.ours = "norm1.weight", .theirs = "attention.output.LayerNorm.weight"},
    {.ours = "norm1.bias", .theirs = "attention.output.LayerNorm.bias"},
    {.ours = "feed_forward.in.weight", .theirs = "intermediate.dense.weight"},
    {.ours = "feed_forward.in.bias", .theirs = "intermediate.dense.bias"},
    {.ours = "feed_forward.out.weight", .theirs = "output.dense.weight"},
    {.ours = "feed_forward.out.bias", .theirs = "output.dense.bias"},
    {.ours = "norm2.weight", .theirs = "output.LayerNorm.weight"},
    {.ours = "norm2.bias", .theirs = "output.LayerNorm.bias"},
    {.ours = "attention.convolution", .theirs = "attention.self.conv.weight"},
    {.ours = "attention.extra.weight", .theirs = "attention.self.query_global.weight"},
    {.ours = "attention.extra.bias", .theirs = "attention.self.query_global.bias"},
    {.ours = NULL},
};

static const mgk_tensor_row distilbert_rows[] = {
    {.ours = "attention.query.weight", .theirs = "attention.q_lin.weight"},
    {.ours = "attention.query.bias", .theirs = "attention.q_lin.bias"},
    {.ours = "attention.key.weight", .theirs = "attention.k_lin.weight"},
    {.ours = "attention.key.bias", .theirs = "attention.k_lin.bias"},
    {.ours = "attention.value.weight", .theirs = "attention.v_lin.weight"},
    {.ours = "attention.value.bias", .theirs = "attention.v_lin.bias"},
    {.ours = "attention.output.weight", .theirs = "attention.out_lin.weight"},
    {.ours = "attention.output.bias", .theirs = "attention.out_lin.bias"},
    {.ours = "norm1.weight", .theirs = "sa_layer_norm.weight"},
    {.ours = "norm1.bias", .theirs = "sa_layer_norm.bias"},
    {.ours = "feed_forward.in.weight", .theirs = "ffn.lin1.weight"},
    {.ours = "feed_forward.in.bias", .theirs = "ffn.lin1.bias"},
    {.ours = "feed_forward.out.weight", .theirs = "ffn.lin2.weight"},
    {.ours = "feed_forward.out.bias", .theirs = "ffn.lin2.bias"},
    {.ours = "norm2.weight", .theirs = "output_layer_norm.weight"},
    {.ours = "norm2.bias", .theirs = "output_layer_norm.bias"},
    {.ours = NULL},
};

#define ALBERT "albert_layers.0."

static const mgk_tensor_row albert_rows[] = {
    {.ours = "attention.query.weight", .theirs = ALBERT "attention.query.weight"},
    {.ours = "attention.query.bias", .theirs = ALBERT "attention.query.bias"},
    {.ours = "attention.key.weight", .theirs = ALBERT "attention.key.weight"},
    {.ours = "attention.key.bias", .theirs = ALBERT "attention.key.bias"},
    {.ours = "attention.value.weight", .theirs = ALBERT "attention.value.weight"},
    {.ours = "attention.value.bias", .theirs = ALBERT "attention.value.bias"},
    {.ours = "attention.output.weight", .theirs = ALBERT "attention.dense.weight"},
    {.ours = "attention.output.bias", .theirs = ALBERT "attention.dense.bias"},
    {.ours = "norm1.weight", .theirs = ALBERT "attention.LayerNorm.weight"},
    {.ours = "norm1.bias", .theirs = ALBERT "attention.LayerNorm.bias"},
    {.ours = "feed_forward.in.weight", .theirs = ALBERT "ffn.weight"},
    {.ours = "feed_forward.in.bias", .theirs = ALBERT "ffn.bias"},
    {.ours = "feed_forward.out.weight", .theirs = ALBERT "ffn_output.weight"},
    {.ours = "feed_forward.out.bias", .theirs = ALBERT "ffn_output.bias"},
    {.ours = "norm2.weight", .theirs = ALBERT "full_layer_layer_norm.weight"},
    {.ours = "norm2.bias", .theirs = ALBERT "full_layer_layer_norm.bias"},
    {.ours = NULL},
};

#undef ALBERT

static const mgk_tensor_row mpnet_embedding_rows[] = {
    {.ours = "embedding.token.weight", .theirs = "embeddings.word_embeddings.weight"},
    {.ours = "embedding.position.weight", .theirs = "embeddings.position_embeddings.weight"},
    {.ours = "embedding.norm.weight", .theirs = "embeddings.LayerNorm.weight"},
    {.ours = "embedding.norm.bias", .theirs = "embeddings.LayerNorm.bias"},
    {.ours = "distance.bias", .theirs = "encoder.relative_attention_bias.weight"},
    {.ours = NULL},
};

static const mgk_tensor_row mpnet_rows[] = {
    {.ours = "attention.query.weight", .theirs = "attention.attn.q.weight"},
    {.ours = "attention.query.bias", .theirs = "attention.attn.q.bias"},
    {.ours = "attention.key.weight", .theirs = "attention.attn.k.weight"},
    {.ours = "attention.key.bias", .theirs = "attention.attn.k.bias"},
    {.ours = "attention.value.weight", .theirs = "attention.attn.v.weight"},
    {.ours = "attention.value.bias", .theirs = "attention.attn.v.bias"},
    {.ours = "attention.output.weight", .theirs = "attention.attn.o.weight"},
    {.ours = "attention.output.bias", .theirs = "attention.attn.o.bias"},
    {.ours = "norm1.weight", .theirs = "attention.LayerNorm.weight"},
    {.ours = "norm1.bias", .theirs = "attention.LayerNorm.bias"},
    {.ours = "feed_forward.in.weight", .theirs = "intermediate.dense.weight"},
    {.ours = "feed_forward.in.bias", .theirs = "intermediate.dense.bias"},
    {.ours = "feed_forward.out.weight", .theirs = "output.dense.weight"},
    {.ours = "feed_forward.out.bias", .theirs = "output.dense.bias"},
    {.ours = "norm2.weight", .theirs = "output.LayerNorm.weight"},
    {.ours = "norm2.bias", .theirs = "output.LayerNorm.bias"},
    {.ours = NULL},
};

static const char anchor[] = "embeddings.word_embeddings.weight";
static const mgk_tensor_names bert_names = {anchor, "encoder.layer.", bert_rows, embedding_rows};
static const mgk_tensor_names distilbert_names = {anchor, "transformer.layer.", distilbert_rows,
                                                  embedding_rows};
static const mgk_tensor_names albert_names = {anchor, "encoder.albert_layer_groups.", albert_rows,
                                              albert_embedding_rows};

static const mgk_tensor_names mpnet_names = {anchor, "encoder.layer.", mpnet_rows,
                                             mpnet_embedding_rows};

/* The keys of a configuration's sizes. */
typedef struct size_keys {
    const char *layers, *heads, *dim, *hidden, *activation;
} size_keys;

static const size_keys bert_keys = {"num_hidden_layers", "num_attention_heads", "hidden_size",
                                    "intermediate_size", "hidden_act"};
static const size_keys distilbert_keys = {"n_layers", "n_heads", "dim", "hidden_dim", "activation"};

typedef struct encoder_type {
    const char *type;
    const mgk_tensor_names *names;
    const size_keys *keys;
    const char *activation;    /* default; NULL: "gelu" */
    double norm_epsilon;       /* default; 0: 1e-12 */
    int padding;               /* default id */
    bool after_padding;        /* positions begin after the id of padding, and skip padding */
    int token_types;           /* default number; 0: the family has none */
    int embedding;             /* default width of the embedding; 0: that of the model */
    const mgk_bert_kind *kind; /* of attention; NULL: softmax */
} encoder_type;

#define BERT .names = &bert_names, .keys = &bert_keys, .token_types = 2
#define ROBERTA BERT, .padding = 1, .after_padding = true

static const encoder_type encoder_types[] = {
    {.type = "bert", BERT},
    {.type = "roberta", ROBERTA},
    {.type = "xlm-roberta", ROBERTA},
    {.type = "camembert", ROBERTA},
    {.type = "data2vec-text", ROBERTA},
    {.type = "ernie", BERT},
    {.type = "distilbert", .names = &distilbert_names, .keys = &distilbert_keys},
    {.type = "electra", BERT, .embedding = 128},
    {.type = "albert",
     .names = &albert_names,
     .keys = &bert_keys,
     .activation = "gelu_new",
     .token_types = 2,
     .embedding = 128},
    {.type = "mpnet",
     .names = &mpnet_names,
     .keys = &bert_keys,
     .padding = 1,
     .after_padding = true},
    {.type = "nystromformer",
     BERT,
     .activation = "gelu_new",
     .norm_epsilon = 1e-5,
     .padding = 1,
     .kind = &mgk_bert_nystromformer},
    {.type = "longformer", ROBERTA, .kind = &mgk_bert_longformer},
    {.type = "big_bird", BERT, .activation = "gelu_new", .kind = &mgk_bert_big_bird},
};

#undef ROBERTA
#undef BERT

/* The row of config.json's model_type, which has been recognised. */
static const encoder_type *type_of(const mgk_checkpoint *checkpoint)
{
    const char *own = "";
    if (mgk_checkpoint_string(checkpoint, "model_type", "", &own) == STATUS_OK)
        for (size_t i = 0; i < sizeof(encoder_types) / sizeof(encoder_types[0]); i++)
            if (strcmp(encoder_types[i].type, own) == 0)
                return &encoder_types[i];
    return &encoder_types[0];
}

/* Refuses what would change numbers. */
static mgk_status refuse_variants(const mgk_checkpoint *checkpoint)
{
    const char *positions;
    int inner;
    bool tasks;
    TRY(mgk_checkpoint_flag(checkpoint, "use_task_id", false, &tasks));
    if (tasks)
        return mgk_fail(STATUS_UNSUPPORTED, "%s: use_task_id is not known",
                        checkpoint->config_path);
    TRY(mgk_checkpoint_string(checkpoint, "position_embedding_type", "absolute", &positions));
    if (strcmp(positions, "absolute") != 0)
        return mgk_fail(STATUS_UNSUPPORTED, "%s: position_embedding_type \"%.64s\" is not known",
                        checkpoint->config_path, positions);
    TRY(mgk_checkpoint_integer(checkpoint, "inner_group_num", 1, &inner));
    if (inner != 1)
        return mgk_fail(STATUS_UNSUPPORTED, "%s: inner_group_num %d is not known, 1 is",
                        checkpoint->config_path, inner);
    return STATUS_OK;
}

/* Learned positions, of which the first follows the id of padding in some families. */
static mgk_status configure_positions(const mgk_checkpoint *checkpoint, const encoder_type *type,
                                      mgk_config *config)
{
    TRY(mgk_checkpoint_integer(checkpoint, "pad_token_id", type->padding, &config->padding));
    if (type->after_padding)
        return mgk_hugging_face_places(checkpoint, config);
    if (config->padding < 0 || config->padding >= config->vocabulary)
        config->padding = -1;
    return mgk_checkpoint_needed(checkpoint, "max_position_embeddings", &config->length);
}

/* Embeddings in fewer numbers, and layers that share parameters. */
static mgk_status configure_sharing(const mgk_checkpoint *checkpoint, const encoder_type *type,
                                    mgk_config *config)
{
    if (type->embedding > 0)
        TRY(mgk_checkpoint_integer(checkpoint, "embedding_size", type->embedding,
                                   &config->embedding));
    if (type->names == &albert_names)
        TRY(mgk_checkpoint_integer(checkpoint, "num_hidden_groups", 1, &config->layer_groups));
    return STATUS_OK;
}

/* Keys that the reference ignores, because the family has one value. */
static mgk_status refuse_ignored(const mgk_checkpoint *checkpoint, const encoder_type *type,
                                 const mgk_config *config)
{
    if (config->causal && type->names != &bert_names)
        return mgk_fail(STATUS_UNSUPPORTED, "%s: is_decoder true: %s has no decoder",
                        checkpoint->config_path, type->type);
    if (type->names == &distilbert_names && config->norm_epsilon != 1e-12)
        return mgk_fail(STATUS_UNSUPPORTED, "%s: layer_norm_eps %g: distilbert has 1e-12",
                        checkpoint->config_path, config->norm_epsilon);
    if (type->names == &mpnet_names && config->padding != type->padding)
        return mgk_fail(STATUS_UNSUPPORTED, "%s: pad_token_id %d: mpnet has %d",
                        checkpoint->config_path, config->padding, type->padding);
    return STATUS_OK;
}

/* Biases by distance; transformers has 32 classes of it whatever the configuration says. */
static mgk_status configure_distances(const mgk_checkpoint *checkpoint, const encoder_type *type,
                                      mgk_config *config)
{
    enum { BUCKETS = 32 };
    int buckets;
    if (type->names != &mpnet_names)
        return STATUS_OK;
    config->buckets = BUCKETS;
    TRY(mgk_checkpoint_integer(checkpoint, "relative_attention_num_buckets", BUCKETS, &buckets));
    return buckets == BUCKETS
               ? STATUS_OK
               : mgk_fail(STATUS_UNSUPPORTED,
                          "%s: relative_attention_num_buckets %d is not known, %d is",
                          checkpoint->config_path, buckets, BUCKETS);
}

static mgk_status configure(const mgk_checkpoint *checkpoint, const mgk_model_options *options,
                            mgk_config *config)
{
    const encoder_type *type = type_of(checkpoint);
    const size_keys *keys = type->keys;
    (void)options;
    mgk_config_defaults(MGK_FAMILY_ENCODER, config);
    strcpy(config->attention, "softmax");
    config->mixtures = 1;
    config->classes = 0;
    config->pre_norm = false;
    config->embedding_norm = true;
    config->dropout = 0;
    TRY(refuse_variants(checkpoint));
    TRY(mgk_checkpoint_needed(checkpoint, "vocab_size", &config->vocabulary));
    TRY(mgk_hugging_face_heads(checkpoint, keys->heads, keys->dim, config));
    TRY(mgk_checkpoint_needed(checkpoint, keys->layers, &config->layers));
    TRY(mgk_checkpoint_needed(checkpoint, keys->hidden, &config->hidden));
    TRY(mgk_hugging_face_activation(checkpoint, keys->activation,
                                    type->activation ? type->activation : "gelu",
                                    &config->activation));
    TRY(mgk_checkpoint_real(checkpoint, "layer_norm_eps",
                            type->norm_epsilon > 0 ? type->norm_epsilon : 1e-12,
                            &config->norm_epsilon));
    TRY(mgk_checkpoint_flag(checkpoint, "is_decoder", false, &config->causal));
    if (config->causal)
        TRY(mgk_hugging_face_causal(checkpoint));
    TRY(configure_sharing(checkpoint, type, config));
    TRY(configure_distances(checkpoint, type, config));
    TRY(configure_positions(checkpoint, type, config));
    TRY(refuse_ignored(checkpoint, type, config));
    return type->kind ? type->kind->configure(checkpoint, config) : STATUS_OK;
}

/* The table of positions, to which the first type of tokens is added. */
static mgk_status position_recipe(const mgk_checkpoint *checkpoint, const encoder_type *type,
                                  const mgk_config *config, mgk_recipe *out)
{
    char prefix[MGK_TENSOR_NAME] = "";
    int kinds, length;
    if (config->positions_skip_padding)
        out->compute = mgk_hugging_face_compute_places;
    else if (type->kind) {
        TRY(mgk_checkpoint_needed(checkpoint, "max_position_embeddings", &length));
        out->first = (size_t)type->kind->first_position;
        out->rows = (size_t)length + out->first;
    }
    if (type->token_types == 0)
        return STATUS_OK;
    TRY(mgk_checkpoint_integer(checkpoint, "type_vocab_size", type->token_types, &kinds));
    mgk_checkpoint_prefix(checkpoint, anchor, prefix);
    snprintf(out->plus, sizeof(out->plus), "%.100sembeddings.token_type_embeddings.weight", prefix);
    out->plus_rows = kinds < 0 ? 0 : (size_t)kinds;
    return STATUS_OK;
}

static mgk_status recipe(const mgk_checkpoint *checkpoint, const mgk_config *config,
                         const mgk_parameter *parameter, mgk_recipe *out)
{
    const encoder_type *type = type_of(checkpoint);
    TRY(mgk_recipe_by_names(checkpoint, type->names, parameter, out));
    if (strcmp(parameter->name, "embedding.position.weight") == 0)
        return position_recipe(checkpoint, type, config, out);
    return type->kind && type->kind->recipe ? type->kind->recipe(checkpoint, config, parameter, out)
                                            : STATUS_OK;
}

static mgk_status assumed(const mgk_checkpoint *checkpoint, const mgk_model_options *options,
                          const mgk_config *config, char *text, size_t size)
{
    (void)checkpoint, (void)options;
    snprintf(text, size, "%s", mgk_bert_kind_assumed(config));
    return STATUS_OK;
}

static const char *const types[] = {
    "bert",    "roberta", "xlm-roberta", "camembert",     "data2vec-text", "ernie", "distilbert",
    "electra", "albert",  "mpnet",       "nystromformer", "big_bird",      NULL};

const mgk_model_format mgk_format_bert = {.name = "Hugging Face's bert and its relatives",
                                          .model_types = types,
                                          .root = anchor,
                                          .assumed = assumed,
                                          .anchor = "encoder.layer.0.attention.self.query.weight",
                                          .configure = configure,
                                          .recipe = recipe};

/* The maps of global tokens, where no token is global. */
static const char *const longformer_beside[] = {"attention.self.query_global.",
                                                "attention.self.key_global.",
                                                "attention.self.value_global.", NULL};
static const char *const longformer_types[] = {"longformer", NULL};

const mgk_model_format mgk_format_longformer = {.name = "Hugging Face's longformer",
                                                .model_types = longformer_types,
                                                .beside = longformer_beside,
                                                .root = anchor,
                                                .assumed = assumed,
                                                .configure = configure,
                                                .recipe = recipe};
