/* SPDX-License-Identifier: MIT */
/*
 * Language models of Hugging Face against transformers, and files of llama2.c; decoders.py and
 * llama2c.py in tests/golden make the files.
 */
#include "golden.h"
#include "test.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "model/core/pass.h"

/* Writes the model in the toolkit's own format and compares that file with the same results. */
static void check_converted(const char *folder, const char *expected)
{
    mgk_device *device;
    mgk_model *model;
    assert_ok(mgk_device_open("cpu", MGK_DOUBLE, 1, &device));
    assert_ok(mgk_model_load(folder, NULL, device, &model));
    assert_null(model->remark);
    assert_false(mgk_model_has_gradients(model));
    assert_ok(mgk_model_save(model, "converted.safetensors", true, NULL, 0, NULL, 0));
    mgk_model_free(model);
    mgk_device_close(device);
    golden_check("converted.safetensors", NULL, expected);
    unlink("converted.safetensors");
}

static void check_family(void **state)
{
    char folder[512], expected[600];
    snprintf(folder, sizeof(folder), MGK_TEST_GOLDEN "/decoders/%s", (const char *)*state);
    snprintf(expected, sizeof(expected), "%s/expected.safetensors", folder);
    golden_check(folder, NULL, expected);
    check_converted(folder, expected);
}

/* A language model that also sees pictures: the model of pictures is left out, which is told. */
static void check_seeing(void **state)
{
    char folder[512], expected[600];
    mgk_model *model;
    snprintf(folder, sizeof(folder), MGK_TEST_GOLDEN "/decoders/%s", (const char *)*state);
    snprintf(expected, sizeof(expected), "%s/expected.safetensors", folder);
    golden_check(folder, NULL, expected);
    golden_check(folder, &(mgk_model_options){.part = "text"}, expected);
    assert_ok(mgk_model_load(folder, NULL, NULL, &model));
    assert_non_null(model->remark);
    assert_non_null(strstr(model->remark, "tensors are not used"));
    mgk_model_free(model);
}

/* The model of pictures of such a folder. */
static void test_seeing(void **state)
{
    (void)state;
    static const char *const folders[] = {"llava", "llava_next", "llava_onevision",
                                          "gemma3-seeing"};
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        char folder[512];
        mgk_model *model;
        snprintf(folder, sizeof(folder), MGK_TEST_GOLDEN "/decoders/%s", folders[i]);
        assert_ok(mgk_model_load(folder, &(mgk_model_options){.part = "vision"}, NULL, &model));
        assert_int_equal(model->config.picture.patch, 2);
        assert_int_equal(model->config.layers, 1);
        mgk_model_free(model);
    }
    mgk_model *model;
    assert_fails(mgk_model_load(MGK_TEST_GOLDEN "/decoders/smolvlm",
                                &(mgk_model_options){.part = "vision"}, NULL, &model),
                 STATUS_UNSUPPORTED);
}

static void test_llama2c(void **state)
{
    (void)state;
    golden_check(MGK_TEST_GOLDEN "/llama2c/tied.bin", NULL,
                 MGK_TEST_GOLDEN "/llama2c/tied.safetensors");
    golden_check(MGK_TEST_GOLDEN "/llama2c/untied.bin", NULL,
                 MGK_TEST_GOLDEN "/llama2c/untied.safetensors");
}

/* A device that lacks a part of a model says so before anything runs. */
static void test_device_without_parts(void **state)
{
    (void)state;
    static const char *const cases[][2] = {{"mistral", "a sliding window"},
                                           {"gemma3", "a sliding window"},
                                           {"qwen3", "norms of its queries and keys"},
                                           {"bloom", "ALiBi"},
                                           {"olmo", "norms without gain or offset"},
                                           {"mixtral-fused", "a mixture of experts"},
                                           {"smollm3", NULL},
                                           {"gpt_neox", NULL}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char folder[512];
        mgk_device *device;
        mgk_model *model;
        mgk_pass *pass;
        const int tokens = strcmp(cases[i][0], "qwen3") == 0 ? 5 : 9; /* as many as its window */
        snprintf(folder, sizeof(folder), MGK_TEST_GOLDEN "/decoders/%s", cases[i][0]);
        assert_ok(mgk_device_open("cpu", MGK_SINGLE, 1, &device));
        assert_ok(mgk_model_load(folder, NULL, device, &model));
        device->all_parts = false;
        if (cases[i][1]) {
            assert_fails(mgk_pass_create(model, 1, tokens, 0, false, &pass), STATUS_UNSUPPORTED);
            assert_non_null(strstr(mgk_fail_message(), cases[i][1]));
        } else {
            assert_ok(mgk_pass_create(model, 1, tokens, 0, false, &pass));
            mgk_pass_free(pass);
        }
        mgk_model_free(model);
        mgk_device_close(device);
    }
}

