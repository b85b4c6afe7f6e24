/* SPDX-License-Identifier: MIT */
/*
 * Hugging Face's reformer: layers that hash (kind `reformer`) or see their chunk and the one before
 * (`chunks`, of encoders `ring`), in two reversible streams. Queries of hashing layers are keys,
 * too. Rotations are no part of a checkpoint: transformers draws them anew for each layer and pass,
 * always the same ones if config.json has a hash_seed, which are computed here. Axial positions,
 * whose rows are made of those of two tables, become one table.
 */
#include <stdio.h>
#include <string.h>

#include "base/append.h"
#include "base/memory.h"
#include "base/random.h"
#include "model/formats/format.h"
#include "model/formats/hugging_face.h"
#include "model/formats/torch_normal.h"

static const mgk_tensor_row rows[] = {
    {.ours = "embedding.token.weight", .theirs = "embeddings.word_embeddings.weight"},
    {.ours = "embedding.position.weight",
     .theirs = "embeddings.position_embeddings.embedding"
               ".weight"},
    {.ours = "norm.weight", .theirs = "encoder.layer_norm.weight"},
    {.ours = "norm.bias", .theirs = "encoder.layer_norm.bias"},
    {.ours = NULL},
};

static const mgk_tensor_row layer_rows[] = {
    {.ours = "attention.query.weight", .theirs = "attention.self_attention.query.weight"},
    {.ours = "attention.key.weight", .theirs = "attention.self_attention.key.weight"},
    {.ours = "attention.value.weight", .theirs = "attention.self_attention.value.weight"},
    {.ours = "attention.output.weight", .theirs = "attention.output.dense.weight"},
    {.ours = "norm1.weight", .theirs = "attention.layer_norm.weight"},
    {.ours = "norm1.bias", .theirs = "attention.layer_norm.bias"},
    {.ours = "feed_forward.in.weight", .theirs = "feed_forward.dense.dense.weight"},
    {.ours = "feed_forward.in.bias", .theirs = "feed_forward.dense.dense.bias"},
    {.ours = "feed_forward.out.weight", .theirs = "feed_forward.output.dense.weight"},
    {.ours = "feed_forward.out.bias", .theirs = "feed_forward.output.dense.bias"},
    {.ours = "norm2.weight", .theirs = "feed_forward.layer_norm.weight"},
    {.ours = "norm2.bias", .theirs = "feed_forward.layer_norm.bias"},
    {.ours = NULL},
};

static const char anchor[] = "embeddings.word_embeddings.weight";
static const char output_layer[] = "lm_head.decoder.weight";
static const char hashing[] = "reformer", local[] = "chunks", ring[] = "ring";
static const mgk_tensor_names names = {anchor, "encoder.layers.", layer_rows, rows};

/* ---- configuration --------------------------------------------------------------------------- */

/* Reads a size of at least 1. */
static mgk_status read_size(const mgk_checkpoint *checkpoint, const char *key, int usual, int *out)
{
    TRY(mgk_checkpoint_integer(checkpoint, key, usual, out));
    return *out >= 1 ? STATUS_OK
                     : mgk_fail(STATUS_FORMAT, "%s: %s %d: expected at least 1",
                                checkpoint->config_path, key, *out);
}

/* Refuses another number than the one that is known. */
static mgk_status need(const mgk_checkpoint *checkpoint, const char *key, int known)
{
    int value;
    TRY(mgk_checkpoint_integer(checkpoint, key, known, &value));
    return value == known ? STATUS_OK
                          : mgk_fail(STATUS_UNSUPPORTED, "%s: %s %d is not known, %d is",
                                     checkpoint->config_path, key, value, known);
}

/* Sets the kinds of the layers, "lsh" or "local" each, and says which occur. In local layers of an
 * encoder the first chunk sees the last one. */
static mgk_status read_layers(const mgk_checkpoint *checkpoint, mgk_config *config, bool *hash,
                              bool *near)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(checkpoint->config, "attn_layers"), *item;
    config->layers = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : 0;
    config->attention[0] = '\0';
    *hash = *near = false;
    if (config->layers < 1)
        return mgk_fail(STATUS_FORMAT, "%s: \"attn_layers\" is not an array of words",
                        checkpoint->config_path);
    cJSON_ArrayForEach(item, list)
    {
        const char *word = cJSON_IsString(item) ? item->valuestring : "";
        const bool hashes = strcmp(word, "lsh") == 0;
        if (!hashes && strcmp(word, "local") != 0)
            return mgk_fail(STATUS_UNSUPPORTED, "%s: attn_layers has \"%.64s\", which is not known",
                            checkpoint->config_path, word);
        *hash |= hashes;
        *near |= !hashes;
        if (!mgk_append(config->attention, sizeof(config->attention), "%s%s",
                        *config->attention ? "," : "",
                        hashes           ? hashing
                        : config->causal ? local
                                         : ring))
            return mgk_fail(STATUS_UNSUPPORTED, "%s: attn_layers has too many layers",
                            checkpoint->config_path);
    }
    return STATUS_OK;
}

