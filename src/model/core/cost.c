/* SPDX-License-Identifier: MIT */
#include "model/core/cost.h"

#include <math.h>
#include <string.h>

#include "kernels/attention.h"
#include "model/core/parameters.h"

const char *mgk_cost_part_name(mgk_cost_part part)
{
    static const char *const names[] = {"embedding",    "projections", "attention",
                                        "feed_forward", "norms",       "output"};
    return names[part];
}

double mgk_cost_sum(const double parts[MGK_COST_PARTS])
{
    double sum = 0;
    for (int part = 0; part < MGK_COST_PARTS; part++)
        sum += parts[part];
    return sum;
}

/* x Wᵀ + b for one token. */
static double linear(double in, double out, bool bias)
{
    return 2 * in * out + (bias ? out : 0);
}

/* Those of attention to a memory, which has as many tokens: its keys and values are maps of it. */
static double cross_projections(const mgk_config *config)
{
    const double width = (double)config->heads * config->head_dim;
    if (config->memory == 0)
        return 0;
    return linear(config->dim, width, config->attention_bias) +
           2 * linear(config->memory, width, config->attention_bias) +
           linear(width, config->dim, mgk_config_has_attention_output_bias(config));
}

/*
 * Capsules of one token, see aggregate.c: the votes; in each step the couplings (an exponential, a
 * sum and a division each), the sums of votes, their norms and the scaling by them; between steps
 * the products of votes and capsules.
 */
static double capsules(const mgk_config *config)
{
    const double heads = config->heads, width = heads * config->head_dim;
    const double sums = 2 * heads * width, agreement = sums, squash = 3 * width + 3 * heads;
    if (config->aggregate != MGK_AGGREGATION_CAPSULES)
        return 0;
    return 2 * width * width + MGK_ROUTING_STEPS * (3 * heads * heads + sums + squash) +
           (MGK_ROUTING_STEPS - 1) * agreement;
}

/* Query, key, value, extra and output projections of one token, on average over layers. */
static double projections(const mgk_config *config)
{
    double extra = 0, maps = 0, rotated = 0;
    for (int layer = 0; layer < config->layers; layer++) {
        const mgk_attention_kind *own = mgk_config_kind(config, layer);
        const mgk_attention_size size = mgk_attention_size_of(config, layer, config->length);
        extra += own->extra ? own->extra(&size) : 0;
        maps += own->keys == MGK_KEYS_PROJECTED ? 1 + size.mixtures : 2;
        rotated += mgk_config_is_unrotated(config, layer) ? 0 : 1;
    }
    double width = (double)config->heads * config->head_dim;
    double shared = (double)config->key_heads * config->head_dim;
    /* two products and a sum rotate each number of a query or key */
    double turns =
        config->positions == MGK_POSITIONS_ROTARY
            ? 2 * 3 * width * config->rotary_dim / config->head_dim * rotated / config->layers
            : 0;
    return linear(config->dim, width, config->attention_bias) +
           maps / config->layers * linear(config->dim, shared, config->attention_bias) +
           linear(config->dim, extra / config->layers, config->attention_bias) +
           linear(width, config->dim, mgk_config_has_attention_output_bias(config)) + turns +
           cross_projections(config) + capsules(config);
}

/*
 * Scores of content and distance in a layer: the maps of the rows, both products of all tokens with
 * all rows, and two sums a pair.
 */
static double relative(const mgk_config *config, const mgk_attention_size *size)
{
    const double rows = 2.0 * config->relative, width = (double)config->heads * config->head_dim;
    if (config->relative == 0)
        return 0;
    return rows * linear(config->dim, 2 * width, config->attention_bias) +
           2 * 2 * size->tokens * rows * width + 2 * config->heads * mgk_attention_pairs(size);
}

/* The attention of all layers on a sequence; shifted keys cost one addition per number. */
static double attention(const mgk_config *config, int tokens)
{
    const double width = (double)config->heads * config->head_dim;
    double flops = 0;
    for (int layer = 0; layer < config->layers; layer++) {
        const mgk_attention_kind *kind = mgk_config_kind(config, layer);
        mgk_attention_size size = mgk_attention_size_of(config, layer, tokens);
        size.terms = (mgk_score_terms){
            .cap = config->attention_cap,
            .bias = mgk_config_has_distances(config) ? config : NULL,
            .window = mgk_config_is_local(config, layer) ? config->window : 0,
        };
        const mgk_score_terms whole = {.cap = size.terms.cap, .bias = size.terms.bias};
        flops += kind->flops(kind, &size);
        if (kind->keys == MGK_KEYS_SHIFTED)
            flops += size.mixtures * width * tokens;
        size.terms = whole;
        flops += relative(config, &size);
        if (config->memory == 0)
            continue;
        size.causal = false; /* every query sees the whole memory */
        size.terms = (mgk_score_terms){0};
        flops += kind->flops(kind, &size);
    }
    return flops;
}

