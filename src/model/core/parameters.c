/* SPDX-License-Identifier: MIT */
#include "model/core/parameters.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/memory.h"

/* Appends parameters in sequence. */
typedef struct builder {
    mgk_parameters *out;
    size_t room; /* of the list */
    char prefix[32];
    mgk_status status; /* of the first parameter that could not be appended */
} builder;

static mgk_offset append(builder *b, const char *name, mgk_initial initial, double value, int axes,
                         ...)
{
    if (b->status == STATUS_OK)
        b->status = mgk_grow(b->out->count, sizeof(mgk_parameter), &b->room, &b->out->list);
    if (b->status != STATUS_OK)
        return MGK_ABSENT;
    mgk_parameter *p = &b->out->list[b->out->count++];
    snprintf(p->name, sizeof(p->name), "%s%s", b->prefix, name);
    p->axes = axes;
    p->count = 1;
    va_list sizes;
    va_start(sizes, axes);
    for (int axis = 0; axis < axes; axis++) {
        p->shape[axis] = va_arg(sizes, size_t);
        if (b->status == STATUS_OK)
            b->status = mgk_multiply(p->count, p->shape[axis], &p->count);
    }
    va_end(sizes);
    if (b->status == STATUS_OK && p->count > SIZE_MAX / 16 - b->out->total)
        b->status = mgk_fail(STATUS_MEMORY, "the parameters of the model do not fit in memory");
    if (b->status != STATUS_OK)
        return MGK_ABSENT;
    p->offset = b->out->total;
    p->initial = initial;
    p->value = value;
    p->decay = initial != MGK_INITIAL_CONSTANT && axes == 2;
    b->out->total += p->count;
    return p->offset;
}

/* A weight that preserves the variance of its input. */
static mgk_offset append_weight(builder *b, const char *name, size_t out, size_t in)
{
    return append(b, name, MGK_INITIAL_NORMAL, 1 / sqrt((double)in), 2, out, in);
}

static mgk_offset append_bias(builder *b, const char *name, size_t out)
{
    return append(b, name, MGK_INITIAL_CONSTANT, 0, 1, out);
}

static mgk_linear_map append_linear(builder *b, const char *weight, const char *bias, size_t out,
                                    size_t in)
{
    mgk_linear_map map = {MGK_ABSENT, MGK_ABSENT};
    map.weight = append_weight(b, weight, out, in);
    if (bias)
        map.bias = append_bias(b, bias, out);
    return map;
}

static const mgk_linear_map absent = {MGK_ABSENT, MGK_ABSENT};

/* `name` is "norm1", for example, of "norm1.weight" and "norm1.bias". */
static mgk_norm append_norm(builder *b, const mgk_config *config, const char *name, size_t size)
{
    char full[MGK_PARAMETER_NAME];
    mgk_norm norm = absent;
    snprintf(full, sizeof(full), "%s.weight", name);
    if (config->norm_parameters != MGK_NORM_NONE)
        norm.weight = append(b, full, MGK_INITIAL_CONSTANT, 1, 1, size);
    snprintf(full, sizeof(full), "%s.bias", name);
    if (config->norm == MGK_NORMALIZATION_LAYER && config->norm_parameters == MGK_NORM_ALL)
        norm.bias = append_bias(b, full, size);
    return norm;
}

static mgk_offset append_prior(builder *b, const mgk_config *config, size_t mixtures)
{
    const size_t heads = (size_t)config->heads;
    const double uniform = 1.0 / (double)mixtures;
    if (config->prior_shape == MGK_PRIOR_LAYER)
        return append(b, "attention.prior", MGK_INITIAL_CONSTANT, uniform, 1, mixtures);
    if (config->prior_shape == MGK_PRIOR_HEAD)
        return append(b, "attention.prior", MGK_INITIAL_CONSTANT, uniform, 2, heads, mixtures);
    return append(b, "attention.prior", MGK_INITIAL_CONSTANT, uniform, 3, heads, mixtures,
                  (size_t)config->length);
}