static mgk_status read_factor(const mgk_checkpoint *checkpoint, const cJSON *item, int *out)
{
    *out = cJSON_IsNumber(item) ? item->valueint : 0;
    return *out >= 2 && *out % 2 == 0
               ? STATUS_OK
               : mgk_fail(STATUS_FORMAT, "%s: num_buckets %d: expected even numbers of at least 2",
                          checkpoint->config_path, *out);
}

/* The buckets of a round: a number, or a list of one or two factors. */
static mgk_status read_buckets(const mgk_checkpoint *checkpoint, mgk_attention_settings *out)
{
    static const char key[] = "num_buckets";
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(checkpoint->config, key);
    const int factors = cJSON_IsArray(item) ? cJSON_GetArraySize(item) : 1;
    if (factors > 2)
        return mgk_fail(STATUS_UNSUPPORTED, "%s: %s is a list of %d factors: up to 2 are known",
                        checkpoint->config_path, key, factors);
    if (!item || cJSON_IsNull(item))
        return mgk_fail(STATUS_UNSUPPORTED,
                        "%s: %s null, of which the first text decides, is not known: write a "
                        "number",
                        checkpoint->config_path, key);
    if (!cJSON_IsArray(item))
        return read_factor(checkpoint, item, &out->clusters);
    TRY(read_factor(checkpoint, item->child, &out->clusters));
    return factors > 1 ? read_factor(checkpoint, item->child->next, &out->parts) : STATUS_OK;
}

/* "float32", or what config.json says; transformers runs, and draws, in this type. */
static mgk_status read_precision(const mgk_checkpoint *checkpoint, mgk_torch_precision *out)
{
    const char *old, *type;
    TRY(mgk_checkpoint_string(checkpoint, "torch_dtype", "float32", &old));
    TRY(mgk_checkpoint_string(checkpoint, "dtype", old, &type));
    *out = strcmp(type, "float64") == 0 ? MGK_TORCH_DOUBLE : MGK_TORCH_SINGLE;
    return *out == MGK_TORCH_DOUBLE || strcmp(type, "float32") == 0
               ? STATUS_OK
               : mgk_fail(STATUS_UNSUPPORTED,
                          "%s: dtype \"%.64s\" with hash_seed is not known, float32 and float64 "
                          "are",
                          checkpoint->config_path, type);
}

/* The seed of rotations; false: none. */
static mgk_status read_seed(const mgk_checkpoint *checkpoint, int *seed, bool *has)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(checkpoint->config, "hash_seed");
    *has = item && !cJSON_IsNull(item);
    return mgk_checkpoint_integer(checkpoint, "hash_seed", 0, seed);
}

static mgk_status configure_hashing(const mgk_checkpoint *checkpoint, mgk_config *config)
{
    int seed;
    bool has;
    mgk_torch_precision precision;
    TRY(read_buckets(checkpoint, &config->settings));
    TRY(read_size(checkpoint, "num_hashes", 1, &config->settings.hashes));
    TRY(read_size(checkpoint, "lsh_attn_chunk_length", 64, &config->settings.block));
    TRY(need(checkpoint, "lsh_num_chunks_before", 1));
    TRY(need(checkpoint, "lsh_num_chunks_after", 0));
    TRY(read_seed(checkpoint, &seed, &has));
    return has ? read_precision(checkpoint, &precision) : STATUS_OK;
}

/*
 * Local layers. Where a text is padded to more than its last chunk, one without tokens stands
 * before that of the next round of hashing, or before the first one of a ring.
 */
static mgk_status configure_local(const mgk_checkpoint *checkpoint, bool hashes, mgk_config *config)
{
    int chunk;
    TRY(read_size(checkpoint, "local_attn_chunk_length", 64, &chunk));
    TRY(need(checkpoint, "local_num_chunks_before", 1));
    TRY(need(checkpoint, "local_num_chunks_after", 0));
    if (hashes &&
        (config->causal ? config->settings.block % chunk != 0 : config->settings.block != chunk))
        return mgk_fail(STATUS_UNSUPPORTED,
                        "%s: local_attn_chunk_length %d: expected %s "
                        "lsh_attn_chunk_length %d",
                        checkpoint->config_path, chunk,
                        config->causal ? "a divisor of" : "of an encoder", config->settings.block);
    config->settings.window = chunk;
    return STATUS_OK;
}

