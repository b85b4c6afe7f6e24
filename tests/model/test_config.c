/* SPDX-License-Identifier: MIT */
/* The configuration: defaults, checks, and JSON from trusted and other sources. */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "model/core/config.h"
#include "model/core/parameters.h"

static mgk_status parse(const char *text, mgk_config *config)
{
    return mgk_config_from_json(text, strlen(text), config);
}

static void assert_same(const mgk_config *a, const mgk_config *b)
{
    assert_int_equal(a->family, b->family);
    assert_string_equal(a->attention, b->attention);
    assert_string_equal(a->task, b->task);
    assert_memory_equal(&a->settings, &b->settings, sizeof(a->settings));
    assert_int_equal(a->pattern_seed, b->pattern_seed);
    const int *sizes = &a->layers, *expected = &b->layers;
    for (size_t i = 0; i < 10; i++)
        assert_int_equal(sizes[i], expected[i]);
    assert_int_equal(a->prior, b->prior);
    assert_int_equal(a->prior_shape, b->prior_shape);
    assert_memory_equal(a->variance, b->variance, sizeof(a->variance));
    assert_true(a->normalizer_epsilon == b->normalizer_epsilon);
    assert_true(a->norm_epsilon == b->norm_epsilon);
    assert_true(a->dropout == b->dropout);
    assert_int_equal(a->causal, b->causal);
    assert_int_equal(a->attention_bias, b->attention_bias);
    assert_int_equal(a->dual, b->dual);
    assert_int_equal(a->pre_norm, b->pre_norm);
    assert_int_equal(a->activation, b->activation);
    assert_int_equal(a->positions, b->positions);
    assert_int_equal(a->row_normalized, b->row_normalized);
    assert_int_equal(a->mix_keys, b->mix_keys);
    assert_int_equal(a->norm, b->norm);
    assert_int_equal(a->gated, b->gated);
    assert_int_equal(a->feed_forward_bias, b->feed_forward_bias);
    assert_int_equal(a->experts, b->experts);
    assert_int_equal(a->experts_used, b->experts_used);
    assert_int_equal(a->experts_normalized, b->experts_normalized);
    assert_int_equal(a->experts_shared, b->experts_shared);
    assert_int_equal(a->pooling, b->pooling);
    assert_true(a->embedding_scale == b->embedding_scale);
    assert_int_equal(a->embedding_norm, b->embedding_norm);
    assert_int_equal(a->positions_backward, b->positions_backward);
    assert_true(a->rotary_base == b->rotary_base);
    assert_int_equal(a->rotary_scaling, b->rotary_scaling);
    assert_true(a->rotary_factor == b->rotary_factor);
    assert_true(a->rotary_low == b->rotary_low);
    assert_true(a->rotary_high == b->rotary_high);
    assert_int_equal(a->rotary_original, b->rotary_original);
    assert_int_equal(a->attention_output_bias, b->attention_output_bias);
    assert_int_equal(a->aggregate, b->aggregate);
    assert_int_equal(a->query_norm, b->query_norm);
    assert_true(a->attention_scale == b->attention_scale);
    assert_true(a->attention_cap == b->attention_cap);
    assert_int_equal(a->window, b->window);
    assert_memory_equal(a->local, b->local, sizeof(a->local));
    assert_memory_equal(a->unrotated, b->unrotated, sizeof(a->unrotated));
    assert_int_equal(a->branch_norm, b->branch_norm);
    assert_int_equal(a->embedding_outer, b->embedding_outer);
    assert_int_equal(a->parallel, b->parallel);
    assert_int_equal(a->norm_parameters, b->norm_parameters);
    assert_true(a->alibi_scale == b->alibi_scale);
    assert_true(a->alibi_rounded == b->alibi_rounded);
    assert_int_equal(a->buckets, b->buckets);
    assert_int_equal(a->bucket_limit, b->bucket_limit);
    assert_int_equal(a->rotary_table, b->rotary_table);
    assert_int_equal(a->rotary_dim, b->rotary_dim);
    assert_true(a->local_base == b->local_base);
    assert_int_equal(a->rotary_whole, b->rotary_whole);
    assert_true(a->rotary_amplitude == b->rotary_amplitude);
    assert_memory_equal(a->rotary_short, b->rotary_short, sizeof(a->rotary_short));
    assert_memory_equal(a->rotary_long, b->rotary_long, sizeof(a->rotary_long));
    assert_true(a->logit_scale == b->logit_scale);
    assert_true(a->logit_cap == b->logit_cap);
    assert_int_equal(a->tied, b->tied);
    assert_int_equal(a->output_bias, b->output_bias);
    assert_int_equal(a->cutoff_count, b->cutoff_count);
    assert_memory_equal(a->cutoffs, b->cutoffs, sizeof(a->cutoffs));
    assert_int_equal(a->cutoff_divisor, b->cutoff_divisor);
    assert_int_equal(a->padding, b->padding);
    assert_int_equal(a->memory, b->memory);
    assert_int_equal(a->start, b->start);
    assert_int_equal(a->padding_word, b->padding_word);
    assert_int_equal(a->mask_token, b->mask_token);
    assert_int_equal(a->picture.patch, b->picture.patch);
    assert_int_equal(a->picture.side, b->picture.side);
    assert_int_equal(a->picture.resampling, b->picture.resampling);
    assert_true(a->picture.scale == b->picture.scale);
    assert_memory_equal(a->picture.mean, b->picture.mean, sizeof(a->picture.mean));
    assert_memory_equal(a->picture.deviation, b->picture.deviation, sizeof(a->picture.deviation));
    assert_memory_equal(&a->sound, &b->sound, sizeof(a->sound));
}

