/* SPDX-License-Identifier: MIT */
/*
 * Checkpoints of the paper's language-model code: pickled modules and state dicts of models with
 * sinusoidal positions that count backwards, [sin | cos], and no biases in the projections of
 * attention. Norms follow the blocks, or precede them (pre_lnorm). dec_attn.kv_net holds keys and
 * values, or two keys and values; dec_attn.mu [2, H, D] are shifts that are subtracted from one
 * key. Softmax and linear attention have neither.
 *
 * The scores of MGK are exp(−‖q − k_1‖² / 2√D) and exp(−1.5 ‖q − k_2‖² / √D). With priors, pi0 and
 * pi1 or soft-E's pi [H, 1, 1, N] of key 1, rows are divided by their sum + 1e-6; without priors,
 * hard-E, by their sum.
 *
 * Fast weights that are sums are causal linear attention, whose features are divided by their sum;
 * dec_attn.qkv_net holds query, keys and value of each head, and outputs are divided by √D. MLK has
 * two keys with priors pi0 and pi1 [H, N].
 */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/append.h"
#include "base/number.h"
#include "model/formats/authors.h"
#include "model/formats/format.h"
#include "model/formats/lm_tables.h"

static const mgk_tensor_row layer_rows[] = {
    {.ours = "attention.query.weight", .theirs = "dec_attn.q_net.weight"},
    {.ours = "attention.key.weight", .theirs = "dec_attn.kv_net.weight"},
    {.ours = "attention.key_shift", .theirs = "dec_attn.mu"},
    {.ours = "attention.prior", .theirs = "dec_attn.pi"},
    {.ours = "attention.value.weight", .theirs = "dec_attn.kv_net.weight"},
    {.ours = "attention.output.weight", .theirs = "dec_attn.o_net.weight"},
    {.ours = "norm1.weight", .theirs = "dec_attn.layer_norm.weight"},
    {.ours = "norm1.bias", .theirs = "dec_attn.layer_norm.bias"},
    {.ours = "feed_forward.in.weight", .theirs = "pos_ff.CoreNet.0.weight"},
    {.ours = "feed_forward.in.bias", .theirs = "pos_ff.CoreNet.0.bias"},
    {.ours = "feed_forward.out.weight", .theirs = "pos_ff.CoreNet.3.weight"},
    {.ours = "feed_forward.out.bias", .theirs = "pos_ff.CoreNet.3.bias"},
    {.ours = "norm2.weight", .theirs = "pos_ff.layer_norm.weight"},
    {.ours = "norm2.bias", .theirs = "pos_ff.layer_norm.bias"},
    {.ours = NULL},
};

static const mgk_tensor_names names = {mgk_lm_tables_anchor, "layers.", layer_rows, layer_rows};

static bool matches(const mgk_checkpoint *checkpoint)
{
    char prefix[MGK_TENSOR_NAME];
    return mgk_checkpoint_prefix(checkpoint, mgk_lm_tables_anchor, prefix);
}

/* A number or boolean of a pickled module, within the range of int; `fallback` for a state dict. */
static double attribute(const mgk_checkpoint *checkpoint, const char *prefix, const char *name,
                        double fallback)
{
    char path[MGK_TENSOR_NAME];
    double value;
    snprintf(path, sizeof(path), "%.100s%s", prefix, name);
    return mgk_tensors_number(checkpoint->tensors, path, &value)
               ? fmax(INT_MIN, fmin(value, INT_MAX))
               : fallback;
}

/* attn_type of the training code. */
enum { XL = 0, SOFTMAX = 2, LINEAR = 4, FAST = 34, MGK = 200, MLK = 400 };

/* Facts of the training that state dicts lack: the whole module tells them, else the user. */
typedef struct facts {
    int type;
    bool whole, pre_norm, no_positions;
} facts;

/* The attn_type that the names of tensors allow: SOFTMAX stands for LINEAR, too. */
static int type_of_tensors(const mgk_checkpoint *checkpoint, const char *prefix)
{
    static const char at[] = "%.100slayers.0.dec_attn.%s";
    const bool fused = mgk_checkpoint_find(checkpoint, at, prefix, "qkv_net.weight") != NULL;
    if (mgk_checkpoint_find(checkpoint, at, prefix, "r_net.weight"))
        return XL;
    if (fused)
        return mgk_checkpoint_find(checkpoint, at, prefix, "pi0") ? MLK : FAST;
    const mgk_tensor_info *query = mgk_checkpoint_find(checkpoint, at, prefix, "q_net.weight"),
                          *both = mgk_checkpoint_find(checkpoint, at, prefix, "kv_net.weight");
    const bool second = query && both && query->axes == 2 && both->axes == 2 &&
                        both->shape[0] == 3 * query->shape[0];
    return second || mgk_checkpoint_find(checkpoint, at, prefix, "mu") ? MGK : SOFTMAX;
}

