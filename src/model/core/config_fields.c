/* SPDX-License-Identifier: MIT */
#include "model/core/config_fields.h"

#include <float.h>
#include <limits.h>

#define MAX_SIZE (1 << 20)
#define MAX_COUNT (1 << 12)
_Static_assert(MAX_COUNT == MGK_MAX_LAYERS, "the same limit");
#define MAX_SIDE (1 << 14)

static const char *const families[] = {"encoder", "lm", NULL};
static const char *const priors[] = {"learned", "em", "hard", NULL};
static const char *const prior_queries[] = {"seen", "all", NULL};
static const char *const prior_shapes[] = {"layer", "head", "position", NULL};
static const char *const activations[] = {"gelu", "relu", "gelu_tanh", "silu", NULL};
static const char *const position_kinds[] = {"learned", "sinusoidal", "rotary",
                                             "alibi",   "none",       NULL};
static const char *const norm_parameters[] = {"all", "weight", "none", NULL};
static const char *const parallels[] = {"no", "shared", "own", NULL};
static const char *const query_norms[] = {"none", "head", "width", NULL};
static const char *const output_biases[] = {"same", "none", "own", NULL};
static const char *const aggregations[] = {"concatenation", "capsules", NULL};
static const char *const normalizations[] = {"layer", "rms", NULL};
static const char *const rotary_scalings[] = {"plain",        "linear", "llama3", "yarn",
                                              "proportional", "long",   NULL};
static const char *const poolings[] = {"mean", "length", "first", NULL};
static const char *const resamplings[] = {"nearest", "lanczos", "bilinear", "bicubic",
                                          "box",     "hamming", "none",     NULL};

#define NAMED(key, member) .name = key, .offset = offsetof(mgk_config, member)
#define AT(member) NAMED(#member, member)

_Static_assert(
    sizeof(mgk_family) == sizeof(int) && sizeof(mgk_prior_mode) == sizeof(int) &&
        sizeof(mgk_prior_shape) == sizeof(int) && sizeof(mgk_prior_queries) == sizeof(int) &&
        sizeof(mgk_activation) == sizeof(int) && sizeof(mgk_positions) == sizeof(int) &&
        sizeof(mgk_normalization) == sizeof(int) && sizeof(mgk_norm_parameters) == sizeof(int) &&
        sizeof(mgk_parallel) == sizeof(int) && sizeof(mgk_query_norm) == sizeof(int) &&
        sizeof(mgk_output_bias) == sizeof(int) && sizeof(mgk_aggregation) == sizeof(int) &&
        sizeof(mgk_rotary_scaling) == sizeof(int) && sizeof(mgk_sentence_pooling) == sizeof(int) &&
        sizeof(mgk_resampling) == sizeof(int),
    "choices are copied as int");