/* Queries, keys, values and extra numbers: all weights, then all biases. */
static mgk_linear_map append_projections(builder *b, const mgk_config *config,
                                         mgk_layer_offsets *layer)
{
    size_t dim = (size_t)config->dim, head_dim = (size_t)config->head_dim;
    size_t width = (size_t)config->heads * head_dim, shared = (size_t)config->key_heads * head_dim;
    const size_t keys = layer->kind->keys == MGK_KEYS_PROJECTED ? layer->mixtures * shared : shared;
    mgk_linear_map query = absent;
    layer->keys = keys;
    layer->rows = width + keys + shared + layer->extra;
    query.weight = append_weight(b, "attention.query.weight", width, dim);
    append_weight(b, "attention.key.weight", keys, dim);
    append_weight(b, "attention.value.weight", shared, dim);
    if (layer->extra > 0)
        append_weight(b, "attention.extra.weight", layer->extra, dim);
    if (config->attention_bias) {
        query.bias = append_bias(b, "attention.query.bias", width);
        append_bias(b, "attention.key.bias", keys);
        append_bias(b, "attention.value.bias", shared);
        if (layer->extra > 0)
            append_bias(b, "attention.extra.bias", layer->extra);
    }
    return query;
}

/* Attention to a memory: queries are of the layer's own tokens, keys and values of the memory's. */
static void append_cross(builder *b, const mgk_config *config, mgk_layer_offsets *layer)
{
    const size_t dim = (size_t)config->dim, memory = (size_t)config->memory;
    const size_t width = (size_t)config->heads * (size_t)config->head_dim;
    const bool bias = config->attention_bias;
    layer->cross_query =
        append_linear(b, "cross.query.weight", bias ? "cross.query.bias" : NULL, width, dim);
    layer->cross_key.weight = append_weight(b, "cross.key.weight", width, memory);
    append_weight(b, "cross.value.weight", width, memory);
    if (bias) {
        layer->cross_key.bias = append_bias(b, "cross.key.bias", width);
        append_bias(b, "cross.value.bias", width);
    }
    layer->cross_output = append_linear(
        b, "cross.output.weight",
        mgk_config_has_attention_output_bias(config) ? "cross.output.bias" : NULL, dim, width);
    layer->cross_norm = append_norm(b, config, "cross_norm", dim);
}

/* The first map of the feed-forward block, after the gate's if there is one. */
static mgk_linear_map append_in(builder *b, const mgk_config *config)
{
    size_t dim = (size_t)config->dim, hidden = (size_t)config->hidden;
    mgk_linear_map in = absent;
    if (config->gated)
        in.weight = append_weight(b, "feed_forward.gate.weight", hidden, dim);
    mgk_offset own = append_weight(b, "feed_forward.in.weight", hidden, dim);
    in.weight = config->gated ? in.weight : own;
    if (!config->feed_forward_bias)
        return in;
    if (config->gated)
        in.bias = append_bias(b, "feed_forward.gate.bias", hidden);
    own = append_bias(b, "feed_forward.in.bias", hidden);
    in.bias = config->gated ? in.bias : own;
    return in;
}

/* The block that all tokens use beside their experts. */
static void append_shared(builder *b, const mgk_config *config, mgk_layer_offsets *layer)
{
    const size_t dim = (size_t)config->dim, hidden = (size_t)config->experts_shared;
    layer->shared_router = append_weight(b, "feed_forward.shared.router.weight", 1, dim);
    layer->shared_gate = append_weight(b, "feed_forward.shared.gate.weight", hidden, dim);
    layer->shared_in = append_weight(b, "feed_forward.shared.in.weight", hidden, dim);
    layer->shared_out = append_weight(b, "feed_forward.shared.out.weight", dim, hidden);
}

/* A mixture: each matrix holds those of all experts. Their names are not those of a block, whose
 * matrices may have the same shapes and would be taken for them when a training starts from such a
 * model. */
static void append_experts(builder *b, const mgk_config *config, mgk_layer_offsets *layer)
{
    const size_t dim = (size_t)config->dim, hidden = (size_t)config->hidden;
    const size_t experts = (size_t)config->experts;
    layer->router = append_weight(b, "feed_forward.router.weight", experts, dim);
    layer->in = layer->out = absent;
    layer->in.weight = append_weight(b, "feed_forward.experts.gate.weight", experts * hidden, dim);
    append_weight(b, "feed_forward.experts.in.weight", experts * hidden, dim);
    layer->out.weight = append_weight(b, "feed_forward.experts.out.weight", experts * dim, hidden);
    if (config->experts_shared > 0)
        append_shared(b, config, layer);
}