/*
 * ReLU: one operation. GELU, x Φ(x): a scale, an error function, a sum and two products. SiLU: a
 * sign, an exponential, a sum and a division. The tanh form of GELU: four more.
 */
static double activation(mgk_activation function)
{
    switch (function) {
    case MGK_ACTIVATION_GELU:
        return 5;
    case MGK_ACTIVATION_GELU_TANH:
        return 8;
    case MGK_ACTIVATION_SILU:
        return 4;
    default:
        return 1;
    }
}

static double feed_forward_block(const mgk_config *config, double hidden)
{
    bool bias = config->feed_forward_bias;
    double gate = config->gated ? linear(config->dim, hidden, bias) + hidden : 0;
    return linear(config->dim, hidden, bias) + gate + activation(config->activation) * hidden +
           linear(hidden, config->dim, bias);
}

/*
 * A mixture of experts: the router and its softmax (an exponential, a sum and a division each); the
 * experts that a token uses, a product and a sum for each number that they make; and a sum and a
 * division each if their weights are normalised. A shared block is one expert more, whose weight is
 * a product of its own with a sigmoid (a sign, an exponential, a sum and a division).
 */
static double feed_forward(const mgk_config *config)
{
    const double used = config->experts_used, sums = 2.0 * config->dim;
    const double block = feed_forward_block(config, config->hidden);
    if (config->experts == 0)
        return block;
    const double shared = config->experts_shared == 0
                              ? 0
                              : linear(config->dim, 1, false) + 4 +
                                    feed_forward_block(config, config->experts_shared) + sums;
    return linear(config->dim, config->experts, false) + 3.0 * config->experts +
           used * (block + sums) + (config->experts_normalized ? 2 * used : 0) + shared;
}

/*
 * Per number: mean, difference, square and its sum, 1/σ, gain and offset; an RMS norm has no mean
 * and no offset.
 */
static double norm(const mgk_config *config)
{
    const double absent = config->norm_parameters == MGK_NORM_ALL      ? 0
                          : config->norm_parameters == MGK_NORM_WEIGHT ? 1
                                                                       : 2;
    return config->norm == MGK_NORMALIZATION_RMS ? 4.0 : 7.0 - absent;
}

/* The numbers of a token that norms see, in all layers. */
static double normed(const mgk_config *config)
{
    const bool own = config->pre_norm || !config->branch_norm;
    const int sites = (own ? config->parallel == MGK_PARALLEL_SHARED ? 1 : 2 : 0) +
                      (config->branch_norm ? 2 : 0) + (config->memory > 0 ? 1 : 0);
    const double final =
        mgk_config_has_final_norm(config) ? (double)mgk_config_hidden_width(config) : 0;
    const double embedded = config->embedding_norm ? config->embedding : 0;
    const double queries = config->query_norm == MGK_QUERY_NORM_NONE
                               ? 0
                               : (double)(config->heads + config->key_heads) * config->head_dim;
    return (double)config->layers * sites * config->dim + final + embedded +
           config->layers * queries;
}

/* With a divisor every pass multiplies the table of each part of the vocabulary by its map, which
 * makes the embeddings. */
static double part_tables(const mgk_config *config)
{
    double flops = 0;
    for (int part = 0; part <= config->cutoff_count && config->cutoff_divisor > 0; part++)
        flops += (double)mgk_config_part_words(config, part) *
                 linear((double)mgk_config_part_width(config, part), config->dim, false);
    return flops;
}

/* And the rows of frequent words and of clusters, by a map of the output's own. */
static double output_tables(const mgk_config *config)
{
    const double rows = config->cutoffs[0] + config->cutoff_count;
    return config->cutoff_divisor > 0 ? rows * linear(config->dim, config->dim, false) : 0;
}

/* Logits of a token; an adaptive softmax computes the head and, for rarer words, one cluster. */
static double logits(const mgk_config *config)
{
    int clusters = config->cutoff_count, words = config->vocabulary;
    double flops = 0;
    for (int k = 0; k < clusters; k++) {
        double first = config->cutoffs[k], end = k + 1 < clusters ? config->cutoffs[k + 1] : words;
        double share = log(end / first) / (1 + log(words));
        flops += share * linear(config->dim, end - first, config->output_bias);
    }
    int head = clusters > 0 ? config->cutoffs[0] + clusters : words;
    double scaled = (config->logit_scale != 1 ? 1 : 0) + (config->logit_cap > 0 ? 6 : 0);
    double back = config->embedding_outer ? linear(config->dim, config->embedding, false) : 0;
    int width = config->embedding_outer ? config->embedding : mgk_config_hidden_width(config);
    return flops + back + linear(width, head, config->output_bias) + scaled * head;
}

