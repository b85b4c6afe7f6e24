#include "model/parameters.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/random.h"

/* Appends parameters one after the other; the list has been made large enough. */
typedef struct builder {
    mgk_parameters *out;
    char prefix[32];
} builder;

static mgk_offset append(builder *b, const char *name, mgk_initial initial, double value, int axes,
                         ...)
{
    mgk_parameter *p = &b->out->list[b->out->count++];
    snprintf(p->name, sizeof(p->name), "%s%s", b->prefix, name);
    p->axes = axes;
    p->count = 1;
    va_list sizes;
    va_start(sizes, axes);
    for (int axis = 0; axis < axes; axis++)
        p->count *= p->shape[axis] = va_arg(sizes, size_t);
    va_end(sizes);
    p->offset = b->out->total;
    p->initial = initial;
    p->value = value;
    p->decay = initial != MGK_INITIAL_CONSTANT && axes == 2;
    b->out->total += p->count;
    return p->offset;
}

/* A weight that keeps the variance of its input. */
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
    mgk_linear_map map;
    map.weight = append_weight(b, weight, out, in);
    map.bias = append_bias(b, bias, out);
    return map;
}

static mgk_norm append_norm(builder *b, const char *weight, const char *bias, size_t dim)
{
    mgk_norm norm;
    norm.weight = append(b, weight, MGK_INITIAL_CONSTANT, 1, 1, dim);
    norm.bias = append_bias(b, bias, dim);
    return norm;
}

static mgk_offset append_prior(builder *b, const mgk_config *config)
{
    size_t heads = (size_t)config->heads, mixtures = (size_t)config->mixtures;
    double uniform = 1.0 / config->mixtures;
    if (config->prior_shape == MGK_PRIOR_LAYER)
        return append(b, "attention.prior", MGK_INITIAL_CONSTANT, uniform, 1, mixtures);
    if (config->prior_shape == MGK_PRIOR_HEAD)
        return append(b, "attention.prior", MGK_INITIAL_CONSTANT, uniform, 2, heads, mixtures);
    return append(b, "attention.prior", MGK_INITIAL_CONSTANT, uniform, 3, heads, mixtures,
                  (size_t)config->length);
}

static mgk_layer_offsets append_layer(builder *b, const mgk_config *config,
                                      const mgk_attention_kind *kind)
{
    size_t dim = (size_t)config->dim, hidden = (size_t)config->hidden;
    size_t mixtures = (size_t)config->mixtures;
    size_t width = (size_t)config->heads * (size_t)config->head_dim;
    size_t keys = kind->keys == MGK_KEYS_PROJECTED ? mixtures * width : width;
    mgk_layer_offsets layer = {.key_shift = MGK_ABSENT, .prior = MGK_ABSENT};
    layer.query.weight = append_weight(b, "attention.query.weight", width, dim);
    append_weight(b, "attention.key.weight", keys, dim);
    append_weight(b, "attention.value.weight", width, dim);
    layer.query.bias = layer.output.bias = MGK_ABSENT;
    if (config->attention_bias) {
        layer.query.bias = append_bias(b, "attention.query.bias", width);
        append_bias(b, "attention.key.bias", keys);
        append_bias(b, "attention.value.bias", width);
    }
    if (kind->keys == MGK_KEYS_SHIFTED)
        layer.key_shift = append(b, "attention.key_shift", MGK_INITIAL_NORMAL, 1, 3, mixtures,
                                 (size_t)config->heads, (size_t)config->head_dim);
    if (kind->mixture && config->prior != MGK_PRIOR_HARD)
        layer.prior = append_prior(b, config);
    layer.output.weight = append_weight(b, "attention.output.weight", dim, width);
    if (config->attention_bias)
        layer.output.bias = append_bias(b, "attention.output.bias", dim);
    layer.norm1 = append_norm(b, "norm1.weight", "norm1.bias", dim);
    layer.in = append_linear(b, "feed_forward.in.weight", "feed_forward.in.bias", hidden, dim);
    layer.out = append_linear(b, "feed_forward.out.weight", "feed_forward.out.bias", dim, hidden);
    layer.norm2 = append_norm(b, "norm2.weight", "norm2.bias", dim);
    return layer;
}