static void append_feed_forward(builder *b, const mgk_config *config, mgk_layer_offsets *layer)
{
    if (config->experts > 0) {
        append_experts(b, config, layer);
        return;
    }
    layer->in = append_in(b, config);
    layer->out = append_linear(b, "feed_forward.out.weight",
                               config->feed_forward_bias ? "feed_forward.out.bias" : NULL,
                               (size_t)config->dim, (size_t)config->hidden);
}

static void append_query_norms(builder *b, const mgk_config *config, mgk_layer_offsets *layer)
{
    const bool whole = config->query_norm == MGK_QUERY_NORM_WIDTH;
    const size_t dim = (size_t)config->head_dim;
    if (config->query_norm == MGK_QUERY_NORM_NONE)
        return;
    layer->query_norm =
        append_norm(b, config, "attention.query_norm", whole ? (size_t)config->heads * dim : dim);
    layer->key_norm =
        append_norm(b, config, "attention.key_norm", whole ? (size_t)config->key_heads * dim : dim);
}

/* Norms of inputs or of sums, before the feed-forward's weights (which = 1) and after (2). */
static mgk_norm append_own_norm(builder *b, const mgk_config *config, int which, bool first)
{
    const bool both = config->parallel != MGK_PARALLEL_SHARED;
    const bool has = config->pre_norm ? which == 1 || both : !config->branch_norm;
    if (which == 1 && first && !config->first_norm)
        return absent;
    return has ? append_norm(b, config, which == 1 ? "norm1" : "norm2", (size_t)config->dim)
               : absent;
}

static mgk_norm append_branch_norm(builder *b, const mgk_config *config, int which)
{
    const char *name = which == 1 ? "branch_norm1" : "branch_norm2";
    return config->branch_norm ? append_norm(b, config, name, (size_t)config->dim) : absent;
}

/* The parameters that the kind of the layer has of its own. */
static void append_own(builder *b, const mgk_attention_size *size, mgk_layer_offsets *layer)
{
    mgk_kind_parameter own[MGK_KIND_PARAMETERS] = {{0}};
    if (!layer->kind->parameters)
        return;
    layer->own_count = layer->kind->parameters(size, own);
    for (int i = 0; i < layer->own_count; i++) {
        const mgk_kind_parameter *p = &own[i];
        char name[MGK_PARAMETER_NAME];
        snprintf(name, sizeof(name), "attention.%s", p->name);
        layer->own[i] =
            append(b, name, p->initial, p->value, p->axes, p->shape[0], p->shape[1], p->shape[2]);
        layer->drawn[i] = p->drawn;
        if (b->status == STATUS_OK && p->drawn) {
            b->out->list[b->out->count - 1].drawn = true;
            b->out->list[b->out->count - 1].decay = false;
        }
    }
}

