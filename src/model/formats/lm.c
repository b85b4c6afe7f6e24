/* SPDX-License-Identifier: MIT */
/*
 * Checkpoints of the paper's language-model code: pickled modules and state dicts of post-norm
 * models, with sinusoidal positions that count backwards, [sin | cos], and no biases in the
 * projections of attention. dec_attn.kv_net holds keys and values, or two keys and values;
 * dec_attn.mu [2, H, D] are shifts that are subtracted from one key. Softmax has neither.
 *
 * The scores of MGK are exp(−‖q − k_1‖² / 2√D) and exp(−1.5 ‖q − k_2‖² / √D). With priors, pi0 and
 * pi1 or soft-E's pi [H, 1, 1, N] of key 1, rows are divided by their sum + 1e-6; without priors,
 * hard-E, by their sum.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

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

/* A number or boolean of a pickled module; `fallback` for a state dict. */
static double attribute(const mgk_checkpoint *checkpoint, const char *prefix, const char *name,
                        double fallback)
{
    char path[MGK_TENSOR_NAME];
    double value;
    snprintf(path, sizeof(path), "%.100s%s", prefix, name);
    return mgk_tensors_number(checkpoint->tensors, path, &value) ? value : fallback;
}

/* Refuses settings of a pickled module that would change the computation. */
static mgk_status check_attributes(const mgk_checkpoint *checkpoint, const char *prefix)
{
    enum { SOFTMAX = 2, MGK = 200 };
    static const struct {
        const char *name;
        double usual;
        const char *says;
    } switches[] = {
        {"layers.0.dec_attn.pre_lnorm", 0, "norms before its blocks"},
        {"no_pos", 0, "no positions"},
        {"same_length", 0, "windows of attention"},
    };
    double type = attribute(checkpoint, prefix, "attn_type", SOFTMAX);
    if (type != SOFTMAX && type != MGK)
        return mgk_fail(STATUS_UNSUPPORTED,
                        "%s: attn_type %g is neither softmax attention (2) nor MGK (200), which "
                        "are those known",
                        checkpoint->path, type);
    for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]); i++)
        if (attribute(checkpoint, prefix, switches[i].name, switches[i].usual) != switches[i].usual)
            return mgk_fail(STATUS_UNSUPPORTED, "%s: %s: a model with %s is not known",
                            checkpoint->path, switches[i].name, switches[i].says);
    if (attribute(checkpoint, prefix, "clamp_len", -1) > 0)
        return mgk_fail(STATUS_UNSUPPORTED, "%s: clamp_len: clamped positions are not supported",
                        checkpoint->path);
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
    TRY(mgk_authors_need(checkpoint, 2, &query, at, prefix, layer, "q_net.weight"));
    TRY(mgk_authors_need(checkpoint, 2, &both, at, prefix, layer, "kv_net.weight"));
    *out = (key_tensors){.shift = mgk_checkpoint_find(checkpoint, at, prefix, layer, "mu"),
                         .prior = mgk_checkpoint_find(checkpoint, at, prefix, layer, "pi"),
                         .second = both->shape[0] == 3 * query->shape[0]};
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

static void set_kind(const key_tensors *keys, mgk_config *config)
{
    const char *kind = keys->shift ? "smgk" : keys->second ? "mgk" : "softmax";
    snprintf(config->attention, sizeof(config->attention), "%s", kind);
    config->mixtures = keys->shift || keys->second ? 2 : 1;
    if (config->mixtures == 1)
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
        if (keys->prior->axes != 4)
            return mgk_fail(STATUS_SHAPE, "%s: tensor \"%s\" has %d %s, expected [H, 1, 1, N]",
                            checkpoint->path, keys->prior->name, keys->prior->axes,
                            MGK_NOUN(keys->prior->axes, "axis", "axes"));
        config->length = mgk_authors_size(keys->prior->shape[3]);
        return STATUS_OK;
    }
    double length = attribute(checkpoint, prefix, "tgt_len", PUBLISHED);
    config->length = length >= 1 && length <= 1 << 20 ? (int)length : PUBLISHED;
    return STATUS_OK;
}

static mgk_status set_heads(const mgk_checkpoint *checkpoint, const char *prefix,
                            const key_tensors *keys, int wanted, mgk_config *config)
{
    const mgk_tensor_info *query;
    double heads = attribute(checkpoint, prefix, "n_head", 0);
    TRY(mgk_authors_need(checkpoint, 2, &query, "%.100slayers.0.dec_attn.q_net.weight", prefix));
    if (keys->prior && keys->prior->axes == 4)
        heads = (double)keys->prior->shape[0];
    else if (keys->shift && keys->shift->axes == 3)
        heads = (double)keys->shift->shape[1];
    config->dim = mgk_authors_size(query->shape[1]);
    return mgk_authors_heads(checkpoint, query, heads >= 1 && heads <= 4096 ? (size_t)heads : 0,
                             wanted, 0, config);
}

static mgk_status configure(const mgk_checkpoint *checkpoint, const mgk_model_options *options,
                            mgk_config *config)
{
    const mgk_tensor_info *in;
    char prefix[MGK_TENSOR_NAME] = "";
    key_tensors keys;
    mgk_checkpoint_prefix(checkpoint, mgk_lm_tables_anchor, prefix);
    TRY(check_attributes(checkpoint, prefix));
    TRY(find_keys(checkpoint, prefix, 0, &keys));
    mgk_config_defaults(MGK_FAMILY_LM, config);
    config->dropout = 0;
    config->positions_backward = true;
    config->layers = mgk_authors_layers(checkpoint, prefix, "layers.");
    TRY(check_layers(checkpoint, prefix, &keys, config->layers));
    TRY(set_heads(checkpoint, prefix, &keys, options->head_dim, config));
    TRY(set_length(checkpoint, prefix, &keys, config));
    set_kind(&keys, config);
    TRY(mgk_authors_need(checkpoint, 2, &in, "%.100slayers.0.pos_ff.CoreNet.0.weight", prefix));
    config->hidden = mgk_authors_size(in->shape[0]);
    return mgk_lm_tables_configure(checkpoint, prefix, config);
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
    if (strcmp(name, "attention.key.weight") == 0 || value) {
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

static const char *const beside[] = {"pos_emb.inv_freq", "word_emb.emb_", "crit.out_", NULL};

const mgk_model_format mgk_format_lm = {.name = "language models of the paper's code",
                                        .root = mgk_lm_tables_anchor,
                                        .asks = true,
                                        .beside = beside,
                                        .matches = matches,
                                        .configure = configure,
                                        .recipe = recipe};
