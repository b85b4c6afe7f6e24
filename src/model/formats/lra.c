/* SPDX-License-Identifier: MIT */
/*
 * Checkpoints of the paper's Long Range Arena code: pre-norm encoders with learned positions, whose
 * hidden states are summed and divided by the number of positions before the classifier. The
 * tensors determine the design of keys and priors:
 *   mha.W_k2                              a second projection
 *   attn.multi_gauss_kernel.mu            shifts that are subtracted from the keys, in mixtures
 *   attn.mu                               the same in linear attention
 *   attn.pi or multi_gauss_kernel.pi [2]  learned priors; [H, N]: soft-E, of key 1; none: hard-E
 *   attn.E [H, K, N]                      Linformer's maps of positions
 * Linear attention with projected keys has the same tensors as softmax and mixtures: the user must
 * say which it is.
 */
#include <stdio.h>
#include <string.h>

#include "model/formats/authors.h"
#include "model/formats/format.h"

static const mgk_tensor_row rows[] = {
    {.ours = "embedding.token.weight", .theirs = "embeddings.word_embeddings.weight"},
    {.ours = "embedding.position.weight", .theirs = "embeddings.position_embeddings.weight"},
    {.ours = "norm.weight", .theirs = "norm.weight"},
    {.ours = "norm.bias", .theirs = "norm.bias"},
    {.ours = NULL},
};

static const mgk_tensor_row layer_rows[] = {
    {.ours = "norm1.weight", .theirs = "norm1.weight"},
    {.ours = "norm1.bias", .theirs = "norm1.bias"},
    {.ours = "attention.query.weight", .theirs = "mha.W_q.weight"},
    {.ours = "attention.query.bias", .theirs = "mha.W_q.bias"},
    {.ours = "attention.key.weight", .theirs = "mha.W_k.weight"},
    {.ours = "attention.key.bias", .theirs = "mha.W_k.bias"},
    {.ours = "attention.key_shift", .theirs = "mha.attn.multi_gauss_kernel.mu"},
    {.ours = "attention.prior", .theirs = "mha.attn.pi"},
    {.ours = "attention.projection", .theirs = "mha.attn.E"},
    {.ours = "attention.value.weight", .theirs = "mha.W_v.weight"},
    {.ours = "attention.value.bias", .theirs = "mha.W_v.bias"},
    {.ours = "attention.output.weight", .theirs = "mha.ff.weight"},
    {.ours = "attention.output.bias", .theirs = "mha.ff.bias"},
    {.ours = "norm2.weight", .theirs = "norm2.weight"},
    {.ours = "norm2.bias", .theirs = "norm2.bias"},
    {.ours = "feed_forward.in.weight", .theirs = "mlpblock.0.weight"},
    {.ours = "feed_forward.in.bias", .theirs = "mlpblock.0.bias"},
    {.ours = "feed_forward.out.weight", .theirs = "mlpblock.3.weight"},
    {.ours = "feed_forward.out.bias", .theirs = "mlpblock.3.bias"},
    {.ours = NULL},
};

static const mgk_tensor_row classifier_rows[] = {
    {.ours = "classifier.hidden.weight", .theirs = "seq_classifer.mlpblock.0.weight"},
    {.ours = "classifier.hidden.bias", .theirs = "seq_classifer.mlpblock.0.bias"},
    {.ours = "classifier.output.weight", .theirs = "seq_classifer.mlpblock.2.weight"},
    {.ours = "classifier.output.bias", .theirs = "seq_classifer.mlpblock.2.bias"},
    {.ours = NULL},
};

static const char first_query[] = "transformer_0.mha.W_q.weight";
static const char shared_query[] = "transformer.mha.W_q.weight";
static const char classifier[] = "seq_classifer.mlpblock.0.weight";
static const mgk_tensor_names names = {"embeddings.word_embeddings.weight", "transformer_",
                                       layer_rows, rows};
static const mgk_tensor_names classifier_names = {classifier, "", layer_rows, classifier_rows};

/* Tensors that an attention may have besides the required ones. */
static const char *const extras[] = {"mha.W_k2.weight", "mha.W_k2.bias",
                                     "mha.attn.mu",     "mha.attn.multi_gauss_kernel.pi",
                                     "mha.attn.E",      NULL};