/* A file that is cut off, or has a number too many, is not one of llama2.c. */
static void test_llama2c_size(void **state)
{
    (void)state;
    mgk_mapping file;
    mgk_model *model;
    unsigned char *bytes;
    assert_ok(mgk_map_file(MGK_TEST_GOLDEN "/llama2c/tied.bin", &file));
    assert_ok(mgk_alloc(file.size + 4, 1, &bytes));
    memcpy(bytes, file.data, file.size);
    for (size_t size = 0; size <= file.size + 4; size += size < 40 ? 1 : 500) {
        assert_ok(mgk_write_file("cut.bin", true, bytes, size));
        assert_fails(mgk_model_load("cut.bin", NULL, NULL, &model), STATUS_FORMAT);
    }
    assert_ok(mgk_write_file("cut.bin", true, bytes, file.size + 4));
    assert_fails(mgk_model_load("cut.bin", NULL, NULL, &model), STATUS_FORMAT);
    assert_non_null(strstr(mgk_fail_message(), "if one of llama2.c, it has"));
    unlink("cut.bin");
    mgk_free(bytes);
    mgk_unmap_file(&file);
}

int main(void)
{
    static const char *const families[] = {
        "llama-proportional",
        "mistral",
        "mixtral",
        "mixtral-fused",
        "qwen2",
        "qwen2_moe",
        "qwen2_moe-window",
        "qwen3",
        "qwen3_moe",
        "qwen3_moe-window",
        "gemma",
        "gemma2",
        "gemma3",
        "gemma3-older",
        "phi",
        "phi-older",
        "phi3",
        "phi3-short",
        "phi3-partial",
        "olmo",
        "olmo2",
        "olmo3",
        "olmo3-older",
        "olmoe",
        "olmoe-normalised",
        "granite",
        "cohere",
        "cohere2",
        "cohere2-older",
        "glm",
        "glm-older",
        "glm4",
        "glm4-half",
        "smollm3",
        "smollm3-window",
        "stablelm",
        "stablelm-serial",
        "starcoder2",
        "codegen",
        "codegen-three",
        "gpt_bigcode",
        "gpt_bigcode-heads",
        "gpt_neo",
        "gpt_neo-global",
        "gpt_neox",
        "gpt_neox-serial",
        "bloom",
        "falcon",
        "falcon-new",
        "falcon-new-one-norm",
        "falcon-alibi",
        "falcon-alibi-12",
        "opt",
        "opt-post",
        "opt-bare-norms",
        "opt-mapped",
        "gptj",
    };
    static const char *const seeing[] = {
        "llava",    "llava_next", "llava_onevision", "gemma3-seeing", "mistral3", "internvl",
        "idefics3", "smolvlm",    "qwen2_vl",        "qwen2_5_vl",    "qwen3_vl",
    };
    enum { FAMILIES = sizeof(families) / sizeof(families[0]) };
    enum { SEEING = sizeof(seeing) / sizeof(seeing[0]) };
    enum { OTHERS = 4 };
    struct CMUnitTest tests[OTHERS + FAMILIES + SEEING] = {
        cmocka_unit_test(test_llama2c),
        cmocka_unit_test(test_llama2c_size),
        cmocka_unit_test(test_device_without_parts),
        cmocka_unit_test(test_seeing),
    };
    for (int i = 0; i < FAMILIES; i++)
        tests[OTHERS + i] = (struct CMUnitTest){.name = families[i],
                                                .test_func = check_family,
                                                .initial_state = (void *)(uintptr_t)families[i]};
    for (int i = 0; i < SEEING; i++)
        tests[OTHERS + FAMILIES + i] =
            (struct CMUnitTest){.name = seeing[i],
                                .test_func = check_seeing,
                                .initial_state = (void *)(uintptr_t)seeing[i]};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
