/* SPDX-License-Identifier: MIT */
/*
 * Hugging Face's deberta-v2: a post-norm encoder whose scores depend on content and distance
 * together (core/relative.c). The rows of the distances are normalised once, as they are read. They
 * are mapped by the maps of the layer's own queries and keys; models with other maps are refused.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "model/formats/format.h"
#include "model/formats/hugging_face.h"

static const mgk_tensor_row rows[] = {
    {.ours = "embedding.token.weight", .theirs = "embeddings.word_embeddings.weight"},
    {.ours = "embedding.position.weight", .theirs = "embeddings.position_embeddings.weight"},
    {.ours = "embedding.norm.weight", .theirs = "embeddings.LayerNorm.weight"},
    {.ours = "embedding.norm.bias", .theirs = "embeddings.LayerNorm.bias"},
    {.ours = "relative.weight", .theirs = "encoder.rel_embeddings.weight"},
    {.ours = NULL},
};

static const mgk_tensor_row layer_rows[] = {
    {.ours = "attention.query.weight", .theirs = "attention.self.query_proj.weight"},
    {.ours = "attention.query.bias", .theirs = "attention.self.query_proj.bias"},
    {.ours = "attention.key.weight", .theirs = "attention.self.key_proj.weight"},
    {.ours = "attention.key.bias", .theirs = "attention.self.key_proj.bias"},
    {.ours = "attention.value.weight", .theirs = "attention.self.value_proj.weight"},
    {.ours = "attention.value.bias", .theirs = "attention.self.value_proj.bias"},
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

static const char anchor[] = "embeddings.word_embeddings.weight";
static const mgk_tensor_names names = {anchor, "encoder.layer.", layer_rows, rows};

/* Whether a list of words, "c2p|p2c" or ["c2p", "p2c"], under a key has this one. */
static bool has_word(const mgk_checkpoint *checkpoint, const char *key, const char *word)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(checkpoint->config, key), *item;
    const char *text = cJSON_GetStringValue(list);
    if (text)
        return strstr(text, word) != NULL;
    cJSON_ArrayForEach(item, list)
    {
        const char *entry = cJSON_GetStringValue(item);
        if (entry && strcmp(entry, word) == 0)
            return true;
    }
    return false;
}

static mgk_status refuse(const mgk_checkpoint *checkpoint, const char *what)
{
    return mgk_fail(STATUS_UNSUPPORTED, "%s: %s is not known", checkpoint->config_path, what);
}

/* Refuses what changes numbers. */
static mgk_status refuse_variants(const mgk_checkpoint *checkpoint, const mgk_config *config)
{
    bool relative, shared;
    int kernel, width, types;
    TRY(mgk_checkpoint_flag(checkpoint, "relative_attention", false, &relative));
    TRY(mgk_checkpoint_flag(checkpoint, "share_att_key", false, &shared));
    TRY(mgk_checkpoint_integer(checkpoint, "conv_kernel_size", 0, &kernel));
    TRY(mgk_checkpoint_integer(checkpoint, "embedding_size", config->dim, &width));
    TRY(mgk_checkpoint_integer(checkpoint, "type_vocab_size", 0, &types));
    if (!relative || !has_word(checkpoint, "pos_att_type", "c2p") ||
        !has_word(checkpoint, "pos_att_type", "p2c"))
        return refuse(checkpoint, "attention without \"relative_attention\", or a "
                                  "\"pos_att_type\" without \"c2p\" or \"p2c\",");
    if (!shared)
        return refuse(checkpoint, "a model without \"share_att_key\"");
    if (kernel > 0)
        return refuse(checkpoint, "a convolution, \"conv_kernel_size\",");
    if (width != config->dim)
        return refuse(checkpoint, "an \"embedding_size\" that is not \"hidden_size\"");
    if (types > 0)
        return refuse(checkpoint, "a \"type_vocab_size\" that is not 0");
    return STATUS_OK;
}

static mgk_status configure_relative(const mgk_checkpoint *checkpoint, mgk_config *config)
{
    int farthest, buckets;
    TRY(mgk_checkpoint_integer(checkpoint, "max_relative_positions", -1, &farthest));
    TRY(mgk_checkpoint_integer(checkpoint, "position_buckets", -1, &buckets));
    if (farthest < 1)
        farthest = config->length;
    config->relative = buckets > 0 ? buckets : farthest;
    config->relative_far = buckets > 0 ? farthest : 0;
    if (config->relative == 0)
        return mgk_fail(STATUS_FORMAT, "%s: position_buckets 0: expected a positive number",
                        checkpoint->config_path);
    /* Three products make up a score. */
    config->attention_scale = 1 / sqrt(3.0 * config->head_dim);
    return STATUS_OK;
}