static bool matches(const mgk_checkpoint *checkpoint)
{
    char prefix[MGK_TENSOR_NAME];
    return mgk_checkpoint_prefix(checkpoint, first_query, prefix) ||
           mgk_checkpoint_prefix(checkpoint, shared_query, prefix);
}

static bool is_known(const char *name)
{
    if (strcmp(name, "mha.attn.kk_distance") == 0) /* a statistic of training */
        return true;
    for (const mgk_tensor_row *row = layer_rows; row->ours; row++)
        if (strcmp(name, row->theirs) == 0)
            return true;
    for (const char *const *extra = extras; *extra; extra++)
        if (strcmp(name, *extra) == 0)
            return true;
    return false;
}

/* Refuses class tokens, Performers and other variants, whose computation differs. */
static mgk_status refuse_unknown(const mgk_checkpoint *checkpoint, const char *prefix)
{
    size_t length = strlen(prefix);
    for (size_t i = 0; i < mgk_tensors_count(checkpoint->tensors); i++) {
        const char *name = mgk_tensors_at(checkpoint->tensors, i)->name;
        if (strncmp(name, prefix, length) != 0)
            continue;
        const char *own = name + length, *rest = strchr(own, '.');
        bool layer = strncmp(own, "transformer", strlen("transformer")) == 0;
        if (strcmp(own, "cls_embed") == 0 || (layer && rest && !is_known(rest + 1)))
            return mgk_fail(
                STATUS_UNSUPPORTED,
                "%s: tensor \"%s\" belongs to a model that is not known; of the "
                "paper's encoders those with softmax, MGK, linear attention and Linformer's are",
                checkpoint->path, name);
    }
    return STATUS_OK;
}

/* The tensors of a layer's keys and priors. */
typedef struct key_tensors {
    const mgk_tensor_info *second, *shift, *linear_shift, *prior, *map; /* NULL: there is none */
} key_tensors;

static key_tensors find_keys(const mgk_checkpoint *checkpoint, const char *prefix, int layer)
{
    static const char at[] = "%.100stransformer_%d.mha.%s";
    key_tensors keys = {
        .second = mgk_checkpoint_find(checkpoint, at, prefix, layer, "W_k2.weight"),
        .shift = mgk_checkpoint_find(checkpoint, at, prefix, layer, "attn.multi_gauss_kernel.mu"),
        .linear_shift = mgk_checkpoint_find(checkpoint, at, prefix, layer, "attn.mu"),
        .prior = mgk_checkpoint_find(checkpoint, at, prefix, layer, "attn.pi"),
        .map = mgk_checkpoint_find(checkpoint, at, prefix, layer, "attn.E")};
    if (!keys.prior)
        keys.prior =
            mgk_checkpoint_find(checkpoint, at, prefix, layer, "attn.multi_gauss_kernel.pi");
    return keys;
}

static bool same_kind(key_tensors a, key_tensors b)
{
    return !a.second == !b.second && !a.shift == !b.shift && !a.linear_shift == !b.linear_shift &&
           !a.prior == !b.prior && !a.map == !b.map;
}

/* Checks that every layer's keys have the design of layer 0. */
static mgk_status check_layers(const mgk_checkpoint *checkpoint, const char *prefix, int layers)
{
    key_tensors first = find_keys(checkpoint, prefix, 0);
    for (int layer = 1; layer < layers; layer++)
        if (!same_kind(first, find_keys(checkpoint, prefix, layer)))
            return mgk_fail(STATUS_UNSUPPORTED,
                            "%s: layers 0 and %d have different kinds of attention, which is not "
                            "known",
                            checkpoint->path, layer);
    return STATUS_OK;
}

static mgk_status set_prior(const mgk_checkpoint *checkpoint, const key_tensors *keys,
                            mgk_config *config)
{
    config->prior = MGK_PRIOR_HARD;
    config->prior_shape = MGK_PRIOR_LAYER;
    if (!keys->prior)
        return STATUS_OK;
    config->prior = MGK_PRIOR_LEARNED;
    if (keys->prior->axes == 1)
        return STATUS_OK;
    config->prior = MGK_PRIOR_EM;
    config->prior_shape = MGK_PRIOR_POSITION;
    if (keys->prior->axes != 2)
        return mgk_fail(STATUS_SHAPE, "%s: tensor \"%s\" has %d axes, expected [2] or [H, N]",
                        checkpoint->path, keys->prior->name, keys->prior->axes);
    return STATUS_OK;
}