static void test_defaults_resolve(void **state)
{
    (void)state;
    mgk_config config;
    mgk_config_defaults(MGK_FAMILY_ENCODER, &config);
    assert_ok(mgk_config_resolve(&config));
    assert_int_equal(config.head_dim, 32);
    assert_close(config.variance[0], sqrt(32), 0, 1e-15);
    assert_close(config.variance[1], sqrt(32), 0, 1e-15);
    assert_true(config.variance[2] == 0);
    mgk_config_defaults(MGK_FAMILY_LM, &config);
    config.variance[1] = 4.0 / 3;
    assert_ok(mgk_config_resolve(&config));
    assert_true(config.causal && !config.pre_norm && !config.attention_bias);
    assert_close(config.variance[0], 4, 0, 0);
    assert_close(config.variance[1], 4.0 / 3, 0, 0);
}

/* A configuration in which every field differs from both families' defaults, where possible. */
static mgk_config unusual_config(void)
{
    return (mgk_config){
        .family = MGK_FAMILY_ENCODER,
        .attention = "smlk",
        .task = "retrieval",
        .layers = 3,
        .heads = 6,
        .key_heads = 2,
        .dim = 66,
        .head_dim = 7,
        .hidden = 131,
        .length = 4097,
        .vocabulary = 1 << 20,
        .classes = 11,
        .mixtures = 3,
        .prior = MGK_PRIOR_EM,
        .prior_shape = MGK_PRIOR_POSITION,
        .variance = {1.0 / 3, 0.1, 6.02214076e23},
        .normalizer_epsilon = 1e-6,
        .norm_epsilon = 0x1.fffffffffffffp-40,
        .dropout = 0.30000000000000004,
        .causal = true,
        .attention_bias = false,
        .dual = true,
        .pre_norm = false,
        .activation = MGK_ACTIVATION_RELU,
        .positions = MGK_POSITIONS_SINUSOIDAL,
        .row_normalized = false,
        .mix_keys = true,
        .norm = MGK_NORMALIZATION_RMS,
        .gated = true,
        .feed_forward_bias = false,
        .experts = 4096,
        .experts_used = 77,
        .experts_normalized = true,
        .experts_shared = 9,
        .pooling = MGK_POOLING_LENGTH,
        .embedding_scale = 0.1,
        .embedding_norm = true,
        .positions_backward = true,
        .rotary_base = 5e5,
        .rotary_scaling = MGK_ROTARY_LLAMA3,
        .rotary_factor = 8.5,
        .rotary_low = 1.25,
        .rotary_high = 4.5,
        .rotary_original = 4096,
        .attention_output_bias = MGK_OUTPUT_BIAS_OWN,
        .aggregate = MGK_AGGREGATION_CAPSULES,
        .query_norm = MGK_QUERY_NORM_WIDTH,
        .attention_scale = 0.7,
        .attention_cap = 50.5,
        .window = 7,
        .local = {5},
        .branch_norm = true,
        .first_norm = true,
        .final_norm = true,
        .layer_groups = 2,
        .embedding = 30,
        .norm_parameters = MGK_NORM_WEIGHT,
        .alibi_scale = 0.25,
        .alibi_rounded = true,
        .bucket_limit = 20,
        .rotary_dim = 6,
        .local_base = 300,
        .rotary_whole = true,
        .rotary_amplitude = 1.1,
        .logit_scale = 1,
        .tied = false,
        .output_bias = false,
        .cutoffs = {7, 11},
        .cutoff_count = 2,
        .padding = 3,
        .start = -1,
        .padding_word = true,
        .sound = {.rate = 1, .hop = 1, .window = 2},
    };
}

/* Settings that unusual_config cannot have, for they exclude others. */
static mgk_config rotary_config(void)
{
    mgk_config config;
    mgk_config_defaults(MGK_FAMILY_LM, &config);
    config.positions = MGK_POSITIONS_ROTARY;
    config.pre_norm = true;
    config.parallel = MGK_PARALLEL_OWN;
    config.rotary_table = true;
    mgk_config_set_unrotated(&config, 3);
    mgk_config_set_unrotated(&config, 15);
    config.rotary_dim = 4;
    config.rotary_whole = false;
    config.rotary_scaling = MGK_ROTARY_LONG;
    for (int i = 0; i < 2; i++) {
        config.rotary_short[i] = 1.0 / (i + 3);
        config.rotary_long[i] = i + 0.1;
    }
    config.logit_scale = 0.1;
    config.logit_cap = 30;
    return config;
}

/* And a norm less at both ends, and positions that skip padding. */
static mgk_config clip_config(void)
{
    mgk_config config;
    mgk_config_defaults(MGK_FAMILY_ENCODER, &config);
    config.first_norm = config.final_norm = false;
    config.positions_skip_padding = true;
    config.padding = 3;
    config.mask_token = 5;
    config.relative = 8;
    config.relative_far = 6;
    return config;
}

