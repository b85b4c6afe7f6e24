/* SPDX-License-Identifier: MIT */
/* Costs against numbers computed by hand. */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "model/core/cost.h"
#include "model/core/parameters.h"

/* H = 2, D = 3, C = 4, F = 5, V = 7, N = 6 positions, one layer. */
static mgk_config small(mgk_family family, const char *attention, int mixtures)
{
    mgk_config config;
    mgk_config_defaults(family, &config);
    strcpy(config.attention, attention);
    config.layers = 1;
    config.heads = 2;
    config.head_dim = 3;
    config.dim = 4;
    config.hidden = 5;
    config.vocabulary = 7;
    config.length = 6;
    config.mixtures = mixtures;
    assert_ok(mgk_config_resolve(&config));
    return config;
}

static void assert_parts(const double found[MGK_COST_PARTS], const double expected[MGK_COST_PARTS])
{
    for (int part = 0; part < MGK_COST_PARTS; part++)
        if (!(fabs(found[part] - expected[part]) <= 0))
            fail_msg("%s: %.17g, expected %.17g", mgk_cost_part_name(part), found[part],
                     expected[part]);
}

/* Softmax language model at N = 5: post-norm, ReLU, no biases in projections, 15 causal pairs. */
static void language_model(void **state)
{
    (void)state;
    mgk_config config = small(MGK_FAMILY_LM, "softmax", 1);
    mgk_cost cost;
    const double flops[] = {
        5 * 2 * 4,                               /* scale and position of each number */
        5 * (3 * (2 * 4 * 6) + 2 * 6 * 4),       /* q, k, v: 4 -> 6; output: 6 -> 4 */
        2 * (15 * (4 * 3 + 5) + 5 * 3),          /* a head: pairs, and the division of the output */
        5 * (2 * 4 * 5 + 5 + 5 + 2 * 5 * 4 + 4), /* map and bias, ReLU, map and bias */
        5 * (2 * 7 * 4 + 2 * 4),                 /* two norms, two residual sums */
        5 * (2 * 4 * 7 + 7),                     /* tied output and its bias */
    };
    const double parameters[] = {7 * 4, 4 * (4 * 6), 0, 4 * 5 + 5 + 5 * 4 + 4, 4 * 4, 7};
    assert_ok(mgk_cost_of(&config, 5, &cost));
    assert_parts(cost.flops, flops);
    assert_parts(cost.parameters, parameters);
    assert_close(cost.layer_flops, flops[1] + flops[2], 0, 0);
    assert_close(cost.layer_parameters, 96, 0, 0);
}

/* Retrieval, sMGK with two keys, N = 6: pre-norm, GELU, biases, both documents of the pair. */
static void retrieval(void **state)
{
    (void)state;
    mgk_config config = small(MGK_FAMILY_ENCODER, "smgk", 2);
    config.dual = true;
    mgk_cost cost;
    const double flops[] = {
        12 * 4,
        12 * (3 * (2 * 4 * 6 + 6) + 2 * 6 * 4 + 4),
        /* a head of a document: 36 pairs, 6 tokens; then the shifts of both keys */
        2 * (2 * (36 * (2 * (2 * 3 + 6) + 2 * 3) + 6 * (2 * (2 * 3 + 2) + 3)) + 2 * 6 * 6),
        12 * (2 * 4 * 5 + 5 + 5 * 5 + 2 * 5 * 4 + 4),
        12 * (3 * 7 * 4 + 2 * 4),
        /* pooling, two products of features, 16 -> 4 with ReLU, 4 -> 2 */
        2 * 6 * 4 + 2 * 4 + (2 * 16 * 4 + 4 + 4) + (2 * 4 * 2 + 2),
    };
    const double parameters[] = {7 * 4 + 6 * 4, 3 * (4 * 6 + 6) + 6 * 4 + 4,
                                 2 * 6 + 2,     4 * 5 + 5 + 5 * 4 + 4,
                                 3 * 2 * 4,     16 * 4 + 4 + 4 * 2 + 2};
    assert_ok(mgk_cost_of(&config, 6, &cost));
    assert_parts(cost.flops, flops);
    assert_parts(cost.parameters, parameters);
}

