/* SPDX-License-Identifier: MIT */
/*
 * Hugging Face's vit and its relatives: pre-norm encoders of a picture's patches, with learned
 * positions. The class token, further tokens and the bias of the patch map are added to the
 * positions. dinov2 scales what each block adds to the sum, which is folded into the block's last
 * map. The vision model of clip normalises the embeddings, and has no norm after the last layer but
 * in its head; its activation x / (1 + exp(-1.702 x)) is that of silu, scaled before and after.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "model/formats/clip.h"
#include "model/formats/format.h"
#include "model/formats/hugging_face.h"
#include "model/formats/vit_positions.h"

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

/* Both kinds of feed-forward: plain, and gated. */
static const mgk_tensor_row dinov2_rows[] = {
    {.ours = "attention.query.weight", .theirs = "attention.attention.query.weight"},
    {.ours = "attention.query.bias", .theirs = "attention.attention.query.bias"},
    {.ours = "attention.key.weight", .theirs = "attention.attention.key.weight"},
    {.ours = "attention.key.bias", .theirs = "attention.attention.key.bias"},
    {.ours = "attention.value.weight", .theirs = "attention.attention.value.weight"},
    {.ours = "attention.value.bias", .theirs = "attention.attention.value.bias"},
    {.ours = "attention.output.weight", .theirs = "attention.output.dense.weight"},
    {.ours = "attention.output.bias", .theirs = "attention.output.dense.bias"},
    {.ours = "norm1.weight", .theirs = "norm1.weight"},
    {.ours = "norm1.bias", .theirs = "norm1.bias"},
    {.ours = "feed_forward.in.weight", .theirs = "mlp.fc1.weight"},
    {.ours = "feed_forward.in.bias", .theirs = "mlp.fc1.bias"},
    {.ours = "feed_forward.out.weight", .theirs = "mlp.fc2.weight"},
    {.ours = "feed_forward.out.bias", .theirs = "mlp.fc2.bias"},
    {.ours = "norm2.weight", .theirs = "norm2.weight"},
    {.ours = "norm2.bias", .theirs = "norm2.bias"},
    {.ours = NULL},
};

static const mgk_tensor_row dinov2_gated_rows[] = {
    {.ours = "feed_forward.gate.weight", .theirs = "mlp.weights_in.weight", .part = 0, .parts = 2},
    {.ours = "feed_forward.gate.bias", .theirs = "mlp.weights_in.bias", .part = 0, .parts = 2},
    {.ours = "feed_forward.in.weight", .theirs = "mlp.weights_in.weight", .part = 1, .parts = 2},
    {.ours = "feed_forward.in.bias", .theirs = "mlp.weights_in.bias", .part = 1, .parts = 2},
    {.ours = "feed_forward.out.weight", .theirs = "mlp.weights_out.weight"},
    {.ours = "feed_forward.out.bias", .theirs = "mlp.weights_out.bias"},
    {.ours = NULL},
};

static const mgk_tensor_row clip_rows[] = {
    {.ours = "embedding.patch.weight", .theirs = "embeddings.patch_embedding.weight"},
    {.ours = "embedding.position.weight", .theirs = "embeddings.position_embedding.weight"},
    {.ours = "embedding.norm.weight", .theirs = "pre_layrnorm.weight"},
    {.ours = "embedding.norm.bias", .theirs = "pre_layrnorm.bias"},
    {.ours = "norm.weight", .theirs = "post_layernorm.weight"},
    {.ours = "norm.bias", .theirs = "post_layernorm.bias"},
    {.ours = NULL},
};

static const char anchor[] = "embeddings.patch_embeddings.projection.weight";
static const char clip_anchor[] = "embeddings.patch_embedding.weight";
static const mgk_tensor_names vit_names = {anchor, "encoder.layer.", layer_rows, rows};
static const mgk_tensor_names dinov2_names = {anchor, "encoder.layer.", dinov2_rows, rows};
static const mgk_tensor_names gated_names = {anchor, "encoder.layer.", dinov2_gated_rows, rows};
static const mgk_tensor_names clip_names = {clip_anchor, "encoder.layers.", mgk_clip_rows,
                                            clip_rows};