/* An encoder of pictures, which unusual_config cannot be. */
static mgk_config picture_config(void)
{
    mgk_config config;
    mgk_config_defaults(MGK_FAMILY_ENCODER, &config);
    config.picture = (mgk_picture_form){.patch = 7,
                                        .extra = 3,
                                        .edge = 25,
                                        .shortest = true,
                                        .side = 21,
                                        .resampling = MGK_RESAMPLING_BICUBIC,
                                        .scale = 1 / 255.0,
                                        .mean = {0.1, -0.2, 0},
                                        .deviation = {0.3, -1, 1e-3}};
    config.length = config.vocabulary = 12;
    return config;
}

/* An encoder of sounds. */
static mgk_config sound_config(void)
{
    mgk_config config;
    mgk_config_defaults(MGK_FAMILY_ENCODER, &config);
    config.sound = (mgk_sound_form){.bands = 7, .rate = 8000, .hop = 50, .window = 30};
    config.length = config.vocabulary = 10;
    return config;
}

/* A language model with embeddings of three widths. */
static mgk_config divided_config(void)
{
    mgk_config config;
    mgk_config_defaults(MGK_FAMILY_LM, &config);
    config.cutoffs[0] = 10;
    config.cutoffs[1] = 60;
    config.cutoff_count = 2;
    config.cutoff_divisor = 3;
    return config;
}

/* A decoder that attends to an encoder. */
static mgk_config decoder_config(void)
{
    mgk_config config;
    mgk_config_defaults(MGK_FAMILY_LM, &config);
    strcpy(config.attention, "softmax");
    config.mixtures = 1;
    config.memory = 40;
    config.start = 7;
    config.buckets = 6; /* of one side */
    return config;
}

static void round_trip(mgk_config config)
{
    mgk_config read;
    char *text, *again;
    assert_ok(mgk_config_resolve(&config));
    assert_ok(mgk_config_to_json(&config, &text));
    assert_null(strchr(text, '\n'));
    assert_ok(parse(text, &read));
    assert_same(&read, &config);
    assert_ok(mgk_config_to_json(&read, &again));
    assert_string_equal(again, text);
    mgk_free(text);
    mgk_free(again);
}

static void test_json_round_trip(void **state)
{
    (void)state;
    round_trip(unusual_config());
    round_trip(picture_config());
    round_trip(sound_config());
    round_trip(clip_config());
    round_trip(rotary_config());
    round_trip(divided_config());
    round_trip(decoder_config());
}

/* What no layer with a second attention has. */
static void test_memory_refused(void **state)
{
    (void)state;
    for (int i = 0; i < 9; i++) {
        mgk_config config = decoder_config();
        config.memory = i == 1 ? 0 : config.memory;
        config.start = i == 2 ? config.vocabulary : config.start;
        config.branch_norm = i == 3;
        config.pre_norm = i == 4;
        config.parallel = i == 4 ? MGK_PARALLEL_OWN : MGK_PARALLEL_NO;
        config.query_norm = i == 5 ? MGK_QUERY_NORM_HEAD : MGK_QUERY_NORM_NONE;
        config.key_heads = i == 6 ? 2 : 0;
        config.attention_cap = i == 7 ? 3 : 0;
        config.aggregate = i == 8 ? MGK_AGGREGATION_CAPSULES : MGK_AGGREGATION_CONCATENATION;
        if ((mgk_config_resolve(&config) == STATUS_OK) != (i == 0))
            fail_msg("accepted: %d", i);
        if (i > 0)
            assert_non_null(strstr(mgk_fail_message(), i > 2 ? "memory is 40" : "start is"));
    }
}

/* The configuration must fit its pictures. */
static void test_pictures(void **state)
{
    (void)state;
    mgk_config config = picture_config();
    assert_ok(mgk_config_resolve(&config));
    enum { WRONG = 10 };
    for (int i = 0; i < WRONG; i++) {
        config = picture_config();
        config.length += i == 0;
        config.vocabulary -= i == 1;
        config.picture.side += i == 2;
        config.picture.side = i == 3 ? 0 : config.picture.side;
        config.picture.deviation[2] = i == 4 ? 0 : config.picture.deviation[2];
        config.picture.mean[1] = i == 5 ? (double)NAN : config.picture.mean[1];
        config.dual = i == 6;
        config.embedding_scale = i == 7 ? 2 : 0;
        config.positions = i == 8 ? MGK_POSITIONS_SINUSOIDAL : config.positions;
        config.picture.deviation[0] = i == 9 ? (double)INFINITY : config.picture.deviation[0];
        if (mgk_config_resolve(&config) != STATUS_USAGE)
            fail_msg("accepted: %d", i);
    }
}