/* Two positive numbers of a list. */
static mgk_status read_pair(const mgk_checkpoint *checkpoint, const char *key, size_t out[2])
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(checkpoint->config, key);
    const bool pair = cJSON_IsArray(list) && cJSON_GetArraySize(list) == 2;
    for (int i = 0; i < 2; i++) {
        const cJSON *item = pair ? cJSON_GetArrayItem(list, i) : NULL;
        if (!cJSON_IsNumber(item) || item->valuedouble < 1 || item->valuedouble > 1 << 20)
            return mgk_fail(STATUS_FORMAT, "%s: \"%s\" is not a list of two numbers of 1 to 2^20",
                            checkpoint->config_path, key);
        out[i] = (size_t)item->valuedouble;
    }
    return STATUS_OK;
}

static mgk_status configure_positions(const mgk_checkpoint *checkpoint, mgk_config *config)
{
    size_t shape[2], widths[2];
    bool axial;
    TRY(read_size(checkpoint, "max_position_embeddings", 4096, &config->length));
    TRY(mgk_checkpoint_flag(checkpoint, "axial_pos_embds", true, &axial));
    if (!axial)
        return STATUS_OK;
    TRY(read_pair(checkpoint, "axial_pos_shape", shape));
    TRY(read_pair(checkpoint, "axial_pos_embds_dim", widths));
    if (widths[0] + widths[1] != (size_t)config->dim)
        return mgk_fail(STATUS_FORMAT,
                        "%s: axial_pos_embds_dim is %zu and %zu, expected a sum of "
                        "hidden_size %d",
                        checkpoint->config_path, widths[0], widths[1], config->dim);
    if (shape[0] * shape[1] < (size_t)config->length)
        config->length = (int)(shape[0] * shape[1]);
    return STATUS_OK;
}

static mgk_status configure(const mgk_checkpoint *checkpoint, const mgk_model_options *options,
                            mgk_config *config)
{
    bool causal, hashes, near, tied;
    (void)options;
    TRY(mgk_checkpoint_flag(checkpoint, "is_decoder", false, &causal));
    TRY(mgk_checkpoint_flag(checkpoint, "tie_word_embeddings", false, &tied));
    if (tied)
        return mgk_fail(STATUS_UNSUPPORTED,
                        "%s: tie_word_embeddings true: the output layer of reformer is its own",
                        checkpoint->config_path);
    mgk_config_defaults(causal ? MGK_FAMILY_LM : MGK_FAMILY_ENCODER, config);
    config->causal = causal;
    config->reversible = config->pre_norm = true;
    config->mixtures = 1;
    config->classes = 0;
    config->dropout = 0;
    config->embedding_scale = 1;
    config->attention_bias = false;
    config->positions = MGK_POSITIONS_LEARNED;
    TRY(read_layers(checkpoint, config, &hashes, &near));
    TRY(read_size(checkpoint, "vocab_size", 320, &config->vocabulary));
    TRY(read_size(checkpoint, "hidden_size", 256, &config->dim));
    TRY(read_size(checkpoint, "num_attention_heads", 12, &config->heads));
    TRY(read_size(checkpoint, "attention_head_size", 64, &config->head_dim));
    TRY(read_size(checkpoint, "feed_forward_size", 512, &config->hidden));
    TRY(mgk_hugging_face_activation(checkpoint, "hidden_act", "relu", &config->activation));
    TRY(mgk_checkpoint_real(checkpoint, "layer_norm_eps", 1e-12, &config->norm_epsilon));
    TRY(mgk_hugging_face_padding(checkpoint, config));
    if (hashes)
        TRY(configure_hashing(checkpoint, config));
    if (near)
        TRY(configure_local(checkpoint, hashes, config));
    TRY(configure_positions(checkpoint, config));
    return causal ? mgk_hugging_face_output(checkpoint, output_layer, false, config) : STATUS_OK;
}

/* ---- recipes --------------------------------------------------------------------------------- */

/* values [H, D, T R / 2] of the seed in config.json, or of ours, one for each layer. */
static mgk_status compute_rotations(const mgk_checkpoint *checkpoint, const mgk_config *config,
                                    const mgk_recipe *recipe, const mgk_parameter *parameter,
                                    double *values)
{
    int seed, layer;
    bool has;
    mgk_torch_precision precision;
    (void)recipe;
    if (!values)
        return STATUS_OK;
    mgk_layer_of_name(parameter->name, &layer);
    TRY(read_seed(checkpoint, &seed, &has));
    if (has) {
        TRY(read_precision(checkpoint, &precision));
        mgk_torch_normal(seed, precision, parameter->count, values);
        return STATUS_OK;
    }
    for (size_t i = 0; i < parameter->count; i++)
        values[i] = mgk_random_normal((uint64_t)config->pattern_seed, (uint64_t)layer, i);
    return STATUS_OK;
}