#define MEAN_OF_CLIP                      \
    {                                     \
        0.48145466, 0.4578275, 0.40821073 \
    }
#define DEVIATION_OF_CLIP                  \
    {                                      \
        0.26862954, 0.26130258, 0.27577711 \
    }
#define HALVES        \
    {                 \
        0.5, 0.5, 0.5 \
    }

static const mgk_preprocessor_usual usual_vit = {
    .resampling = MGK_RESAMPLING_BILINEAR, .mean = HALVES, .deviation = HALVES};
static const mgk_preprocessor_usual usual_deit = {.resampling = MGK_RESAMPLING_BICUBIC,
                                                  .edge = 256,
                                                  .cropped = true,
                                                  .mean = HALVES,
                                                  .deviation = HALVES};
static const mgk_preprocessor_usual usual_clip = {.resampling = MGK_RESAMPLING_BICUBIC,
                                                  .shortest = true,
                                                  .cropped = true,
                                                  .mean = MEAN_OF_CLIP,
                                                  .deviation = DEVIATION_OF_CLIP};
static const mgk_preprocessor_usual usual_siglip = {
    .resampling = MGK_RESAMPLING_BICUBIC, .mean = HALVES, .deviation = HALVES};

static const char positions[] = "position_embeddings";
static const char clip_positions[] = "position_embedding.weight";
static const char class_token[] = "cls_token", bias[] = "patch_embeddings.projection.bias";

static const mgk_picture_type picture_types[] = {
    {.type = "vit",
     .names = &vit_names,
     .class_token = class_token,
     .positions = positions,
     .bias = bias,
     .norm_epsilon = 1e-12,
     .activation = "gelu",
     .usual = &usual_vit},
    {.type = "deit",
     .names = &vit_names,
     .class_token = class_token,
     .distillation = "distillation_token",
     .positions = positions,
     .bias = bias,
     .norm_epsilon = 1e-12,
     .activation = "gelu",
     .usual = &usual_deit},
    {.type = "dinov2",
     .names = &dinov2_names,
     .class_token = class_token,
     .positions = positions,
     .bias = bias,
     .scaled = true,
     .interpolates = true,
     .norm_epsilon = 1e-6,
     .activation = "gelu",
     .usual = &usual_clip},
    {.type = "dinov2_with_registers",
     .names = &dinov2_names,
     .class_token = class_token,
     .registers = "register_tokens",
     .positions = positions,
     .bias = bias,
     .scaled = true,
     .interpolates = true,
     .norm_epsilon = 1e-6,
     .activation = "gelu",
     .usual = &usual_clip},
    {.type = "clip_vision_model",
     .names = &clip_names,
     .positions = clip_positions,
     .class_token = "class_embedding",
     .flat = true,
     .clip = true,
     .norm_epsilon = 1e-5,
     .activation = "quick_gelu",
     .usual = &usual_clip},
    {.type = "siglip_vision_model",
     .names = &clip_names,
     .positions = clip_positions,
     .bias = "patch_embedding.bias",
     .flat = true,
     .norm_epsilon = 1e-6,
     .activation = "gelu_pytorch_tanh",
     .usual = &usual_siglip},
};

const mgk_picture_type *mgk_picture_type_of(const mgk_checkpoint *checkpoint)
{
    const char *own = "";
    if (mgk_checkpoint_string(checkpoint, "model_type", "", &own) == STATUS_OK)
        for (size_t i = 0; i < sizeof(picture_types) / sizeof(picture_types[0]); i++)
            if (strcmp(picture_types[i].type, own) == 0)
                return &picture_types[i];
    return &picture_types[0];
}

enum { MAX_SIDE = 1 << 14 };