static void test_sounds(void **state)
{
    (void)state;
    enum { WRONG = 9 };
    for (int i = 0; i < WRONG; i++) {
        mgk_config config = sound_config();
        config.length += i == 0;
        config.sound.window += i == 1;
        config.sound.hop = i == 2 ? 1 << 20 : i == 3 ? 1 : config.sound.hop;
        config.sound.window = i == 3 ? 40 : config.sound.window;
        config.dual = i == 4;
        config.embedding_scale = i == 5 ? 2 : 0;
        config.positions = i == 6 ? MGK_POSITIONS_NONE : config.positions;
        config.embedding = i == 7 ? 3 : 0;
        config.picture.patch = i == 8 ? 1 : 0;
        if (mgk_config_resolve(&config) != STATUS_USAGE)
            fail_msg("accepted: %d", i);
    }
}

static void test_json_defaults(void **state)
{
    (void)state;
    mgk_config config, expected;
    for (int family = MGK_FAMILY_ENCODER; family <= MGK_FAMILY_LM; family++) {
        mgk_config_defaults((mgk_family)family, &expected);
        assert_ok(mgk_config_resolve(&expected));
        assert_ok(parse(family == MGK_FAMILY_LM ? " {\"family\": \"lm\", \"later\": [{}]}\n"
                                                : "{\"family\":\"encoder\"}",
                        &config));
        assert_same(&config, &expected);
    }
}