/* The same model with capsules: 2 heads of 3 vote for 2 capsules of 3, in 3 steps. */
static void capsules(void **state)
{
    (void)state;
    mgk_config config = small(MGK_FAMILY_LM, "softmax", 1);
    mgk_cost plain, cost;
    const double step = 4 * 3 + 2 * 2 * 6 + 2 * (3 * 3 + 3); /* couplings, sums, squash */
    assert_ok(mgk_cost_of(&config, 5, &plain));
    config.aggregate = MGK_AGGREGATION_CAPSULES;
    assert_ok(mgk_cost_of(&config, 5, &cost));
    plain.flops[MGK_COST_PROJECTIONS] += 5 * (2 * 3 * 12 + 3 * step + 2 * (2 * 2 * 6));
    plain.parameters[MGK_COST_PROJECTIONS] += 2 * (2 * 3) * 3;
    assert_parts(cost.flops, plain.flops);
    assert_parts(cost.parameters, plain.parameters);
}

/* A gated language model with RMS norms, one key head for two query heads, rotary
 * positions: N = 5. */
static void shared_keys(void **state)
{
    (void)state;
    mgk_config config = small(MGK_FAMILY_LM, "softmax", 1);
    config.key_heads = 1;
    config.head_dim = 4;
    config.pre_norm = config.gated = true;
    config.norm = MGK_NORMALIZATION_RMS;
    config.activation = MGK_ACTIVATION_SILU;
    config.positions = MGK_POSITIONS_ROTARY;
    config.rotary_dim = 4;
    config.embedding_scale = 1;
    config.feed_forward_bias = config.output_bias = config.tied = false;
    mgk_cost cost;
    const double flops[] = {
        0,
        5 * (2 * 4 * 8 + 2 * (2 * 4 * 4) + 2 * 8 * 4 + 6 * 8), /* q, k and v, output, rotations */
        2 * (15 * (4 * 4 + 5) + 5 * 4),
        5 * (3 * 2 * 4 * 5 + 5 + 4 * 5),
        5 * (3 * 4 * 4 + 2 * 4),
        5 * 2 * 4 * 7,
    };
    const double parameters[] = {7 * 4, 4 * (8 + 4 + 4 + 8), 0, 3 * 4 * 5, 3 * 4, 7 * 4};
    assert_ok(mgk_cost_of(&config, 5, &cost));
    assert_parts(cost.flops, flops);
    assert_parts(cost.parameters, parameters);
}

/* A mixture of three experts, of which a token uses two, and one of 6 hidden numbers beside. */
static void experts(void **state)
{
    (void)state;
    mgk_config config = small(MGK_FAMILY_LM, "softmax", 1);
    config.gated = true;
    config.feed_forward_bias = false;
    config.activation = MGK_ACTIVATION_SILU;
    config.experts = 3;
    config.experts_used = 2;
    mgk_cost plain, cost;
    const double block = 3 * 2 * 4 * 5 + 5 + 4 * 5, router = 2 * 4 * 3 + 3 * 3;
    assert_ok(mgk_cost_of(&config, 5, &cost));
    plain = cost;
    assert_close(cost.flops[MGK_COST_FEED_FORWARD], 5 * (router + 2 * (block + 2 * 4)), 0, 0);
    assert_close(cost.parameters[MGK_COST_FEED_FORWARD], 3 * 4 + 3 * (3 * 4 * 5), 0, 0);
    config.experts_normalized = true;
    config.experts_shared = 6;
    plain.flops[MGK_COST_FEED_FORWARD] +=
        5 * (2 * 2 + (2 * 4 + 4) + (3 * 2 * 4 * 6 + 6 + 4 * 6) + 2 * 4);
    plain.parameters[MGK_COST_FEED_FORWARD] += 4 + 3 * 4 * 6;
    assert_ok(mgk_cost_of(&config, 5, &cost));
    assert_parts(cost.flops, plain.flops);
    assert_parts(cost.parameters, plain.parameters);
}

