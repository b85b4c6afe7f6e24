/* SPDX-License-Identifier: MIT */
/* Families of Hugging Face against transformers; tests/golden/hugging_face.py makes the files. */
#include "golden.h"
#include "test.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"

static const char top[] = MGK_TEST_GOLDEN "/hugging_face/";

static void check_family(void **state)
{
    char folder[512], expected[600];
    snprintf(folder, sizeof(folder), "%s%s", top, (const char *)*state);
    snprintf(expected, sizeof(expected), "%s/expected.safetensors", folder);
    golden_check(folder, NULL, expected);
}

/* Loads a model by the file of its weights. */
static void test_file_in_folder(void **state)
{
    (void)state;
    char file[512], expected[512];
    snprintf(file, sizeof(file), "%sgpt2/model.safetensors", top);
    snprintf(expected, sizeof(expected), "%sgpt2/expected.safetensors", top);
    golden_check(file, NULL, expected);
}

static mgk_model *load(const char *family)
{
    char folder[512];
    mgk_device *device;
    mgk_model *model;
    snprintf(folder, sizeof(folder), "%s%s", top, family);
    assert_ok(mgk_device_open("cpu", MGK_SINGLE, 1, &device));
    assert_ok(mgk_model_load(folder, NULL, device, &model));
    return model;
}

static void unload(mgk_model *model)
{
    mgk_device *device = model->device;
    mgk_model_free(model);
    mgk_device_close(device);
}

static void test_remark(void **state)
{
    (void)state;
    mgk_model *model = load("llama");
    assert_null(model->remark);
    unload(model);
    model = load("bert");
    assert_non_null(strstr(model->remark, "2 tensors are not used: pooler.dense."));
    unload(model);
}

/* A folder with the gpt2 weights and this config.json is refused with this message. */
static void assert_refused(const char *config, mgk_status expected, const char *says)
{
    mgk_device *device;
    mgk_model *model;
    assert_ok(mgk_write_file("config.json", true, config, strlen(config)));
    assert_ok(mgk_device_open("cpu", MGK_SINGLE, 1, &device));
    assert_fails(mgk_model_load("model.safetensors", NULL, device, &model), expected);
    if (!strstr(mgk_fail_message(), says))
        fail_msg("\"%s\" does not say \"%s\"", mgk_fail_message(), says);
    mgk_device_close(device);
}

static void test_refused(void **state)
{
    (void)state;
    char path[512];
    mgk_mapping weights;
    snprintf(path, sizeof(path), "%sgpt2/model.safetensors", top);
    assert_ok(mgk_map_file(path, &weights));
    assert_ok(mgk_write_file("model.safetensors", true, weights.data, weights.size));
    mgk_unmap_file(&weights);
    assert_refused("{\"model_type\": \"gpt2\",", STATUS_FORMAT, "config.json: ");
    assert_refused("{\"model_type\": \"xlnet\"}", STATUS_UNSUPPORTED,
                   "config.json: model_type \"xlnet\" is not one of those known: bert, roberta, ");
    assert_refused("{\"model_type\": 5}", STATUS_FORMAT, "\"model_type\" is not a string");
    assert_refused("{}", STATUS_FORMAT, "\"n_head\" is missing"); /* the tensors tell gpt2 */
    assert_refused("{\"model_type\": \"gpt2\"}", STATUS_FORMAT, "\"n_head\" is missing");
#define SIZES "\"model_type\": \"gpt2\", \"n_head\": 3, \"n_embd\": 12, \"n_positions\": 16"
    assert_refused("{" SIZES ", \"n_layer\": 2, \"vocab_size\": \"37\"}", STATUS_FORMAT,
                   "\"vocab_size\" is not an integer");
    assert_refused("{" SIZES ", \"n_layer\": 3, \"vocab_size\": 37}", STATUS_SHAPE,
                   "tensor \"transformer.h.2.attn.c_attn.weight\" is missing, expected [12,36]");
    assert_refused("{" SIZES ", \"n_layer\": 2, \"vocab_size\": 38}", STATUS_SHAPE,
                   "tensor \"transformer.wte.weight\" is [37,12], expected [38,12]");
    assert_refused("{" SIZES ", \"n_layer\": 2, \"vocab_size\": 37, \"n_inner\": 1048576}",
                   STATUS_SHAPE, "expected [12,1048576]");
    assert_refused("{" SIZES ", \"n_layer\": 4097, \"vocab_size\": 37}", STATUS_FORMAT, "layers");
    assert_refused("{" SIZES ", \"n_layer\": -1, \"vocab_size\": 37}", STATUS_FORMAT, "layers");
    assert_refused("{" SIZES ", \"n_layer\": 2, \"vocab_size\": 37, \"activation_function\": "
                   "\"mish\"}",
                   STATUS_UNSUPPORTED, "\"mish\"");
    assert_refused("{" SIZES ", \"n_layer\": 2, \"vocab_size\": 37, \"scale_attn_weights\": "
                   "false}",
                   STATUS_UNSUPPORTED, "scores");
    assert_refused("{\"model_type\": \"gpt2\", \"n_head\": 5, \"n_embd\": 12, \"n_layer\": 2, "
                   "\"n_positions\": 16, \"vocab_size\": 37}",
                   STATUS_FORMAT, "n_embd 12 is not divided by n_head 5");
#undef SIZES
    unlink("config.json");
    mgk_device *device;
    mgk_model *model;
    const mgk_model_options options = {.head_dim = 4};
    assert_ok(mgk_device_open("cpu", MGK_SINGLE, 1, &device));
    assert_fails(mgk_model_load("model.safetensors", NULL, device, &model), STATUS_FORMAT);
    assert_non_null(strstr(mgk_fail_message(), "looks like Hugging Face's gpt2, but there is no "
                                               "config.json in \".\""));
    assert_fails(mgk_model_load(MGK_TEST_GOLDEN "/hugging_face/bert", &options, device, &model),
                 STATUS_USAGE);
    mgk_device_close(device);
    unlink("model.safetensors");
}