static void test_json_refused(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"", "JSON"},
        {"null", "JSON"},
        {"[1]", "JSON"},
        {"{\"family\":\"lm\"", "JSON"},
        {"{\"family\":\"lm\"} x", "JSON"},
        {"{\"family\":\"lm\",\"family\":\"lm\"}", "twice"},
        {"{}", "family"},
        {"{\"family\":1}", "family"},
        {"{\"family\":\"gan\"}", "family"},
        {"{\"family\":\"lm\",\"layers\":\"2\"}", "layers"},
        {"{\"family\":\"lm\",\"layers\":0}", "layers"},
        {"{\"family\":\"lm\",\"layers\":2.5}", "layers"},
        {"{\"family\":\"lm\",\"layers\":-1}", "layers"},
        {"{\"family\":\"lm\",\"layers\":null}", "layers"},
        {"{\"family\":\"lm\",\"length\":1e300}", "length"},
        {"{\"family\":\"lm\",\"vocabulary\":2147483648}", "vocabulary"},
        {"{\"family\":\"lm\",\"vocabulary\":1048577}", "vocabulary"},
        {"{\"family\":\"lm\",\"heads\":4096,\"head_dim\":4096}", "heads * head_dim"},
        {"{\"family\":\"lm\",\"dim\":127}", "dim"},
        {"{\"family\":\"lm\",\"mixtures\":17}", "mixtures"},
        {"{\"family\":\"lm\",\"classes\":2}", "classes"},
        {"{\"family\":\"encoder\",\"classes\":-1}", "classes"},
        {"{\"family\":\"lm\",\"key_heads\":3}", "key_heads"},
        {"{\"family\":\"lm\",\"key_heads\":16}", "key_heads"},
        {"{\"family\":\"lm\",\"positions\":\"rotary\",\"head_dim\":5}", "head_dim"},
        {"{\"family\":\"lm\",\"rotary_base\":0.5}", "rotary_base"},
        {"{\"family\":\"lm\",\"positions\":\"rotary\",\"rotary_dim\":18}", "rotary_dim"},
        {"{\"family\":\"lm\",\"positions\":\"rotary\",\"rotary_dim\":3}", "rotary_dim"},
        {"{\"family\":\"lm\",\"positions\":\"rotary\",\"local_base\":0.5}", "local_base"},
        {"{\"family\":\"lm\",\"positions\":\"rotary\",\"rotary_scaling\":\"long\"}",
         "rotary_short[0]"},
        {"{\"family\":\"lm\",\"rotary_scaling\":\"long\",\"rotary_long\":[1]}", "rotary_long"},
        {"{\"family\":\"lm\",\"positions\":\"rotary\",\"rotary_scaling\":\"long\","
         "\"head_dim\":2,\"rotary_short\":[1],\"rotary_long\":[-1]}",
         "rotary_long[0]"},
        {"{\"family\":\"lm\",\"embedding_outer\":true}", "embedding_outer"},
        {"{\"family\":\"lm\",\"embedding\":64,\"embedding_outer\":true}", "embedding_outer"},
        {"{\"family\":\"lm\",\"local\":1}", "local"},
        {"{\"family\":\"lm\",\"local\":[-1]}", "local"},
        {"{\"family\":\"lm\",\"local\":[4096]}", "local"},
        {"{\"family\":\"lm\",\"local\":[16]}", "local"},
        {"{\"family\":\"lm\",\"positions\":\"rotary\",\"unrotated\":1}", "unrotated"},
        {"{\"family\":\"lm\",\"positions\":\"rotary\",\"unrotated\":[-1]}", "unrotated"},
        {"{\"family\":\"lm\",\"positions\":\"rotary\",\"unrotated\":[16]}",
         "unrotated names layer 16"},
        {"{\"family\":\"lm\",\"unrotated\":[3]}", "unrotated"},
        {"{\"family\":\"lm\",\"window\":-1}", "window"},
        {"{\"family\":\"lm\",\"attention_cap\":-1}", "attention_cap"},
        {"{\"family\":\"lm\",\"aggregate\":\"sum\"}", "aggregate"},
        {"{\"family\":\"lm\",\"aggregate\":1}", "aggregate"},
        {"{\"family\":\"lm\",\"experts\":4097}", "experts is 4097"},
        {"{\"family\":\"lm\",\"experts_used\":1}", "experts is 0"},
        {"{\"family\":\"lm\",\"experts_normalized\":true}", "experts is 0"},
        {"{\"family\":\"lm\",\"experts_shared\":4}", "experts is 0"},
        {"{\"family\":\"lm\",\"experts\":4}", "experts_used is 0"},
        {"{\"family\":\"lm\",\"experts\":4,\"experts_used\":5}", "experts_used is 5"},
        {"{\"family\":\"lm\",\"experts\":4,\"experts_used\":4,\"gated\":true}",
         "feed_forward_bias"},
        {"{\"family\":\"lm\",\"experts\":4,\"experts_used\":4,\"feed_forward_bias\":false}",
         "with gates"},
        {"{\"family\":\"lm\",\"parallel\":\"own\"}", "parallel"},
        {"{\"family\":\"lm\",\"norm\":\"rms\",\"norm_parameters\":\"none\"}", "norm_parameters"},
        {"{\"family\":\"lm\",\"logit_cap\":2,\"cutoffs\":[5]}", "logit_cap"},
        {"{\"family\":\"lm\",\"padding\":256}", "padding"},
        {"{\"family\":\"encoder\",\"mask_token\":3}", "mask_token"},
        {"{\"family\":\"encoder\",\"mask_token\":-1}", "mask_token"},
        {"{\"family\":\"encoder\",\"attention\":\"softmax\",\"mixtures\":1,"
         "\"positions\":\"rotary\",\"mask_token\":256}",
         "mask_token"},
        {"{\"family\":\"encoder\",\"attention\":\"softmax\",\"mixtures\":1,"
         "\"positions\":\"rotary\",\"rotary_table\":true,\"mask_token\":3}",
         "mask_token"},
        {"{\"family\":\"lm\",\"cutoffs\":7}", "cutoffs"},
        {"{\"family\":\"lm\",\"cutoff_divisor\":2}", "with cutoffs"},
        {"{\"family\":\"lm\",\"cutoff_divisor\":1,\"cutoffs\":[7]}", "2 and more"},
        {"{\"family\":\"lm\",\"cutoff_divisor\":2,\"cutoffs\":[7],\"tied\":false}", "tied"},
        {"{\"family\":\"lm\",\"cutoff_divisor\":2,\"cutoffs\":[7,256]}", "end of the vocabulary"},
        {"{\"family\":\"lm\",\"cutoff_divisor\":1000,\"cutoffs\":[7]}", "leaves nothing"},
        {"{\"family\":\"lm\",\"cutoffs\":[0]}", "cutoffs[0]"},
        {"{\"family\":\"lm\",\"cutoffs\":[5,5]}", "cutoffs[1]"},
        {"{\"family\":\"lm\",\"cutoffs\":[5,257]}", "cutoffs[1]"},
        {"{\"family\":\"lm\",\"cutoffs\":[1.5]}", "cutoffs[0]"},
        {"{\"family\":\"lm\",\"cutoffs\":[1,2,3,4,5,6,7,8,9]}", "cutoffs"},
        {"{\"family\":\"lm\",\"causal\":false}", "causal"},
        {"{\"family\":\"lm\",\"causal\":1}", "causal"},
        {"{\"family\":\"lm\",\"dual\":true}", "dual"},
        {"{\"family\":\"lm\",\"dropout\":1}", "dropout"},
        {"{\"family\":\"lm\",\"dropout\":-0.1}", "dropout"},
        {"{\"family\":\"lm\",\"dropout\":\"no\"}", "dropout"},
        {"{\"family\":\"lm\",\"norm_epsilon\":0}", "norm_epsilon"},
        {"{\"family\":\"lm\",\"norm_epsilon\":1e999}", "norm_epsilon"},
        {"{\"family\":\"lm\",\"normalizer_epsilon\":-1e-9}", "normalizer_epsilon"},
        {"{\"family\":\"lm\",\"attention\":\"\"}", "attention"},
        {"{\"family\":\"lm\",\"attention\":\"a name too long\"}", "attention"},
        {"{\"family\":\"lm\",\"attention\":\"abcdefghijklmnopqrstuvwxy\"}", "attention"},
        {"{\"family\":\"lm\",\"attention\":\"mgk,,mgk\",\"layers\":3}", "attention"},
        {"{\"family\":\"lm\",\"attention\":\"mgk,\"}", "attention"},
        {"{\"family\":\"lm\",\"attention\":\"mgk,softmax\"}", "2 kinds"},
        {"{\"family\":\"lm\",\"attention\":\"mgk,mgk\",\"layers\":1}", "2 kinds"},
        {"{\"family\":\"lm\",\"attention_window\":-1}", "attention_window"},
        {"{\"family\":\"lm\",\"attention_window\":1048577}", "attention_window"},
        {"{\"family\":\"lm\",\"attention_window\":1.5}", "attention_window"},
        {"{\"family\":\"lm\",\"attention_hashes\":65}", "attention_hashes"},
        {"{\"family\":\"lm\",\"feature_map\":\"sinc\"}", "feature_map"},
        {"{\"family\":\"lm\",\"feature_draw\":1}", "feature_draw"},
        {"{\"family\":\"lm\",\"attention\":\"softmax\",\"mixtures\":1,\"attention_window\":3}",
         "has no `window`"},
        {"{\"family\":\"lm\",\"pattern_seed\":-1}", "pattern_seed"},
        {"{\"family\":\"lm\",\"task\":\"a/b\"}", "task"},
        {"{\"family\":\"lm\",\"task\":[]}", "task"},
        {"{\"family\":\"lm\",\"prior\":\"soft\"}", "prior"},
        {"{\"family\":\"lm\",\"prior_shape\":0}", "prior_shape"},
        {"{\"family\":\"lm\",\"activation\":\"tanh\"}", "activation"},
        {"{\"family\":\"lm\",\"positions\":true}", "positions"},
        {"{\"family\":\"encoder\",\"buckets\":3}", "buckets"},
        {"{\"family\":\"encoder\",\"buckets\":6}", "buckets"},
        {"{\"family\":\"encoder\",\"buckets\":32,\"bucket_limit\":8}", "bucket_limit"},
        {"{\"family\":\"lm\",\"buckets\":7}", "buckets"},
        {"{\"family\":\"lm\",\"buckets\":32,\"bucket_limit\":16}", "bucket_limit"},
        {"{\"family\":\"lm\",\"buckets\":32,\"positions\":\"alibi\"}", "buckets"},
        {"{\"family\":\"encoder\",\"memory\":32}", "memory"},
        {"{\"family\":\"lm\",\"memory\":-1}", "memory"},
        {"{\"family\":\"lm\",\"memory\":64,\"start\":-2}", "start"},
        {"{\"family\":\"lm\",\"memory\":64,\"start\":256}", "start"},
        {"{\"family\":\"lm\",\"start\":0}", "start"},
        {"{\"family\":\"encoder\",\"patch\":-1}", "patch"},
        {"{\"family\":\"encoder\",\"patch\":2,\"image\":5}", "image"},
        {"{\"family\":\"encoder\",\"resampling\":\"sinc\"}", "resampling"},
        {"{\"family\":\"encoder\",\"image_mean\":[1,2]}", "image_mean"},
        {"{\"family\":\"encoder\",\"image_std\":[1,2,\"3\"]}", "image_std[2]"},
        {"{\"family\":\"lm\",\"patch\":1,\"image\":1,\"length\":2,\"vocabulary\":2}", "patch"},
        {"{\"family\":\"lm\",\"variance\":4}", "variance"},
        {"{\"family\":\"lm\",\"variance\":[4]}", "variance"},
        {"{\"family\":\"lm\",\"variance\":[4,4,4]}", "variance"},
        {"{\"family\":\"lm\",\"variance\":[4,\"4\"]}", "variance[1]"},
        {"{\"family\":\"lm\",\"variance\":[4,-4]}", "variance[1]"},
        {"{\"family\":\"lm\",\"variance\":[1e-300,4]}", "variance[0]"},
        {"{\"family\":\"lm\",\"variance\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]}",
         "variance"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        mgk_config config;
        if (parse(cases[i][0], &config) != STATUS_FORMAT)
            fail_msg("accepted: %s", cases[i][0]);
        if (!strstr(mgk_fail_message(), cases[i][1]))
            fail_msg("%s: \"%s\" does not name %s", cases[i][0], mgk_fail_message(), cases[i][1]);
    }
}