/* Logits of a sample. */
static double output(const mgk_config *config, int tokens)
{
    double dim = config->dim, documents = config->dual ? 2 : 1;
    if (config->family == MGK_FAMILY_LM)
        return tokens * logits(config) + output_tables(config);
    if (config->classes == 0)
        return 0;
    double pool = documents * tokens * dim;
    /* [x, y, x·y, x − y] */
    double features = config->dual ? 2 * dim : 0;
    double hidden = config->classifier;
    double classifier = linear(config->dual ? 4 * dim : dim, hidden, true) + hidden;
    return pool + features + classifier + linear(hidden, config->classes, true);
}

/* The convolutions of sounds: per number of a token, of which the first makes two. */
static double convolutions(const mgk_config *config)
{
    const double taps = MGK_SOUND_TAPS, gelu = activation(MGK_ACTIVATION_GELU) + 1;
    if (config->sound.bands == 0)
        return 0;
    return MGK_SOUND_STRIDE * (2 * taps * config->sound.bands + gelu) + 2 * taps * config->dim +
           gelu;
}

static void count_flops(const mgk_config *config, int tokens, mgk_cost *cost)
{
    double sequences = config->dual ? 2 : 1, rows = sequences * tokens, layers = config->layers;
    double placed = config->positions == MGK_POSITIONS_LEARNED || config->rotary_table ||
                            config->positions == MGK_POSITIONS_SINUSOIDAL
                        ? 1
                        : 0;
    double embedded =
        (config->embedding_outer ? 0 : placed) + (config->embedding_scale != 1 ? 1 : 0);
    double patch = 2.0 * (double)mgk_patch_size(&config->picture) + convolutions(config);
    double map =
        config->embedding != config->dim ? linear(config->embedding, config->dim, true) : 0;
    double residuals = layers * (config->memory > 0 ? 3 : 2);
    double all_attention = attention(config, tokens);
    cost->layer_flops = sequences * (tokens * projections(config) + all_attention / layers);
    cost->flops[MGK_COST_EMBEDDING] =
        rows * ((patch + embedded) * config->embedding + map) + part_tables(config);
    cost->flops[MGK_COST_PROJECTIONS] = layers * rows * projections(config);
    cost->flops[MGK_COST_ATTENTION] = sequences * all_attention;
    cost->flops[MGK_COST_FEED_FORWARD] = layers * rows * feed_forward(config);
    cost->flops[MGK_COST_NORMS] = rows * (norm(config) * normed(config) + residuals * config->dim);
    cost->flops[MGK_COST_OUTPUT] = output(config, tokens);
}

/*
 * Assigns parameters by their names in parameters.c; the first word that the name contains decides.
 */
static mgk_cost_part part_of(const char *name)
{
    static const struct {
        const char *word;
        mgk_cost_part part;
    } rows[] = {
        {"embedding.", MGK_COST_EMBEDDING},
        {"distance.", MGK_COST_ATTENTION},
        {"relative.", MGK_COST_ATTENTION},
        {"attention.key_shift", MGK_COST_ATTENTION},
        {"attention.prior", MGK_COST_ATTENTION},
        {"attention.query_norm", MGK_COST_NORMS},
        {"attention.key_norm", MGK_COST_NORMS},
        {"attention.", MGK_COST_PROJECTIONS},
        {"cross.", MGK_COST_PROJECTIONS},
        {"feed_forward.", MGK_COST_FEED_FORWARD},
        {"norm", MGK_COST_NORMS},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (strstr(name, rows[i].word))
            return rows[i].part;
    return MGK_COST_OUTPUT;
}

mgk_status mgk_cost_of(const mgk_config *config, int tokens, mgk_cost *out)
{
    mgk_parameters parameters;
    *out = (mgk_cost){.layer_flops = 0};
    if (tokens < 1 || tokens > config->length)
        return mgk_fail(STATUS_SHAPE, "length %d: expected 1 to %d, the model's positions", tokens,
                        config->length);
    TRY(mgk_parameters_build(config, &parameters));
    for (size_t i = 0; i < parameters.count; i++)
        out->parameters[part_of(parameters.list[i].name)] += (double)parameters.list[i].count;
    mgk_parameters_free(&parameters);
    out->layer_parameters =
        (out->parameters[MGK_COST_PROJECTIONS] + out->parameters[MGK_COST_ATTENTION]) /
        config->layer_groups;
    count_flops(config, tokens, out);
    return STATUS_OK;
}