static mgk_layer_offsets append_layer(builder *b, const mgk_config *config, int index)
{
    const bool first = index == 0;
    const mgk_attention_kind *kind = mgk_config_kind(config, index);
    const mgk_attention_size size = mgk_attention_size_of(config, index, config->length);
    size_t dim = (size_t)config->dim;
    size_t width = (size_t)config->heads * (size_t)config->head_dim;
    mgk_layer_offsets layer = {.kind = kind,
                               .mixtures = (size_t)size.mixtures,
                               .extra = kind->extra ? (size_t)kind->extra(&size) : 0,
                               .key_shift = MGK_ABSENT,
                               .prior = MGK_ABSENT,
                               .votes = MGK_ABSENT,
                               .query_norm = absent,
                               .key_norm = absent,
                               .cross_query = absent,
                               .cross_key = absent,
                               .cross_output = absent,
                               .cross_norm = absent,
                               .router = MGK_ABSENT,
                               .shared_router = MGK_ABSENT,
                               .shared_gate = MGK_ABSENT,
                               .shared_in = MGK_ABSENT,
                               .shared_out = MGK_ABSENT};
    layer.query = append_projections(b, config, &layer);
    append_own(b, &size, &layer);
    if (kind->keys == MGK_KEYS_SHIFTED)
        layer.key_shift = append(b, "attention.key_shift", MGK_INITIAL_NORMAL, 1, 3, layer.mixtures,
                                 (size_t)config->heads, (size_t)config->head_dim);
    if (kind->mixture && config->prior != MGK_PRIOR_HARD)
        layer.prior = append_prior(b, config, layer.mixtures);
    append_query_norms(b, config, &layer);
    if (config->aggregate == MGK_AGGREGATION_CAPSULES)
        layer.votes = append_weight(b, "attention.votes.weight", (size_t)config->heads * width,
                                    (size_t)config->head_dim);
    const char *bias =
        mgk_config_has_attention_output_bias(config) ? "attention.output.bias" : NULL;
    layer.output = append_linear(b, "attention.output.weight", bias, dim, width);
    layer.branch_norm1 = append_branch_norm(b, config, 1);
    layer.norm1 = append_own_norm(b, config, 1, first);
    if (config->memory > 0)
        append_cross(b, config, &layer);
    append_feed_forward(b, config, &layer);
    layer.branch_norm2 = append_branch_norm(b, config, 2);
    layer.norm2 = append_own_norm(b, config, 2, first);
    return layer;
}

/* What the model's scores have besides q·k / √D, of which not all kinds know; NULL: nothing. */
static const char *score_term(const mgk_config *config)
{
    if (config->window > 0)
        return "window";
    if (mgk_config_has_distances(config) || config->relative > 0)
        return "bias";
    if (config->attention_cap > 0)
        return "cap";
    return config->attention_scale > 0 ? "scale" : NULL;
}

static mgk_status check_kind(const mgk_config *config, int layer)
{
    const mgk_attention_kind *kind = mgk_config_kind(config, layer);
    const char *term = score_term(config);
    if (!kind)
        return mgk_fail(STATUS_UNSUPPORTED, "attention \"%s\" is not a known kind",
                        config->attention);
    if (!kind->gaussian && kind->mixture && config->prior == MGK_PRIOR_HARD)
        return mgk_fail(STATUS_USAGE, "attention \"%s\" has no hard-E prior", kind->name);
    if (kind->mixture && !kind->gaussian && config->prior_queries == MGK_QUERIES_ALL)
        return mgk_fail(STATUS_USAGE,
                        "attention \"%s\" has no soft-E priors of all queries; expected those of "
                        "the queries that see a key (em)",
                        kind->name);
    if (!kind->terms && term)
        return mgk_fail(
            STATUS_USAGE,
            "attention \"%s\" has no scale, cap, window or bias of its scores; the model "
            "has a %s",
            kind->name, term);
    if (!kind->terms && config->memory > 0)
        return mgk_fail(STATUS_USAGE, "attention \"%s\" has no memory to attend to", kind->name);
    const mgk_attention_size size = mgk_attention_size_of(config, layer, config->length);
    if (config->relative > 0 && size.mixtures > 1)
        return mgk_fail(STATUS_USAGE, "relative is %d, expected 0 with several keys",
                        config->relative);
    if (kind->keys == MGK_KEYS_SHIFTED || size.mixtures > 1) {
        if (config->query_norm != MGK_QUERY_NORM_NONE)
            return mgk_fail(STATUS_USAGE, "attention \"%s\" of several keys has no query_norm",
                            kind->name);
        if (config->key_heads != config->heads || config->positions == MGK_POSITIONS_ROTARY)
            return mgk_fail(STATUS_USAGE,
                            "attention \"%s\" of several keys has neither shared nor rotated keys",
                            kind->name);
    }
    return kind->check ? kind->check(&size) : STATUS_OK;
}

static mgk_status check_kinds(const mgk_config *config)
{
    const mgk_attention_kind *first = mgk_config_kind(config, 0);
    bool mixture = false;
    for (int layer = 0; layer < config->layers; layer++) {
        TRY(check_kind(config, layer));
        const mgk_attention_kind *kind = mgk_config_kind(config, layer);
        mixture |= kind->mixture;
        if (kind != first && config->layer_groups != config->layers)
            return mgk_fail(STATUS_USAGE,
                            "layers that share parameters have one kind of attention");
    }
    if (!mixture && config->mixtures != 1)
        return mgk_fail(STATUS_USAGE, "attention \"%s\" has one key per position, not %d",
                        first->name, config->mixtures);
    return STATUS_OK;
}

