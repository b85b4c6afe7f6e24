/* SPDX-License-Identifier: MIT */
/* State dicts of packages against these; tests/golden/lucidrains.py makes the files. */
#include "golden.h"
#include "test.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char own[] = "own.safetensors";

/* Writes the toolkit's own file of a model, which says everything that its folder did. */
static void write_own_file(const char *folder)
{
    mgk_device *device;
    mgk_model *model;
    assert_ok(mgk_device_open("cpu", MGK_DOUBLE, 1, &device));
    assert_ok(mgk_model_load(folder, NULL, device, &model));
    assert_ok(mgk_model_save(model, own, true, NULL, 0, NULL, 0));
    mgk_model_free(model);
    mgk_device_close(device);
}

static void check_model(void **state)
{
    char folder[512], expected[600];
    snprintf(folder, sizeof(folder), "%s/lucidrains/%s", MGK_TEST_GOLDEN, (const char *)*state);
    snprintf(expected, sizeof(expected), "%s/expected.safetensors", folder);
    golden_check(folder, NULL, expected);
    write_own_file(folder);
    golden_check(own, NULL, expected);
    unlink(own);
}

static void refuse(const char *model, const mgk_model_options *options, mgk_status expected,
                   const char *says)
{
    char folder[512];
    mgk_model *read;
    snprintf(folder, sizeof(folder), "%s/lucidrains/%s", MGK_TEST_GOLDEN, model);
    assert_fails(mgk_model_load(folder, options, NULL, &read), expected);
    if (!strstr(mgk_fail_message(), says))
        fail_msg("\"%s\" does not say \"%s\"", mgk_fail_message(), says);
}

/* The number of heads of a Linformer is asked for; a Performer's tensors tell it. */
static void test_options(void **state)
{
    (void)state;
    mgk_model *model;
    const mgk_model_options four = {.head_dim = 4};
    assert_ok(mgk_model_load(MGK_TEST_GOLDEN "/lucidrains/linformer", &four, NULL, &model));
    assert_int_equal(model->config.heads, 4);
    assert_null(model->remark ? strstr(model->remark, "8 heads") : NULL);
    mgk_model_free(model);
    assert_ok(mgk_model_load(MGK_TEST_GOLDEN "/lucidrains/linformer", NULL, NULL, &model));
    assert_non_null(strstr(model->remark, "assumed to have 8 heads"));
    mgk_model_free(model);
    refuse("linformer-shared", &four, STATUS_USAGE, "a head dimension of 4");
    refuse("linformer", &(mgk_model_options){.attention = "linformer"}, STATUS_USAGE,
           "expected \"linformer-separate\"");
    refuse("performer", &four, STATUS_USAGE, "says its head dimension");
}

/* Arguments beside a state dict that its tensors do not tell. */
static void test_arguments_refused(void **state)
{
    (void)state;
    static const char *const keys[] = {"generalized_attention", "no_projection", "cross_attend"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        mgk_checkpoint checkpoint;
        const mgk_model_options usual = {0};
        mgk_config config;
        char text[64];
        assert_ok(
            mgk_checkpoint_open(MGK_TEST_GOLDEN "/lucidrains/performer-encoder", &checkpoint));
        snprintf(text, sizeof(text), "{\"%s\": true}", keys[i]);
        cJSON_Delete(checkpoint.config);
        checkpoint.config = cJSON_Parse(text);
        assert_non_null(checkpoint.config);
        assert_fails(mgk_format_performer.configure(&checkpoint, &usual, &config),
                     STATUS_UNSUPPORTED);
        assert_non_null(strstr(mgk_fail_message(), keys[i]));
        mgk_checkpoint_close(&checkpoint);
    }
}

int main(void)
{
    static const char *const names[] = {"performer", "performer-learned", "performer-encoder",
                                        "linformer", "linformer-shared"};
    enum { NAMES = sizeof(names) / sizeof(names[0]) };
    struct CMUnitTest tests[NAMES + 2] = {[NAMES] = cmocka_unit_test(test_options),
                                          [NAMES + 1] = cmocka_unit_test(test_arguments_refused)};
    for (int i = 0; i < NAMES; i++)
        tests[i] = (struct CMUnitTest){.name = names[i],
                                       .test_func = check_model,
                                       .initial_state = (void *)(uintptr_t)names[i]};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