static void test_resolve_refuses(void **state)
{
    (void)state;
    mgk_config config = unusual_config();
    config.variance[1] = (double)NAN;
    assert_fails(mgk_config_resolve(&config), STATUS_USAGE);
    config = unusual_config();
    config.dropout = (double)NAN;
    assert_fails(mgk_config_resolve(&config), STATUS_USAGE);
    config = unusual_config();
    config.prior = (mgk_prior_mode)3;
    assert_fails(mgk_config_resolve(&config), STATUS_USAGE);
    assert_non_null(strstr(mgk_fail_message(), "prior"));
    config = unusual_config();
    memset(config.task, 'x', sizeof(config.task));
    assert_fails(mgk_config_resolve(&config), STATUS_USAGE);
}

static void refuse_kinds(const char *kinds, int layers)
{
    mgk_config config;
    mgk_config_defaults(MGK_FAMILY_ENCODER, &config);
    config.layers = layers;
    strcpy(config.attention, kinds);
    if (mgk_config_resolve(&config) != STATUS_USAGE)
        fail_msg("accepted: \"%s\" of %d layers", kinds, layers);
    assert_non_null(strstr(mgk_fail_message(), "attention"));
}

static void test_kinds_of_layers(void **state)
{
    (void)state;
    static const char *const expected[] = {"softmax", "synthesizer-random-xxxxx", "softmax"};
    mgk_config config;
    char name[MGK_KIND_NAME];
    mgk_config_defaults(MGK_FAMILY_ENCODER, &config);
    config.layers = 3;
    strcpy(config.attention, "softmax,synthesizer-random-xxxxx,softmax");
    round_trip(config);
    for (int layer = 0; layer < 3; layer++) {
        mgk_config_kind_name(&config, layer, name);
        assert_string_equal(name, expected[layer]);
    }
    assert_ptr_equal(mgk_config_kind(&config, 2), mgk_attention_find("softmax"));
    assert_null(mgk_config_kind(&config, 1));

    strcpy(config.attention, "mgk,mgk,mgk"); /* as files with one kind */
    assert_ok(mgk_config_resolve(&config));
    assert_string_equal(config.attention, "mgk");
    for (int layer = 0; layer < 3; layer++)
        assert_ptr_equal(mgk_config_kind(&config, layer), mgk_attention_find("mgk"));
    strcpy(config.attention, "mgk,mgk,mg"); /* one begins with the other */
    assert_ok(mgk_config_resolve(&config));
    assert_string_equal(config.attention, "mgk,mgk,mg");

    refuse_kinds("mgk,softmax", 3);
    refuse_kinds("mgk,mgk,mgk,mgk", 3);
    refuse_kinds(",mgk", 2);
    refuse_kinds("mgk, mgk", 2);
    refuse_kinds("mgk,Softmax", 2);
}