static mgk_status refuse_type(const mgk_checkpoint *checkpoint, int type)
{
    return mgk_fail(STATUS_UNSUPPORTED,
                    "%s: attn_type %d%s is not known; softmax (2), linear attention (4), fast "
                    "weights by sums (34), MGK (200) and MLK (400) are",
                    checkpoint->path, type,
                    type == XL ? ", the relative positions of Transformer-XL," : "");
}

/* The type of a state dict, of which the user may say that softmax is linear attention. */
static mgk_status choose_type(const mgk_checkpoint *checkpoint, const char *wanted, facts *out)
{
    if (!wanted || (strcmp(wanted, "softmax") == 0 && out->type == SOFTMAX))
        return STATUS_OK;
    if (out->whole)
        return mgk_fail(STATUS_USAGE, "%s: says its attention itself", checkpoint->path);
    if (strcmp(wanted, "linear") != 0 || out->type != SOFTMAX)
        return mgk_fail(STATUS_USAGE, "%s: attention \"%.32s\": expected %s", checkpoint->path,
                        wanted,
                        out->type == SOFTMAX ? "\"softmax\" or \"linear\""
                                             : "none, because its tensors tell it");
    out->type = LINEAR;
    return STATUS_OK;
}

static mgk_status read_training(const mgk_checkpoint *checkpoint, const char *prefix,
                                const mgk_model_options *options, facts *out)
{
    static const char *const words[] = {"pre_lnorm", "no_pos", NULL};
    int on[2];
    const int named = type_of_tensors(checkpoint, prefix);
    const double type = attribute(checkpoint, prefix, "attn_type", -1);
    TRY(mgk_authors_flags(checkpoint, options->trained_with, words, on));
    *out = (facts){
        .type = type >= 0 ? (int)type : named,
        .whole = type >= 0,
        .pre_norm = on[0] || attribute(checkpoint, prefix, "layers.0.dec_attn.pre_lnorm", 0) != 0,
        .no_positions = on[1] || attribute(checkpoint, prefix, "no_pos", 0) != 0,
    };
    if (out->whole && (on[0] || on[1]))
        return mgk_fail(STATUS_USAGE, "%s: says the options of its training itself",
                        checkpoint->path);
    TRY(choose_type(checkpoint, options->attention, out));
    if (out->type == XL || (out->type != named && !(out->type == LINEAR && named == SOFTMAX)))
        return refuse_type(checkpoint, out->type);
    return STATUS_OK;
}

static bool is_fused(const facts *training)
{
    return training->type == FAST || training->type == MLK;
}

/* Norms before blocks: queries are of what comes before the norm, and none follows the last layer.
 */
static mgk_status set_blocks(const mgk_checkpoint *checkpoint, const char *prefix,
                             const facts *training, mgk_config *config)
{
    const double clamp = attribute(checkpoint, prefix, "clamp_len", -1);
    const double memory = attribute(checkpoint, prefix, "mem_len", 0);
    if (training->pre_norm && is_fused(training))
        return mgk_fail(STATUS_UNSUPPORTED,
                        "%s: pre_lnorm with attn_type %d: its sums are of normalised inputs, which "
                        "is not known",
                        checkpoint->path, training->type);
    config->pre_norm = config->raw_queries = training->pre_norm;
    config->final_norm = !training->pre_norm;
    if (training->no_positions) {
        config->positions = MGK_POSITIONS_NONE;
        config->positions_backward = false;
    } else if (clamp > 0 && clamp < config->length - 1) {
        return mgk_fail(STATUS_UNSUPPORTED,
                        "%s: clamp_len %g: positions clamped within its %d tokens are not known",
                        checkpoint->path, clamp, config->length);
    }
    if (attribute(checkpoint, prefix, "same_length", 0) == 0 || memory >= config->length)
        return STATUS_OK;
    if (memory < 1 || training->type != SOFTMAX)
        return mgk_fail(STATUS_UNSUPPORTED, "%s: same_length with %s is not known",
                        checkpoint->path,
                        memory < 1 ? "mem_len 0, where no query sees a key,"
                                   : "another attention than softmax");
    config->window = (int)memory;
    for (int layer = 0; layer < config->layers; layer++)
        mgk_config_set_local(config, layer);
    return STATUS_OK;
}