/* The kind that the tensors determine, or `wanted` if several kinds have the same tensors. */
static mgk_status set_kind(const mgk_checkpoint *checkpoint, const key_tensors *keys,
                           const char *wanted, mgk_config *config)
{
    const char *usual = keys->linear_shift ? "smlk" : keys->shift ? "smgk" : "softmax";
    const char *linear = keys->linear_shift ? "smlk" : keys->shift ? "" : "linear";
    if (keys->map) {
        usual = "linformer-heads";
        linear = "";
    }
    if (keys->second) {
        usual = "mgk";
        linear = "mlk";
    }
    if (wanted && strcmp(wanted, usual) != 0 && strcmp(wanted, linear) != 0)
        return mgk_fail(STATUS_USAGE, "%s: attention \"%.32s\": expected \"%s\"%s%s%s",
                        checkpoint->path, wanted, usual, *linear ? " or \"" : "", linear,
                        *linear ? "\"" : "");
    const char *chosen = wanted ? wanted : usual;
    snprintf(config->attention, sizeof(config->attention), "%s", chosen);
    config->mixtures = keys->second || keys->shift || keys->linear_shift ? 2 : 1;
    config->row_normalized = strcmp(chosen, linear) != 0;
    config->mix_keys = !config->row_normalized && config->mixtures > 1;
    return config->mixtures > 1 ? set_prior(checkpoint, keys, config) : STATUS_OK;
}

static mgk_status set_heads(const mgk_checkpoint *checkpoint, const key_tensors *keys,
                            const mgk_tensor_info *query, int wanted, mgk_config *config)
{
    enum { USUAL = 32 };
    const mgk_tensor_info *shift = keys->shift ? keys->shift : keys->linear_shift;
    size_t heads = keys->map && keys->map->axes == 3       ? keys->map->shape[0]
                   : shift && shift->axes == 3             ? shift->shape[1]
                   : keys->prior && keys->prior->axes == 2 ? keys->prior->shape[0]
                                                           : 0;
    return mgk_authors_heads(checkpoint, query, heads, wanted, USUAL, config);
}

static mgk_status set_classifier(const mgk_checkpoint *checkpoint, mgk_config *config)
{
    const mgk_tensor_info *hidden, *output;
    char prefix[MGK_TENSOR_NAME];
    config->classes = 0;
    if (!mgk_checkpoint_prefix(checkpoint, classifier, prefix))
        return STATUS_OK;
    TRY(mgk_authors_need(checkpoint, 2, &hidden, "%.100s%s", prefix, classifier));
    TRY(mgk_authors_need(checkpoint, 2, &output, "%.100s%s", prefix,
                         "seq_classifer.mlpblock.2.weight"));
    config->classifier = mgk_authors_size(hidden->shape[0]);
    config->classes = mgk_authors_size(output->shape[0]);
    config->dual = hidden->shape[1] == 4 * (size_t)config->dim;
    return STATUS_OK;
}

static mgk_status set_sizes(const mgk_checkpoint *checkpoint, const char *prefix,
                            const mgk_tensor_info **query, mgk_config *config)
{
    const mgk_tensor_info *words, *positions, *in;
    TRY(mgk_authors_need(checkpoint, 2, &words, "%.100sembeddings.word_embeddings.weight", prefix));
    TRY(mgk_authors_need(checkpoint, 2, &positions, "%.100sembeddings.position_embeddings.weight",
                         prefix));
    TRY(mgk_authors_need(checkpoint, 2, &in, "%.100stransformer_0.mlpblock.0.weight", prefix));
    TRY(mgk_authors_need(checkpoint, 2, query, "%.100s%s", prefix, first_query));
    config->vocabulary = mgk_authors_size(words->shape[0]);
    config->dim = mgk_authors_size(words->shape[1]);
    config->length = mgk_authors_size(positions->shape[0]);
    config->hidden = mgk_authors_size(in->shape[0]);
    return STATUS_OK;
}