mgk_attention_size mgk_attention_size_of(const mgk_config *config, int layer, int tokens)
{
    const mgk_attention_kind *kind = mgk_config_kind(config, layer);
    return (mgk_attention_size){.heads = config->heads,
                                .tokens = tokens,
                                .dim = config->head_dim,
                                .mixtures = kind->mixture ? config->mixtures : 1,
                                .width = config->dim,
                                .length = config->length,
                                .layer = layer,
                                .layers = config->layers,
                                .below = kind->reads_below && layer > 0 &&
                                         mgk_config_kind(config, layer - 1) == kind,
                                .causal = config->causal,
                                .hard = kind->mixture && config->prior == MGK_PRIOR_HARD,
                                .seed = config->pattern_seed,
                                .settings = &config->settings};
}

/* Of three rows of M numbers, and of three rows of C. */
static void append_convolutions(builder *b, const mgk_config *config)
{
    static const char *const names[][2] = {
        {"embedding.convolution1.weight", "embedding.convolution1.bias"},
        {"embedding.convolution2.weight", "embedding.convolution2.bias"}};
    const size_t dim = (size_t)config->dim, taps = MGK_SOUND_TAPS;
    for (int i = 0; i < 2; i++) {
        const size_t in = i == 0 ? (size_t)config->sound.bands : dim;
        mgk_linear_map *map = &b->out->convolutions[i];
        map->weight = append(b, names[i][0], MGK_INITIAL_NORMAL, 1 / sqrt((double)(taps * in)), 3,
                             dim, taps, in);
        map->bias = append_bias(b, names[i][1], dim);
    }
}

/* The tables of the parts of the vocabulary. Their products have the spread of one table. */
static void append_parts(builder *b, const mgk_config *config)
{
    const double spread = 1 / sqrt((double)config->dim);
    for (int part = 0; part <= config->cutoff_count; part++) {
        const size_t width = mgk_config_part_width(config, part);
        char name[MGK_PARAMETER_NAME];
        snprintf(name, sizeof(name), "embedding.token.%d.weight", part);
        b->out->parts[part] = append(b, name, MGK_INITIAL_NORMAL, spread, 2,
                                     mgk_config_part_words(config, part), width);
        snprintf(name, sizeof(name), "embedding.token.%d.projection.weight", part);
        b->out->part_maps[part] = append_weight(b, name, (size_t)config->dim, width);
    }
}

static void append_embedding(builder *b, const mgk_config *config)
{
    mgk_parameters *out = b->out;
    const size_t width = (size_t)config->embedding;
    const size_t places = (size_t)config->length + (config->positions_skip_padding ? 1 : 0);
    double spread = 1 / sqrt((double)width);
    if (config->picture.patch > 0)
        out->patch = append_weight(b, "embedding.patch.weight", (size_t)config->dim,
                                   mgk_patch_size(&config->picture));
    else if (config->sound.bands > 0)
        append_convolutions(b, config);
    else if (config->cutoff_divisor > 0)
        append_parts(b, config);
    else
        out->token = append(b, "embedding.token.weight", MGK_INITIAL_NORMAL, spread, 2,
                            (size_t)config->vocabulary, width);
    if (config->positions == MGK_POSITIONS_LEARNED || config->rotary_table)
        out->position = append(b, "embedding.position.weight", MGK_INITIAL_NORMAL, spread, 2,
                               places, config->embedding_outer ? (size_t)config->dim : width);
    if (config->embedding_norm)
        out->embedding_norm = append_norm(b, config, "embedding.norm", width);
    if (config->embedding != config->dim)
        out->projection =
            append_linear(b, "embedding.projection.weight",
                          config->embedding_outer ? NULL : "embedding.projection.bias",
                          (size_t)config->dim, width);
}

