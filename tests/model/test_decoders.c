/* SPDX-License-Identifier: MIT */
/* Language models of Hugging Face against transformers; tests/golden/decoders.py makes the files.
 */
#include "golden.h"
#include "test.h"

#include <stdio.h>

static void check_family(void **state)
{
    char folder[512], expected[600];
    snprintf(folder, sizeof(folder), MGK_TEST_GOLDEN "/decoders/%s", (const char *)*state);
    snprintf(expected, sizeof(expected), "%s/expected.safetensors", folder);
    golden_check(folder, NULL, expected);
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
        "gptj",
    };
    enum { FAMILIES = sizeof(families) / sizeof(families[0]) };
    struct CMUnitTest tests[FAMILIES];
    for (int i = 0; i < FAMILIES; i++)
        tests[i] = (struct CMUnitTest){.name = families[i],
                                       .test_func = check_family,
                                       .initial_state = (void *)(uintptr_t)families[i]};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
