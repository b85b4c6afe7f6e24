/* SPDX-License-Identifier: MIT */
/*
 * Hugging Face's whisper. In the encoder two convolutions make tokens of a recording's log-mel
 * frames, stored positions are added, and pre-norm layers follow, whose keys have no bias.
 * preprocessor_config.json says how frames are made. The decoder of words has learned positions and
 * the same layers.
 */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "model/formats/format.h"
#include "model/formats/hugging_face.h"

static const mgk_tensor_row rows[] = {
    {.ours = "embedding.convolution1.weight", .theirs = "encoder.conv1.weight"},
    {.ours = "embedding.convolution1.bias", .theirs = "encoder.conv1.bias"},
    {.ours = "embedding.convolution2.weight", .theirs = "encoder.conv2.weight"},
    {.ours = "embedding.convolution2.bias", .theirs = "encoder.conv2.bias"},
    {.ours = "embedding.position.weight", .theirs = "encoder.embed_positions.weight"},
    {.ours = "norm.weight", .theirs = "encoder.layer_norm.weight"},
    {.ours = "norm.bias", .theirs = "encoder.layer_norm.bias"},
    {.ours = NULL},
};

static const mgk_tensor_row decoder_rows[] = {
    {.ours = "embedding.token.weight", .theirs = "decoder.embed_tokens.weight"},
    {.ours = "embedding.position.weight", .theirs = "decoder.embed_positions.weight"},
    {.ours = "norm.weight", .theirs = "decoder.layer_norm.weight"},
    {.ours = "norm.bias", .theirs = "decoder.layer_norm.bias"},
    {.ours = NULL},
};

static const char root[] = "encoder.layers.0.self_attn.q_proj.weight";
static const char decoder_root[] = "decoder.layers.0.self_attn.q_proj.weight";
static const mgk_tensor_names names = {root, "encoder.layers.", mgk_hugging_face_bart_rows, rows};

static const mgk_tensor_names decoder_names = {decoder_root, "decoder.layers.",
                                               mgk_hugging_face_bart_rows, decoder_rows};

/* Frames of numbers that preprocessor_config.json describes; without it, of 30 s at 16 kHz. */
static mgk_status read_frames(const mgk_checkpoint *file, mgk_config *config)
{
    mgk_sound_form *sound = &config->sound;
    int bands, seconds;
    double dither, silence;
    TRY(mgk_checkpoint_integer(file, "feature_size", sound->bands, &bands));
    TRY(mgk_checkpoint_integer(file, "sampling_rate", sound->rate, &sound->rate));
    TRY(mgk_checkpoint_integer(file, "hop_length", sound->hop, &sound->hop));
    TRY(mgk_checkpoint_integer(file, "n_fft", sound->window, &sound->window));
    TRY(mgk_checkpoint_integer(file, "chunk_length", 30, &seconds));
    TRY(mgk_checkpoint_real(file, "dither", 0, &dither));
    TRY(mgk_checkpoint_real(file, "padding_value", 0, &silence));
    if (dither != 0 || silence != 0)
        return mgk_fail(STATUS_UNSUPPORTED, "%s: dither %g and padding_value %g: 0 is known",
                        file->config_path, dither, silence);
    if (bands != sound->bands)
        return mgk_fail(STATUS_UNSUPPORTED, "%s: feature_size %d, but the model reads %d",
                        file->config_path, bands, sound->bands);
    if ((double)seconds * sound->rate != (double)MGK_SOUND_STRIDE * config->length * sound->hop)
        return mgk_fail(STATUS_UNSUPPORTED,
                        "%s: %d s of %d samples a second in hops of %d: the model hears %d hops",
                        file->config_path ? file->config_path : file->path, seconds, sound->rate,
                        sound->hop, MGK_SOUND_STRIDE * config->length);
    return STATUS_OK;
}

static mgk_status configure_sound(const mgk_checkpoint *checkpoint, mgk_config *config)
{
    mgk_status status;
    char *path = NULL;
    mgk_checkpoint file = {.path = checkpoint->path}; /* read as its config.json */
    TRY(mgk_checkpoint_needed(checkpoint, "num_mel_bins", &config->sound.bands));
    if (config->sound.bands < 1)
        return mgk_fail(STATUS_FORMAT, "%s: num_mel_bins %d: expected at least 1",
                        checkpoint->config_path, config->sound.bands);
    TRY(mgk_checkpoint_integer(checkpoint, "max_source_positions", 1500, &config->length));
    if (config->length < 1 || config->length > MGK_SOUND_MOST_SAMPLES)
        return mgk_fail(STATUS_FORMAT, "%s: max_source_positions %d: expected 1 to %d",
                        checkpoint->config_path, config->length, MGK_SOUND_MOST_SAMPLES);
    config->vocabulary = config->length;
    CHECK(mgk_checkpoint_json(checkpoint, "preprocessor_config.json", &path, &file.config));
    file.config_path = path;
    CHECK(read_frames(&file, config));
out:
    cJSON_Delete(file.config);
    mgk_free(path);
    return status;
}