static void append_output(builder *b, const mgk_config *config)
{
    mgk_parameters *out = b->out;
    size_t dim = (size_t)mgk_config_hidden_width(config), words = (size_t)config->vocabulary;
    size_t clusters = (size_t)config->cutoff_count;
    if (config->embedding_outer) {
        const size_t narrow = (size_t)config->embedding;
        out->back = append_linear(b, "output.projection.weight", NULL, narrow, dim);
        dim = narrow;
    }
    if (config->cutoff_divisor > 0)
        out->back = append_linear(b, "output.projection.weight", NULL, dim, dim);
    out->head.weight = config->tied ? out->token : append_weight(b, "output.weight", words, dim);
    if (config->output_bias)
        out->head.bias = append_bias(b, "output.bias", words);
    if (clusters > 0)
        out->clusters =
            append_linear(b, "output.clusters.weight",
                          config->output_bias ? "output.clusters.bias" : NULL, clusters, dim);
}

static void append_classifier(builder *b, const mgk_config *config)
{
    mgk_parameters *out = b->out;
    size_t dim = (size_t)config->dim, features = config->dual ? 4 * dim : dim;
    size_t hidden = (size_t)config->classifier;
    out->classifier.weight =
        append(b, "classifier.hidden.weight", config->dual ? MGK_INITIAL_PAIR : MGK_INITIAL_NORMAL,
               1 / sqrt((double)features), 2, hidden, features);
    out->classifier.bias = append_bias(b, "classifier.hidden.bias", hidden);
    /* Zero weights: training starts at chance level and does not have to unlearn a random guess. */
    out->head.weight = append(b, "classifier.output.weight", MGK_INITIAL_NORMAL, 0, 2,
                              (size_t)config->classes, hidden);
    out->head.bias = append_bias(b, "classifier.output.bias", (size_t)config->classes);
}

/* The first layer of each group has new parameters, named by the group. */
static void append_layers(builder *b, const mgk_config *config)
{
    int last = -1;
    for (int l = 0; l < config->layers; l++) {
        const int group = (int)((int64_t)l * config->layer_groups / config->layers);
        snprintf(b->prefix, sizeof(b->prefix), "layers.%d.", group);
        b->out->layers[l] = group == last ? b->out->layers[l - 1] : append_layer(b, config, l);
        last = group;
    }
    b->prefix[0] = '\0';
}

mgk_status mgk_parameters_build(const mgk_config *config, mgk_parameters *out)
{
    size_t layers = (size_t)config->layers;
    mgk_status status;
    *out = (mgk_parameters){.token = MGK_ABSENT,
                            .patch = MGK_ABSENT,
                            .convolutions = {absent, absent},
                            .position = MGK_ABSENT,
                            .distance = MGK_ABSENT,
                            .relative = MGK_ABSENT,
                            .embedding_norm = absent,
                            .projection = absent,
                            .back = absent,
                            .norm = absent,
                            .classifier = absent,
                            .head = absent,
                            .clusters = absent};
    CHECK(check_kinds(config));
    CHECK(mgk_alloc(layers, sizeof(*out->layers), &out->layers));

    builder b = {.out = out};
    append_embedding(&b, config);
    if (config->relative > 0)
        out->relative =
            append(&b, "relative.weight", MGK_INITIAL_NORMAL, 1 / sqrt((double)config->dim), 2,
                   2 * (size_t)config->relative, (size_t)config->dim);
    if (config->buckets > 0)
        out->distance = append(&b, "distance.bias", MGK_INITIAL_NORMAL, 1, 2,
                               (size_t)config->buckets, (size_t)config->heads);
    append_layers(&b, config);
    if (mgk_config_has_final_norm(config))
        out->norm = append_norm(&b, config, "norm", (size_t)mgk_config_hidden_width(config));
    if (config->family == MGK_FAMILY_LM)
        append_output(&b, config);
    else if (config->classes > 0)
        append_classifier(&b, config);
    status = b.status;
out:
    if (status != STATUS_OK)
        mgk_parameters_free(out);
    return status;
}

void mgk_parameters_free(mgk_parameters *parameters)
{
    mgk_free(parameters->list);
    mgk_free(parameters->layers);
    *parameters = (mgk_parameters){0};
}
