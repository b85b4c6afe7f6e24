/* SPDX-License-Identifier: MIT */
#include "model/formats/bert_kinds.h"

#include <math.h>
#include <stdio.h>
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

/* A number of tokens for all layers, or a list of equal ones. */
static mgk_status read_window(const mgk_checkpoint *checkpoint, int *out)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(checkpoint->config, "attention_window");
    if (!cJSON_IsArray(item))
        return mgk_checkpoint_integer(checkpoint, "attention_window", 512, out);
    const cJSON *first = item->child;
    for (const cJSON *one = first; one; one = one->next)
        if (!cJSON_IsNumber(one) || one->valuedouble != first->valuedouble)
            return mgk_fail(STATUS_UNSUPPORTED,
                            "%s: attention_window has different numbers, which is not known",
                            checkpoint->config_path);
    *out = first ? first->valueint : 0;
    return STATUS_OK;
}

/* The class of the model, the first of "architectures"; "": none. */
static const char *architecture_of(const mgk_checkpoint *checkpoint)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(checkpoint->config, "architectures");
    const char *name = cJSON_IsArray(list) ? cJSON_GetStringValue(list->child) : NULL;
    return name ? name : "";
}

/*
 * longformer: which tokens are global is no part of a checkpoint. Where transformers is not told,
 * it is the first one in models that classify sequences, and otherwise none.
 */
static mgk_status configure_longformer(const mgk_checkpoint *checkpoint, mgk_config *config)
{
    int window;
    TRY(read_window(checkpoint, &window));
    if (window < 2 || window % 2 != 0)
        return mgk_fail(STATUS_FORMAT, "%s: attention_window %d: expected an even number",
                        checkpoint->config_path, window);
    if (config->causal)
        return mgk_fail(STATUS_UNSUPPORTED, "%s: is_decoder true: longformer has no decoder",
                        checkpoint->config_path);
    config->settings.window = window / 2;
    if (strcmp(architecture_of(checkpoint), "LongformerForSequenceClassification") == 0) {
        strcpy(config->attention, "longformer");
        config->settings.global = 1;
    } else {
        strcpy(config->attention, "band");
    }
    return STATUS_OK;
}

/* The rows of the maps of queries, keys and values of global tokens. */
static mgk_status stack_globals(const mgk_checkpoint *checkpoint, const mgk_config *config,
                                const mgk_recipe *recipe, const mgk_parameter *parameter,
                                double *values)
{
    static const char *const words[] = {"query", "key", "value"};
    static const char word[] = "query_global";
    const char *at = strstr(recipe->name, word);
    size_t shape[MGK_PARAMETER_AXES];
    (void)config;
    memcpy(shape, parameter->shape, sizeof(shape));
    shape[0] /= 3;
    for (size_t i = 0; at && i < 3; i++) {
        char name[MGK_TENSOR_NAME];
        const mgk_tensor_info *tensor;
        snprintf(name, sizeof(name), "%.*s%s_global%.20s", (int)(at - recipe->name), recipe->name,
                 words[i], at + strlen(word));
        TRY(mgk_checkpoint_expect(checkpoint, name, parameter->axes, shape, &tensor));
        if (values)
            TRY(mgk_tensors_read(checkpoint->tensors, tensor, 0, tensor->count, MGK_DTYPE_F64,
                                 values + i * tensor->count));
    }
    return STATUS_OK;
}

static mgk_status longformer_recipe(const mgk_checkpoint *checkpoint, const mgk_config *config,
                                    const mgk_parameter *parameter, mgk_recipe *out)
{
    int layer;
    (void)checkpoint, (void)config;
    const char *name = mgk_layer_of_name(parameter->name, &layer);
    if (strncmp(name, "attention.extra.", strlen("attention.extra.")) == 0)
        out->compute = stack_globals;
    return STATUS_OK;
}

const mgk_bert_kind mgk_bert_longformer = {.configure = configure_longformer,
                                           .recipe = longformer_recipe};

const char *mgk_bert_kind_assumed(const mgk_config *config)
{
    if (strcmp(config->attention, "nystrom") == 0)
        return "landmarks are means of a text's own tokens; transformers counts the padding of a "
               "text that is shorter than the model";
    if (strcmp(config->attention, "bigbird-published") == 0)
        return "the mask is that of training, with its random blocks, for the length of the model; "
               "transformers has none of these blocks but in training, and no mask for short texts";
    if (strcmp(config->attention, "longformer") == 0)
        return "the first token is global, as in transformers without global_attention_mask";
    if (strcmp(config->attention, "band") == 0)
        return "no token is global, as in transformers without global_attention_mask";
    return "";
}
