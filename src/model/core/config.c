/* SPDX-License-Identifier: MIT */
#include "model/core/config.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "model/core/config_fields.h"

enum { MAX_KEY_WIDTH = 1 << 24 };

void mgk_config_defaults(mgk_family family, mgk_config *config)
{
    static const mgk_config encoder = {
        .family = MGK_FAMILY_ENCODER,
        .attention = "mgk",
        .task = "text",
        .layers = 2,
        .heads = 2,
        .dim = 64,
        .head_dim = 32,
        .hidden = 128,
        .length = 1024,
        .vocabulary = 256,
        .classes = 2,
        .mixtures = 2,
        .norm_epsilon = 1e-5,
        .dropout = 0.1,
        .attention_bias = true,
        .pre_norm = true,
        .activation = MGK_ACTIVATION_GELU,
        .positions = MGK_POSITIONS_LEARNED,
    };
    static const mgk_config lm = {
        .family = MGK_FAMILY_LM,
        .attention = "mgk",
        .task = "lm",
        .layers = 16,
        .heads = 8,
        .dim = 128,
        .head_dim = 16,
        .hidden = 2048,
        .length = 256,
        .vocabulary = 256,
        .mixtures = 2,
        .norm_epsilon = 1e-5,
        .dropout = 0.1,
        .causal = true,
        .activation = MGK_ACTIVATION_RELU,
        .positions = MGK_POSITIONS_SINUSOIDAL,
    };
    *config = family == MGK_FAMILY_LM ? lm : encoder;
    /* Settings that only models of other software change. */
    config->row_normalized = config->feed_forward_bias = true;
    config->tied = config->output_bias = true;
    config->rotary_base = 10000;
    config->rotary_factor = config->rotary_low = 1;
    config->rotary_high = 4;
    config->rotary_original = 8192;
    config->rotary_whole = config->first_norm = config->final_norm = true;
    config->rotary_amplitude = config->alibi_scale = config->logit_scale = 1;
    config->bucket_limit = 128;
    config->padding = config->start = -1;
    config->picture.extra = 1;
    config->sound = (mgk_sound_form){.rate = 16000, .hop = 160, .window = 400};
}