/* Attributes of fast weights that would change the computation. */
static mgk_status check_fast(const mgk_checkpoint *checkpoint, const char *prefix,
                             const facts *training)
{
    static const char *const switches[] = {"layers.0.dec_attn.normalize_attn_scores",
                                           "layers.0.dec_attn.scale_w"};
    for (size_t i = 0; is_fused(training) && i < sizeof(switches) / sizeof(switches[0]); i++)
        if (attribute(checkpoint, prefix, switches[i], 1) != 1)
            return mgk_fail(STATUS_UNSUPPORTED, "%s: %s: another value than 1 is not known",
                            checkpoint->path, switches[i]);
    return STATUS_OK;
}

/* The tensors of a layer's attention besides its projections; NULL: none. */
typedef struct key_tensors {
    const mgk_tensor_info *shift, *prior, *prior2;
    bool second; /* two projected keys */
} key_tensors;

static mgk_status find_keys(const mgk_checkpoint *checkpoint, const char *prefix, int layer,
                            key_tensors *out)
{
    static const char at[] = "%.100slayers.%d.dec_attn.%s";
    const mgk_tensor_info *query, *both;
    *out = (key_tensors){.shift = mgk_checkpoint_find(checkpoint, at, prefix, layer, "mu"),
                         .prior = mgk_checkpoint_find(checkpoint, at, prefix, layer, "pi")};
    if (mgk_checkpoint_find(checkpoint, at, prefix, layer, "qkv_net.weight")) {
        TRY(mgk_authors_need(checkpoint, 2, &both, at, prefix, layer, "qkv_net.weight"));
    } else {
        TRY(mgk_authors_need(checkpoint, 2, &query, at, prefix, layer, "q_net.weight"));
        TRY(mgk_authors_need(checkpoint, 2, &both, at, prefix, layer, "kv_net.weight"));
        out->second = both->shape[0] == 3 * query->shape[0];
    }
    if (!out->prior) {
        out->prior = mgk_checkpoint_find(checkpoint, at, prefix, layer, "pi0");
        out->prior2 = mgk_checkpoint_find(checkpoint, at, prefix, layer, "pi1");
    }
    return STATUS_OK;
}

/* Checks that every layer's keys have the design of layer 0. */
static mgk_status check_layers(const mgk_checkpoint *checkpoint, const char *prefix,
                               const key_tensors *first, int layers)
{
    for (int layer = 1; layer < layers; layer++) {
        key_tensors keys;
        TRY(find_keys(checkpoint, prefix, layer, &keys));
        if (!keys.shift != !first->shift || !keys.prior != !first->prior ||
            !keys.prior2 != !first->prior2 || keys.second != first->second)
            return mgk_fail(STATUS_UNSUPPORTED,
                            "%s: layers 0 and %d have different kinds of attention, which is not "
                            "known",
                            checkpoint->path, layer);
    }
    return STATUS_OK;
}

static void set_kind(const facts *training, const key_tensors *keys, mgk_config *config)
{
    const bool linear = training->type == LINEAR || is_fused(training);
    const char *kind = training->type == MLK ? "mlk"
                       : linear              ? "linear"
                       : keys->shift         ? "smgk"
                       : keys->second        ? "mgk"
                                             : "softmax";
    snprintf(config->attention, sizeof(config->attention), "%s", kind);
    config->unit_features = is_fused(training);
    config->mixtures = training->type == MLK || keys->shift || keys->second ? 2 : 1;
    config->prior = MGK_PRIOR_LEARNED;
    config->prior_shape = MGK_PRIOR_POSITION;
    /* Added to sums of scores; those of linear attention are divided by sqrt(D). */
    config->normalizer_epsilon = !linear              ? 0
                                 : is_fused(training) ? 1e-5
                                                      : 1e-5 * sqrt(config->head_dim);
    if (linear || config->mixtures == 1)
        return;
    config->variance[0] = sqrt(config->head_dim);
    config->variance[1] = sqrt(config->head_dim) / 3;
    config->prior = !keys->prior ? MGK_PRIOR_HARD : keys->prior2 ? MGK_PRIOR_LEARNED : MGK_PRIOR_EM;
    config->prior_shape = keys->prior ? MGK_PRIOR_POSITION : MGK_PRIOR_LAYER;
    config->normalizer_epsilon = keys->prior ? 1e-6 : 0;
}

