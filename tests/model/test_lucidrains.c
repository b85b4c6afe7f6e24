/* SPDX-License-Identifier: MIT */
/* State dicts of packages against these; tests/golden/lucidrains.py makes the files. */
#include "golden.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

static void check_model(void **state)
{
    char folder[512], expected[600];
    snprintf(folder, sizeof(folder), "%s/lucidrains/%s", MGK_TEST_GOLDEN, (const char *)*state);
    snprintf(expected, sizeof(expected), "%s/expected.safetensors", folder);
    golden_check(folder, NULL, expected);
}

int main(void)
{
    static const char *const names[] = {"performer", "performer-learned", "performer-encoder",
                                        "linformer", "linformer-shared"};
    enum { NAMES = sizeof(names) / sizeof(names[0]) };
    struct CMUnitTest tests[NAMES];
    for (int i = 0; i < NAMES; i++)
        tests[i] = (struct CMUnitTest){.name = names[i],
                                       .test_func = check_model,
                                       .initial_state = (void *)(uintptr_t)names[i]};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