/*
 * Parallel blocks with one norm, half of a head rotated, RMS norms of queries and keys of each
 * head, caps of scores and logits, two layers of which the second sees two keys: N = 5.
 */
static void parallel_parts(void **state)
{
    (void)state;
    mgk_config config = small(MGK_FAMILY_LM, "softmax", 1);
    config.layers = config.layer_groups = 2;
    config.head_dim = 4;
    config.rotary_dim = 2;
    config.pre_norm = config.attention_bias = true;
    config.attention_output_bias = MGK_OUTPUT_BIAS_NONE;
    config.parallel = MGK_PARALLEL_SHARED;
    config.norm = MGK_NORMALIZATION_RMS;
    config.query_norm = MGK_QUERY_NORM_HEAD;
    config.positions = MGK_POSITIONS_ROTARY;
    config.embedding_scale = 1;
    config.attention_cap = config.logit_cap = 30;
    config.logit_scale = 0.5;
    config.window = 2;
    mgk_config_set_local(&config, 1);
    mgk_cost cost;
    const double flops[] = {
        0,
        2 * 5 * (3 * (2 * 4 * 8 + 8) + 2 * 8 * 4 + 6 * 8 / 2), /* no bias of the output */
        2 * (15 * (4 * 4 + 5 + 6) + 5 * 4) + 2 * (9 * (4 * 4 + 5 + 6) + 5 * 4),
        2 * 5 * (2 * 4 * 5 + 5 + 5 + 2 * 5 * 4 + 4),
        5 * (3 * 4 * 4 + 2 * 4 * 16 + 2 * 2 * 4), /* norms of the model, of vectors, sums */
        5 * (2 * 4 * 7 + 7 + 7 * 7),
    };
    const double parameters[] = {
        7 * 4, 2 * (4 * 8 * 4 + 3 * 8), 0, 2 * (4 * 5 + 5 + 5 * 4 + 4), 3 * 4 + 2 * 2 * 4, 7};
    assert_ok(mgk_cost_of(&config, 5, &cost));
    assert_parts(cost.flops, flops);
    assert_parts(cost.parameters, parameters);
    mgk_config_set_unrotated(&config, 0);
    assert_ok(mgk_cost_of(&config, 5, &cost));
    assert_close(cost.flops[MGK_COST_PROJECTIONS], flops[MGK_COST_PROJECTIONS] - 5 * 6 * 8 / 2, 0,
                 0);
}

/*
 * A decoder with a pre-norm and a memory of 9 numbers and 5 tokens: each query sees all of them,
 * and a layer has three norms and three sums.
 */
static void decoder(void **state)
{
    (void)state;
    mgk_config config = small(MGK_FAMILY_LM, "softmax", 1);
    config.memory = 9;
    config.pre_norm = config.attention_bias = true;
    mgk_cost cost;
    const double own = 3 * (2 * 4 * 6 + 6) + 2 * 6 * 4 + 4;
    const double cross = 2 * 4 * 6 + 6 + 2 * (2 * 9 * 6 + 6) + 2 * 6 * 4 + 4;
    const double flops[] = {
        5 * 2 * 4,
        5 * (own + cross),
        2 * (15 * (4 * 3 + 5) + 5 * 3) + 2 * (25 * (4 * 3 + 5) + 5 * 3),
        5 * (2 * 4 * 5 + 5 + 5 + 2 * 5 * 4 + 4),
        5 * (4 * 7 * 4 + 3 * 4),
        5 * (2 * 4 * 7 + 7),
    };
    const double maps = 3 * (4 * 6 + 6) + 6 * 4 + 4 + (4 * 6 + 6) + 2 * (9 * 6 + 6) + 6 * 4 + 4;
    const double parameters[] = {7 * 4, maps, 0, 4 * 5 + 5 + 5 * 4 + 4, 4 * 2 * 4, 7};
    assert_ok(mgk_cost_of(&config, 5, &cost));
    assert_parts(cost.flops, flops);
    assert_parts(cost.parameters, parameters);
    assert_close(cost.layer_flops, flops[1] + flops[2], 0, 0);
    assert_close(cost.layer_parameters, maps, 0, 0);
}

