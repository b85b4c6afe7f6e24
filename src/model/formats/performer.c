/* SPDX-License-Identifier: MIT */
/*
 * State dicts of PerformerLM of performer-pytorch: pre-norm models whose random features are a
 * buffer that all heads of a layer share. With rotary positions a table is added to the tokens,
 * too. The tensors do not say whether attention is causal, and which features it has: it is read as
 * causal, unless a config.json beside the file says `"causal": false`, with the features of
 * softmax. Reversible layers, local heads, shifted tokens and other norms have other tensors.
 */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "model/formats/authors.h"
#include "model/formats/format.h"

static const mgk_tensor_row rows[] = {
    {.ours = "embedding.token.weight", .theirs = "token_emb.weight"},
    {.ours = "embedding.position.weight", .theirs = "pos_emb.emb.weight"},
    {.ours = "norm.weight", .theirs = "norm.weight"},
    {.ours = "norm.bias", .theirs = "norm.bias"},
    {.ours = "output.weight", .theirs = "to_out.weight"},
    {.ours = "output.bias", .theirs = "to_out.bias"},
    {.ours = NULL},
};

#define PROJECTION "0.fn.fast_attention.projection_matrix"
#define LAYERS "performer.net.layers."

static const mgk_tensor_row layer_rows[] = {
    {.ours = "norm1.weight", .theirs = "0.norm.weight"},
    {.ours = "norm1.bias", .theirs = "0.norm.bias"},
    {.ours = "attention.query.weight", .theirs = "0.fn.to_q.weight"},
    {.ours = "attention.query.bias", .theirs = "0.fn.to_q.bias"},
    {.ours = "attention.key.weight", .theirs = "0.fn.to_k.weight"},
    {.ours = "attention.key.bias", .theirs = "0.fn.to_k.bias"},
    {.ours = "attention.value.weight", .theirs = "0.fn.to_v.weight"},
    {.ours = "attention.value.bias", .theirs = "0.fn.to_v.bias"},
    {.ours = "attention.omega", .theirs = PROJECTION},
    {.ours = "attention.output.weight", .theirs = "0.fn.to_out.weight"},
    {.ours = "attention.output.bias", .theirs = "0.fn.to_out.bias"},
    {.ours = "norm2.weight", .theirs = "1.norm.weight"},
    {.ours = "norm2.bias", .theirs = "1.norm.bias"},
    {.ours = "feed_forward.gate.weight", .theirs = "1.fn.fn.w1.weight"},
    {.ours = "feed_forward.gate.bias", .theirs = "1.fn.fn.w1.bias"},
    {.ours = "feed_forward.in.weight", .theirs = "1.fn.fn.w1.weight"},
    {.ours = "feed_forward.in.bias", .theirs = "1.fn.fn.w1.bias"},
    {.ours = "feed_forward.out.weight", .theirs = "1.fn.fn.w2.weight"},
    {.ours = "feed_forward.out.bias", .theirs = "1.fn.fn.w2.bias"},
    {.ours = NULL},
};

static const char anchor[] = "token_emb.weight";
static const char first_projection[] = LAYERS "0." PROJECTION;
static const mgk_tensor_names names = {anchor, LAYERS, layer_rows, rows};

static bool matches(const mgk_checkpoint *checkpoint)
{
    char prefix[MGK_TENSOR_NAME];
    return mgk_checkpoint_prefix(checkpoint, first_projection, prefix);
}

/* Arguments of PerformerLM that no tensor tells, and that may stand in config.json. */
static mgk_status refuse_arguments(const mgk_checkpoint *checkpoint)
{
    static const char *const keys[] = {"generalized_attention", "no_projection", "cross_attend"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        bool given;
        TRY(mgk_checkpoint_flag(checkpoint, keys[i], false, &given));
        if (given)
            return mgk_fail(STATUS_UNSUPPORTED, "%s: %s true is not known", checkpoint->config_path,
                            keys[i]);
    }
    return STATUS_OK;
}

static bool has(const mgk_checkpoint *checkpoint, const char *prefix, const char *name)
{
    return mgk_checkpoint_find(checkpoint, "%.100s%s", prefix, name) != NULL;
}

static mgk_status configure_attention(const mgk_checkpoint *checkpoint, const char *prefix,
                                      mgk_config *config)
{
    const mgk_tensor_info *omega, *query;
    TRY(mgk_authors_need(checkpoint, 2, &omega, "%.100s%s", prefix, first_projection));
    TRY(mgk_authors_need(checkpoint, 2, &query, "%.100s" LAYERS "0.0.fn.to_q.weight", prefix));
    if (query->shape[0] % omega->shape[1] != 0)
        return mgk_fail(STATUS_SHAPE, "%s: tensor \"%s\" has %zu rows, expected a multiple of %zu",
                        checkpoint->path, query->name, query->shape[0], omega->shape[1]);
    strcpy(config->attention, "performer");
    config->settings.features = mgk_authors_size(omega->shape[0]);
    config->settings.feature_map = MGK_CHOICE_POSITIVE_OFFSET;
    config->normalizer_epsilon = config->causal ? 1e-6 : 0;
    config->head_dim = mgk_authors_size(omega->shape[1]);
    config->heads = mgk_authors_size(query->shape[0] / omega->shape[1]);
    config->attention_bias = has(checkpoint, prefix, LAYERS "0.0.fn.to_q.bias");
    config->attention_output_bias = has(checkpoint, prefix, LAYERS "0.0.fn.to_out.bias")
                                        ? MGK_OUTPUT_BIAS_OWN
                                        : MGK_OUTPUT_BIAS_NONE;
    return STATUS_OK;
}