static mgk_status configure_picture(const mgk_checkpoint *checkpoint, const mgk_picture_type *type,
                                    mgk_config *config)
{
    mgk_picture_form *picture = &config->picture;
    int channels, placed;
    TRY(mgk_checkpoint_square(checkpoint, "image_size", 224, &picture->side));
    TRY(mgk_checkpoint_square(checkpoint, "patch_size", 16, &picture->patch));
    TRY(mgk_checkpoint_integer(checkpoint, "num_channels", MGK_CHANNELS, &channels));
    TRY(mgk_vit_count_extra(checkpoint, type, &placed, &picture->extra));
    if (channels != MGK_CHANNELS)
        return mgk_fail(STATUS_UNSUPPORTED, "%s: pictures of %d channels, expected %d",
                        checkpoint->config_path, channels, MGK_CHANNELS);
    for (int prepared = 0; prepared < 2; prepared++) {
        if (picture->patch < 1 || picture->side < 1 || picture->side > MAX_SIDE ||
            picture->side % picture->patch)
            return mgk_fail(
                STATUS_FORMAT, "%s: %s %d: expected a multiple of patch_size %d up to %d",
                checkpoint->config_path, prepared ? "pictures prepared to a side of" : "image_size",
                picture->side, picture->patch, MAX_SIDE);
        if (!prepared)
            TRY(mgk_preprocessor_read(checkpoint, type->usual, type->interpolates, picture));
    }
    /* Lengths above 2^20 are refused later; an int holds the number of tokens. */
    config->length = config->vocabulary = (int)mgk_picture_tokens(picture);
    return STATUS_OK;
}

/* The feed-forward of dinov2 has a width in proportion to the model's, gated ones two thirds. */
static mgk_status configure_dinov2(const mgk_checkpoint *checkpoint, mgk_config *config)
{
    double ratio;
    TRY(mgk_checkpoint_real(checkpoint, "mlp_ratio", 4, &ratio));
    TRY(mgk_checkpoint_flag(checkpoint, "use_swiglu_ffn", false, &config->gated));
    if (!(ratio > 0 && ratio <= 64))
        return mgk_fail(STATUS_FORMAT, "%s: mlp_ratio %g: expected a positive number up to 64",
                        checkpoint->config_path, ratio);
    config->hidden = (int)fmin(config->dim * ratio, 1 << 24);
    if (config->gated) {
        config->hidden = ((int)(config->hidden * 2 / 3.0) + 7) / 8 * 8;
        config->activation = MGK_ACTIVATION_SILU;
    }
    return STATUS_OK;
}

static mgk_status configure(const mgk_checkpoint *checkpoint, const mgk_model_options *options,
                            mgk_config *config)
{
    const mgk_picture_type *type = mgk_picture_type_of(checkpoint);
    (void)options;
    mgk_config_defaults(MGK_FAMILY_ENCODER, config);
    strcpy(config->attention, "softmax");
    strcpy(config->task, "pictures");
    config->mixtures = 1;
    config->classes = 0;
    config->dropout = 0;
    config->embedding_norm = type->clip;
    config->final_norm = !type->clip;
    TRY(mgk_hugging_face_heads(checkpoint, "num_attention_heads", "hidden_size", config));
    TRY(mgk_checkpoint_needed(checkpoint, "num_hidden_layers", &config->layers));
    TRY(mgk_clip_activation(checkpoint, type->activation, &config->activation));
    TRY(mgk_checkpoint_real(checkpoint, "layer_norm_eps", type->norm_epsilon,
                            &config->norm_epsilon));
    if (type->scaled)
        TRY(configure_dinov2(checkpoint, config));
    else
        TRY(mgk_checkpoint_needed(checkpoint, "intermediate_size", &config->hidden));
    return configure_picture(checkpoint, type, config);
}

/* The last map of a block, its rows times the scale of the block, the tensor recipe->plus [C]. */
static mgk_status compute_scaled(const mgk_checkpoint *checkpoint, const mgk_config *config,
                                 const mgk_recipe *recipe, const mgk_parameter *parameter,
                                 double *values)
{
    const size_t dim = (size_t)config->dim, cols = parameter->count / dim;
    const mgk_tensor_info *map, *scale;
    double *factors;
    TRY(mgk_checkpoint_expect(checkpoint, recipe->name, parameter->axes, parameter->shape, &map));
    TRY(mgk_checkpoint_expect(checkpoint, recipe->plus, 1, &dim, &scale));
    if (!values)
        return STATUS_OK;
    TRY(mgk_alloc(dim, sizeof(*factors), &factors));
    mgk_status status =
        mgk_tensors_read(checkpoint->tensors, map, 0, map->count, MGK_DTYPE_F64, values);
    if (status == STATUS_OK)
        status = mgk_tensors_read(checkpoint->tensors, scale, 0, dim, MGK_DTYPE_F64, factors);
    for (size_t i = 0; status == STATUS_OK && i < parameter->count; i++)
        values[i] *= factors[i / cols];
    mgk_free(factors);
    return status;
}