static mgk_status configure(const mgk_checkpoint *checkpoint, const mgk_model_options *options,
                            mgk_config *config)
{
    (void)options;
    mgk_config_defaults(MGK_FAMILY_ENCODER, config);
    strcpy(config->attention, "softmax");
    strcpy(config->task, "sounds");
    config->mixtures = 1;
    config->classes = 0;
    config->dropout = 0;
    TRY(mgk_checkpoint_needed(checkpoint, "encoder_layers", &config->layers));
    TRY(mgk_checkpoint_needed(checkpoint, "encoder_ffn_dim", &config->hidden));
    TRY(mgk_hugging_face_heads(checkpoint, "encoder_attention_heads", "d_model", config));
    TRY(mgk_hugging_face_activation(checkpoint, "activation_function", "gelu",
                                    &config->activation));
    return configure_sound(checkpoint, config);
}

static const char output[] = "proj_out.weight";

static mgk_status configure_decoder(const mgk_checkpoint *checkpoint,
                                    const mgk_model_options *options, mgk_config *config)
{
    enum { START = 50257 }; /* "<|startoftranscript|>" of the English models */
    (void)options;
    mgk_config_defaults(MGK_FAMILY_LM, config);
    TRY(mgk_hugging_face_causal(checkpoint));
    TRY(mgk_hugging_face_bart_side(checkpoint, "decoder", config));
    TRY(mgk_checkpoint_integer(checkpoint, "max_target_positions", 448, &config->length));
    config->pre_norm = true;
    config->output_bias = false;
    config->memory = config->dim;
    TRY(mgk_hugging_face_start(checkpoint, START, config));
    return mgk_hugging_face_output(checkpoint, output, true, config);
}

/* values [C, 3, in], or NULL, of a tensor [C, in, 3]. */
static mgk_status compute_convolution(const mgk_checkpoint *checkpoint, const mgk_config *config,
                                      const mgk_recipe *recipe, const mgk_parameter *parameter,
                                      double *values)
{
    const size_t taps = parameter->shape[1], in = parameter->shape[2];
    const size_t shape[] = {parameter->shape[0], in, taps};
    const mgk_tensor_info *tensor;
    double *theirs;
    (void)config;
    TRY(mgk_checkpoint_expect(checkpoint, recipe->name, 3, shape, &tensor));
    if (!values)
        return STATUS_OK;
    TRY(mgk_alloc(parameter->count, sizeof(*theirs), &theirs));
    mgk_status status =
        mgk_tensors_read(checkpoint->tensors, tensor, 0, parameter->count, MGK_DTYPE_F64, theirs);
    for (size_t i = 0; i < parameter->count; i++) {
        const size_t out = i / (taps * in), tap = i / in % taps;
        values[i] = theirs[(out * in + i % in) * taps + tap];
    }
    mgk_free(theirs);
    return status;
}

static mgk_status recipe(const mgk_checkpoint *checkpoint, const mgk_config *config,
                         const mgk_parameter *parameter, mgk_recipe *out)
{
    static const char convolution[] = "embedding.convolution";
    int layer;
    (void)config;
    TRY(mgk_recipe_by_names(checkpoint, &names, parameter, out));
    if (strncmp(parameter->name, convolution, strlen(convolution)) == 0 && parameter->axes == 3)
        out->compute = compute_convolution;
    if (strcmp(mgk_layer_of_name(parameter->name, &layer), "attention.key.bias") == 0)
        *out = (mgk_recipe){.compute = mgk_recipe_zeros};
    return STATUS_OK;
}

static mgk_status recipe_of_decoder(const mgk_checkpoint *checkpoint, const mgk_config *config,
                                    const mgk_parameter *parameter, mgk_recipe *out)
{
    int layer;
    const char *name = mgk_layer_of_name(parameter->name, &layer);
    (void)config;
    TRY(mgk_hugging_face_language_model(checkpoint, &decoder_names, output, parameter, out));
    if (strcmp(name, "attention.key.bias") == 0 || strcmp(name, "cross.key.bias") == 0)
        *out = (mgk_recipe){.compute = mgk_recipe_zeros};
    return STATUS_OK;
}

static const char *const types[] = {"whisper", NULL};
static const char *const beside_decoder[] = {"encoder.", NULL};
static const char *const apart[] = {"projector", "layer_weights", NULL};

const mgk_model_format mgk_format_whisper = {.name = "Hugging Face's whisper, its encoder",
                                             .model_types = types,
                                             .apart = apart,
                                             .decoder = &mgk_format_whisper_decoder,
                                             .root = root,
                                             .configure = configure,
                                             .recipe = recipe};

const mgk_model_format mgk_format_whisper_decoder = {.name = "Hugging Face's whisper, its decoder",
                                                     .model_types = types,
                                                     .beside = beside_decoder,
                                                     .apart = apart,
                                                     .root = decoder_root,
                                                     .configure = configure_decoder,
                                                     .recipe = recipe_of_decoder};