/* Words 0 ... 2 and two clusters of 2 words each: ln(5/3) and ln(7/5), divided by 1 + ln 7, are
 * their shares of the text. */
static void adaptive_softmax(void **state)
{
    (void)state;
    mgk_config config = small(MGK_FAMILY_LM, "softmax", 1);
    mgk_cost whole, cost;
    assert_ok(mgk_cost_of(&config, 5, &whole));
    config.cutoff_count = 2;
    config.cutoffs[0] = 3;
    config.cutoffs[1] = 5;
    assert_ok(mgk_cost_of(&config, 5, &cost));
    const double head = 2 * 4 * 5 + 5, cluster = 2 * 4 * 2 + 2;
    const double words = (log(5.0 / 3) + log(7.0 / 5)) / (1 + log(7.0));
    assert_close(cost.flops[MGK_COST_OUTPUT], 5 * (head + words * cluster), 0, 1e-15);
    assert_true(cost.flops[MGK_COST_OUTPUT] < whole.flops[MGK_COST_OUTPUT]);
    /* Tables of widths 4, 2 and 1 for 3, 2 and 2 words; rows of 3 words and 2 clusters. */
    mgk_cost divided;
    config.cutoff_divisor = 2;
    assert_ok(mgk_cost_of(&config, 5, &divided));
    assert_close(divided.flops[MGK_COST_EMBEDDING] - cost.flops[MGK_COST_EMBEDDING],
                 2 * 4 * (3 * 4 + 2 * 2 + 2 * 1), 0, 1e-15);
    assert_close(divided.flops[MGK_COST_OUTPUT] - cost.flops[MGK_COST_OUTPUT], 2 * 4 * 4 * 5, 0,
                 1e-13);
}

static void parts_are_the_whole(void **state)
{
    static const char *const kinds[] = {"softmax", "mgk", "smgk", "linear", "mlk", "smlk"};
    (void)state;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        for (int family = 0; family < 2; family++) {
            bool mixture = strcmp(kinds[i], "softmax") != 0 && strcmp(kinds[i], "linear") != 0;
            mgk_config config = small((mgk_family)family, kinds[i], mixture ? 3 : 1);
            mgk_parameters parameters;
            mgk_cost one, three;
            assert_ok(mgk_cost_of(&config, 6, &one));
            config.layers = 3;
            assert_ok(mgk_cost_of(&config, 6, &three));
            assert_ok(mgk_parameters_build(&config, &parameters));
            assert_close(mgk_cost_sum(three.parameters), (double)parameters.total, 0, 0);
            mgk_parameters_free(&parameters);
            assert_close(three.layer_flops, one.layer_flops, 0, 0);
            assert_close(three.flops[MGK_COST_PROJECTIONS] + three.flops[MGK_COST_ATTENTION],
                         3 * one.layer_flops, 0, 0);
            assert_close(three.layer_parameters, one.layer_parameters, 0, 1e-15);
        }
}

static mgk_cost cost_of(mgk_family family, const char *attention, int layers, int mixtures)
{
    mgk_config config = small(family, attention, mixtures);
    mgk_cost cost;
    config.layers = config.layer_groups = layers;
    if (layers == 3)
        strcpy(config.attention, "mgk,softmax,smgk");
    assert_ok(mgk_cost_of(&config, 5, &cost));
    return cost;
}

/* A layer costs what it costs in a model of its kind. */
static void layers_of_different_keys(void **state)
{
    (void)state;
    for (int family = MGK_FAMILY_ENCODER; family <= MGK_FAMILY_LM; family++) {
        const mgk_cost all = cost_of((mgk_family)family, "mgk", 3, 2);
        const mgk_cost each[] = {cost_of((mgk_family)family, "mgk", 1, 2),
                                 cost_of((mgk_family)family, "softmax", 1, 1),
                                 cost_of((mgk_family)family, "smgk", 1, 2)};
        for (int part = MGK_COST_PROJECTIONS; part <= MGK_COST_ATTENTION; part++) {
            double flops = 0, parameters = 0;
            for (int i = 0; i < 3; i++) {
                flops += each[i].flops[part];
                parameters += each[i].parameters[part];
            }
            assert_close(all.flops[part], flops, 0, 1e-14);
            assert_close(all.parameters[part], parameters, 0, 0);
        }
    }
}