/* A list as long as it may be, and one that has no end. */
static void test_long_lists_of_kinds(void **state)
{
    (void)state;
    mgk_config config;
    mgk_config_defaults(MGK_FAMILY_ENCODER, &config);
    config.layers = MGK_KINDS_SIZE / 2;
    for (int i = 0; i < MGK_KINDS_SIZE - 1; i++)
        config.attention[i] = i % 2 == 1 ? ',' : i == 2 ? 'b' : 'a';
    config.attention[MGK_KINDS_SIZE - 1] = '\0';
    round_trip(config);
    memset(config.attention, 'a', sizeof(config.attention));
    assert_fails(mgk_config_resolve(&config), STATUS_USAGE);
}

/* Of a kind that is not known, so that it may have all settings. */
static void test_settings_round_trip(void **state)
{
    (void)state;
    mgk_config config = unusual_config(), read;
    char *text;
    int value = 1;
    strcpy(config.attention, "psychic");
    config.pattern_seed = 77;
    for (const mgk_attention_setting *row = mgk_attention_setting_rows; row->name; row++)
        mgk_attention_setting_put(&config.settings, row, row->words ? 1 : ++value);
    round_trip(config);
    assert_ok(mgk_config_resolve(&config));
    assert_ok(mgk_config_to_json(&config, &text));
    assert_non_null(strstr(text, "\"attention\":\"psychic\",\"attention_window\":2,"));
    assert_non_null(strstr(text, ",\"feature_map\":\"positive\",\"feature_draw\":\"orthogonal\","));
    assert_non_null(strstr(text, ",\"pattern_seed\":77,"));
    assert_int_equal(config.window, 7); /* that of local layers */
    assert_ok(parse(text, &read));
    assert_int_equal(read.settings.kernel, value);
    mgk_free(text);

    /* Files of kinds without settings, and of concatenated heads, keep their bytes. */
    mgk_config_defaults(MGK_FAMILY_LM, &config);
    assert_ok(mgk_config_resolve(&config));
    assert_ok(mgk_config_to_json(&config, &text));
    assert_null(strstr(text, "attention_window"));
    assert_null(strstr(text, "feature_"));
    assert_null(strstr(text, "seed"));
    assert_null(strstr(text, "aggregate"));
    assert_null(strstr(text, "experts"));
    mgk_free(text);
}

static mgk_config config_of(const mgk_attention_kind *kind)
{
    mgk_config config;
    mgk_config_defaults(kind->not_causal ? MGK_FAMILY_ENCODER : MGK_FAMILY_LM, &config);
    strcpy(config.attention, kind->name);
    config.mixtures = 1;
    return config;
}

/* Each query has an edge to itself and to up to `random` other keys; none is a number that is kept.
 */
static void test_drawn_edges(void **state)
{
    (void)state;
    mgk_config config = config_of(mgk_attention_find("sac"));
    mgk_parameters parameters = {0};
    double *weights, *other;
    config.layers = 1;
    config.length = 40;
    config.settings.random = 7;
    assert_ok(mgk_config_resolve(&config));
    assert_ok(mgk_parameters_build(&config, &parameters));
    assert_ok(mgk_alloc(parameters.total, sizeof *weights, &weights));
    assert_ok(mgk_alloc(parameters.total, sizeof *other, &other));
    mgk_parameters_draw(&parameters, 3, 0, weights);
    mgk_parameters_draw(&parameters, 3, 1, other);
    const mgk_offset first = parameters.layers[0].own[0];
    int changed = 0;
    for (size_t i = 0; i < 40; i++) {
        int edges = 0;
        for (size_t j = 0; j < 40; j++) {
            const size_t at = first + i * 40 + j;
            assert_true(weights[at] == 0 || weights[at] == MGK_NO_EDGE);
            edges += weights[at] == 0;
            changed += weights[at] != other[at];
        }
        assert_true(weights[first + i * 40 + i] == 0);
        assert_in_range(edges, 2, 8);
    }
    assert_true(changed > 0);
    mgk_free(weights);
    mgk_free(other);
    mgk_parameters_free(&parameters);
}