/* The number of positions: that of the priors, or that of the training. */
static mgk_status set_length(const mgk_checkpoint *checkpoint, const char *prefix,
                             const key_tensors *keys, mgk_config *config)
{
    enum { PUBLISHED = 256 };
    if (keys->prior) {
        const int axes = keys->prior->axes;
        if (axes != 4 && axes != 2)
            return mgk_fail(
                STATUS_SHAPE, "%s: tensor \"%s\" has %d %s, expected [H, 1, 1, N], or [H, N]",
                checkpoint->path, keys->prior->name, axes, MGK_NOUN(axes, "axis", "axes"));
        config->length = mgk_authors_size(keys->prior->shape[axes - 1]);
        return STATUS_OK;
    }
    double length = attribute(checkpoint, prefix, "tgt_len", PUBLISHED);
    config->length = length >= 1 && length <= 1 << 20 ? (int)length : PUBLISHED;
    return STATUS_OK;
}

static mgk_status set_heads(const mgk_checkpoint *checkpoint, const char *prefix,
                            const key_tensors *keys, int wanted, mgk_config *config)
{
    const mgk_tensor_info *out;
    double heads = attribute(checkpoint, prefix, "n_head", 0);
    TRY(mgk_authors_need(checkpoint, 2, &out, "%.100slayers.0.dec_attn.o_net.weight", prefix));
    if (keys->prior && keys->prior->axes >= 2)
        heads = (double)keys->prior->shape[0];
    else if (keys->shift && keys->shift->axes == 3)
        heads = (double)keys->shift->shape[1];
    config->dim = mgk_authors_size(out->shape[0]);
    return mgk_authors_heads(checkpoint, out, out->shape[1],
                             heads >= 1 && heads <= 4096 ? (size_t)heads : 0, wanted, 0, config);
}

static mgk_status configure(const mgk_checkpoint *checkpoint, const mgk_model_options *options,
                            mgk_config *config)
{
    const mgk_tensor_info *in;
    char prefix[MGK_TENSOR_NAME] = "";
    key_tensors keys;
    facts training;
    mgk_checkpoint_prefix(checkpoint, mgk_lm_tables_anchor, prefix);
    TRY(read_training(checkpoint, prefix, options, &training));
    TRY(check_fast(checkpoint, prefix, &training));
    TRY(find_keys(checkpoint, prefix, 0, &keys));
    mgk_config_defaults(MGK_FAMILY_LM, config);
    config->dropout = 0;
    config->positions_backward = true;
    config->layers = mgk_authors_layers(checkpoint, prefix, "layers.");
    TRY(check_layers(checkpoint, prefix, &keys, config->layers));
    TRY(set_heads(checkpoint, prefix, &keys, options->head_dim, config));
    TRY(set_length(checkpoint, prefix, &keys, config));
    set_kind(&training, &keys, config);
    TRY(set_blocks(checkpoint, prefix, &training, config));
    TRY(mgk_authors_need(checkpoint, 2, &in, "%.100slayers.0.pos_ff.CoreNet.0.weight", prefix));
    config->hidden = mgk_authors_size(in->shape[0]);
    return mgk_lm_tables_configure(checkpoint, prefix, config);
}

/* Rows of the map of everything: those of a head are its parts, [H, parts, D], of which a parameter
 * has one or several: recipe->first and on, of recipe->rows. */
static mgk_status fused_rows(const mgk_checkpoint *checkpoint, const mgk_config *config,
                             const mgk_recipe *recipe, const mgk_parameter *parameter,
                             double *values)
{
    const size_t heads = (size_t)config->heads, dim = (size_t)config->head_dim;
    const size_t width = (size_t)config->dim, own = parameter->shape[0] / (heads * dim);
    const size_t shape[] = {heads * recipe->rows * dim, width};
    const mgk_tensor_info *tensor;
    TRY(mgk_checkpoint_expect(checkpoint, recipe->name, 2, shape, &tensor));
    for (size_t part = 0; values && part < own; part++)
        for (size_t h = 0; h < heads; h++) {
            const size_t row = (h * recipe->rows + recipe->first + part) * dim;
            TRY(mgk_tensors_read(checkpoint->tensors, tensor, row * width, dim * width,
                                 MGK_DTYPE_F64, values + (part * heads + h) * dim * width));
        }
    return STATUS_OK;
}