const mgk_config_field mgk_config_fields[] = {
    {AT(family), .kind = MGK_FIELD_CHOICE, .choices = families},
    {AT(attention), .kind = MGK_FIELD_KINDS},
    {AT(task), .kind = MGK_FIELD_NAME},
    {AT(pattern_seed), .kind = MGK_FIELD_SIZE, .low = 0, .high = INT_MAX, .sparse = true},
    {AT(layers), .kind = MGK_FIELD_SIZE, .low = 1, .high = MAX_COUNT},
    {AT(layer_groups), .kind = MGK_FIELD_SIZE, .low = 0, .high = MAX_COUNT},
    {AT(heads), .kind = MGK_FIELD_SIZE, .low = 1, .high = MAX_COUNT},
    {AT(key_heads), .kind = MGK_FIELD_SIZE, .low = 0, .high = MAX_COUNT},
    {AT(dim), .kind = MGK_FIELD_SIZE, .low = 1, .high = MAX_SIZE},
    {AT(embedding), .kind = MGK_FIELD_SIZE, .low = 0, .high = MAX_SIZE},
    {AT(head_dim), .kind = MGK_FIELD_SIZE, .low = 1, .high = MAX_SIZE},
    {AT(hidden), .kind = MGK_FIELD_SIZE, .low = 1, .high = MAX_SIZE},
    {AT(length), .kind = MGK_FIELD_SIZE, .low = 1, .high = MAX_SIZE},
    {AT(vocabulary), .kind = MGK_FIELD_SIZE, .low = 1, .high = MAX_SIZE},
    {AT(classes), .kind = MGK_FIELD_SIZE, .low = 0, .high = MAX_SIZE},
    {AT(classifier), .kind = MGK_FIELD_SIZE, .low = 0, .high = MAX_SIZE},
    {AT(mixtures), .kind = MGK_FIELD_SIZE, .low = 1, .high = MGK_MAX_MIXTURES},
    {AT(prior), .kind = MGK_FIELD_CHOICE, .choices = priors},
    {AT(prior_shape), .kind = MGK_FIELD_CHOICE, .choices = prior_shapes},
    {AT(prior_queries), .kind = MGK_FIELD_CHOICE, .choices = prior_queries, .sparse = true},
    {AT(normalizer_epsilon), .kind = MGK_FIELD_REAL, .low = 0, .high = 1},
    {AT(row_normalized), .kind = MGK_FIELD_FLAG},
    {AT(mix_keys), .kind = MGK_FIELD_FLAG},
    {AT(unit_features), .kind = MGK_FIELD_FLAG, .sparse = true},
    {AT(norm_epsilon), .kind = MGK_FIELD_REAL, .low = FLT_MIN, .high = 1},
    {AT(dropout), .kind = MGK_FIELD_REAL, .low = 0, .high = 1},
    {AT(dropout_hidden), .kind = MGK_FIELD_REAL, .low = 0, .high = 1, .sparse = true},
    {AT(dropout_output), .kind = MGK_FIELD_REAL, .low = 0, .high = 1, .sparse = true},
    {AT(dropout_attention), .kind = MGK_FIELD_REAL, .low = 0, .high = 1, .sparse = true},
    {AT(causal), .kind = MGK_FIELD_FLAG},
    {AT(attention_bias), .kind = MGK_FIELD_FLAG},
    {AT(attention_output_bias), .kind = MGK_FIELD_CHOICE, .choices = output_biases},
    {AT(aggregate), .kind = MGK_FIELD_CHOICE, .choices = aggregations, .sparse = true},
    {AT(query_norm), .kind = MGK_FIELD_CHOICE, .choices = query_norms},
    {AT(attention_scale), .kind = MGK_FIELD_REAL, .low = 0, .high = 1e6},
    {AT(attention_cap), .kind = MGK_FIELD_REAL, .low = 0, .high = 1e6},
    {AT(window), .kind = MGK_FIELD_SIZE, .low = 0, .high = MAX_SIZE},
    {AT(dual), .kind = MGK_FIELD_FLAG},
    {AT(pre_norm), .kind = MGK_FIELD_FLAG},
    {AT(raw_queries), .kind = MGK_FIELD_FLAG, .sparse = true},
    {AT(first_norm), .kind = MGK_FIELD_FLAG},
    {AT(final_norm), .kind = MGK_FIELD_FLAG},
    {AT(branch_norm), .kind = MGK_FIELD_FLAG},
    {AT(parallel), .kind = MGK_FIELD_CHOICE, .choices = parallels},
    {AT(reversible), .kind = MGK_FIELD_FLAG, .sparse = true},
    {AT(norm), .kind = MGK_FIELD_CHOICE, .choices = normalizations},
    {AT(norm_parameters), .kind = MGK_FIELD_CHOICE, .choices = norm_parameters},
    {AT(activation), .kind = MGK_FIELD_CHOICE, .choices = activations},
    {AT(gated), .kind = MGK_FIELD_FLAG},
    {AT(feed_forward_bias), .kind = MGK_FIELD_FLAG},
    {AT(experts), .kind = MGK_FIELD_SIZE, .low = 0, .high = MAX_COUNT, .sparse = true},
    {AT(experts_used), .kind = MGK_FIELD_SIZE, .low = 0, .high = MAX_COUNT, .sparse = true},
    {AT(experts_normalized), .kind = MGK_FIELD_FLAG, .sparse = true},
    {AT(experts_shared), .kind = MGK_FIELD_SIZE, .low = 0, .high = MAX_SIZE, .sparse = true},
    {AT(pooling), .kind = MGK_FIELD_CHOICE, .choices = poolings},
    {AT(class_token), .kind = MGK_FIELD_FLAG, .sparse = true},
    {AT(embedding_outer), .kind = MGK_FIELD_FLAG},
    {AT(embedding_scale), .kind = MGK_FIELD_REAL, .low = 0, .high = 1e6},
    {AT(embedding_norm), .kind = MGK_FIELD_FLAG},
    {AT(positions), .kind = MGK_FIELD_CHOICE, .choices = position_kinds},
    {AT(positions_alternate), .kind = MGK_FIELD_FLAG, .sparse = true},
    {AT(positions_backward), .kind = MGK_FIELD_FLAG},
    {AT(positions_skip_padding), .kind = MGK_FIELD_FLAG},
    {AT(relative), .kind = MGK_FIELD_SIZE, .low = 0, .high = 1 << 15},
    {AT(relative_far), .kind = MGK_FIELD_SIZE, .low = 0, .high = MAX_SIZE},
    {AT(alibi_scale), .kind = MGK_FIELD_REAL, .low = FLT_MIN, .high = 1e6},
    {AT(alibi_rounded), .kind = MGK_FIELD_FLAG},
    {AT(buckets), .kind = MGK_FIELD_SIZE, .low = 0, .high = MAX_COUNT},
    {AT(bucket_limit), .kind = MGK_FIELD_SIZE, .low = 2, .high = MAX_SIZE},
    {AT(rotary_table), .kind = MGK_FIELD_FLAG},
    {AT(rotary_dim), .kind = MGK_FIELD_SIZE, .low = 0, .high = MAX_SIZE},
    {AT(rotary_base), .kind = MGK_FIELD_REAL, .low = 1, .high = 1e12},
    {AT(local_base), .kind = MGK_FIELD_REAL, .low = 0, .high = 1e12},
    {AT(rotary_scaling), .kind = MGK_FIELD_CHOICE, .choices = rotary_scalings},
    {AT(rotary_factor), .kind = MGK_FIELD_REAL, .low = 1, .high = 1e6},
    {AT(rotary_low), .kind = MGK_FIELD_REAL, .low = FLT_MIN, .high = 1e6},
    {AT(rotary_high), .kind = MGK_FIELD_REAL, .low = FLT_MIN, .high = 1e6},
    {AT(rotary_original), .kind = MGK_FIELD_SIZE, .low = 1, .high = MAX_SIZE},
    {AT(rotary_whole), .kind = MGK_FIELD_FLAG},
    {AT(rotary_amplitude), .kind = MGK_FIELD_REAL, .low = FLT_MIN, .high = 1e6},
    {AT(tied), .kind = MGK_FIELD_FLAG},
    {AT(output_bias), .kind = MGK_FIELD_FLAG},
    {AT(logit_scale), .kind = MGK_FIELD_REAL, .low = FLT_MIN, .high = 1e6},
    {AT(logit_cap), .kind = MGK_FIELD_REAL, .low = 0, .high = 1e6},
    {AT(cutoff_divisor), .kind = MGK_FIELD_SIZE, .low = 0, .high = MAX_SIZE, .sparse = true},
    {AT(padding), .kind = MGK_FIELD_SIZE, .low = -1, .high = MAX_SIZE},
    {AT(memory), .kind = MGK_FIELD_SIZE, .low = 0, .high = MAX_SIZE},
    {AT(start), .kind = MGK_FIELD_SIZE, .low = -1, .high = MAX_SIZE},
    {AT(padding_word), .kind = MGK_FIELD_FLAG},
    {AT(mask_token), .kind = MGK_FIELD_SIZE, .low = 0, .high = MAX_SIZE, .sparse = true},
    {AT(padding_masked), .kind = MGK_FIELD_FLAG, .sparse = true},
    {NAMED("patch", picture.patch), .kind = MGK_FIELD_SIZE, .low = 0, .high = MAX_COUNT},
    {NAMED("image_extra", picture.extra), .kind = MGK_FIELD_SIZE, .low = 0, .high = MAX_COUNT},
    {NAMED("image_edge", picture.edge), .kind = MGK_FIELD_SIZE, .low = 0, .high = MAX_SIDE},
    {NAMED("image_shortest", picture.shortest), .kind = MGK_FIELD_FLAG},
    {NAMED("image", picture.side), .kind = MGK_FIELD_SIZE, .low = 0, .high = MAX_SIDE},
    {NAMED("resampling", picture.resampling), .kind = MGK_FIELD_CHOICE, .choices = resamplings},
    {NAMED("image_scale", picture.scale), .kind = MGK_FIELD_REAL, .low = 0, .high = 1e6},
    {NAMED("sound_bands", sound.bands), .kind = MGK_FIELD_SIZE, .low = 0,
     .high = MGK_SOUND_MOST_BANDS},
    {NAMED("sound_rate", sound.rate), .kind = MGK_FIELD_SIZE, .low = 1, .high = MAX_SIZE},
    {NAMED("sound_hop", sound.hop), .kind = MGK_FIELD_SIZE, .low = 1, .high = MAX_SIZE},
    {NAMED("sound_window", sound.window), .kind = MGK_FIELD_SIZE, .low = 2,
     .high = MGK_SOUND_MOST_WINDOW},
    {.name = NULL},
};
