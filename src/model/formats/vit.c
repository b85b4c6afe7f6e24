/* SPDX-License-Identifier: MIT */
/*
 * Hugging Face's vit: a pre-norm encoder of a picture's patches, with a class token before them and
 * learned positions. The class embedding and the bias of the patch map are added to the positions.
 * Heads of classification and pooling are ignored: they do not affect attention.
 */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "model/formats/format.h"
#include "model/formats/hugging_face.h"
#include "model/formats/preprocessor.h"

static const mgk_tensor_row rows[] = {
    {.ours = "embedding.patch.weight", .theirs = "embeddings.patch_embeddings.projection.weight"},
    {.ours = "embedding.position.weight", .theirs = "embeddings.position_embeddings"},
    {.ours = "norm.weight", .theirs = "layernorm.weight"},
    {.ours = "norm.bias", .theirs = "layernorm.bias"},
    {.ours = NULL},
};

static const mgk_tensor_row layer_rows[] = {
    {.ours = "attention.query.weight", .theirs = "attention.attention.query.weight"},
    {.ours = "attention.query.bias", .theirs = "attention.attention.query.bias"},
    {.ours = "attention.key.weight", .theirs = "attention.attention.key.weight"},
    {.ours = "attention.key.bias", .theirs = "attention.attention.key.bias"},
    {.ours = "attention.value.weight", .theirs = "attention.attention.value.weight"},
    {.ours = "attention.value.bias", .theirs = "attention.attention.value.bias"},
    {.ours = "attention.output.weight", .theirs = "attention.output.dense.weight"},
    {.ours = "attention.output.bias", .theirs = "attention.output.dense.bias"},
    {.ours = "norm1.weight", .theirs = "layernorm_before.weight"},
    {.ours = "norm1.bias", .theirs = "layernorm_before.bias"},
    {.ours = "feed_forward.in.weight", .theirs = "intermediate.dense.weight"},
    {.ours = "feed_forward.in.bias", .theirs = "intermediate.dense.bias"},
    {.ours = "feed_forward.out.weight", .theirs = "output.dense.weight"},
    {.ours = "feed_forward.out.bias", .theirs = "output.dense.bias"},
    {.ours = "norm2.weight", .theirs = "layernorm_after.weight"},
    {.ours = "norm2.bias", .theirs = "layernorm_after.bias"},
    {.ours = NULL},
};

static const char anchor[] = "embeddings.patch_embeddings.projection.weight";
static const mgk_tensor_names names = {anchor, "encoder.layer.", layer_rows, rows};

enum { MAX_SIDE = 1 << 14 };

static mgk_status configure_picture(const mgk_checkpoint *checkpoint, mgk_config *config)
{
    mgk_picture_form *picture = &config->picture;
    int channels;
    TRY(mgk_checkpoint_square(checkpoint, "image_size", 224, &picture->side));
    TRY(mgk_checkpoint_square(checkpoint, "patch_size", 16, &picture->patch));
    TRY(mgk_checkpoint_integer(checkpoint, "num_channels", MGK_CHANNELS, &channels));
    if (channels != MGK_CHANNELS)
        return mgk_fail(STATUS_UNSUPPORTED, "%s: pictures of %d channels, expected %d",
                        checkpoint->config_path, channels, MGK_CHANNELS);
    if (picture->patch < 1 || picture->side < 1 || picture->side > MAX_SIDE ||
        picture->side % picture->patch)
        return mgk_fail(STATUS_FORMAT,
                        "%s: image_size %d: expected a multiple of patch_size %d up to %d",
                        checkpoint->config_path, picture->side, picture->patch, MAX_SIDE);
    /* Lengths above 2^20 are refused later; an int holds the number of tokens. */
    config->length = config->vocabulary = (int)mgk_picture_tokens(picture);
    return mgk_preprocessor_read(checkpoint, picture);
}

static mgk_status configure(const mgk_checkpoint *checkpoint, const mgk_model_options *options,
                            mgk_config *config)
{
    (void)options;
    mgk_config_defaults(MGK_FAMILY_ENCODER, config);
    strcpy(config->attention, "softmax");
    strcpy(config->task, "pictures");
    config->mixtures = 1;
    config->classes = 0;
    config->dropout = 0;
    TRY(mgk_hugging_face_heads(checkpoint, "num_attention_heads", "hidden_size", config));
    TRY(mgk_checkpoint_needed(checkpoint, "num_hidden_layers", &config->layers));
    TRY(mgk_checkpoint_needed(checkpoint, "intermediate_size", &config->hidden));
    TRY(mgk_hugging_face_activation(checkpoint, "hidden_act", "gelu", &config->activation));
    TRY(mgk_checkpoint_real(checkpoint, "layer_norm_eps", 1e-12, &config->norm_epsilon));
    return configure_picture(checkpoint, config);
}

