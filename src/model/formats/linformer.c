/* SPDX-License-Identifier: MIT */
/*
 * State dicts of LinformerLM of the package linformer: bidirectional pre-norm models without a norm
 * at the end. Keys and values have a map of positions each, or share maps and projections
 * (share_kv); all heads may share keys and values (one_kv_head). The tensors do not tell the number
 * of heads unless they share keys: it is 8, the package's default, if `head_dim` does not say
 * otherwise. Reversible layers have other tensors.
 */
#include <stdio.h>
#include <string.h>

#include "model/formats/authors.h"
#include "model/formats/format.h"

static const mgk_tensor_row rows[] = {
    {.ours = "embedding.token.weight", .theirs = "token_emb.weight"},
    {.ours = "embedding.position.weight", .theirs = "pos_emb.weight"},
    {.ours = NULL},
};

#define LAYERS "linformer.net.layers."

static const mgk_tensor_row layer_rows[] = {
    {.ours = "norm1.weight", .theirs = "0.norm.weight"},
    {.ours = "norm1.bias", .theirs = "0.norm.bias"},
    {.ours = "attention.query.weight", .theirs = "0.fn.to_q.weight"},
    {.ours = "attention.key.weight", .theirs = "0.fn.to_k.weight"},
    {.ours = "attention.value.weight", .theirs = "0.fn.to_v.weight"},
    {.ours = "attention.projection", .theirs = "0.fn.proj_k", .transposed = true},
    {.ours = "attention.value_projection", .theirs = "0.fn.proj_v", .transposed = true},
    {.ours = "attention.output.weight", .theirs = "0.fn.to_out.weight"},
    {.ours = "attention.output.bias", .theirs = "0.fn.to_out.bias"},
    {.ours = "norm2.weight", .theirs = "1.norm.weight"},
    {.ours = "norm2.bias", .theirs = "1.norm.bias"},
    {.ours = "feed_forward.in.weight", .theirs = "1.fn.w1.weight"},
    {.ours = "feed_forward.in.bias", .theirs = "1.fn.w1.bias"},
    {.ours = "feed_forward.out.weight", .theirs = "1.fn.w2.weight"},
    {.ours = "feed_forward.out.bias", .theirs = "1.fn.w2.bias"},
    {.ours = NULL},
};

static const char anchor[] = "token_emb.weight";
static const char first_map[] = LAYERS "0.0.fn.proj_k";
static const mgk_tensor_names names = {anchor, LAYERS, layer_rows, rows};

static bool matches(const mgk_checkpoint *checkpoint)
{
    char prefix[MGK_TENSOR_NAME];
    return mgk_checkpoint_prefix(checkpoint, first_map, prefix);
}

static mgk_status configure_attention(const mgk_checkpoint *checkpoint, const char *prefix,
                                      const mgk_model_options *options, mgk_config *config)
{
    enum { USUAL_HEADS = 8 };
    const mgk_tensor_info *map, *query, *key;
    const bool separate = mgk_checkpoint_find(checkpoint, "%.100s" LAYERS "0.0.fn.proj_v", prefix);
    TRY(mgk_authors_need(checkpoint, 2, &map, "%.100s%s", prefix, first_map));
    TRY(mgk_authors_need(checkpoint, 2, &query, "%.100s" LAYERS "0.0.fn.to_q.weight", prefix));
    TRY(mgk_authors_need(checkpoint, 2, &key, "%.100s" LAYERS "0.0.fn.to_k.weight", prefix));
    strcpy(config->attention, separate ? "linformer-separate" : "linformer");
    config->length = mgk_authors_size(map->shape[0]);
    config->settings.projection = mgk_authors_size(map->shape[1]);
    if (options->attention && strcmp(options->attention, config->attention) != 0)
        return mgk_fail(STATUS_USAGE, "%s: attention \"%.32s\": expected \"%s\"", checkpoint->path,
                        options->attention, config->attention);
    const size_t width = query->shape[0], shared = key->shape[0];
    if (shared == width)
        return mgk_authors_heads(checkpoint, query, 0, options->head_dim,
                                 width % USUAL_HEADS ? 0 : (int)(width / USUAL_HEADS), config);
    config->key_heads = 1;
    return mgk_authors_heads(checkpoint, query, width % shared ? 0 : width / shared,
                             options->head_dim, 0, config);
}

static mgk_status configure(const mgk_checkpoint *checkpoint, const mgk_model_options *options,
                            mgk_config *config)
{
    const mgk_tensor_info *words, *in;
    char prefix[MGK_TENSOR_NAME] = "";
    mgk_checkpoint_prefix(checkpoint, anchor, prefix);
    mgk_config_defaults(MGK_FAMILY_ENCODER, config);
    config->mixtures = 1;
    config->classes = 0;
    config->dropout = 0;
    config->final_norm = false;
    config->attention_bias = false;
    config->attention_output_bias = MGK_OUTPUT_BIAS_OWN;
    config->layers = mgk_authors_layers(checkpoint, prefix, LAYERS);
    TRY(mgk_authors_need(checkpoint, 2, &words, "%.100s%s", prefix, anchor));
    TRY(mgk_authors_need(checkpoint, 2, &in, "%.100s" LAYERS "0.1.fn.w1.weight", prefix));
    config->vocabulary = mgk_authors_size(words->shape[0]);
    config->dim = mgk_authors_size(words->shape[1]);
    config->hidden = mgk_authors_size(in->shape[0]);
    return configure_attention(checkpoint, prefix, options, config);
}

/* Where keys and values share their maps, values are keys. */
static mgk_status recipe(const mgk_checkpoint *checkpoint, const mgk_config *config,
                         const mgk_parameter *parameter, mgk_recipe *out)
{
    int layer;
    TRY(mgk_recipe_by_names(checkpoint, &names, parameter, out));
    char *value = strstr(out->name, ".to_v.");
    if (strcmp(config->attention, "linformer") == 0 && value &&
        strcmp(mgk_layer_of_name(parameter->name, &layer), "attention.value.weight") == 0)
        memcpy(value, ".to_k.", strlen(".to_k."));
    return STATUS_OK;
}

static const char *const apart[] = {"to_logits", NULL};

static const char *assumed(const mgk_checkpoint *checkpoint, const mgk_model_options *options,
                           const mgk_config *config)
{
    (void)checkpoint;
    return options->head_dim || config->key_heads == 1
               ? ""
               : "assumed to have 8 heads, which its tensors do not tell (`head_dim`)";
}

const mgk_model_format mgk_format_linformer = {.name = "LinformerLM of the package linformer",
                                               .root = anchor,
                                               .asks = true,
                                               .apart = apart,
                                               .assumed = assumed,
                                               .matches = matches,
                                               .configure = configure,
                                               .recipe = recipe};
