/* SPDX-License-Identifier: MIT */
/* A trained model whose layers get another kind of attention. */
#include <string.h>

#include "model/core/config_fields.h"
#include "model/core/model.h"

/* Of softmax nothing but queries, keys and values is trained, which every other kind has, too. */
static mgk_status check_own_kinds(const mgk_model *model)
{
    for (int layer = 0; layer < model->config.layers; layer++) {
        const mgk_attention_kind *kind = mgk_model_kind(model, layer);
        if (strcmp(kind->name, "softmax") != 0)
            return mgk_fail(STATUS_USAGE,
                            "`run_as`: the model's attention is \"%s\", expected \"softmax\"",
                            kind->name);
    }
    if (model->config.memory > 0)
        return mgk_fail(STATUS_USAGE,
                        "`run_as`: a decoder that reads an encoder's output, expected "
                        "a model without that");
    return STATUS_OK;
}

static mgk_status refuse_trained(const mgk_attention_kind *kind, const char *what)
{
    return mgk_fail(STATUS_USAGE,
                    "`run_as`: attention \"%s\" has trained %s, which a model of softmax lacks",
                    kind->name, what);
}

static mgk_status check_untrained(const mgk_config *config, int layer)
{
    const mgk_attention_kind *kind = mgk_config_kind(config, layer);
    const mgk_attention_size size = mgk_attention_size_of(config, layer, config->length);
    mgk_kind_parameter own[MGK_KIND_PARAMETERS] = {{0}};
    if (!kind)
        return mgk_fail(STATUS_USAGE, "`run_as`: attention \"%s\" is not a known kind",
                        config->attention);
    if (kind->mixture)
        return refuse_trained(kind, "keys and priors");
    const int count = kind->parameters ? kind->parameters(&size, own) : 0;
    for (int i = 0; i < count; i++)
        if (!own[i].drawn)
            return refuse_trained(kind, "parameters");
    if (kind->extra && kind->extra(&size) > 0)
        return refuse_trained(kind, "maps of tokens");
    return mgk_attention_check_matrix(kind);
}

static const mgk_parameter *find(const mgk_parameters *parameters, const char *name)
{
    for (size_t i = 0; i < parameters->count; i++)
        if (strcmp(parameters->list[i].name, name) == 0)
            return &parameters->list[i];
    return NULL;
}

/* Copies what both models have: all but the numbers that the new one draws. */
static mgk_status copy_weights(const mgk_model *from, const mgk_model *to)
{
    mgk_device *device = to->device;
    for (size_t i = 0; i < to->parameters.count; i++) {
        const mgk_parameter *p = &to->parameters.list[i];
        const mgk_parameter *own = p->drawn ? NULL : find(&from->parameters, p->name);
        if (own)
            TRY(device->op->copy(device, mgk_at(device, to->weights, p->offset),
                                 mgk_at(device, from->weights, own->offset),
                                 p->count * device->real_size));
    }
    return STATUS_OK;
}

/* Exchanges what the configuration determines. */
static void exchange(mgk_model *a, mgk_model *b)
{
    const mgk_config config = a->config;
    const mgk_parameters parameters = a->parameters;
    void *weights = a->weights;
    a->config = b->config;
    a->parameters = b->parameters;
    a->weights = b->weights;
    b->config = config;
    b->parameters = parameters;
    b->weights = weights;
}

mgk_status mgk_model_run_as(mgk_model *model, const char *kinds,
                            const mgk_attention_settings *settings, int pattern_seed, uint64_t seed)
{
    mgk_status status;
    mgk_model *other = NULL;
    mgk_config config = model->config;
    TRY(check_own_kinds(model));
    TRY(mgk_config_check_kinds(kinds));
    strcpy(config.attention, kinds);
    config.settings = *settings;
    TRY(mgk_config_resolve(&config));
    TRY(mgk_config_check_below(&config));
    config.pattern_seed = config.settings.random > 0 ? pattern_seed : 0;
    for (int layer = 0; layer < config.layers; layer++)
        TRY(check_untrained(&config, layer));
    CHECK(mgk_model_create_empty(&config, model->device, &other));
    if (model->device) {
        CHECK(copy_weights(model, other));
        CHECK(mgk_model_redraw(other, seed, 0));
    }
    model->own_kind = mgk_model_kind(model, 0);
    exchange(model, other);
out:
    mgk_model_free(other);
    return status;
}