/* Finds a tensor of the embedding, [1, rows, C] or, with one axis, [C]. */
static mgk_status embedding_tensor(const mgk_checkpoint *checkpoint, const mgk_config *config,
                                   const char *name, size_t tokens, const mgk_tensor_info **out)
{
    char prefix[MGK_TENSOR_NAME] = "", full[MGK_TENSOR_NAME];
    const size_t table[] = {1, tokens, (size_t)config->dim};
    mgk_checkpoint_prefix(checkpoint, anchor, prefix);
    snprintf(full, sizeof(full), "%.100sembeddings.%.100s", prefix, name);
    return mgk_checkpoint_expect(checkpoint, full, tokens > 0 ? 3 : 1,
                                 tokens > 0 ? table : table + 2, out);
}

typedef struct embedding_tensors {
    const mgk_tensor_info *positions, *class_token, *bias;
} embedding_tensors;

static mgk_status find_embedding(const mgk_checkpoint *checkpoint, const mgk_config *config,
                                 embedding_tensors *out)
{
    TRY(embedding_tensor(checkpoint, config, "position_embeddings", (size_t)config->length,
                         &out->positions));
    TRY(embedding_tensor(checkpoint, config, "cls_token", 1, &out->class_token));
    return embedding_tensor(checkpoint, config, "patch_embeddings.projection.bias", 0, &out->bias);
}

/*
 * values [N, C], or NULL: positions, plus the class in the first row and the patch bias in the
 * others.
 */
static mgk_status compute_positions(const mgk_checkpoint *checkpoint, const mgk_config *config,
                                    const mgk_recipe *recipe, const mgk_parameter *parameter,
                                    double *values)
{
    size_t dim = (size_t)config->dim;
    embedding_tensors found;
    double *added; /* [2, C]: class, bias */
    (void)recipe;
    TRY(find_embedding(checkpoint, config, &found));
    if (!values)
        return STATUS_OK;
    TRY(mgk_alloc(2 * dim, sizeof(*added), &added));
    mgk_status status;
    CHECK(mgk_tensors_read(checkpoint->tensors, found.positions, 0, parameter->count, MGK_DTYPE_F64,
                           values));
    CHECK(mgk_tensors_read(checkpoint->tensors, found.class_token, 0, dim, MGK_DTYPE_F64, added));
    CHECK(mgk_tensors_read(checkpoint->tensors, found.bias, 0, dim, MGK_DTYPE_F64, added + dim));
    for (size_t i = 0; i < parameter->count; i++)
        values[i] += added[(i < dim ? 0 : dim) + i % dim];
out:
    mgk_free(added);
    return status;
}

/* Missing biases are 0, and `values` are zeroed. */
static mgk_status compute_nothing(const mgk_checkpoint *checkpoint, const mgk_config *config,
                                  const mgk_recipe *recipe, const mgk_parameter *parameter,
                                  double *values)
{
    (void)checkpoint, (void)config, (void)recipe, (void)parameter, (void)values;
    return STATUS_OK;
}

static bool is_projection_bias(const char *name)
{
    int layer;
    name = mgk_layer_of_name(name, &layer);
    return strcmp(name, "attention.query.bias") == 0 || strcmp(name, "attention.key.bias") == 0 ||
           strcmp(name, "attention.value.bias") == 0;
}

static mgk_status recipe(const mgk_checkpoint *checkpoint, const mgk_config *config,
                         const mgk_parameter *parameter, mgk_recipe *out)
{
    const size_t patch = (size_t)config->picture.patch;
    const size_t kernel[] = {(size_t)config->dim, MGK_CHANNELS, patch, patch};
    bool biased;
    TRY(mgk_recipe_by_names(checkpoint, &names, parameter, out));
    TRY(mgk_checkpoint_flag(checkpoint, "qkv_bias", true, &biased));
    if (strcmp(parameter->name, "embedding.patch.weight") == 0) {
        out->axes = 4;
        memcpy(out->shape, kernel, sizeof(kernel));
    }
    if (strcmp(parameter->name, "embedding.position.weight") == 0)
        out->compute = compute_positions;
    if (!biased && is_projection_bias(parameter->name))
        *out = (mgk_recipe){.compute = compute_nothing};
    return STATUS_OK;
}

static const char *const types[] = {"vit", NULL};

const mgk_model_format mgk_format_vit = {.name = "Hugging Face's vit",
                                         .model_types = types,
                                         .root = anchor,
                                         .configure = configure,
                                         .recipe = recipe};
