/* SPDX-License-Identifier: MIT */
/* What config.json of a reformer may say, and the numbers that torch draws. */
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/core/pass.h"
#include "model/formats/format.h"
#include "model/formats/torch_normal.h"

static const char top[] = MGK_TEST_GOLDEN "/hugging_face/";

/* Numbers of torch.randn after torch.manual_seed, of torch 2.15. */
static void torch_draws_the_same(void **state)
{
    (void)state;
    static const struct {
        int64_t seed;
        mgk_torch_precision precision;
        size_t count, at;
        double value;
    } cases[] = {
        {1234, MGK_TORCH_DOUBLE, 5, 0, 0.04613046189666927},
        {1234, MGK_TORCH_DOUBLE, 5, 1, 0.4024028259218943},
        {1234, MGK_TORCH_DOUBLE, 5, 4, -0.6122731137752989},
        {1234, MGK_TORCH_SINGLE, 5, 4, -0.612273097038269},
        {1234, MGK_TORCH_DOUBLE, 37, 0, -0.0883100793877292},
        {1234, MGK_TORCH_DOUBLE, 37, 20, 0.6002920138526922},
        {1234, MGK_TORCH_DOUBLE, 37, 36, 0.5959827609571059},
        {1234, MGK_TORCH_DOUBLE, 2000, 1999, 1.6120363688097321},
        {1234, MGK_TORCH_SINGLE, 37, 0, -0.1117185652256012},
        {1234, MGK_TORCH_SINGLE, 37, 20, 0.2890971899032593},
        {1234, MGK_TORCH_SINGLE, 37, 36, -0.7689918279647827},
        {-3, MGK_TORCH_DOUBLE, 16, 1, -0.17722482813617924},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        double values[2000];
        mgk_torch_normal(cases[i].seed, cases[i].precision, cases[i].count, values);
        const double difference = fabs(values[cases[i].at] - cases[i].value);
        /* torch rounds numbers of single precision, whatever their count */
        if (!(difference <= (cases[i].precision == MGK_TORCH_SINGLE ? 1e-6 : 1e-15)))
            fail_msg("case %zu: %.17g, expected %.17g", i, values[cases[i].at], cases[i].value);
    }
}

/* A reformer with these settings in place of its own; the last one of a key counts. */
static mgk_status configure(mgk_checkpoint *checkpoint, const char *settings, mgk_config *config)
{
    cJSON *given = cJSON_Parse(settings), *item, *next;
    assert_non_null(given);
    for (item = given->child; item; item = next) {
        next = item->next;
        cJSON_DetachItemViaPointer(given, item);
        cJSON_DeleteItemFromObjectCaseSensitive(checkpoint->config, item->string);
        assert_true(cJSON_AddItemToObject(checkpoint->config, item->string, item));
    }
    cJSON_Delete(given);
    const mgk_model_options usual = {0};
    return mgk_format_reformer.configure(checkpoint, &usual, config);
}

static void settings_are_refused_by_name(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"{\"attn_layers\": [\"lsh\", \"full\"]}", "attn_layers has \"full\", which is not known"},
        {"{\"attn_layers\": []}", "\"attn_layers\" is not an array of words"},
        {"{\"is_decoder\": false}", "local_attn_chunk_length 2: expected of an encoder lsh_attn_"},
        {"{\"num_buckets\": null}", "num_buckets null, of which the first text decides"},
        {"{\"num_buckets\": [4, 8, 2]}", "num_buckets is a list of 3 factors: up to 2 are known"},
        {"{\"num_buckets\": []}", "num_buckets 0: expected even numbers"},
        {"{\"num_buckets\": [4, 7]}", "num_buckets 7: expected even numbers"},
        {"{\"num_buckets\": 5}", "num_buckets 5: expected even numbers"},
        {"{\"num_hashes\": 0}", "num_hashes 0: expected at least 1"},
        {"{\"lsh_num_chunks_before\": 2}", "lsh_num_chunks_before 2 is not known, 1 is"},
        {"{\"lsh_num_chunks_after\": 1}", "lsh_num_chunks_after 1 is not known, 0 is"},
        {"{\"local_num_chunks_before\": 0}", "local_num_chunks_before 0 is not known, 1 is"},
        {"{\"local_num_chunks_after\": 1}", "local_num_chunks_after 1 is not known, 0 is"},
        {"{\"local_attn_chunk_length\": 3}", "local_attn_chunk_length 3: expected a divisor of"},
        {"{\"lsh_attn_chunk_length\": 0}", "lsh_attn_chunk_length 0: expected at least 1"},
        {"{\"dtype\": \"bfloat16\"}", "dtype \"bfloat16\" with hash_seed is not known"},
        {"{\"tie_word_embeddings\": true}", "tie_word_embeddings true: the output layer"},
        {"{\"axial_pos_shape\": [4, 6, 2]}", "\"axial_pos_shape\" is not a list of two"},
        {"{\"axial_pos_embds_dim\": [4, 4]}", "axial_pos_embds_dim is 4 and 4, expected a sum of"},
        {"{\"hidden_act\": \"mish\"}", "\"mish\""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        mgk_checkpoint checkpoint;
        mgk_config config;
        char folder[512];
        snprintf(folder, sizeof(folder), "%sreformer", top);
        assert_ok(mgk_checkpoint_open(folder, &checkpoint));
        assert_ok(configure(&checkpoint, "{}", &config));
        assert_int_not_equal(configure(&checkpoint, cases[i][0], &config), STATUS_OK);
        if (!strstr(mgk_fail_message(), cases[i][1]))
            fail_msg("\"%s\" does not say \"%s\"", mgk_fail_message(), cases[i][1]);
        mgk_checkpoint_close(&checkpoint);
    }
}

