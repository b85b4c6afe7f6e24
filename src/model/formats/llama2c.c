/* SPDX-License-Identifier: MIT */
/* Llama as llama2.c stores it: neighbours are rotated, and the file has the sizes. */
#include <string.h>

#include "model/containers/llama2c.h"
#include "model/formats/format.h"
#include "model/formats/rotary.h"
#include "model/formats/tensor_names.h"

static const mgk_tensor_row rows[] = {
    {.ours = "embedding.token.weight", .theirs = "token_embedding"},
    {.ours = "norm.weight", .theirs = "rms_final"},
    {.ours = "output.weight", .theirs = "wcls"},
    {.ours = NULL},
};

static const mgk_tensor_row layer_rows[] = {
    {.ours = "attention.query.weight", .theirs = "wq"},
    {.ours = "attention.key.weight", .theirs = "wk"},
    {.ours = "attention.value.weight", .theirs = "wv"},
    {.ours = "attention.output.weight", .theirs = "wo"},
    {.ours = "norm1.weight", .theirs = "rms_att"},
    {.ours = "feed_forward.gate.weight", .theirs = "w1"},
    {.ours = "feed_forward.in.weight", .theirs = "w3"},
    {.ours = "feed_forward.out.weight", .theirs = "w2"},
    {.ours = "norm2.weight", .theirs = "rms_ffn"},
    {.ours = NULL},
};

static const mgk_tensor_names names = {"token_embedding", "layers.", layer_rows, rows};

static bool matches(const mgk_checkpoint *checkpoint)
{
    return strcmp(mgk_tensors_container(checkpoint->tensors), mgk_llama2c_container) == 0;
}

static int size_of(const mgk_checkpoint *checkpoint, const char *name)
{
    double value = 0;
    mgk_tensors_number(checkpoint->tensors, name, &value);
    return (int)value;
}

static mgk_status configure(const mgk_checkpoint *checkpoint, const mgk_model_options *options,
                            mgk_config *config)
{
    (void)options;
    mgk_config_defaults(MGK_FAMILY_LM, config);
    strcpy(config->attention, "softmax");
    config->mixtures = 1;
    config->dropout = 0;
    config->pre_norm = config->gated = true;
    config->attention_bias = config->feed_forward_bias = config->output_bias = false;
    config->norm = MGK_NORMALIZATION_RMS;
    config->activation = MGK_ACTIVATION_SILU;
    config->positions = MGK_POSITIONS_ROTARY;
    config->embedding_scale = 1;
    config->dim = size_of(checkpoint, "dim");
    config->hidden = size_of(checkpoint, "hidden_dim");
    config->layers = size_of(checkpoint, "n_layers");
    config->heads = size_of(checkpoint, "n_heads");
    config->key_heads = size_of(checkpoint, "n_kv_heads");
    config->vocabulary = size_of(checkpoint, "vocab_size");
    config->length = size_of(checkpoint, "seq_len");
    config->head_dim = config->dim / config->heads;
    config->tied = !mgk_tensors_find(checkpoint->tensors, "wcls");
    return STATUS_OK;
}

static mgk_status recipe(const mgk_checkpoint *checkpoint, const mgk_config *config,
                         const mgk_parameter *parameter, mgk_recipe *out)
{
    TRY(mgk_recipe_by_names(checkpoint, &names, parameter, out));
    if (strstr(parameter->name, "attention.query.") || strstr(parameter->name, "attention.key."))
        mgk_rotary_order(config, true, out);
    return STATUS_OK;
}

/* Cosines and sines that the positions determine. */
static const char *const beside[] = {"freq_cis_", NULL};

const mgk_model_format mgk_format_llama2c = {.name = "files of llama2.c",
                                             .beside = beside,
                                             .matches = matches,
                                             .configure = configure,
                                             .recipe = recipe};