static mgk_status configure(const mgk_checkpoint *checkpoint, const mgk_model_options *options,
                            mgk_config *config)
{
    bool placed;
    (void)options;
    mgk_config_defaults(MGK_FAMILY_ENCODER, config);
    strcpy(config->attention, "softmax");
    config->mixtures = 1;
    config->classes = 0;
    config->pre_norm = false;
    config->embedding_norm = true;
    config->dropout = 0;
    TRY(mgk_hugging_face_heads(checkpoint, "num_attention_heads", "hidden_size", config));
    TRY(mgk_checkpoint_needed(checkpoint, "num_hidden_layers", &config->layers));
    TRY(mgk_checkpoint_needed(checkpoint, "intermediate_size", &config->hidden));
    TRY(mgk_checkpoint_needed(checkpoint, "vocab_size", &config->vocabulary));
    TRY(mgk_checkpoint_integer(checkpoint, "max_position_embeddings", 512, &config->length));
    TRY(mgk_checkpoint_real(checkpoint, "layer_norm_eps", 1e-7, &config->norm_epsilon));
    TRY(mgk_hugging_face_activation(checkpoint, "hidden_act", "gelu", &config->activation));
    TRY(mgk_checkpoint_flag(checkpoint, "position_biased_input", true, &placed));
    config->positions = placed ? MGK_POSITIONS_LEARNED : MGK_POSITIONS_NONE;
    TRY(mgk_hugging_face_padding(checkpoint, config));
    TRY(refuse_variants(checkpoint, config));
    return configure_relative(checkpoint, config);
}

/* Normalises a row of `dim` numbers. */
static void normalise(double *row, size_t dim, double epsilon, const double *gain,
                      const double *offset)
{
    double mean = 0, square = 0;
    for (size_t c = 0; c < dim; c++)
        mean += row[c] / (double)dim;
    for (size_t c = 0; c < dim; c++)
        square += (row[c] - mean) * (row[c] - mean) / (double)dim;
    for (size_t c = 0; c < dim; c++)
        row[c] = (row[c] - mean) / sqrt(square + epsilon) * gain[c] + offset[c];
}

/* values [2 S, C], the rows of the distances, normalised by the encoder's norm. */
static mgk_status compute_normed(const mgk_checkpoint *checkpoint, const mgk_config *config,
                                 const mgk_recipe *recipe, const mgk_parameter *parameter,
                                 double *values)
{
    const size_t dim = (size_t)config->dim;
    const mgk_tensor_info *table, *gain, *offset;
    char prefix[MGK_TENSOR_NAME] = "", name[MGK_TENSOR_NAME];
    double *norm; /* [2, C] */
    mgk_checkpoint_prefix(checkpoint, anchor, prefix);
    TRY(mgk_checkpoint_expect(checkpoint, recipe->name, 2, parameter->shape, &table));
    snprintf(name, sizeof(name), "%.100sencoder.LayerNorm.weight", prefix);
    TRY(mgk_checkpoint_expect(checkpoint, name, 1, &dim, &gain));
    snprintf(name, sizeof(name), "%.100sencoder.LayerNorm.bias", prefix);
    TRY(mgk_checkpoint_expect(checkpoint, name, 1, &dim, &offset));
    if (!values)
        return STATUS_OK;
    mgk_status status;
    TRY(mgk_alloc(2 * dim, sizeof(*norm), &norm));
    CHECK(mgk_tensors_read(checkpoint->tensors, gain, 0, dim, MGK_DTYPE_F64, norm));
    CHECK(mgk_tensors_read(checkpoint->tensors, offset, 0, dim, MGK_DTYPE_F64, norm + dim));
    CHECK(mgk_tensors_read(checkpoint->tensors, table, 0, parameter->count, MGK_DTYPE_F64, values));
    for (size_t row = 0; row < parameter->shape[0]; row++)
        normalise(values + row * dim, dim, config->norm_epsilon, norm, norm + dim);
out:
    mgk_free(norm);
    return status;
}

static mgk_status recipe(const mgk_checkpoint *checkpoint, const mgk_config *config,
                         const mgk_parameter *parameter, mgk_recipe *out)
{
    (void)config;
    if (strcmp(parameter->name, "relative.weight") == 0 &&
        has_word(checkpoint, "norm_rel_ebd", "layer_norm"))
        out->compute = compute_normed;
    return mgk_recipe_by_names(checkpoint, &names, parameter, out);
}

static const char *const types[] = {"deberta-v2", NULL};

const mgk_model_format mgk_format_deberta = {.name = "Hugging Face's deberta-v2",
                                             .model_types = types,
                                             .root = anchor,
                                             .configure = configure,
                                             .recipe = recipe};