/* Without a seed rotations are the toolkit's own, other ones in each layer; a remark says so. */
static void rotations_without_seed(void **state)
{
    (void)state;
    enum { COUNT = 3 * 5 * 4 };
    double values[2][2][COUNT]; /* with a seed, without; two layers */
    for (int seedless = 0; seedless < 2; seedless++) {
        mgk_checkpoint checkpoint;
        mgk_config config;
        char folder[512];
        snprintf(folder, sizeof(folder), "%sreformer", top);
        assert_ok(mgk_checkpoint_open(folder, &checkpoint));
        assert_ok(configure(&checkpoint, seedless ? "{\"hash_seed\": null}" : "{}", &config));
        char says[256] = "";
        assert_ok(mgk_format_reformer.assumed(&checkpoint, NULL, &config, says, sizeof(says)));
        assert_int_equal(strstr(says, "no hash_seed") != NULL, seedless);
        for (int layer = 0; layer < 2; layer++) {
            mgk_parameter parameter = {.axes = 3, .shape = {3, 5, 4}, .count = COUNT};
            mgk_recipe recipe = {.name = ""};
            snprintf(parameter.name, sizeof(parameter.name), "layers.%d.attention.rotations",
                     layer + 1);
            assert_ok(mgk_format_reformer.recipe(&checkpoint, &config, &parameter, &recipe));
            assert_ok(
                recipe.compute(&checkpoint, &config, &recipe, &parameter, values[seedless][layer]));
        }
        mgk_checkpoint_close(&checkpoint);
    }
    assert_memory_equal(values[0][0], values[0][1], sizeof(values[0][0]));
    assert_memory_not_equal(values[1][0], values[1][1], sizeof(values[1][0]));
    assert_memory_not_equal(values[0][0], values[1][0], sizeof(values[0][0]));
}

/* Two streams have no backward pass. */
static void is_not_trained(void **state)
{
    (void)state;
    char folder[512];
    mgk_device *device;
    mgk_model *model;
    mgk_pass *pass;
    snprintf(folder, sizeof(folder), "%sreformer", top);
    assert_ok(mgk_device_open("cpu", MGK_SINGLE, 1, &device));
    assert_ok(mgk_model_load(folder, NULL, device, &model));
    assert_fails(mgk_pass_create(model, 1, 8, 0, true, &pass), STATUS_UNSUPPORTED);
    mgk_model_free(model);
    mgk_device_close(device);
}

/* Streams need norms before their blocks, and an output layer of twice the width. */
static void streams_are_checked(void **state)
{
    (void)state;
    mgk_config config;
    for (int i = 0; i < 6; i++) {
        mgk_config_defaults(MGK_FAMILY_LM, &config);
        config.reversible = config.pre_norm = true;
        config.tied = i == 1;
        config.pre_norm = i != 2;
        config.final_norm = i != 3;
        config.parallel = i == 4 ? MGK_PARALLEL_OWN : MGK_PARALLEL_NO;
        config.memory = i == 5 ? 8 : 0;
        assert_int_equal(mgk_config_resolve(&config), i == 0 ? STATUS_OK : STATUS_USAGE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(torch_draws_the_same),   cmocka_unit_test(settings_are_refused_by_name),
        cmocka_unit_test(rotations_without_seed), cmocka_unit_test(is_not_trained),
        cmocka_unit_test(streams_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
