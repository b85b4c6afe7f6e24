/* SPDX-License-Identifier: MIT */
#include "store/schema/layout.h"

const mgk_axis_layout mgk_axis_layouts[STORE_AXES] = {
    [AXIS_SAMPLE] = {"sample", "samples"},
    [AXIS_LAYER] = {"layer", "layers"},
    [AXIS_HEAD] = {"head", "heads"},
    [AXIS_MIXTURE] = {"mixture", NULL},
    [AXIS_QUERY] = {"query", NULL},
    [AXIS_KEY] = {"key", NULL},
    [AXIS_DIM] = {"dim", NULL},
    [AXIS_MODEL_DIM] = {"model_dim", NULL},
};

static const mgk_object_layout layouts[STORE_OBJECTS] = {
    [STORE_ATTENTION] = {"attention",
                         5,
                         {AXIS_SAMPLE, AXIS_LAYER, AXIS_HEAD, AXIS_QUERY, AXIS_KEY}},
    [STORE_SCORES] = {"scores", 5, {AXIS_SAMPLE, AXIS_LAYER, AXIS_HEAD, AXIS_QUERY, AXIS_KEY}},
    [STORE_QUERIES] = {"queries", 5, {AXIS_SAMPLE, AXIS_LAYER, AXIS_HEAD, AXIS_QUERY, AXIS_DIM}},
    [STORE_KEYS] = {"keys",
                    6,
                    {AXIS_SAMPLE, AXIS_LAYER, AXIS_HEAD, AXIS_MIXTURE, AXIS_KEY, AXIS_DIM}},
    [STORE_VALUES] = {"values", 5, {AXIS_SAMPLE, AXIS_LAYER, AXIS_HEAD, AXIS_QUERY, AXIS_DIM}},
    [STORE_KEY_WEIGHTS] = {"key_weights",
                           5,
                           {AXIS_LAYER, AXIS_HEAD, AXIS_MIXTURE, AXIS_MODEL_DIM, AXIS_DIM}},
    [STORE_KEY_BIAS] = {"key_bias", 4, {AXIS_LAYER, AXIS_HEAD, AXIS_MIXTURE, AXIS_DIM}},
    [STORE_PRIORS] = {"priors", 4, {AXIS_LAYER, AXIS_HEAD, AXIS_MIXTURE, AXIS_KEY}},
    [STORE_VARIANCES] = {"variances", 3, {AXIS_LAYER, AXIS_HEAD, AXIS_MIXTURE}},
    [STORE_APPROXIMATION_ERROR] = {"approximation_error", 3, {AXIS_SAMPLE, AXIS_LAYER, AXIS_HEAD}},
    [STORE_OUTPUT_ERROR] = {"output_error", 3, {AXIS_SAMPLE, AXIS_LAYER, AXIS_HEAD}},
};

const mgk_side_layout mgk_side_layouts[STORE_SIDES] = {
    [STORE_SIDE_QUERIES] = {.tokens = {"tokens", 2, {AXIS_SAMPLE, AXIS_QUERY}},
                            .lengths = {"lengths", 1, {AXIS_SAMPLE}},
                            .text = {"token_text", 2, {AXIS_SAMPLE, AXIS_QUERY}}},
    [STORE_SIDE_KEYS] = {.tokens = {"key_tokens", 2, {AXIS_SAMPLE, AXIS_KEY}},
                         .lengths = {"key_lengths", 1, {AXIS_SAMPLE}},
                         .text = {"key_token_text", 2, {AXIS_SAMPLE, AXIS_KEY}}},
};

#define FIELD(name)                                  \
    {                                                \
#name, offsetof(mgk_store_description, name) \
    }

const mgk_store_string mgk_store_strings[STORE_STRINGS] = {
    FIELD(software), FIELD(model),   FIELD(model_sha256), FIELD(attention), FIELD(config),
    FIELD(command),  FIELD(created), FIELD(precision),    FIELD(device),
};

const char *mgk_object_name(mgk_store_object object)
{
    return layouts[object].name;
}

mgk_object_layout mgk_layout_of(mgk_store_object object, const mgk_store_description *description)
{
    mgk_object_layout layout = layouts[object];
    if (object == STORE_PRIORS && !description->priors_per_key)
        layout.rank--;
    if (object == STORE_VALUES && description->cross)
        layout.axes[3] = AXIS_KEY;
    return layout;
}

bool mgk_is_parameter(mgk_store_object object)
{
    return object >= STORE_KEY_WEIGHTS && object <= STORE_VARIANCES;
}

bool mgk_is_whole(mgk_store_object object)
{
    return object >= STORE_KEY_WEIGHTS;
}

void mgk_axis_sizes(const mgk_store_description *description, size_t sizes[STORE_AXES])
{
    sizes[AXIS_SAMPLE] = (size_t)description->samples;
    sizes[AXIS_LAYER] = (size_t)description->layers;
    sizes[AXIS_HEAD] = (size_t)description->heads;
    sizes[AXIS_MIXTURE] = (size_t)description->mixtures;
    sizes[AXIS_QUERY] = (size_t)description->tokens;
    sizes[AXIS_KEY] = (size_t)mgk_store_keys(description);
    sizes[AXIS_DIM] = (size_t)description->head_dim;
    sizes[AXIS_MODEL_DIM] = (size_t)description->model_dim;
}

const char **mgk_store_string_of(mgk_store_description *description, const mgk_store_string *string)
{
    return (const char **)((char *)description + string->offset);
}
