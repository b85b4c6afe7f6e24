/* SPDX-License-Identifier: MIT */
#include "model/formats/bert_kinds.h"

#include <math.h>
#include <string.h>

/*
 * nystromformer: landmarks are means of segments of exactly segment_means_seq_len tokens. With as
 * many landmarks as tokens, as in the model of 512 tokens, attention is softmax beside the
 * convolution.
 */
static mgk_status configure_landmarks(const mgk_checkpoint *checkpoint, mgk_config *config)
{
    int landmarks, tokens;
    TRY(mgk_checkpoint_integer(checkpoint, "num_landmarks", 64, &landmarks));
    TRY(mgk_checkpoint_integer(checkpoint, "segment_means_seq_len", 64, &tokens));
    strcpy(config->attention, "convolved");
    if (landmarks == tokens)
        return STATUS_OK;
    if (landmarks < 1 || tokens < landmarks || tokens % landmarks != 0)
        return mgk_fail(STATUS_FORMAT,
                        "%s: segment_means_seq_len %d: expected a multiple of num_landmarks %d",
                        checkpoint->config_path, tokens, landmarks);
    if (tokens > config->length)
        return mgk_fail(STATUS_FORMAT,
                        "%s: segment_means_seq_len %d: expected at most max_position_embeddings %d",
                        checkpoint->config_path, tokens, config->length);
    strcpy(config->attention, "nystrom");
    config->length = tokens;
    config->settings.landmarks = landmarks;
    return STATUS_OK;
}

static mgk_status configure_nystromformer(const mgk_checkpoint *checkpoint, mgk_config *config)
{
    bool exact;
    int taps;
    TRY(configure_landmarks(checkpoint, config));
    TRY(mgk_checkpoint_flag(checkpoint, "inv_coeff_init_option", false, &exact));
    if (exact)
        return mgk_fail(STATUS_UNSUPPORTED, "%s: inv_coeff_init_option true is not known",
                        checkpoint->config_path);
    TRY(mgk_checkpoint_integer(checkpoint, "conv_kernel_size", 65, &taps));
    if (taps < 1 || taps % 2 == 0)
        return mgk_fail(STATUS_FORMAT, "%s: conv_kernel_size %d: expected an odd number",
                        checkpoint->config_path, taps);
    config->settings.kernel = taps;
    return STATUS_OK;
}

static mgk_status nystromformer_recipe(const mgk_checkpoint *checkpoint, const mgk_config *config,
                                       const mgk_parameter *parameter, mgk_recipe *out)
{
    int layer;
    (void)checkpoint, (void)config;
    if (strcmp(mgk_layer_of_name(parameter->name, &layer), "attention.convolution") != 0)
        return STATUS_OK;
    const size_t shape[] = {parameter->shape[0], 1, parameter->shape[1], 1};
    out->axes = 4;
    memcpy(out->shape, shape, sizeof(shape));
    return STATUS_OK;
}

const mgk_bert_kind mgk_bert_nystromformer = {
    .first_position = 2, .configure = configure_nystromformer, .recipe = nystromformer_recipe};

/*
 * big_bird: with "block_sparse" the mask is that of training, of the model's length. Only the
 * projections of queries, keys and values may lack biases.
 */
static mgk_status configure_big_bird(const mgk_checkpoint *checkpoint, mgk_config *config)
{
    const char *type;
    bool rescales;
    TRY(mgk_checkpoint_flag(checkpoint, "use_bias", true, &config->attention_bias));
    TRY(mgk_checkpoint_flag(checkpoint, "rescale_embeddings", false, &rescales));
    TRY(mgk_checkpoint_string(checkpoint, "attention_type", "block_sparse", &type));
    config->attention_output_bias = MGK_OUTPUT_BIAS_OWN;
    config->embedding_scale = rescales ? sqrt(config->dim) : 1;
    if (strcmp(type, "original_full") == 0)
        return STATUS_OK;
    if (strcmp(type, "block_sparse") != 0 || config->causal)
        return mgk_fail(STATUS_UNSUPPORTED, "%s: attention_type \"%.64s\" is not known%s",
                        checkpoint->config_path, type,
                        config->causal ? " with is_decoder true, \"original_full\" is" : "");
    strcpy(config->attention, "bigbird-published");
    TRY(mgk_checkpoint_integer(checkpoint, "block_size", 64, &config->settings.block));
    TRY(mgk_checkpoint_integer(checkpoint, "num_random_blocks", 3, &config->settings.random));
    if (config->settings.block < 1 || config->settings.random < 1)
        return mgk_fail(STATUS_FORMAT,
                        "%s: block_size %d and num_random_blocks %d: expected at least 1",
                        checkpoint->config_path, config->settings.block, config->settings.random);
    return STATUS_OK;
}

const mgk_bert_kind mgk_bert_big_bird = {.configure = configure_big_bird};

const char *mgk_bert_kind_assumed(const mgk_config *config)
{
    if (strcmp(config->attention, "nystrom") == 0)
        return "landmarks are means of a text's own tokens; transformers counts the padding of a "
               "text that is shorter than the model";
    if (strcmp(config->attention, "bigbird-published") == 0)
        return "the mask is that of training, with its random blocks, for the length of the model; "
               "transformers has none of these blocks but in training, and no mask for short texts";
    return "";
}