/* Rotary variants that would silently give other positions. */
static void test_rotary_refused(void **state)
{
    (void)state;
#define LLAMA(rope)                                                                 \
    "{\"model_type\": \"llama\", \"num_attention_heads\": 4, \"hidden_size\": 16, " \
    "\"num_hidden_layers\": 2, \"intermediate_size\": 20, \"vocab_size\": 37, " rope "}"
    static const char *const cases[][2] = {
        {LLAMA("\"rope_parameters\": \"yarn\""), "is not an object"},
        {LLAMA("\"rope_scaling\": {\"type\": 3}"), "is not a string"},
        {LLAMA("\"rope_scaling\": {\"type\": \"linear\"}"), "without a \"factor\""},
        {LLAMA("\"rope_scaling\": {\"rope_type\": \"yarn\", \"factor\": 2}"), "\"yarn\""},
        {LLAMA("\"partial_rotary_factor\": 0.5"), "partial_rotary_factor"},
        {LLAMA("\"rope_theta\": \"10\""), "\"rope_theta\" is not a number"},
    };
#undef LLAMA
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        mgk_checkpoint checkpoint = {.path = "x", .config_path = "config.json"};
        const mgk_model_options usual = {0};
        mgk_config config;
        checkpoint.config = cJSON_Parse(cases[i][0]);
        assert_non_null(checkpoint.config);
        assert_int_not_equal(mgk_format_llama.configure(&checkpoint, &usual, &config), STATUS_OK);
        if (!strstr(mgk_fail_message(), cases[i][1]))
            fail_msg("\"%s\" does not say \"%s\"", mgk_fail_message(), cases[i][1]);
        cJSON_Delete(checkpoint.config);
    }
}

int main(void)
{
    static const char *const families[] = {"bert",
                                           "bert-masked-lm",
                                           "roberta",
                                           "distilbert",
                                           "gpt2",
                                           "llama",
                                           "llama-tied",
                                           "llama-bare",
                                           "gpt2-untied",
                                           "bert-decoder",
                                           "vit",
                                           "vit-bare",
                                           "xlm-roberta",
                                           "xlm-roberta-padded",
                                           "camembert",
                                           "bert-padded",
                                           "electra",
                                           "electra-wide",
                                           "albert",
                                           "deit",
                                           "dinov2",
                                           "dinov2-gated",
                                           "dinov2-registers",
                                           "clip-vision",
                                           "siglip-vision",
                                           "clip-text",
                                           "mpnet",
                                           "modernbert",
                                           "modernbert-biased",
                                           "t5",
                                           "t5-encoder",
                                           "mt5",
                                           "bart",
                                           "mbart",
                                           "marian",
                                           "marian-own",
                                           "pegasus",
                                           "whisper"};
    enum { FAMILIES = sizeof(families) / sizeof(families[0]) };
    enum { OTHERS = 4 };
    struct CMUnitTest tests[OTHERS + FAMILIES] = {
        cmocka_unit_test(test_file_in_folder),
        cmocka_unit_test(test_remark),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_rotary_refused),
    };
    for (int i = 0; i < FAMILIES; i++)
        tests[OTHERS + i] = (struct CMUnitTest){.name = families[i],
                                                .test_func = check_family,
                                                .initial_state = (void *)(uintptr_t)families[i]};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