/* A table is a buffer [N, C] where positions are rotary, and learned otherwise. */
static mgk_status configure_positions(const mgk_checkpoint *checkpoint, const char *prefix,
                                      mgk_config *config)
{
    const mgk_tensor_info *table;
    config->rotary_table = has(checkpoint, prefix, "pos_emb.emb");
    config->positions = config->rotary_table ? MGK_POSITIONS_ROTARY : MGK_POSITIONS_LEARNED;
    TRY(mgk_authors_need(checkpoint, 2, &table, "%.100spos_emb.emb%s", prefix,
                         config->rotary_table ? "" : ".weight"));
    config->length = mgk_authors_size(table->shape[0]);
    return STATUS_OK;
}

static mgk_status configure(const mgk_checkpoint *checkpoint, const mgk_model_options *options,
                            mgk_config *config)
{
    const mgk_tensor_info *words, *in, *out;
    char prefix[MGK_TENSOR_NAME] = "";
    bool causal;
    (void)options;
    TRY(refuse_arguments(checkpoint));
    TRY(mgk_checkpoint_flag(checkpoint, "causal", true, &causal));
    mgk_config_defaults(causal ? MGK_FAMILY_LM : MGK_FAMILY_ENCODER, config);
    mgk_checkpoint_prefix(checkpoint, anchor, prefix);
    config->mixtures = 1;
    config->classes = 0;
    config->dropout = 0;
    config->embedding_scale = 1;
    config->pre_norm = true;
    config->activation = MGK_ACTIVATION_GELU;
    config->layers = mgk_authors_layers(checkpoint, prefix, LAYERS);
    TRY(mgk_authors_need(checkpoint, 2, &words, "%.100s%s", prefix, anchor));
    TRY(mgk_authors_need(checkpoint, 2, &in, "%.100s" LAYERS "0.1.fn.fn.w1.weight", prefix));
    TRY(mgk_authors_need(checkpoint, 2, &out, "%.100s" LAYERS "0.1.fn.fn.w2.weight", prefix));
    config->vocabulary = mgk_authors_size(words->shape[0]);
    config->dim = mgk_authors_size(words->shape[1]);
    config->hidden = mgk_authors_size(out->shape[1]);
    config->gated = in->shape[0] == 2 * out->shape[1];
    config->tied = !has(checkpoint, prefix, "to_out.weight");
    config->output_bias = has(checkpoint, prefix, "to_out.bias");
    TRY(configure_attention(checkpoint, prefix, config));
    return configure_positions(checkpoint, prefix, config);
}

/* values [H, R, D] of one tensor [R, D], whose columns are permuted like rotated queries. */
static mgk_status repeat_rows(const mgk_checkpoint *checkpoint, const mgk_config *config,
                              const mgk_recipe *recipe, const mgk_parameter *parameter,
                              double *values)
{
    const size_t heads = parameter->shape[0], dim = parameter->shape[2], half = dim / 2;
    const size_t count = parameter->shape[1] * dim;
    const mgk_tensor_info *omega;
    double *own;
    TRY(mgk_checkpoint_expect(checkpoint, recipe->name, 2, parameter->shape + 1, &omega));
    if (!values)
        return STATUS_OK;
    TRY(mgk_alloc(count, sizeof(*own), &own));
    mgk_status status = mgk_tensors_read(checkpoint->tensors, omega, 0, count, MGK_DTYPE_F64, own);
    for (size_t i = 0; i < heads * count; i++) {
        const size_t d = i % dim, from = config->rotary_table ? 2 * (d % half) + d / half : d;
        values[i] = own[i % count - d + from];
    }
    mgk_free(own);
    return status;
}

static bool begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

static mgk_status recipe(const mgk_checkpoint *checkpoint, const mgk_config *config,
                         const mgk_parameter *parameter, mgk_recipe *out)
{
    int layer;
    const char *name = mgk_layer_of_name(parameter->name, &layer);
    TRY(mgk_recipe_by_names(checkpoint, &names, parameter, out));
    if (strcmp(name, "attention.omega") == 0)
        out->compute = repeat_rows;
    if (strcmp(name, "embedding.position.weight") == 0 && config->rotary_table)
        out->name[strlen(out->name) - strlen(".weight")] = '\0';
    if (config->rotary_table &&
        (begins(name, "attention.query.") || begins(name, "attention.key."))) {
        out->head = out->turned = (size_t)config->head_dim;
        out->interleaved = true;
    }
    const bool gate = begins(name, "feed_forward.gate.");
    if (config->gated && (gate || begins(name, "feed_forward.in."))) {
        out->rows = 2 * parameter->shape[0];
        out->first = gate ? 0 : parameter->shape[0];
    }
    return STATUS_OK;
}

/* Copies of all layers, and what is computed from sizes. */
static const char *const beside[] = {".proj_updater.", "layer_pos_emb.", NULL};
static const char *const apart[] = {"to_out", NULL};

static const char *assumed(const mgk_checkpoint *checkpoint, const mgk_model_options *options,
                           const mgk_config *config)
{
    (void)checkpoint, (void)options;
    return config->causal
               ? "read as causal, with the features of softmax, which its tensors do not "
                 "tell (a config.json beside it may say \"causal\": false)"
               : "read with the features of softmax, which its tensors do not tell";
}

const mgk_model_format mgk_format_performer = {.name = "PerformerLM of performer-pytorch",
                                               .root = anchor,
                                               .beside = beside,
                                               .apart = apart,
                                               .assumed = assumed,
                                               .matches = matches,
                                               .configure = configure,
                                               .recipe = recipe};