static mgk_status configure(const mgk_checkpoint *checkpoint, const mgk_model_options *options,
                            mgk_config *config)
{
    const mgk_tensor_info *query;
    char prefix[MGK_TENSOR_NAME];
    if (!mgk_checkpoint_prefix(checkpoint, first_query, prefix))
        return mgk_fail(STATUS_UNSUPPORTED,
                        "%s: its layers share their weights, so that their number is not known",
                        checkpoint->path);
    mgk_config_defaults(MGK_FAMILY_ENCODER, config);
    config->dropout = 0;
    config->pooling = MGK_POOLING_LENGTH;
    config->padding = 0;
    TRY(refuse_unknown(checkpoint, prefix));
    TRY(set_sizes(checkpoint, prefix, &query, config));
    config->layers = mgk_authors_layers(checkpoint, prefix, "transformer_");
    TRY(check_layers(checkpoint, prefix, config->layers));
    key_tensors keys = find_keys(checkpoint, prefix, 0);
    TRY(set_kind(checkpoint, &keys, options->attention, config));
    if (keys.map && keys.map->axes == 3)
        config->settings.projection = mgk_authors_size(keys.map->shape[1]);
    TRY(set_heads(checkpoint, &keys, query, options->head_dim, config));
    return set_classifier(checkpoint, config);
}

/* Recipes of keys and priors that are made of several tensors, or stored differently. */
static void mend_recipe(const mgk_checkpoint *checkpoint, const mgk_config *config,
                        const mgk_parameter *parameter, mgk_recipe *out)
{
    char prefix[MGK_TENSOR_NAME] = "";
    int layer;
    const char *name = mgk_layer_of_name(parameter->name, &layer);
    mgk_checkpoint_prefix(checkpoint, first_query, prefix);
    key_tensors keys = find_keys(checkpoint, prefix, layer);
    const mgk_tensor_info *shift = keys.shift ? keys.shift : keys.linear_shift;
    bool key = strncmp(name, "attention.key.", strlen("attention.key.")) == 0;
    if (key && keys.second) {
        snprintf(out->plus, sizeof(out->plus), "%.100stransformer_%d.mha.W_k2.%s", prefix, layer,
                 strrchr(name, '.') + 1);
        out->compute = mgk_authors_stack;
    } else if (shift && strcmp(name, "attention.key_shift") == 0) {
        snprintf(out->name, sizeof(out->name), "%s", shift->name);
        out->compute = mgk_authors_negate;
    } else if (keys.prior && strcmp(name, "attention.prior") == 0) {
        snprintf(out->name, sizeof(out->name), "%s", keys.prior->name);
        if (config->prior_shape == MGK_PRIOR_POSITION)
            out->compute = mgk_authors_priors;
    }
}

static mgk_status recipe(const mgk_checkpoint *checkpoint, const mgk_config *config,
                         const mgk_parameter *parameter, mgk_recipe *out)
{
    bool classifies = strncmp(parameter->name, "classifier.", strlen("classifier.")) == 0;
    TRY(mgk_recipe_by_names(checkpoint, classifies ? &classifier_names : &names, parameter, out));
    if (!classifies)
        mend_recipe(checkpoint, config, parameter, out);
    return STATUS_OK;
}

static const char *const beside[] = {".attn.pi", ".multi_gauss_kernel.pi", ".kk_distance", NULL};

/* Other models have the same tensors. */
static const char *assumed(const mgk_checkpoint *checkpoint, const mgk_model_options *options,
                           const mgk_config *config)
{
    (void)checkpoint;
    if (options->attention)
        return "";
    if (strcmp(config->attention, "softmax") == 0)
        return "assumed to be softmax attention: its tensors fit linear attention, too "
               "(`attention` linear)";
    if (strcmp(config->attention, "mgk") == 0)
        return "assumed to be MGK: its tensors fit linear attention with two keys, too "
               "(`attention` mlk)";
    return "";
}

const mgk_model_format mgk_format_lra = {.name = "encoders of the paper's code",
                                         .root = first_query,
                                         .asks = true,
                                         .assumed = assumed,
                                         .beside = beside,
                                         .matches = matches,
                                         .configure = configure,
                                         .recipe = recipe};