static void test_blank_kinds(void **state)
{
    (void)state;
    assert_true(mgk_kinds_may_be_blank("softmax,routing"));
    assert_false(mgk_kinds_may_be_blank("softmax,psychic"));
    assert_false(mgk_kinds_may_be_blank(""));
}

/* Every kind takes its own settings, with their defaults, and no other ones. */
static void test_settings_of_kinds(void **state)
{
    (void)state;
    const mgk_attention_kind *kind;
    for (size_t i = 0; (kind = mgk_attention_row(i)); i++)
        for (const mgk_attention_setting *row = mgk_attention_setting_rows; row->name; row++) {
            const int usual = mgk_attention_setting_get(&kind->defaults, row);
            mgk_config config = config_of(kind);
            char text[80];
            assert_ok(mgk_config_resolve(&config));
            assert_int_equal(mgk_attention_setting_get(&config.settings, row), usual);
            config = config_of(kind);
            mgk_attention_setting_put(&config.settings, row, row->most);
            if (usual != 0) {
                assert_ok(mgk_config_resolve(&config));
                assert_int_equal(mgk_attention_setting_get(&config.settings, row), row->most);
            } else {
                assert_fails(mgk_config_resolve(&config), STATUS_USAGE);
                snprintf(text, sizeof(text), "attention \"%s\" has no `%s`; it has ", kind->name,
                         row->name);
                assert_non_null(strstr(mgk_fail_message(), text));
            }
            mgk_attention_setting_put(&config.settings, row, row->most + 1);
            assert_fails(mgk_config_resolve(&config), STATUS_USAGE);
            assert_non_null(strstr(mgk_fail_message(), "expected 0 to "));
            mgk_attention_setting_put(&config.settings, row, -1);
            assert_fails(mgk_config_resolve(&config), STATUS_USAGE);
        }
}

/* A normalizer_epsilon changes the sums of rows only where the kind adds it. */
static void test_normalized_kinds(void **state)
{
    (void)state;
    mgk_config config = config_of(mgk_attention_find("softmax"));
    assert_true(mgk_config_is_normalized(&config, 0));
    config.normalizer_epsilon = 0.1;
    assert_false(mgk_config_is_normalized(&config, 0));
    strcpy(config.attention, "reformer");
    assert_true(mgk_config_is_normalized(&config, 0));
    strcpy(config.attention, "nystrom");
    assert_false(mgk_config_is_normalized(&config, 0));
}

/* Kinds that need a mask, and kinds that have none, are refused in the other models. */
static void test_masks_of_kinds(void **state)
{
    (void)state;
    const mgk_attention_kind *kind;
    for (size_t i = 0; (kind = mgk_attention_row(i)); i++)
        for (int causal = 0; causal < 2; causal++) {
            mgk_config config;
            mgk_config_defaults(causal ? MGK_FAMILY_LM : MGK_FAMILY_ENCODER, &config);
            strcpy(config.attention, kind->name);
            config.mixtures = 1;
            const bool refused = causal ? kind->not_causal : kind->causal_only;
            if (mgk_config_resolve(&config) != (refused ? STATUS_USAGE : STATUS_OK))
                fail_msg("%s, causal %d: %s", kind->name, causal, mgk_fail_message());
            if (refused)
                assert_non_null(strstr(mgk_fail_message(), "causal form"));
        }
}

/* Text without terminator, nested without end, or cut anywhere. */
static void test_json_raw_bytes(void **state)
{
    (void)state;
    mgk_config config = unusual_config();
    char *text, nested[4000];
    assert_ok(mgk_config_resolve(&config));
    assert_ok(mgk_config_to_json(&config, &text));
    size_t length = strlen(text);
    for (size_t cut = 0; cut < length; cut++) {
        char *part;
        assert_ok(mgk_alloc(cut, 1, &part));
        if (cut > 0)
            memcpy(part, text, cut);
        assert_fails(mgk_config_from_json(cut > 0 ? part : "", cut, &config), STATUS_FORMAT);
        mgk_free(part);
    }
    memset(nested, '[', sizeof(nested));
    memcpy(nested, "{\"a\":", 5);
    assert_fails(mgk_config_from_json(nested, sizeof(nested), &config), STATUS_FORMAT);
    assert_fails(mgk_config_from_json("{\"family\":\"lm\"}\0", 16, &config), STATUS_FORMAT);
    mgk_free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults_resolve),
        cmocka_unit_test(test_json_round_trip),
        cmocka_unit_test(test_pictures),
        cmocka_unit_test(test_sounds),
        cmocka_unit_test(test_json_defaults),
        cmocka_unit_test(test_json_refused),
        cmocka_unit_test(test_memory_refused),
        cmocka_unit_test(test_resolve_refuses),
        cmocka_unit_test(test_json_raw_bytes),
        cmocka_unit_test(test_kinds_of_layers),
        cmocka_unit_test(test_long_lists_of_kinds),
        cmocka_unit_test(test_settings_round_trip),
        cmocka_unit_test(test_settings_of_kinds),
        cmocka_unit_test(test_drawn_edges),
        cmocka_unit_test(test_blank_kinds),
        cmocka_unit_test(test_normalized_kinds),
        cmocka_unit_test(test_masks_of_kinds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
