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

static void check_family(void **state)
{
    char folder[512], expected[600];
    snprintf(folder, sizeof(folder), MGK_TEST_GOLDEN "/decoders/%s", (const char *)*state);
    snprintf(expected, sizeof(expected), "%s/expected.safetensors", folder);
    golden_check(folder, NULL, expected);
}

static void test_llama2c(void **state)
{
    (void)state;
    golden_check(MGK_TEST_GOLDEN "/llama2c/tied.bin", NULL,
                 MGK_TEST_GOLDEN "/llama2c/tied.safetensors");
    golden_check(MGK_TEST_GOLDEN "/llama2c/untied.bin", NULL,
                 MGK_TEST_GOLDEN "/llama2c/untied.safetensors");
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
        "qwen2",
        "qwen3",
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
        "granite",
        "cohere",
        "stablelm",
        "stablelm-serial",
        "starcoder2",
        "gpt_neox",
        "gpt_neox-serial",
        "bloom",
        "falcon",
        "falcon-new",
        "falcon-new-one-norm",
        "falcon-alibi",
        "opt",
        "opt-post",
        "opt-bare-norms",
        "gptj",
    };
    enum { FAMILIES = sizeof(families) / sizeof(families[0]) };
    enum { OTHERS = 2 };
    struct CMUnitTest tests[OTHERS + FAMILIES] = {
        cmocka_unit_test(test_llama2c),
        cmocka_unit_test(test_llama2c_size),
    };
    for (int i = 0; i < FAMILIES; i++)
        tests[OTHERS + i] = (struct CMUnitTest){.name = families[i],
                                                .test_func = check_family,
                                                .initial_state = (void *)(uintptr_t)families[i]};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