/* Operations of attention in a model with these kinds of layers. */
static double attention_of(const char *kinds, int layers)
{
    mgk_config config = small(MGK_FAMILY_ENCODER, "softmax", 1);
    mgk_cost cost;
    config.layers = config.layer_groups = layers;
    strcpy(config.attention, kinds);
    assert_ok(mgk_cost_of(&config, 5, &cost));
    return cost.flops[MGK_COST_ATTENTION];
}

/* A layer costs less or more where it reads one below, which has to be of its kind. H = 2, N = 5,
 * D = 3. */
static void layers_that_read_below(void **state)
{
    static const struct {
        const char *kind;
        double read; /* what reading adds */
    } rows[] = {
        {"lazyformer", -2 * 5 * 5 * (2 * 3)},
        {"realformer", 2 * 5 * 5},
        {"predictive", 2 * 5 * 5 * (18 * 2 + 9)},
    };
    (void)state;
    const double softmax = attention_of("softmax", 1);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *kind = rows[i].kind;
        const double one = attention_of(kind, 1);
        char kinds[64];
        assert_close(attention_of(kind, 2), 2 * one + rows[i].read, 0, 0);
        snprintf(kinds, sizeof(kinds), "softmax,%s", kind);
        assert_close(attention_of(kinds, 2), softmax + one, 0, 0);
        snprintf(kinds, sizeof(kinds), "%s,softmax,softmax,%s", kind, kind);
        assert_close(attention_of(kinds, 4), 2 * softmax + 2 * one, 0, 0);
        snprintf(kinds, sizeof(kinds), "softmax,softmax,%s,%s", kind, kind);
        assert_close(attention_of(kinds, 4), 2 * softmax + 2 * one + rows[i].read, 0, 0);
    }
}

/* Paper, section 2.2: half the heads with two keys each need fewer projections and values. */
static void half_the_heads_are_cheaper(void **state)
{
    (void)state;
    mgk_config softmax, mgk;
    mgk_cost a, b;
    mgk_config_defaults(MGK_FAMILY_LM, &softmax);
    mgk = softmax;
    strcpy(softmax.attention, "softmax");
    softmax.mixtures = 1;
    mgk.heads = 4;
    mgk.prior_shape = MGK_PRIOR_LAYER;
    assert_ok(mgk_config_resolve(&softmax));
    assert_ok(mgk_config_resolve(&mgk));
    assert_ok(mgk_cost_of(&softmax, 256, &a));
    assert_ok(mgk_cost_of(&mgk, 256, &b));
    assert_true(b.layer_flops < a.layer_flops);
    /* Five matrices 64 x 128 and two priors instead of four matrices 128 x 128. */
    assert_close(b.layer_parameters / a.layer_parameters, (5.0 * 64 * 128 + 2) / (4 * 128 * 128), 0,
                 1e-15);
}

static void refuses(void **state)
{
    (void)state;
    mgk_config config = small(MGK_FAMILY_LM, "softmax", 1);
    mgk_cost cost;
    assert_fails(mgk_cost_of(&config, 0, &cost), STATUS_SHAPE);
    assert_fails(mgk_cost_of(&config, 7, &cost), STATUS_SHAPE);
    strcpy(config.attention, "none");
    assert_fails(mgk_cost_of(&config, 6, &cost), STATUS_UNSUPPORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(language_model),
        cmocka_unit_test(retrieval),
        cmocka_unit_test(capsules),
        cmocka_unit_test(shared_keys),
        cmocka_unit_test(experts),
        cmocka_unit_test(parallel_parts),
        cmocka_unit_test(decoder),
        cmocka_unit_test(adaptive_softmax),
        cmocka_unit_test(parts_are_the_whole),
        cmocka_unit_test(layers_of_different_keys),
        cmocka_unit_test(layers_that_read_below),
        cmocka_unit_test(half_the_heads_are_cheaper),
        cmocka_unit_test(refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
