/* SPDX-License-Identifier: MIT */
/*
 * Hugging Face's bert, roberta and distilbert: post-norm encoders whose embeddings are words,
 * learned positions and, except for distilbert, token types. The first type is added to the
 * positions: all tokens have it unless a second sentence follows. sentence-transformers saves such
 * models.
 */
#include <stdio.h>
#include <string.h>

#include "model/formats/format.h"
#include "model/formats/hugging_face.h"

static const mgk_tensor_row embedding_rows[] = {
    {.ours = "embedding.token.weight", .theirs = "embeddings.word_embeddings.weight"},
    {.ours = "embedding.position.weight", .theirs = "embeddings.position_embeddings.weight"},
    {.ours = "embedding.norm.weight", .theirs = "embeddings.LayerNorm.weight"},
    {.ours = "embedding.norm.bias", .theirs = "embeddings.LayerNorm.bias"},
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

static const char anchor[] = "embeddings.word_embeddings.weight";
static const mgk_tensor_names bert_names = {anchor, "encoder.layer.", bert_rows, embedding_rows};
static const mgk_tensor_names distilbert_names = {anchor, "transformer.layer.", distilbert_rows,
                                                  embedding_rows};

static bool is_type(const mgk_checkpoint *checkpoint, const char *type)
{
    const char *own;
    return mgk_checkpoint_string(checkpoint, "model_type", "", &own) == STATUS_OK &&
           strcmp(own, type) == 0;
}

/*
 * Rows of position_embeddings before the first token's: RoBERTa's positions follow the id of
 * padding.
 */
static mgk_status first_position(const mgk_checkpoint *checkpoint, int *out)
{
    *out = 0;
    if (!is_type(checkpoint, "roberta"))
        return STATUS_OK;
    TRY(mgk_checkpoint_integer(checkpoint, "pad_token_id", 1, out));
    if (*out < 0 || *out > 1 << 20)
        return mgk_fail(STATUS_FORMAT, "%s: pad_token_id %d: expected 0 or more",
                        checkpoint->config_path, *out);
    (*out)++;
    return STATUS_OK;
}

static mgk_status configure_bert(const mgk_checkpoint *checkpoint, mgk_config *config)
{
    const char *positions;
    TRY(mgk_hugging_face_heads(checkpoint, "num_attention_heads", "hidden_size", config));
    TRY(mgk_checkpoint_needed(checkpoint, "num_hidden_layers", &config->layers));
    TRY(mgk_checkpoint_needed(checkpoint, "intermediate_size", &config->hidden));
    TRY(mgk_hugging_face_activation(checkpoint, "hidden_act", "gelu", &config->activation));
    TRY(mgk_checkpoint_real(checkpoint, "layer_norm_eps", 1e-12, &config->norm_epsilon));
    TRY(mgk_checkpoint_flag(checkpoint, "is_decoder", false, &config->causal));
    TRY(mgk_checkpoint_string(checkpoint, "position_embedding_type", "absolute", &positions));
    if (strcmp(positions, "absolute") != 0)
        return mgk_fail(STATUS_UNSUPPORTED, "%s: position_embedding_type \"%.64s\" is not known",
                        checkpoint->config_path, positions);
    return STATUS_OK;
}

static mgk_status configure_distilbert(const mgk_checkpoint *checkpoint, mgk_config *config)
{
    config->norm_epsilon = 1e-12;
    TRY(mgk_hugging_face_heads(checkpoint, "n_heads", "dim", config));
    TRY(mgk_checkpoint_needed(checkpoint, "n_layers", &config->layers));
    TRY(mgk_checkpoint_needed(checkpoint, "hidden_dim", &config->hidden));
    return mgk_hugging_face_activation(checkpoint, "activation", "gelu", &config->activation);
}

static mgk_status configure(const mgk_checkpoint *checkpoint, const mgk_model_options *options,
                            mgk_config *config)
{
    int skipped;
    (void)options;
    mgk_config_defaults(MGK_FAMILY_ENCODER, config);
    strcpy(config->attention, "softmax");
    config->mixtures = 1;
    config->classes = 0;
    config->pre_norm = false;
    config->embedding_norm = true;
    config->dropout = 0;
    TRY(mgk_checkpoint_needed(checkpoint, "vocab_size", &config->vocabulary));
    TRY(mgk_checkpoint_needed(checkpoint, "max_position_embeddings", &config->length));
    TRY(first_position(checkpoint, &skipped));
    config->length -= skipped;
    TRY(mgk_hugging_face_padding(checkpoint, config));
    return is_type(checkpoint, "distilbert") ? configure_distilbert(checkpoint, config)
                                             : configure_bert(checkpoint, config);
}

static mgk_status recipe(const mgk_checkpoint *checkpoint, const mgk_config *config,
                         const mgk_parameter *parameter, mgk_recipe *out)
{
    bool types = !is_type(checkpoint, "distilbert");
    int skipped, kinds;
    TRY(mgk_recipe_by_names(checkpoint, types ? &bert_names : &distilbert_names, parameter, out));
    if (strcmp(parameter->name, "embedding.position.weight") != 0)
        return STATUS_OK;
    TRY(first_position(checkpoint, &skipped));
    out->first = (size_t)skipped;
    out->rows = (size_t)config->length + out->first;
    if (!types)
        return STATUS_OK;
    TRY(mgk_checkpoint_integer(checkpoint, "type_vocab_size", 2, &kinds));
    char prefix[MGK_TENSOR_NAME] = "";
    mgk_checkpoint_prefix(checkpoint, anchor, prefix);
    snprintf(out->plus, sizeof(out->plus), "%.100sembeddings.token_type_embeddings.weight", prefix);
    out->plus_rows = kinds < 0 ? 0 : (size_t)kinds;
    return STATUS_OK;
}

static const char *const types[] = {"bert", "roberta", "distilbert", NULL};

const mgk_model_format mgk_format_bert = {.name = "Hugging Face's bert, roberta, distilbert",
                                          .model_types = types,
                                          .root = anchor,
                                          .anchor = "encoder.layer.0.attention.self.query.weight",
                                          .configure = configure,
                                          .recipe = recipe};