mgk_status mgk_config_check_name(const char *key, const char *name)
{
    size_t length = strnlen(name, MGK_NAME_SIZE);
    if (length == 0 || length == MGK_NAME_SIZE ||
        strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") < length)
        return mgk_fail(STATUS_USAGE,
                        "%s is not a name of 1 to %d lower-case letters, digits, - and _", key,
                        MGK_NAME_SIZE - 1);
    return STATUS_OK;
}

static int choice_count(const mgk_config_field *f)
{
    int count = 0;
    while (f->choices[count])
        count++;
    return count;
}

static mgk_status check_field(const mgk_config *config, const mgk_config_field *f)
{
    const char *at = (const char *)config + f->offset;
    int integer;
    double real;
    switch (f->kind) {
    case MGK_FIELD_NAME:
        return mgk_config_check_name(f->name, at);
    case MGK_FIELD_KINDS:
        return mgk_config_check_kinds(at);
    case MGK_FIELD_CHOICE:
        memcpy(&integer, at, sizeof(integer));
        if (integer < 0 || integer >= choice_count(f))
            return mgk_fail(STATUS_USAGE, "%s is %d, expected less than %d", f->name, integer,
                            choice_count(f));
        return STATUS_OK;
    case MGK_FIELD_SIZE:
        memcpy(&integer, at, sizeof(integer));
        if (integer < f->low || integer > f->high)
            return mgk_fail(STATUS_USAGE, "%s is %d, expected %.0f to %.0f", f->name, integer,
                            f->low, f->high);
        return STATUS_OK;
    case MGK_FIELD_REAL:
        memcpy(&real, at, sizeof(real));
        if (!(real >= f->low && real < f->high))
            return mgk_fail(STATUS_USAGE, "%s is %g, expected at least %g and less than %g",
                            f->name, real, f->low, f->high);
        return STATUS_OK;
    case MGK_FIELD_FLAG:
        return STATUS_OK;
    }
    return STATUS_OK;
}

mgk_status mgk_config_check_range(const mgk_config *config, const char *field)
{
    const mgk_config_field *f = mgk_config_fields;
    while (strcmp(f->name, field) != 0)
        f++;
    return check_field(config, f);
}

/* A model of pictures has as many positions as a picture has tokens. */
static mgk_status check_picture(const mgk_config *config)
{
    const mgk_picture_form *picture = &config->picture;
    if (picture->patch == 0)
        return STATUS_OK;
    if (picture->side == 0 || picture->side % picture->patch)
        return mgk_fail(STATUS_USAGE, "image is %d, expected a multiple of patch, %d",
                        picture->side, picture->patch);
    if (picture->edge > 0 && picture->edge < picture->side)
        return mgk_fail(STATUS_USAGE, "image_edge is %d, expected 0 or at least image, %d",
                        picture->edge, picture->side);
    size_t tokens = mgk_picture_tokens(picture);
    if ((size_t)config->length != tokens || config->vocabulary != config->length)
        return mgk_fail(STATUS_USAGE,
                        "length and vocabulary are %d and %d, expected %zu, a picture's tokens",
                        config->length, config->vocabulary, tokens);
    if (config->family != MGK_FAMILY_ENCODER || config->dual || config->embedding_scale != 1 ||
        config->positions != MGK_POSITIONS_LEARNED)
        return mgk_fail(
            STATUS_USAGE,
            "patch is %d, expected 0 but for an encoder of single pictures with learned "
            "positions and embedding_scale 1",
            picture->patch);
    for (int c = 0; c < MGK_CHANNELS; c++)
        if (!(fabs(picture->mean[c]) <= FLT_MAX && fabs(picture->deviation[c]) >= FLT_MIN &&
              fabs(picture->deviation[c]) <= FLT_MAX))
            return mgk_fail(STATUS_USAGE,
                            "image_mean[%d] and image_std[%d] are %g and %g, expected finite "
                            "numbers, the second not 0",
                            c, c, picture->mean[c], picture->deviation[c]);
    return STATUS_OK;
}

/* A model of sounds has as many positions as a recording has tokens. */
static mgk_status check_sound(const mgk_config *config)
{
    const mgk_sound_form *sound = &config->sound;
    const int64_t samples = (int64_t)MGK_SOUND_STRIDE * config->length * sound->hop;
    if (sound->bands == 0)
        return STATUS_OK;
    if (sound->window % 2 != 0)
        return mgk_fail(STATUS_USAGE, "sound_window is %d, expected an even number", sound->window);
    if (samples > MGK_SOUND_MOST_SAMPLES || samples <= sound->window / 2)
        return mgk_fail(STATUS_USAGE,
                        "length and sound_hop are %d and %d, expected more than %d and at most %d "
                        "samples",
                        config->length, sound->hop, sound->window / 2, MGK_SOUND_MOST_SAMPLES);
    if (config->family != MGK_FAMILY_ENCODER || config->dual || config->picture.patch > 0 ||
        config->embedding_scale != 1 || config->embedding != config->dim ||
        config->positions != MGK_POSITIONS_LEARNED || config->positions_skip_padding ||
        config->vocabulary != config->length)
        return mgk_fail(STATUS_USAGE,
                        "sound_bands is %d, expected 0 but for an encoder of single recordings "
                        "with learned positions, embedding_scale 1, and a vocabulary of length",
                        sound->bands);
    return STATUS_OK;
}

/* Two streams have norms before both blocks and after the last layer, and outputs of their own. */
static mgk_status check_streams(const mgk_config *config)
{
    const bool norms = config->pre_norm && config->first_norm && config->final_norm &&
                       !config->branch_norm && config->parallel == MGK_PARALLEL_NO;
    const bool plain = !config->tied && !config->embedding_outer && config->cutoff_count == 0;
    if (!config->reversible || (norms && config->classes == 0 && config->memory == 0 &&
                                (config->family != MGK_FAMILY_LM || plain)))
        return STATUS_OK;
    return mgk_fail(STATUS_USAGE,
                    "reversible is true, expected false but for a pre-norm model without parallel "
                    "blocks, memory and classifier, whose output layer, if any, is a plain one of "
                    "its own");
}

/* Settings of norms and blocks that exclude each other. */
static mgk_status check_blocks(const mgk_config *config)
{
    if (config->parallel != MGK_PARALLEL_NO && !config->pre_norm)
        return mgk_fail(STATUS_USAGE, "parallel is not \"no\", expected that without pre_norm");
    if (!config->first_norm && config->parallel == MGK_PARALLEL_SHARED)
        return mgk_fail(STATUS_USAGE,
                        "first_norm is false, expected true if both blocks share a norm");
    if (config->norm == MGK_NORMALIZATION_RMS && config->norm_parameters == MGK_NORM_NONE)
        return mgk_fail(STATUS_USAGE, "norm_parameters is \"none\", expected a gain of RMS norms");
    if (config->cutoff_count > 0 && (config->logit_cap > 0 || config->logit_scale != 1))
        return mgk_fail(STATUS_USAGE,
                        "logit_cap and logit_scale are %g and %g, expected 0 and 1 with cutoffs",
                        config->logit_cap, config->logit_scale);
    for (int layer = config->layers; layer < MGK_MAX_LAYERS; layer++)
        if (mgk_config_is_local(config, layer) || mgk_config_is_unrotated(config, layer))
            return mgk_fail(STATUS_USAGE, "%s names layer %d, expected less than %d",
                            mgk_config_is_local(config, layer) ? "local" : "unrotated", layer,
                            config->layers);
    return STATUS_OK;
}

static mgk_status check_experts(const mgk_config *config)
{
    if (config->experts == 0) {
        if (config->experts_used != 0 || config->experts_normalized || config->experts_shared != 0)
            return mgk_fail(STATUS_USAGE, "experts is 0, expected more with experts_used, "
                                          "experts_normalized or experts_shared");
        return STATUS_OK;
    }
    if (config->experts_used < 1 || config->experts_used > config->experts)
        return mgk_fail(STATUS_USAGE, "experts_used is %d, expected 1 to %d, the number of experts",
                        config->experts_used, config->experts);
    if (!config->gated || config->feed_forward_bias)
        return mgk_fail(STATUS_USAGE,
                        "experts is %d, expected 0 but with gates and without feed_forward_bias",
                        config->experts);
    return STATUS_OK;
}

static mgk_status check_buckets(const mgk_config *config)
{
    const int parts = config->causal ? 2 : 4;
    if (config->buckets == 0)
        return STATUS_OK;
    if (config->buckets % parts != 0)
        return mgk_fail(STATUS_USAGE, "buckets is %d, expected a multiple of %d", config->buckets,
                        parts);
    if (config->bucket_limit <= config->buckets / parts)
        return mgk_fail(STATUS_USAGE, "bucket_limit is %d, expected more than buckets / %d, %d",
                        config->bucket_limit, parts, config->buckets / parts);
    if (config->positions == MGK_POSITIONS_ALIBI)
        return mgk_fail(STATUS_USAGE, "buckets is %d, expected 0 with \"alibi\"", config->buckets);
    return STATUS_OK;
}

static mgk_status check_memory(const mgk_config *config)
{
    if (config->memory == 0 && config->start != -1)
        return mgk_fail(STATUS_USAGE, "start is %d, expected -1 without a memory", config->start);
    if (config->start >= config->vocabulary)
        return mgk_fail(STATUS_USAGE, "start is %d, expected less than %d", config->start,
                        config->vocabulary);
    if (config->memory > 0 &&
        (!config->causal || config->dual || config->classes > 0 ||
         !mgk_config_reads_tokens(config) || config->branch_norm ||
         config->parallel != MGK_PARALLEL_NO || config->query_norm != MGK_QUERY_NORM_NONE ||
         config->key_heads != config->heads || config->attention_cap > 0 ||
         config->aggregate != MGK_AGGREGATION_CONCATENATION))
        return mgk_fail(
            STATUS_USAGE,
            "memory is %d, expected 0 but for a causal model of tokens without classes, "
            "branch_norm, parallel blocks, query_norm, shared keys, attention_cap and capsules",
            config->memory);
    return STATUS_OK;
}

static mgk_status check_frequencies(const mgk_config *config)
{
    const int count = config->rotary_dim / 2;
    if (config->positions != MGK_POSITIONS_ROTARY && mgk_config_has_unrotated(config))
        return mgk_fail(STATUS_USAGE, "unrotated names layers, expected none without \"rotary\"");
    if (config->rotary_table && config->positions != MGK_POSITIONS_ROTARY)
        return mgk_fail(STATUS_USAGE, "rotary_table is true, expected false without \"rotary\"");
    if (config->positions != MGK_POSITIONS_ROTARY)
        return STATUS_OK;
    if (config->rotary_dim % 2 != 0 || config->rotary_dim > config->head_dim)
        return mgk_fail(STATUS_USAGE,
                        "rotary_dim is %d, expected an even number, at most head_dim, %d",
                        config->rotary_dim, config->head_dim);
    if (config->local_base != 0 && config->local_base < 1)
        return mgk_fail(STATUS_USAGE, "local_base is %g, expected 0 or at least 1",
                        config->local_base);
    if (config->rotary_scaling != MGK_ROTARY_LONG)
        return STATUS_OK;
    if (count > MGK_MAX_FREQUENCIES)
        return mgk_fail(STATUS_USAGE, "rotary_dim is %d, expected at most %d with \"long\"",
                        config->rotary_dim, 2 * MGK_MAX_FREQUENCIES);
    for (int i = 0; i < count; i++)
        if (!(config->rotary_short[i] >= FLT_MIN && config->rotary_short[i] <= FLT_MAX &&
              config->rotary_long[i] >= FLT_MIN && config->rotary_long[i] <= FLT_MAX))
            return mgk_fail(STATUS_USAGE,
                            "rotary_short[%d] and rotary_long[%d] are %g and %g, expected positive "
                            "finite numbers",
                            i, i, config->rotary_short[i], config->rotary_long[i]);
    return STATUS_OK;
}

static mgk_status check_family(const mgk_config *config)
{
    if (config->family == MGK_FAMILY_LM && config->classes != 0)
        return mgk_fail(STATUS_USAGE, "classes is %d, expected 0 for a language model",
                        config->classes);
    if (config->family == MGK_FAMILY_LM && !config->causal)
        return mgk_fail(STATUS_USAGE, "causal is false, expected true for a language model");
    if (config->family == MGK_FAMILY_LM && config->dual)
        return mgk_fail(STATUS_USAGE, "dual is true, expected false for a language model");
    if (config->class_token && (config->classes == 0 || config->pooling != MGK_POOLING_FIRST))
        return mgk_fail(STATUS_USAGE, "class_token is true, expected false but for a classifier "
                                      "whose pooling is first");
    return STATUS_OK;
}

/* Checks relations between sizes. */
static mgk_status check_sizes(const mgk_config *config)
{
    if (config->heads % config->key_heads)
        return mgk_fail(STATUS_USAGE, "key_heads is %d, expected a divisor of heads, %d",
                        config->key_heads, config->heads);
    if (config->positions == MGK_POSITIONS_SINUSOIDAL && config->embedding % 2 != 0)
        return mgk_fail(STATUS_USAGE, "dim is %d, expected an even number (sinusoidal positions)",
                        config->embedding);
    if (config->positions != MGK_POSITIONS_SINUSOIDAL &&
        (config->positions_backward || config->positions_alternate))
        return mgk_fail(STATUS_USAGE, "%s is true, expected false without sinusoidal positions",
                        config->positions_backward ? "positions_backward" : "positions_alternate");
    if (config->padding >= config->vocabulary)
        return mgk_fail(STATUS_USAGE, "padding is %d, expected less than %d", config->padding,
                        config->vocabulary);
    if (config->cutoff_count < 0 || config->cutoff_count > MGK_MAX_CUTOFFS)
        return mgk_fail(STATUS_USAGE, "cutoffs has %d entries, expected at most %d",
                        config->cutoff_count, MGK_MAX_CUTOFFS);
    for (int i = 0; i < config->cutoff_count; i++)
        if (config->cutoffs[i] < 1 || config->cutoffs[i] > config->vocabulary ||
            (i > 0 && (config->cutoffs[i] < config->cutoffs[i - 1] ||
                       (config->cutoffs[i] == config->cutoffs[i - 1] &&
                        config->cutoffs[i] < config->vocabulary))))
            return mgk_fail(STATUS_USAGE,
                            "cutoffs[%d] is %d, expected ascending numbers below %d, or that", i,
                            config->cutoffs[i], config->vocabulary);
    return STATUS_OK;
}

/* Checks what tables of several widths allow; the sizes and cutoffs are checked already. */
static mgk_status check_divisor(const mgk_config *config)
{
    const int parts = config->cutoff_count;
    if (config->cutoff_divisor == 0)
        return STATUS_OK;
    if (config->cutoff_divisor == 1 || parts == 0 || !config->tied || !config->output_bias ||
        config->embedding != config->dim || config->positions_skip_padding)
        return mgk_fail(STATUS_USAGE,
                        "cutoff_divisor is %d, expected 0, or 2 and more with cutoffs, a tied "
                        "output with biases, embedding of dim, and no positions_skip_padding",
                        config->cutoff_divisor);
    if (config->cutoffs[parts - 1] == config->vocabulary)
        return mgk_fail(STATUS_USAGE,
                        "cutoff_divisor is %d, expected 0 with a cutoff at the end of the "
                        "vocabulary, %d",
                        config->cutoff_divisor, config->vocabulary);
    if (mgk_config_part_width(config, parts) == 0)
        return mgk_fail(STATUS_USAGE,
                        "cutoff_divisor is %d, expected less: dim, %d, divided by it %d %s leaves "
                        "nothing",
                        config->cutoff_divisor, config->dim, parts,
                        MGK_NOUN(parts, "time", "times"));
    return STATUS_OK;
}

/* Checks what an embedding of another width and shared layers allow. */
static mgk_status check_embedding(const mgk_config *config)
{
    if (config->layer_groups > config->layers)
        return mgk_fail(STATUS_USAGE, "layer_groups is %d, expected at most layers, %d",
                        config->layer_groups, config->layers);
    if (!config->first_norm && config->layer_groups != config->layers)
        return mgk_fail(STATUS_USAGE, "first_norm is false, expected true if layers share norms");
    if (config->embedding != config->dim &&
        (config->picture.patch > 0 ||
         (config->family == MGK_FAMILY_LM && config->tied && !config->embedding_outer)))
        return mgk_fail(STATUS_USAGE,
                        "embedding is %d, expected dim, %d, in a model of pictures or with a tied "
                        "output",
                        config->embedding, config->dim);
    if (config->embedding_outer &&
        (config->embedding == config->dim || config->embedding_norm || config->cutoff_count > 0 ||
         config->positions_skip_padding || config->positions != MGK_POSITIONS_LEARNED))
        return mgk_fail(STATUS_USAGE,
                        "embedding_outer is true, expected false without learned positions and "
                        "another embedding than dim, and with an embedding_norm or cutoffs");
    if (config->relative > 0 &&
        (config->positions == MGK_POSITIONS_ROTARY || config->key_heads != config->heads))
        return mgk_fail(STATUS_USAGE, "relative is %d, expected 0 with rotated or shared keys",
                        config->relative);
    if (config->relative_far > 0 &&
        (config->relative < 2 || config->relative_far <= config->relative / 2 + 1))
        return mgk_fail(STATUS_USAGE, "relative_far is %d, expected 0 or over relative / 2 + 1, %d",
                        config->relative_far, config->relative / 2 + 1);
    if (config->raw_queries && (!config->pre_norm || !config->first_norm))
        return mgk_fail(STATUS_USAGE, "raw_queries is true, expected false without pre_norm");
    if (config->unit_features && config->mix_keys)
        return mgk_fail(STATUS_USAGE, "unit_features is true, expected false with mix_keys");
    if (config->padding_masked && (config->padding < 0 || config->family != MGK_FAMILY_ENCODER))
        return mgk_fail(STATUS_USAGE,
                        "padding_masked is true, expected false without a padding id, and for a "
                        "language model");
    if (config->positions_skip_padding &&
        (config->positions != MGK_POSITIONS_LEARNED || config->padding < 0))
        return mgk_fail(STATUS_USAGE,
                        "positions_skip_padding is true, expected false without learned positions "
                        "and a padding id");
    return STATUS_OK;
}

/* A token without an embedding still has its position: a rotated one, or one that is added apart.
 */
static mgk_status check_mask(const mgk_config *config)
{
    const bool rotated = config->positions == MGK_POSITIONS_ROTARY && !config->rotary_table;
    if (config->mask_token == 0 ||
        (config->mask_token < config->vocabulary && mgk_config_reads_tokens(config) &&
         (rotated || config->positions_skip_padding)))
        return STATUS_OK;
    return mgk_fail(STATUS_USAGE,
                    "mask_token is %d, expected 0, or an id below vocabulary, %d, with rotary "
                    "positions or positions_skip_padding",
                    config->mask_token, config->vocabulary);
}

size_t mgk_config_part_words(const mgk_config *config, int part)
{
    const int begin = part == 0 ? 0 : config->cutoffs[part - 1];
    const int end = part == config->cutoff_count ? config->vocabulary : config->cutoffs[part];
    return (size_t)(end - begin);
}

size_t mgk_config_part_width(const mgk_config *config, int part)
{
    int width = config->dim;
    for (int i = 0; i < part && config->cutoff_divisor > 0; i++)
        width /= config->cutoff_divisor;
    return (size_t)width;
}

static bool has_bit(const unsigned char *layers, int layer)
{
    return layers[layer / 8] >> layer % 8 & 1;
}

static void set_bit(unsigned char *layers, int layer)
{
    layers[layer / 8] = (unsigned char)(layers[layer / 8] | 1 << layer % 8);
}

bool mgk_config_is_local(const mgk_config *config, int layer)
{
    return has_bit(config->local, layer);
}

void mgk_config_set_local(mgk_config *config, int layer)
{
    set_bit(config->local, layer);
}

bool mgk_config_is_unrotated(const mgk_config *config, int layer)
{
    return has_bit(config->unrotated, layer);
}

void mgk_config_set_unrotated(mgk_config *config, int layer)
{
    set_bit(config->unrotated, layer);
}

bool mgk_config_has_unrotated(const mgk_config *config)
{
    for (int layer = 0; layer < MGK_MAX_LAYERS; layer++)
        if (mgk_config_is_unrotated(config, layer))
            return true;
    return false;
}

bool mgk_config_reads_tokens(const mgk_config *config)
{
    return config->picture.patch == 0 && config->sound.bands == 0;
}

bool mgk_config_has_final_norm(const mgk_config *config)
{
    return config->final_norm && (config->pre_norm || config->branch_norm);
}

int mgk_config_hidden_width(const mgk_config *config)
{
    return config->reversible ? 2 * config->dim : config->dim;
}

bool mgk_config_has_distances(const mgk_config *config)
{
    return config->positions == MGK_POSITIONS_ALIBI || config->buckets > 0;
}

bool mgk_config_has_attention_output_bias(const mgk_config *config)
{
    return config->attention_output_bias == MGK_OUTPUT_BIAS_OWN ||
           (config->attention_output_bias == MGK_OUTPUT_BIAS_SAME && config->attention_bias);
}

mgk_status mgk_config_resolve(mgk_config *config)
{
    for (const mgk_config_field *f = mgk_config_fields; f->name; f++)
        TRY(check_field(config, f));
    if (config->key_heads == 0)
        config->key_heads = config->heads;
    if (config->layer_groups == 0)
        config->layer_groups = config->layers;
    if (config->embedding == 0)
        config->embedding = config->dim;
    if (config->classifier == 0 && config->classes > 0)
        config->classifier = config->dim;
    if (config->embedding_scale == 0)
        config->embedding_scale = config->family == MGK_FAMILY_LM ? sqrt(config->dim) : 1;
    if (config->rotary_dim == 0)
        config->rotary_dim = config->head_dim;
    TRY(mgk_config_resolve_kinds(config));
    TRY(check_family(config));
    TRY(check_sizes(config));
    TRY(check_embedding(config));
    TRY(check_mask(config));
    TRY(check_divisor(config));
    TRY(check_blocks(config));
    TRY(check_experts(config));
    TRY(check_streams(config));
    TRY(check_buckets(config));
    TRY(check_memory(config));
    TRY(check_frequencies(config));
    TRY(check_picture(config));
    TRY(check_sound(config));
    if ((double)config->heads * config->head_dim * config->mixtures > MAX_KEY_WIDTH)
        return mgk_fail(STATUS_USAGE, "heads * head_dim * mixtures is over %d", MAX_KEY_WIDTH);
    for (int r = 0; r < MGK_MAX_MIXTURES; r++) {
        double *variance = &config->variance[r];
        if (r >= config->mixtures)
            *variance = 0;
        else if (*variance == 0)
            *variance = sqrt(config->head_dim);
        else if (!(*variance >= FLT_MIN && *variance <= FLT_MAX))
            return mgk_fail(STATUS_USAGE, "variance[%d] is %g, expected a positive finite number",
                            r, *variance);
    }
    return STATUS_OK;
}