/* The scale of the block that ends with this map of a layer; NULL: the map ends none. */
static const char *scale_of(const char *name)
{
    static const char output[] = "attention.output.", out[] = "feed_forward.out.";
    return strncmp(name, output, strlen(output)) == 0 ? "layer_scale1.lambda1"
           : strncmp(name, out, strlen(out)) == 0     ? "layer_scale2.lambda1"
                                                      : NULL;
}

static bool is_projection_bias(const char *name)
{
    return strcmp(name, "attention.query.bias") == 0 || strcmp(name, "attention.key.bias") == 0 ||
           strcmp(name, "attention.value.bias") == 0;
}

/* Recipes of a layer that are more than names. */
static mgk_status mend_layer(const mgk_checkpoint *checkpoint, const mgk_picture_type *type,
                             int layer, const char *name, mgk_recipe *out)
{
    char prefix[MGK_TENSOR_NAME] = "";
    bool biased;
    TRY(mgk_checkpoint_flag(checkpoint, "qkv_bias", true, &biased));
    if (!biased && is_projection_bias(name)) {
        *out = (mgk_recipe){.compute = mgk_recipe_zeros};
    } else if (type->scaled && scale_of(name)) {
        mgk_checkpoint_prefix(checkpoint, type->names->anchor, prefix);
        snprintf(out->plus, sizeof(out->plus), "%.100s%s%d.%s", prefix, type->names->layer, layer,
                 scale_of(name));
        out->compute = compute_scaled;
    } else if (type->names == &clip_names) {
        return mgk_clip_recipe(checkpoint, type->activation, name, out);
    }
    return STATUS_OK;
}

static mgk_status recipe(const mgk_checkpoint *checkpoint, const mgk_config *config,
                         const mgk_parameter *parameter, mgk_recipe *out)
{
    const mgk_picture_type *type = mgk_picture_type_of(checkpoint);
    const size_t patch = (size_t)config->picture.patch;
    const size_t kernel[] = {(size_t)config->dim, MGK_CHANNELS, patch, patch};
    int layer;
    const char *name = mgk_layer_of_name(parameter->name, &layer);
    const bool gated = config->gated && strncmp(name, "feed_forward.", 13) == 0;
    TRY(mgk_recipe_by_names(checkpoint, gated ? &gated_names : type->names, parameter, out));
    if (strcmp(name, "embedding.patch.weight") == 0) {
        out->axes = 4;
        memcpy(out->shape, kernel, sizeof(kernel));
    }
    if (strcmp(name, "embedding.position.weight") == 0)
        out->compute = mgk_vit_positions;
    return layer >= 0 ? mend_layer(checkpoint, type, layer, name, out) : STATUS_OK;
}

static const char *const types[] = {"vit", "deit", "dinov2", "dinov2_with_registers", NULL};
static const char *const clip_types[] = {"clip_vision_model", "siglip_vision_model", NULL};
static const char *const beside[] = {"embeddings.mask_token", NULL};
/* The norm at the end of clip belongs to its head. */
static const char *const clip_apart[] = {"post_layernorm", "head", NULL};

const mgk_model_format mgk_format_vit = {.name = "Hugging Face's vit and its relatives",
                                         .model_types = types,
                                         .root = anchor,
                                         .beside = beside,
                                         .configure = configure,
                                         .recipe = recipe};

const mgk_model_format mgk_format_clip_vision = {.name = "Hugging Face's clip, pictures",
                                                 .model_types = clip_types,
                                                 .root = clip_anchor,
                                                 .apart = clip_apart,
                                                 .configure = configure,
                                                 .recipe = recipe};