/* Queries, keys and values of fast weights, whose output is divided by sqrt(D). */
static void mend_fused(const char *prefix, const mgk_config *config, int layer, const char *name,
                       mgk_recipe *out)
{
    const size_t keys = (size_t)config->mixtures;
    const bool query = strcmp(name, "attention.query.weight") == 0;
    const bool key = strcmp(name, "attention.key.weight") == 0;
    if (strcmp(name, "attention.output.weight") == 0)
        out->times = 1 / sqrt(config->head_dim);
    if (!query && !key && strcmp(name, "attention.value.weight") != 0)
        return;
    snprintf(out->name, sizeof(out->name), "%.100slayers.%d.dec_attn.qkv_net.weight", prefix,
             layer);
    out->rows = keys + 2;
    out->first = query ? 0 : key ? 1 : keys + 1;
    out->compute = fused_rows;
}

/* Recipes of keys, values and priors that are parts of tensors, or have another shape. */
static mgk_status mend_recipe(const mgk_checkpoint *checkpoint, const char *prefix,
                              const mgk_config *config, const mgk_parameter *parameter,
                              mgk_recipe *out)
{
    int layer;
    const char *name = mgk_layer_of_name(parameter->name, &layer);
    size_t width = (size_t)config->heads * (size_t)config->head_dim;
    bool value = strcmp(name, "attention.value.weight") == 0;
    if (config->unit_features)
        mend_fused(prefix, config, layer, name, out);
    if (!config->unit_features && (strcmp(name, "attention.key.weight") == 0 || value)) {
        bool two = strcmp(config->attention, "mgk") == 0;
        out->rows = (two ? 3 : 2) * width;
        out->first = value ? out->rows - width : 0;
    } else if (strcmp(name, "attention.key_shift") == 0) {
        out->compute = mgk_authors_negate;
    } else if (strcmp(name, "attention.prior") == 0) {
        key_tensors keys;
        TRY(find_keys(checkpoint, prefix, layer, &keys));
        snprintf(out->name, sizeof(out->name), "%s", keys.prior->name);
        if (keys.prior2)
            snprintf(out->plus, sizeof(out->plus), "%s", keys.prior2->name);
        out->compute = mgk_authors_priors;
    }
    return STATUS_OK;
}

static mgk_status recipe(const mgk_checkpoint *checkpoint, const mgk_config *config,
                         const mgk_parameter *parameter, mgk_recipe *out)
{
    char prefix[MGK_TENSOR_NAME] = "";
    mgk_checkpoint_prefix(checkpoint, mgk_lm_tables_anchor, prefix);
    if (mgk_lm_tables_recipe(checkpoint, prefix, parameter, out))
        return STATUS_OK;
    TRY(mgk_recipe_by_names(checkpoint, &names, parameter, out));
    return mend_recipe(checkpoint, prefix, config, parameter, out);
}

/* What state dicts do not tell. */
static mgk_status assumed(const mgk_checkpoint *checkpoint, const mgk_model_options *options,
                          const mgk_config *config, char *text, size_t size)
{
    char prefix[MGK_TENSOR_NAME] = "";
    facts training;
    mgk_checkpoint_prefix(checkpoint, mgk_lm_tables_anchor, prefix);
    TRY(read_training(checkpoint, prefix, options, &training));
    const bool kind = strcmp(config->attention, "softmax") == 0 && !options->attention;
    if (training.whole)
        return STATUS_OK;
    if (kind)
        snprintf(text, size,
                 "assumed to be softmax attention: its tensors fit linear attention, too "
                 "(`attention` linear)");
    else if (training.type == MLK)
        snprintf(text, size,
                 "assumed to be MLK (attn_type 400): its tensors fit attn_type 500, too");
    if (!options->trained_with)
        mgk_append(text, size,
                   "%sassumed to have norms after its blocks, and positions: its tensors do not "
                   "tell (`trained_with` pre_lnorm,no_pos)",
                   *text ? "; " : "");
    return STATUS_OK;
}

static const char *const beside[] = {"pos_emb.inv_freq", "word_emb.emb_", "crit.out_", NULL};

const mgk_model_format mgk_format_lm = {.name = "language models of the paper's code",
                                        .root = mgk_lm_tables_anchor,
                                        .asks = true,
                                        .trained_with = true,
                                        .assumed = assumed,
                                        .beside = beside,
                                        .matches = matches,
                                        .configure = configure,
                                        .recipe = recipe};