/* values [N, C]: the row of a position is that of p / W of one table, then p mod W of another. */
static mgk_status expand_positions(const mgk_checkpoint *checkpoint, const mgk_config *config,
                                   const mgk_recipe *recipe, const mgk_parameter *parameter,
                                   double *values)
{
    size_t shape[2], widths[2], from = 0;
    double *table = NULL;
    mgk_status status = STATUS_OK;
    TRY(read_pair(checkpoint, "axial_pos_shape", shape));
    TRY(read_pair(checkpoint, "axial_pos_embds_dim", widths));
    for (size_t side = 0; side < 2; from += widths[side++]) {
        const size_t axes[] = {side ? 1 : shape[0], side ? shape[1] : 1, widths[side]};
        const mgk_tensor_info *tensor;
        char name[MGK_TENSOR_NAME];
        snprintf(name, sizeof(name), "%.200s.%zu", recipe->name, side);
        CHECK(mgk_checkpoint_expect(checkpoint, name, 3, axes, &tensor));
        if (!values)
            continue;
        CHECK(mgk_alloc(tensor->count, sizeof(*table), &table));
        CHECK(
            mgk_tensors_read(checkpoint->tensors, tensor, 0, tensor->count, MGK_DTYPE_F64, table));
        for (size_t p = 0; p < parameter->shape[0]; p++)
            memcpy(values + p * (size_t)config->dim + from,
                   table + (side ? p % shape[1] : p / shape[1]) * widths[side],
                   widths[side] * sizeof(*table));
        mgk_free(table);
        table = NULL;
    }
out:
    mgk_free(table);
    return status;
}

/* Names the tensors of axial positions, without their numbers, if there are any. */
static mgk_status position_recipe(const mgk_checkpoint *checkpoint, mgk_recipe *out)
{
    static const char plain[] = "embedding.weight";
    bool axial;
    TRY(mgk_checkpoint_flag(checkpoint, "axial_pos_embds", true, &axial));
    if (!axial)
        return STATUS_OK;
    strcpy(out->name + strlen(out->name) - (sizeof(plain) - 1), "weights");
    out->compute = expand_positions;
    return STATUS_OK;
}

/* Old files have the bias of the output layer beside it. */
static mgk_status output_recipe(const mgk_checkpoint *checkpoint, const mgk_parameter *parameter,
                                mgk_recipe *out)
{
    static const char bias[] = "lm_head.bias", own[] = "lm_head.decoder.bias";
    char prefix[MGK_TENSOR_NAME];
    TRY(mgk_hugging_face_language_model(checkpoint, &names, output_layer, parameter, out));
    if (strcmp(parameter->name, "output.bias") == 0 &&
        !mgk_checkpoint_prefix(checkpoint, own, prefix) &&
        mgk_checkpoint_prefix(checkpoint, bias, prefix))
        snprintf(out->name, sizeof(out->name), "%.100s%s", prefix, bias);
    return STATUS_OK;
}

static mgk_status recipe(const mgk_checkpoint *checkpoint, const mgk_config *config,
                         const mgk_parameter *parameter, mgk_recipe *out)
{
    int layer;
    const char *name = mgk_layer_of_name(parameter->name, &layer);
    if (strcmp(name, "attention.rotations") == 0) {
        out->compute = compute_rotations;
        return STATUS_OK;
    }
    TRY(output_recipe(checkpoint, parameter, out));
    if (strcmp(name, "embedding.position.weight") == 0)
        return position_recipe(checkpoint, out);
    const bool query = strcmp(name, "attention.query.weight") == 0;
    if (query || strcmp(name, "attention.key.weight") == 0) {
        char kind[MGK_KIND_NAME];
        mgk_config_kind_name(config, layer, kind);
        if (strcmp(kind, hashing) == 0)
            strcpy(out->name + strlen(out->name) - strlen(query ? "query.weight" : "key.weight"),
                   "query_key.weight");
    }
    return STATUS_OK;
}

static mgk_status assumed(const mgk_checkpoint *checkpoint, const mgk_model_options *options,
                          const mgk_config *config, char *text, size_t size)
{
    int seed;
    bool has;
    (void)options;
    if (!strstr(config->attention, hashing))
        return STATUS_OK;
    TRY(read_seed(checkpoint, &seed, &has));
    snprintf(text, size, "%s",
             has ? "a text is hashed alone; transformers hashes the padding of a batch, too"
                 : "config.json has no hash_seed: rotations are the toolkit's own, where "
                   "transformers draws others in every run; a text is hashed alone");
    return STATUS_OK;
}

static const char *const types[] = {"reformer", NULL};
static const char *const beside[] = {"lm_head.bias", NULL}; /* a copy of the output layer's */

const mgk_model_format mgk_format_reformer = {.name = "Hugging Face's reformer",
                                              .model_types = types,
                                              .root = anchor,
                                              .beside = beside,
                                              .assumed = assumed,
                                              .configure = configure,
                                              .recipe = recipe};