static mgk_status check_kind(const mgk_config *config, const mgk_attention_kind *kind)
{
    if (!kind)
        return mgk_fail(STATUS_UNSUPPORTED, "attention \"%s\" is not a known kind",
                        config->attention);
    if (!kind->mixture && config->mixtures != 1)
        return mgk_fail(STATUS_USAGE, "attention \"%s\" has one key per position, not %d",
                        kind->name, config->mixtures);
    if (!kind->gaussian && kind->mixture && config->prior == MGK_PRIOR_HARD)
        return mgk_fail(STATUS_USAGE, "attention \"%s\" has no hard-E prior", kind->name);
    return STATUS_OK;
}

enum { PARAMETERS_PER_LAYER = 20, PARAMETERS_BESIDE = 9 };

mgk_status mgk_parameters_build(const mgk_config *config, mgk_parameters *out)
{
    const mgk_attention_kind *kind = mgk_attention_find(config->attention);
    size_t layers = (size_t)config->layers, dim = (size_t)config->dim;
    bool lm = config->family == MGK_FAMILY_LM;
    mgk_status status;
    *out = (mgk_parameters){.position = MGK_ABSENT};
    CHECK(check_kind(config, kind));
    CHECK(mgk_alloc(layers * PARAMETERS_PER_LAYER + PARAMETERS_BESIDE, sizeof(*out->list),
                    &out->list));
    CHECK(mgk_alloc(layers, sizeof(*out->layers), &out->layers));

    builder b = {.out = out, .prefix = ""};
    out->token = append(&b, "embedding.token.weight", MGK_INITIAL_NORMAL, 1 / sqrt((double)dim), 2,
                        (size_t)config->vocabulary, dim);
    if (config->positions == MGK_POSITIONS_LEARNED)
        out->position = append(&b, "embedding.position.weight", MGK_INITIAL_NORMAL,
                               1 / sqrt((double)dim), 2, (size_t)config->length, dim);
    for (size_t l = 0; l < layers; l++) {
        snprintf(b.prefix, sizeof(b.prefix), "layers.%zu.", l);
        out->layers[l] = append_layer(&b, config, kind);
    }
    b.prefix[0] = '\0';
    out->norm = (mgk_norm){MGK_ABSENT, MGK_ABSENT};
    if (config->pre_norm)
        out->norm = append_norm(&b, "norm.weight", "norm.bias", dim);
    out->classifier = out->head = (mgk_linear_map){MGK_ABSENT, MGK_ABSENT};
    if (lm) {
        out->head.bias = append_bias(&b, "output.bias", (size_t)config->vocabulary);
    } else {
        size_t features = config->dual ? 4 * dim : dim;
        out->classifier.weight = append(&b, "classifier.hidden.weight",
                                        config->dual ? MGK_INITIAL_PAIR : MGK_INITIAL_NORMAL,
                                        1 / sqrt((double)features), 2, dim, features);
        out->classifier.bias = append_bias(&b, "classifier.hidden.bias", dim);
        /* From 0: training begins at chance and reads the features instead of unlearning a guess.
         */
        out->head.weight = append(&b, "classifier.output.weight", MGK_INITIAL_NORMAL, 0, 2,
                                  (size_t)config->classes, dim);
        out->head.bias = append_bias(&b, "classifier.output.bias", (size_t)config->classes);
    }
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

/* How many times larger the weights for x − y begin. */
enum { PAIR_GAIN = 32 };

static double initial_value(const mgk_parameter *p, size_t k, double normal)
{
    switch (p->initial) {
    case MGK_INITIAL_NORMAL:
        return p->value * normal;
    case MGK_INITIAL_PAIR: {
        size_t features = p->shape[1], column = k % features;
        return p->value * normal * (column >= features / 4 * 3 ? PAIR_GAIN : 1);
    }
    case MGK_INITIAL_CONSTANT:
        break;
    }
    return p->value;
}

void mgk_parameters_initialize(const mgk_parameters *parameters, uint64_t seed, double *weights)
{
    for (size_t i = 0; i < parameters->count; i++) {
        const mgk_parameter *p = &parameters->list[i];
        for (size_t k = 0; k < p->count; k++)
            weights[p->offset + k] = initial_value(p, k, mgk_random_normal(seed, i, k));
    }
}
