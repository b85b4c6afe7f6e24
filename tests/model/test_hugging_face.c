/* SPDX-License-Identifier: MIT */
/* Families of Hugging Face against transformers; tests/golden/hugging_face.py makes the files. */
#include "golden.h"
#include "test.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "model/core/pass.h"

static const char top[] = MGK_TEST_GOLDEN "/hugging_face/";

static const char own[] = "own.safetensors";

/* Opens a folder for tests that give it another config.json: its tensors do not matter. */
static void open_checkpoint(const char *name, mgk_checkpoint *checkpoint)
{
    char folder[512];
    snprintf(folder, sizeof(folder), "%s%s", top, name);
    assert_ok(mgk_checkpoint_open(folder, checkpoint));
}

/* Gives an open checkpoint another config.json. */
static void set_config(mgk_checkpoint *checkpoint, const char *text)
{
    cJSON_Delete(checkpoint->config);
    checkpoint->config = cJSON_Parse(text);
    assert_non_null(checkpoint->config);
}

/* Writes the toolkit's own file of a model, which says everything that its folder did. */
static void write_own_file(const char *folder, const mgk_model_options *options)
{
    mgk_device *device;
    mgk_model *model;
    assert_ok(mgk_device_open("cpu", MGK_DOUBLE, 1, &device));
    assert_ok(mgk_model_load(folder, options, device, &model));
    assert_false(options && options->decoder && mgk_model_has_gradients(model));
    assert_ok(mgk_model_save(model, own, true, NULL, 0, NULL, 0));
    mgk_model_free(model);
    mgk_device_close(device);
}

static void check_family(void **state)
{
    char folder[512], expected[600];
    snprintf(folder, sizeof(folder), "%s%s", top, (const char *)*state);
    snprintf(expected, sizeof(expected), "%s/expected.safetensors", folder);
    golden_check(folder, NULL, expected);
    write_own_file(folder, NULL);
    golden_check(own, NULL, expected);
    unlink(own);
}

static void check_decoder(void **state)
{
    char folder[512], expected[600];
    const mgk_model_options options = {.decoder = true};
    snprintf(folder, sizeof(folder), "%s%s", top, (const char *)*state);
    snprintf(expected, sizeof(expected), "%s/decoder.safetensors", folder);
    golden_check_decoder(folder, &options, folder, expected);
    write_own_file(folder, &options);
    golden_check_decoder(own, NULL, folder, expected);
    unlink(own);
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

/* Puts the weights of a model here, for another config.json. */
static void copy_weights(const char *model)
{
    char path[512];
    mgk_mapping weights;
    snprintf(path, sizeof(path), "%s%s/model.safetensors", top, model);
    assert_ok(mgk_map_file(path, &weights));
    assert_ok(mgk_write_file("model.safetensors", true, weights.data, weights.size));
    mgk_unmap_file(&weights);
}

/* Makes a folder with a model and, unless it is NULL, a state of transformers' Trainer. */
static void make_folder(const char *folder, const char *state)
{
    static const char *const files[] = {"config.json", "model.safetensors"};
    char from[512], to[512];
    mgk_mapping file;
    mkdir(folder, 0755);
    for (size_t i = 0; i < 2; i++) {
        snprintf(from, sizeof(from), "%sgpt2/%s", top, files[i]);
        snprintf(to, sizeof(to), "%s/%s", folder, files[i]);
        assert_ok(mgk_map_file(from, &file));
        assert_ok(mgk_write_file(to, true, file.data, file.size));
        mgk_unmap_file(&file);
    }
    snprintf(to, sizeof(to), "%s/trainer_state.json", folder);
    if (state)
        assert_ok(mgk_write_file(to, true, state, strlen(state)));
    else
        unlink(to);
}

/* The Trainer of transformers says the step in a file and in the name of the folder. */
static void test_trainer_step(void **state)
{
    (void)state;
    static const struct {
        const char *folder, *state;
        int64_t step;
    } cases[] = {{"checkpoint-70", NULL, 70},
                 {"checkpoint-70", "{\"global_step\": 65}", 65},
                 {"checkpoint-70", "{\"global_step\": null}", 70},
                 {"checkpoint-70", "not JSON", 70},
                 {"checkpoint-70b", NULL, -1},
                 {"checkpoint-", NULL, -1},
                 {"final", "{\"global_step\": 80}", 80},
                 {"final", "{\"global_step\": -1}", -1}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char path[64];
        mgk_model *model;
        make_folder(cases[i].folder, cases[i].state);
        assert_ok(mgk_model_load(cases[i].folder, NULL, NULL, &model));
        if (model->step != cases[i].step)
            fail_msg("case %zu: step %lld", i, (long long)model->step);
        mgk_model_free(model);
        static const char *const files[] = {"config.json", "model.safetensors",
                                            "trainer_state.json"};
        for (size_t f = 0; f < 3; f++) {
            snprintf(path, sizeof(path), "%s/%s", cases[i].folder, files[f]);
            unlink(path);
        }
        rmdir(cases[i].folder);
    }
}

/* A part's own configuration may lack what is usual; sizes of tensors tell which values it got. */
static void test_usual_parts(void **state)
{
    (void)state;
    static const struct {
        const char *config, *part, *says;
    } cases[] = {
        {"{\"model_type\": \"clip\", \"text_config\": {}}", "text", "expected [49408,512]"},
        {"{\"model_type\": \"clip\", \"vision_config\": {}}", "vision", "expected [768,3,32,32]"},
        {"{\"model_type\": \"siglip\", \"text_config\": {}}", "text", "expected [32000,768]"},
        {"{\"model_type\": \"siglip\", \"vision_config\": {}}", "vision", "expected [768,3,16,16]"},
        {"{\"model_type\": \"clip\", \"text_config\": {\"vocab_size\": 5}, "
         "\"text_config_dict\": {\"vocab_size\": 7}}",
         "text", "expected [7,512]"},
        {"{\"model_type\": \"clip\", \"text_config\": {\"vocab_size\": 5}, "
         "\"text_config_dict\": null}",
         "text", "expected [5,512]"},
        {"{\"model_type\": \"clip\"}", "text", "\"text_config\" is not an object"},
        {"{\"model_type\": \"llava\"}", NULL, "\"text_config\" is not an object"},
        {"{\"model_type\": \"llava\", \"text_config\": {}}", NULL, "expected [32000,4096]"},
        {"{\"model_type\": \"llava\", \"text_config\": {\"model_type\": \"mistral\"}}", "text",
         "expected [32000,4096]"},
        {"{\"model_type\": \"gemma3\", \"text_config\": {}}", NULL, "expected [262208,2304]"},
        {"{\"model_type\": \"gemma3\", \"vision_config\": {}}", "vision", "expected [768,3,16,16]"},
        {"{\"model_type\": \"smolvlm\", \"text_config\": {}}", "vision",
         "model of pictures of a \"smolvlm\" is not known"},
        {"{\"model_type\": \"llava\", \"text_config\": {\"model_type\": \"pigeon\"}}", NULL,
         "model_type \"pigeon\" within \"llava\" is not known"},
        {"{\"model_type\": \"llava\", \"text_config\": {\"vocab_size\": 5}, "
         "\"text_config_dict\": {\"vocab_size\": 7}}",
         NULL, "expected [5,4096]"},
        {"{\"model_type\": \"llava\", \"text_config\": {\"model_type\": 7}}", NULL,
         "\"model_type\" is not a string"},
        {"{\"model_type\": \"llava\", \"text_config\": {\"tie_word_embeddings\": \"yes\"}}", NULL,
         "\"tie_word_embeddings\" of text_config is not true or false"},
        {"{\"model_type\": \"llava\", \"text_config\": {\"rope_scaling\": {\"type\": \"mrope\"}}}",
         NULL, "rope_type \"mrope\" is not known"},
        {"{\"model_type\": \"qwen3_vl\", \"text_config\": {\"model_type\": \"qwen3\"}}", NULL,
         "model_type \"qwen3\" within \"qwen3_vl\" is not known"},
        {"{\"model_type\": \"qwen2_vl\"}", NULL, "expected [152064,8192]"},
        {"{\"model_type\": \"qwen3_vl\", \"text_config\": {}}", NULL, "expected [151936,4096]"},
        {"{\"model_type\": \"llava\", \"per_layer_config\": {\"1\": {}}, \"text_config\": {}}",
         NULL, "settings of single layers are not known"},
        {"{\"model_type\": \"gpt2\", \"per_layer_config\": {\"1\": {\"n_inner\": 3}}}", NULL,
         "settings of single layers are not known"},
    };
    copy_weights("clip");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        mgk_model *model;
        const mgk_model_options options = {.part = cases[i].part};
        assert_ok(mgk_write_file("config.json", true, cases[i].config, strlen(cases[i].config)));
        assert_int_not_equal(mgk_model_load("model.safetensors", &options, NULL, &model),
                             STATUS_OK);
        if (!strstr(mgk_fail_message(), cases[i].says))
            fail_msg("\"%s\" does not say \"%s\"", mgk_fail_message(), cases[i].says);
    }
    unlink("config.json");
    unlink("model.safetensors");
}

/* Folders with a model of text and one of pictures. */
static void test_parts(void **state)
{
    (void)state;
    static const char *const folders[] = {"clip", "siglip"};
    for (size_t i = 0; i < 2; i++) {
        char folder[512], expected[600];
        mgk_model *model;
        snprintf(folder, sizeof(folder), "%s%s", top, folders[i]);
        snprintf(expected, sizeof(expected), "%s/text.safetensors", folder);
        golden_check(folder, &(mgk_model_options){.part = "text"}, expected);
        golden_check(folder, &(mgk_model_options){.usual_part = "text"}, expected);
        snprintf(expected, sizeof(expected), "%s/expected.safetensors", folder);
        golden_check(folder, &(mgk_model_options){.part = "vision", .usual_part = "text"},
                     expected);
        assert_fails(mgk_model_load(folder, NULL, NULL, &model), STATUS_USAGE);
        assert_non_null(strstr(mgk_fail_message(), "expected \"text\" or \"vision\" for `part`"));
        assert_fails(mgk_model_load(folder, &(mgk_model_options){.part = "speech"}, NULL, &model),
                     STATUS_USAGE);
    }
    mgk_model *model;
    char folder[512];
    snprintf(folder, sizeof(folder), "%sbert", top);
    assert_fails(mgk_model_load(folder, &(mgk_model_options){.part = "text"}, NULL, &model),
                 STATUS_USAGE);
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
    assert_false(model->news);
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
    copy_weights("gpt2");
    assert_refused("{\"model_type\": \"gpt2\",", STATUS_FORMAT, "config.json: ");
    assert_refused("{\"model_type\": \"xlnet\"}", STATUS_UNSUPPORTED,
                   "config.json: model_type \"xlnet\" is not one of the ");
    assert_in_range(strlen(mgk_fail_message()), 1, 160); /* two lines of a terminal */
    assert_non_null(strstr(mgk_fail_message(), "docs/models.md lists them"));
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
    assert_refused("{" SIZES ", \"n_layer\": 4097, \"vocab_size\": 37}", STATUS_FORMAT,
                   "config.json: \"n_layer\" is 4097, expected 1 to 4096");
    assert_refused("{" SIZES ", \"n_layer\": -1, \"vocab_size\": 37}", STATUS_FORMAT,
                   "config.json: \"n_layer\" is -1, expected 1 to 4096");
    assert_refused("{" SIZES ", \"n_layer\": 2, \"vocab_size\": 37, \"activation_function\": "
                   "\"mish\"}",
                   STATUS_UNSUPPORTED, "\"mish\"");
    assert_refused("{" SIZES ", \"n_layer\": 2, \"vocab_size\": 37, \"scale_attn_weights\": "
                   "false}",
                   STATUS_UNSUPPORTED, "\"scale_attn_weights\" has a value that changes numbers");
    assert_refused("{\"model_type\": \"gpt2\", \"n_head\": 5, \"n_embd\": 12, \"n_layer\": 2, "
                   "\"n_positions\": 16, \"vocab_size\": 37}",
                   STATUS_FORMAT, "a width of 12 is not divided by 5 heads");
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

/* What esm does not have here; its other settings are right. */
static void test_esm_refused(void **state)
{
    (void)state;
#define ESM(heads, positions, settings)                                                          \
    "{\"model_type\": \"esm\", \"num_attention_heads\": " heads ", \"hidden_size\": 12, "        \
    "\"num_hidden_layers\": 2, \"intermediate_size\": 20, \"vocab_size\": 37, "                  \
    "\"max_position_embeddings\": 16, \"position_embedding_type\": \"" positions "\", " settings \
    "}"
    static const struct {
        const char *config, *says;
        mgk_status status;
    } cases[] = {
        {ESM("3", "rotary", "\"is_folding_model\": true"), "is_folding_model true is not known",
         STATUS_UNSUPPORTED},
        {ESM("3", "rotary", "\"is_decoder\": true"), "is_decoder true is not known",
         STATUS_UNSUPPORTED},
        {ESM("3", "relative_key", "\"use_cache\": true"),
         "position_embedding_type \"relative_key\" is not known", STATUS_UNSUPPORTED},
        {ESM("3", "absolute", "\"use_cache\": true"), "pad_token_id -1: expected 0 to 36",
         STATUS_FORMAT},
        {ESM("3", "rotary", "\"hidden_act\": \"relu\""), "hidden_act", STATUS_UNSUPPORTED},
        {ESM("3", "rotary", "\"token_dropout\": true"), "\"mask_token_id\" is missing",
         STATUS_FORMAT},
        {ESM("3", "rotary", "\"token_dropout\": true, \"mask_token_id\": 37"),
         "mask_token_id 37: expected 1 to 36", STATUS_FORMAT},
        {ESM("3", "rotary", "\"token_dropout\": true, \"mask_token_id\": 0"), "mask_token_id 0",
         STATUS_FORMAT},
        {ESM("1", "rotary", "\"use_cache\": true"),
         "rotary_embeddings.inv_freq\" is [2], expected [6]", STATUS_SHAPE},
    };
    mgk_model *model;
    static const char right[] = ESM("3", "rotary", "\"token_dropout\": false");
#undef ESM
    copy_weights("esm");
    assert_ok(mgk_write_file("config.json", true, right, sizeof(right) - 1));
    assert_ok(mgk_model_load("model.safetensors", NULL, NULL, &model));
    assert_non_null(strstr(model->remark, "tensors are not used"));
    mgk_model_free(model);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_refused(cases[i].config, cases[i].status, cases[i].says);
    unlink("config.json");
    unlink("model.safetensors");
}

/* Values out of range are told by the key in config.json that has them, wherever it is. */
static void test_keys_named(void **state)
{
    (void)state;
#define MODEL(type)                                                                              \
    "{\"model_type\": \"" type "\", \"num_attention_heads\": 4, \"hidden_size\": 16, "           \
    "\"num_hidden_layers\": 2, \"intermediate_size\": 20, \"vocab_size\": 37, \"d_model\": 16, " \
    "\"d_kv\": 4, \"d_ff\": 20, \"num_layers\": 2, \"num_heads\": 4, "
#define ROPE(settings) "\"rope_scaling\": {\"rope_type\": \"llama3\", \"factor\": 2, " settings "}}"
    static const char *const cases[][2] = {
        {MODEL("mistral") "\"sliding_window\": 2000000}",
         "config.json: \"sliding_window\" is 2000000, expected 0 to 1048576"},
        {MODEL("llama") "\"num_key_value_heads\": 3}",
         "config.json: \"num_key_value_heads\" is 3, expected a divisor of heads, 4"},
        {MODEL("llama") ROPE("\"low_freq_factor\": -3, \"high_freq_factor\": 4"),
         "config.json: \"low_freq_factor\" is -3, expected at least"},
        {MODEL("llama") ROPE("\"low_freq_factor\": 1, \"high_freq_factor\": 4, "
                             "\"original_max_position_embeddings\": -8"),
         "config.json: \"original_max_position_embeddings\" is -8, expected 1 to 1048576"},
        {MODEL("llama") "\"rms_norm_eps\": 2}", "config.json: \"rms_norm_eps\" is 2, expected"},
        {MODEL("t5") "\"relative_attention_num_buckets\": 6}",
         "config.json: \"relative_attention_num_buckets\" is 6, expected a multiple of 4"},
        {MODEL("gemma2") "\"query_pre_attn_scalar\": 0}",
         "config.json: \"query_pre_attn_scalar\" is 0, expected more than 0"},
        {MODEL("granite") "\"logits_scaling\": 0}",
         "config.json: \"logits_scaling\" is 0, expected more than 0"},
        {MODEL("mixtral") "\"num_experts_per_tok\": 9}",
         "config.json: \"num_experts_per_tok\" is 9, expected 1 to 8, the number of experts"},
        {MODEL("qwen3_moe") "\"num_experts_per_tok\": 0}",
         "config.json: \"num_experts_per_tok\" is 0, expected 1 to 128"},
        {MODEL("olmoe") "\"num_experts\": 4097}",
         "config.json: \"num_experts\" is 4097, expected 0 to 4096"},
        {MODEL("qwen2_moe") "\"moe_intermediate_size\": 0}",
         "config.json: \"moe_intermediate_size\" is 0, expected 1 to 1048576"},
        {MODEL("qwen2_moe") "\"shared_expert_intermediate_size\": -4}",
         "config.json: \"shared_expert_intermediate_size\" is -4, expected 0 to 1048576"},
        {"{\"model_type\": \"codegen\", \"n_head\": 7, \"n_embd\": 14, \"n_layer\": 2, "
         "\"n_positions\": 8, \"vocab_size\": 37, \"rotary_dim\": 2}",
         "config.json: \"n_embd\" is 14, expected a multiple of 4"},
        {MODEL("llama") "\"head_dim\": 5}", /* no key says how many numbers are rotated */
         "config.json: rotary_dim is 5, expected an even number"},
    };
#undef MODEL
#undef ROPE
    copy_weights("gpt2");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_refused(cases[i][0], STATUS_FORMAT, cases[i][1]);
    unlink("config.json");
    unlink("model.safetensors");
}

/* Rotary variants that would silently give other positions. */
static void test_rotary_refused(void **state)
{
    (void)state;
#define DECODER(type, rope)                                                            \
    "{\"model_type\": \"" type "\", \"num_attention_heads\": 4, \"hidden_size\": 16, " \
    "\"num_hidden_layers\": 2, \"intermediate_size\": 20, \"vocab_size\": 37, " rope "}"
#define LLAMA(rope) DECODER("llama", rope)
#define YARN "\"rope_type\": \"yarn\", \"factor\": 4"
    static const char *const cases[][2] = {
        {LLAMA("\"rope_parameters\": \"yarn\""), "is not an object"},
        {LLAMA("\"rope_scaling\": {\"type\": 3}"), "is not a string"},
        {LLAMA("\"rope_scaling\": {\"type\": \"linear\"}"), "without a \"factor\""},
        {LLAMA("\"rope_scaling\": {\"rope_type\": \"xpos\", \"factor\": 2}"), "\"xpos\""},
        {LLAMA("\"rope_scaling\": {\"rope_type\": \"longrope\"}"),
         "\"short_factor\" is not an array"},
        {LLAMA("\"rope_scaling\": {\"rope_type\": \"longrope\", \"short_factor\": [1, 2], "
               "\"long_factor\": [1, []]}"),
         "\"long_factor\"[1] is not a number"},
        {LLAMA("\"partial_rotary_factor\": 1.5"), "partial_rotary_factor"},
        {LLAMA("\"rope_parameters\": {\"full_attention\": {\"rope_type\": \"default\"}, "
               "\"sliding_attention\": {\"rope_type\": \"linear\", \"factor\": 2}}"),
         "local layers"},
        {LLAMA("\"rope_theta\": \"10\""), "\"rope_theta\" is not a number"},
        {DECODER("olmo3",
                 "\"rope_parameters\": {\"full_attention\": {" YARN ", \"truncate\": false}}"),
         "\"truncate\" is false"},
        {DECODER("olmo3",
                 "\"rope_parameters\": {\"full_attention\": {" YARN "}, \"truncate\": false}"),
         "\"truncate\" is false"},
        {DECODER("gemma3_text", "\"rope_scaling\": {" YARN ", \"truncate\": false}"),
         "\"truncate\" is false"},
        {DECODER("glm", "\"partial_rotary_factor\": null"), "\"partial_rotary_factor\" is null"},
    };
#undef YARN
#undef LLAMA
#undef DECODER
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        mgk_checkpoint checkpoint = {.path = "x", .config_path = "config.json"};
        const mgk_model_options usual = {0};
        mgk_config config;
        set_config(&checkpoint, cases[i][0]);
        assert_int_not_equal(mgk_format_configure(&mgk_format_llama, &checkpoint, &usual, &config),
                             STATUS_OK);
        if (!strstr(mgk_fail_message(), cases[i][1]))
            fail_msg("\"%s\" does not say \"%s\"", mgk_fail_message(), cases[i][1]);
        cJSON_Delete(checkpoint.config);
    }
}

/* Which length rotary positions were scaled from, and their base. */
static void test_rotary_objects(void **state)
{
    (void)state;
#define YARN "\"rope_type\": \"yarn\", \"factor\": 4, \"rope_theta\": 100"
#define ORIGINAL(n) "\"original_max_position_embeddings\": " #n
    static const struct {
        const char *type, *settings;
        int original;
        double base;
    } cases[] = {
        {"smollm3", "\"rope_parameters\": {" YARN ", " ORIGINAL(64) "}", 64, 100},
        {"smollm3", "\"rope_parameters\": {" YARN ", " ORIGINAL(64) "}, " ORIGINAL(16), 16, 100},
        {"smollm3", "\"rope_parameters\": {\"rope_theta\": 50}, \"rope_scaling\": {}", 256, 50},
        {"olmo3",
         "\"rope_parameters\": {\"full_attention\": {" YARN ", " ORIGINAL(64) "}}, " ORIGINAL(16),
         64, 100},
        {"olmo3", "\"rope_parameters\": {\"full_attention\": {" YARN "}}, " ORIGINAL(16), 256, 100},
        {"olmo3", "\"rope_parameters\": {\"full_attention\": {" YARN "}}, \"rope_scaling\": {}",
         256, 100},
        {"gemma3_text", "\"rope_scaling\": {" YARN "}, " ORIGINAL(16), 256, 100},
    };
#undef ORIGINAL
#undef YARN
    mgk_checkpoint checkpoint;
    char text[1024];
    open_checkpoint("llama", &checkpoint);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const mgk_model_options usual = {0};
        mgk_config config;
        snprintf(text, sizeof(text),
                 "{\"model_type\": \"%s\", \"num_attention_heads\": 4, \"hidden_size\": 16, "
                 "\"num_hidden_layers\": 2, \"intermediate_size\": 20, \"vocab_size\": 37, "
                 "\"max_position_embeddings\": 256, %s}",
                 cases[i].type, cases[i].settings);
        set_config(&checkpoint, text);
        assert_ok(mgk_format_configure(&mgk_format_llama, &checkpoint, &usual, &config));
        assert_int_equal(config.rotary_original, cases[i].original);
        assert_true(config.rotary_base == cases[i].base);
    }
    mgk_checkpoint_close(&checkpoint);
}

/* Which layers of a gpt_neo have the window; transformers wants as many as there are. */
static void test_layers_of_gpt_neo(void **state)
{
    (void)state;
#define TYPES "\"attention_types\": [[[\"global\", \"local\"], 1], [[\"local\"], 1]]"
#define LAYERS(third) "\"attention_layers\": [\"global\", \"local\"" third "]"
    static const char sizes[] = "\"model_type\": \"gpt_neo\", \"num_heads\": 4, \"hidden_size\": "
                                "16, \"num_layers\": 3, \"vocab_size\": 37";
    static const struct {
        const char *settings, *says; /* NULL: read, and layers 1 and 2 are local */
    } cases[] = {
        {TYPES, NULL},
        {LAYERS(", \"local\""), NULL},
        {TYPES ", \"attention_layers\": null", NULL},
        {TYPES ", " LAYERS(", \"local\""), NULL},
        {TYPES ", " LAYERS(", \"global\""), "\"attention_types\" differs from"},
        {TYPES ", " LAYERS(""), "\"attention_layers\" names 2 layers, expected 3"},
        {"\"attention_types\": [[[\"local\"], 2]]", "\"attention_types\" names 2 layers"},
        {"\"attention_types\": [[[\"global\"], 1000000000]]", "names more than 3 layers"},
        {"\"attention_types\": [[[\"random\"], 3]]", "names \"random\""},
        {"\"attention_types\": [[[], 1000000000]]", "\"attention_types\" is not made of"},
        {"\"attention_types\": [[[\"local\"], 2.5]]", "\"attention_types\" is not made of"},
        {"\"attention_types\": [3]", "\"attention_types\" is not made of"},
        {"\"attention_types\": null", "\"attention_types\" names 0 layers"},
        {TYPES ", \"attention_layers\": {\"0\": \"global\"}", "\"attention_layers\" is not a list"},
        {TYPES ", \"attention_layers\": \"global\"", "\"attention_layers\" is not a list"},
        {TYPES ", \"window_size\": 0", "\"window_size\" is 0, expected at least 1"},
        {TYPES ", \"window_size\": null", "\"window_size\" is 0, expected at least 1"},
    };
#undef TYPES
#undef LAYERS
    mgk_checkpoint checkpoint;
    char text[1024];
    open_checkpoint("gpt2", &checkpoint);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const mgk_model_options usual = {0};
        mgk_config config;
        snprintf(text, sizeof(text), "{%s, %s}", sizes, cases[i].settings);
        set_config(&checkpoint, text);
        if (cases[i].says) {
            assert_int_not_equal(
                mgk_format_configure(&mgk_format_gpt2, &checkpoint, &usual, &config), STATUS_OK);
            if (!strstr(mgk_fail_message(), cases[i].says))
                fail_msg("\"%s\" does not say \"%s\"", mgk_fail_message(), cases[i].says);
            continue;
        }
        assert_ok(mgk_format_configure(&mgk_format_gpt2, &checkpoint, &usual, &config));
        assert_int_equal(config.window, 256);
        for (int layer = 0; layer < 4; layer++)
            assert_int_equal(mgk_config_is_local(&config, layer), layer == 1 || layer == 2);
    }
    mgk_checkpoint_close(&checkpoint);
}

/* Which layers of a smollm3 have no positions, and which of these a window. */
static void test_layers_of_smollm3(void **state)
{
    (void)state;
    static const char window[] = "\"use_sliding_window\": true, \"sliding_window\": 4";
    static const struct {
        const char *settings, *more, *says; /* NULL: read */
        int unrotated, local;               /* bit l: layer l */
    } cases[] = {
        {"", "", NULL, 1 << 3, 0},
        {", \"no_rope_layers\": null", "", NULL, 1 << 3, 0},
        {", \"no_rope_layer_interval\": 2, ", window, NULL, 1 << 1 | 1 << 3, 1 << 1 | 1 << 3},
        {", \"no_rope_layers\": [0, 1, 0, 1, 1, 0], ", window, NULL, 5, 5},
        {", \"no_rope_layers\": [1, 1, 1, 1, 1], \"sliding_window\": 0", "", NULL, 0, 0},
        {", \"use_sliding_window\": true", "", NULL, 1 << 3, 0},
        {", \"layer_types\": [\"full_attention\", \"sliding_attention\", \"full_attention\", "
         "\"full_attention\", \"full_attention\"], ",
         window, NULL, 1 << 3, 1 << 1},
        {", \"no_rope_layers\": [0, 1, 0, 1]", "", "\"no_rope_layers\" is not an array of 5", 0, 0},
        {", \"no_rope_layers\": {\"a\": 1}", "", "\"no_rope_layers\" is not an array", 0, 0},
        {", \"no_rope_layers\": [1, 1, 1, 1, \"1\"]", "", "\"no_rope_layers\" is not", 0, 0},
        {", \"no_rope_layer_interval\": 0", "", "\"no_rope_layer_interval\" is 0", 0, 0},
        {", \"use_sliding_window\": true, \"sliding_window\": 0", "", "\"sliding_window\" is 0", 0,
         0},
        {", \"sliding_window\": 4, \"layer_types\": [\"full_attention\", \"full_attention\", "
         "\"full_attention\", \"full_attention\", \"sliding_attention\"]",
         "", "\"layer_types\" names sliding_attention, but there is no window", 0, 0},
    };
    mgk_checkpoint checkpoint;
    char text[1024];
    open_checkpoint("llama", &checkpoint);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const mgk_model_options usual = {0};
        mgk_config config;
        snprintf(text, sizeof(text),
                 "{\"model_type\": \"smollm3\", \"num_attention_heads\": 4, \"hidden_size\": 16, "
                 "\"num_hidden_layers\": 5, \"intermediate_size\": 20, \"vocab_size\": 37%s%s}",
                 cases[i].settings, cases[i].more);
        set_config(&checkpoint, text);
        const mgk_status status =
            mgk_format_configure(&mgk_format_llama, &checkpoint, &usual, &config);
        if (cases[i].says) {
            assert_int_not_equal(status, STATUS_OK);
            if (!strstr(mgk_fail_message(), cases[i].says))
                fail_msg("\"%s\" does not say \"%s\"", mgk_fail_message(), cases[i].says);
            continue;
        }
        assert_ok(status);
        for (int layer = 0; layer < 8; layer++)
            if (mgk_config_is_unrotated(&config, layer) != (cases[i].unrotated >> layer & 1) ||
                mgk_config_is_local(&config, layer) != (cases[i].local >> layer & 1))
                fail_msg("%s: layer %d", text, layer);
    }
    mgk_checkpoint_close(&checkpoint);
}

#define SIZES                                                                           \
    "\"num_attention_heads\": 4, \"hidden_size\": 16, \"num_hidden_layers\": 2, "       \
    "\"intermediate_size\": 20, \"vocab_size\": 37, \"max_position_embeddings\": 16, "  \
    "\"n_head\": 4, \"n_heads\": 4, \"n_embd\": 16, \"dim\": 16, \"n_layer\": 2, "      \
    "\"n_layers\": 2, \"hidden_dim\": 20, \"n_positions\": 16, "                        \
    "\"d_model\": 16, \"d_kv\": 4, \"d_ff\": 20, \"num_layers\": 2, \"num_heads\": 4, " \
    "\"decoder_layers\": 2, \"decoder_attention_heads\": 4, \"decoder_ffn_dim\": 20, "

/* Values of config.json that change numbers, or that the reference refuses: refused by name. */
static void test_values_refused(void **state)
{
    (void)state;
    static const struct {
        const mgk_model_format *format;
        const char *type, *settings;
    } cases[] = {
        {&mgk_format_llama, "llama", "\"is_causal\": false"},
        {&mgk_format_llama, "llama", "\"is_causal\": null"},
        {&mgk_format_llama, "llama", "\"use_bidirectional_attention\": true"},
        {&mgk_format_bert, "bert", "\"is_causal\": false, \"is_decoder\": true"},
        {&mgk_format_clip_text, "clip_text_model", "\"is_causal\": false"},
        {&mgk_format_llama, "llama", "\"partial_rotary_factor\": 0.5"},
        {&mgk_format_llama, "gemma2", "\"sliding_window_pattern\": 3"},
        {&mgk_format_llama, "gemma3_text", "\"attn_logit_softcapping\": 2"},
        {&mgk_format_llama, "olmo3", "\"rope_theta\": 10000"},
        {&mgk_format_llama, "olmo3", "\"sliding_window\": 0"},
        {&mgk_format_llama, "cohere2", "\"sliding_window\": null"},
        {&mgk_format_llama, "cohere2", "\"sliding_window\": 0"},
        {&mgk_format_llama, "cohere2", "\"sliding_window_pattern\": 0"},
        {&mgk_format_llama, "cohere2", "\"use_qk_norm\": true"},
        {&mgk_format_llama, "glm", "\"rotary_pct\": 0.25"},
        {&mgk_format_llama, "glm4", "\"partial_rotary_factor\": 1.5"},
        {&mgk_format_llama, "gemma2",
         "\"layer_types\": [\"sliding_attention\", \"full_attention\"], \"sliding_window\": null"},
        {&mgk_format_llama, "gemma3_text",
         "\"rope_parameters\": {\"full_attention\": {}}, \"rope_scaling\": {\"rope_type\": "
         "\"default\"}"},
        {&mgk_format_llama, "mistral", "\"sliding_window\": 0"},
        {&mgk_format_llama, "gemma3_text", "\"sliding_window\": 0"},
        {&mgk_format_llama, "phi3", "\"sliding_window\": -1"},
        {&mgk_format_llama, "qwen2", "\"sliding_window\": 0, \"use_sliding_window\": true"},
        {&mgk_format_llama, "mixtral", "\"num_local_experts\": 0"},
        {&mgk_format_llama, "olmoe", "\"num_experts\": null"},
        {&mgk_format_llama, "olmoe", "\"clip_qkv\": 8"},
        {&mgk_format_llama, "qwen3_moe", "\"num_experts\": -1"},
        {&mgk_format_llama, "qwen3_moe", "\"decoder_sparse_step\": 2"},
        {&mgk_format_llama, "qwen3_moe", "\"mlp_only_layers\": [1]"},
        {&mgk_format_llama, "qwen2_moe", "\"mlp_only_layers\": 1"},
        {&mgk_format_llama, "qwen2_moe", "\"use_sliding_window\": true"},
        {&mgk_format_llama, "qwen2_moe", "\"shared_expert_intermediate_size\": 0"},
        {&mgk_format_llama, "qwen3_moe", "\"sliding_window\": 0, \"use_sliding_window\": true"},
        {&mgk_format_gpt2, "gptj", "\"rope_theta\": 50"},
        {&mgk_format_gpt2, "codegen", "\"rope_theta\": 50"},
        {&mgk_format_gpt2, "codegen", "\"rotary_dim\": 0"},
        {&mgk_format_gpt2, "codegen", "\"rotary_dim\": null"},
        {&mgk_format_gpt2, "gpt_bigcode", "\"scale_attn_weights\": false"},
        {&mgk_format_gpt2, "gpt_bigcode", "\"add_cross_attention\": true"},
        {&mgk_format_gpt2, "gpt_bigcode", "\"multi_query\": 1"},
        {&mgk_format_bert, "mpnet", "\"is_decoder\": true"},
        {&mgk_format_bert, "mpnet", "\"pad_token_id\": 4"},
        {&mgk_format_bert, "distilbert", "\"layer_norm_eps\": 0.1"},
        {&mgk_format_modernbert, "modernbert", "\"sliding_window\": 2"},
        {&mgk_format_modernbert, "modernbert", "\"rope_parameters\": {\"rope_theta\": 50}"},
        {&mgk_format_modernbert, "modernbert", "\"local_rope_theta\": null"},
        {&mgk_format_bert, "nystromformer", "\"inv_coeff_init_option\": true"},
        {&mgk_format_bert, "nystromformer", "\"segment_means_seq_len\": 65"},
        {&mgk_format_bert, "nystromformer", "\"conv_kernel_size\": 4"},
        {&mgk_format_bert, "big_bird", "\"attention_type\": \"sparse\""},
        {&mgk_format_bert, "big_bird", "\"is_decoder\": true"},
        {&mgk_format_bert, "big_bird", "\"num_random_blocks\": 0"},
        {&mgk_format_longformer, "longformer", "\"attention_window\": [4, 8]"},
        {&mgk_format_longformer, "longformer", "\"attention_window\": 3"},
        {&mgk_format_longformer, "longformer", "\"is_decoder\": true"},
        {&mgk_format_t5_decoder, "t5", "\"is_causal\": false"},
        {&mgk_format_t5_decoder, "mt5", "\"decoder_start_token_id\": 37"},
        {&mgk_format_bart_decoder, "bart", "\"is_causal\": null"},
        {&mgk_format_bart_decoder, "mbart", "\"use_bidirectional_attention\": true"},
        {&mgk_format_bart_decoder, "pegasus", "\"decoder_start_token_id\": -1"},
    };
    mgk_checkpoint checkpoint;
    open_checkpoint("llama", &checkpoint);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const mgk_model_options usual = {0};
        mgk_config config;
        char text[1024], key[64];
        for (int given = 0; given < 2; given++) { /* the refusal is of this setting alone */
            snprintf(text, sizeof(text), "{" SIZES "\"model_type\": \"%s\"%s%s}", cases[i].type,
                     given ? ", " : "", given ? cases[i].settings : "");
            set_config(&checkpoint, text);
            if ((mgk_format_configure(cases[i].format, &checkpoint, &usual, &config) ==
                 STATUS_OK) == given)
                fail_msg("%s is %s", text, given ? "accepted" : mgk_fail_message());
        }
        snprintf(key, sizeof(key), "%.*s", (int)strcspn(cases[i].settings + 1, "\""),
                 cases[i].settings + 1);
        if (!strstr(mgk_fail_message(), key))
            fail_msg("\"%s\" does not say \"%s\"", mgk_fail_message(), key);
    }
    mgk_checkpoint_close(&checkpoint);
}

/* What transformers 5.24 takes where config.json says nothing. */
/* A file that has an output of its own is not tied, whatever config.json says. */
static void test_outputs_of_their_own(void **state)
{
    (void)state;
    static const char tied[] =
        "{\"model_type\": \"llama\", \"num_attention_heads\": 8, \"hidden_size\": 16, "
        "\"num_hidden_layers\": 4, \"vocab_size\": 37, \"intermediate_size\": 12, "
        "\"tie_word_embeddings\": true}";
    static const char *const files[] = {"llama", "llama-tied"};
    for (int without = 0; without < 2; without++) {
        const mgk_model_options usual = {0};
        mgk_checkpoint checkpoint;
        mgk_config config;
        open_checkpoint(files[without], &checkpoint);
        set_config(&checkpoint, tied);
        assert_ok(mgk_format_configure(&mgk_format_llama, &checkpoint, &usual, &config));
        assert_int_equal(config.tied, without);
        assert_int_equal(config.family, MGK_FAMILY_LM);
        mgk_checkpoint_close(&checkpoint);
    }
}

/* What would change numbers silently: transformers reads rotary_emb_base and rotary_pct alone of a
 * gpt_neox, turns nothing for a part below one number, and leaves biases out in an exact bloom. */
static void test_words_that_others_read_otherwise(void **state)
{
    (void)state;
    static const struct {
        const mgk_model_format *format;
        const char *words, *refusal; /* NULL: read */
    } cases[] = {
        {&mgk_format_neox, "\"model_type\": \"gpt_neox\"", NULL},
        {&mgk_format_neox,
         "\"model_type\": \"gpt_neox\", \"rotary_emb_base\": 500, \"rope_theta\": 500, "
         "\"rotary_pct\": 0.5, \"partial_rotary_factor\": 0.5",
         NULL},
        {&mgk_format_neox, "\"model_type\": \"gpt_neox\", \"rope_theta\": 500",
         "\"rope_theta\" is 500, expected 10000: of a gpt_neox \"rotary_emb_base\" counts"},
        {&mgk_format_neox,
         "\"model_type\": \"gpt_neox\", \"rotary_pct\": 1, \"partial_rotary_factor\": 0.5",
         "\"partial_rotary_factor\" is 0.5, expected 1: of a gpt_neox \"rotary_pct\" counts"},
        {&mgk_format_neox, "\"model_type\": \"gpt_neox\", \"rotary_pct\": 0.05",
         "partial_rotary_factor 0.05 turns none of the 16 numbers of a head"},
        {&mgk_format_bloom,
         "\"model_type\": \"bloom\", \"pretraining_tp\": 4, \"slow_but_exact\": false", NULL},
        {&mgk_format_bloom, "\"model_type\": \"bloom\", \"slow_but_exact\": true", NULL},
        {&mgk_format_bloom,
         "\"model_type\": \"bloom\", \"pretraining_tp\": 4, \"slow_but_exact\": true",
         "\"slow_but_exact\" is true with \"pretraining_tp\" 4"},
    };
    mgk_checkpoint checkpoint;
    open_checkpoint("llama-tied", &checkpoint);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const mgk_model_options usual = {0};
        mgk_config config;
        char text[1024];
        snprintf(text, sizeof(text),
                 "{%s, \"num_attention_heads\": 2, \"hidden_size\": 32, \"num_hidden_layers\": 4, "
                 "\"vocab_size\": 37, \"intermediate_size\": 12}",
                 cases[i].words);
        set_config(&checkpoint, text);
        const mgk_status status =
            mgk_format_configure(cases[i].format, &checkpoint, &usual, &config);
        if (!cases[i].refusal) {
            assert_ok(status);
            continue;
        }
        assert_fails(status, STATUS_UNSUPPORTED);
        if (!strstr(mgk_fail_message(), cases[i].refusal))
            fail_msg("no '%s' in '%s'", cases[i].refusal, mgk_fail_message());
    }
    mgk_checkpoint_close(&checkpoint);
}

static void test_usual_values(void **state)
{
    (void)state;
    static const struct {
        const char *type;
        double epsilon, base;
        int key_heads, head_dim, rotary_dim, length, window;
        bool tied, bias;
    } cases[] = {
        {"smollm3", 1e-6, 2e6, 4, 2, 2, 32768, 0, true, false},
        {"olmo3", 1e-5, 5e5, 0, 2, 2, 2048, 4096, false, false},
        {"cohere2", 1e-5, 1e4, 0, 2, 2, 8192, 4096, true, false},
        {"glm", 1.5625e-7, 1e4, 2, 128, 64, 131072, 0, false, true},
        {"glm4", 1.5625e-7, 1e4, 2, 128, 64, 131072, 0, false, true},
    };
    mgk_checkpoint checkpoint;
    char text[1024];
    open_checkpoint("llama-tied", &checkpoint);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const mgk_model_options usual = {0};
        mgk_config config;
        snprintf(text, sizeof(text),
                 "{\"model_type\": \"%s\", \"num_attention_heads\": 8, \"hidden_size\": 16, "
                 "\"num_hidden_layers\": 4, \"vocab_size\": 37, \"intermediate_size\": 12}",
                 cases[i].type);
        set_config(&checkpoint, text);
        assert_ok(mgk_format_configure(&mgk_format_llama, &checkpoint, &usual, &config));
        assert_true(config.norm_epsilon == cases[i].epsilon);
        assert_true(config.rotary_base == cases[i].base);
        assert_int_equal(config.key_heads, cases[i].key_heads);
        assert_int_equal(config.head_dim, cases[i].head_dim);
        assert_int_equal(config.rotary_dim, cases[i].rotary_dim);
        assert_int_equal(config.length, cases[i].length);
        assert_int_equal(config.window, cases[i].window);
        assert_int_equal(config.tied, cases[i].tied);
        assert_int_equal(config.attention_bias, cases[i].bias);
        for (int layer = 0; layer < 4; layer++)
            assert_int_equal(mgk_config_is_local(&config, layer), cases[i].window > 0 && layer < 3);
    }
    mgk_checkpoint_close(&checkpoint);
}

/* What transformers does not read, or reads as nothing. */
static void test_values_without_effect(void **state)
{
    (void)state;
    static const struct {
        const char *type, *settings;
    } cases[] = {
        {"qwen3_moe", "\"intermediate_size\": 20, \"sliding_window\": 0"},
        {"qwen3_moe", "\"sliding_window\": -4, \"use_sliding_window\": false"},
        {"qwen3_moe", "\"mlp_only_layers\": [], \"layer_types\": [\"sliding_attention\"]"},
        {"qwen3_moe", "\"mlp_only_layers\": null, \"intermediate_size\": null"},
        {"qwen2_moe", "\"sliding_window\": 0, \"use_sliding_window\": false"},
        {"qwen2_moe", "\"intermediate_size\": \"20\""},
        {"mixtral", "\"intermediate_size\": 20, \"mlp_only_layers\": []"},
        {"mixtral", "\"intermediate_size\": 20, \"mlp_only_layers\": [1]"},
        {"olmoe", "\"intermediate_size\": 20, \"mlp_only_layers\": null"},
        {"olmoe", "\"intermediate_size\": 20, \"decoder_sparse_step\": 2"},
    };
    mgk_checkpoint checkpoint;
    char text[1024];
    open_checkpoint("llama", &checkpoint);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const mgk_model_options usual = {0};
        mgk_config config;
        snprintf(text, sizeof(text),
                 "{\"model_type\": \"%s\", \"num_attention_heads\": 4, \"hidden_size\": 16, "
                 "\"num_hidden_layers\": 2, \"vocab_size\": 37, \"moe_intermediate_size\": 12, %s}",
                 cases[i].type, cases[i].settings);
        set_config(&checkpoint, text);
        assert_ok(mgk_format_configure(&mgk_format_llama, &checkpoint, &usual, &config));
        assert_ok(mgk_config_resolve(&config));
        assert_int_equal(config.window, 0);
        assert_int_equal(config.hidden, strstr(cases[i].type, "qwen") ? 12 : 20);
        assert_false(mgk_config_is_local(&config, 0));
    }
    mgk_checkpoint_close(&checkpoint);
}

/* Whether the id of padding is also that of the beginning or the end of texts. */
static void test_padding_word(void **state)
{
    (void)state;
    static const struct {
        const char *settings;
        int padding;
        bool word;
    } cases[] = {
        {"", -1, false},
        {", \"pad_token_id\": 3, \"bos_token_id\": 1, \"eos_token_id\": 2", 3, false},
        {", \"pad_token_id\": 2, \"bos_token_id\": 1, \"eos_token_id\": 2", 2, true},
        {", \"pad_token_id\": 1, \"bos_token_id\": 1, \"eos_token_id\": 2", 1, true},
        {", \"pad_token_id\": 7, \"eos_token_id\": [2, 7]", 7, true},
        {", \"pad_token_id\": null, \"eos_token_id\": [2, 7]", -1, false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[1024];
        mgk_config config;
        const mgk_model_options usual = {0};
        mgk_checkpoint checkpoint;
        open_checkpoint("llama", &checkpoint);
        snprintf(text, sizeof(text), "{" SIZES "\"model_type\": \"llama\"%s}", cases[i].settings);
        set_config(&checkpoint, text);
        assert_ok(mgk_format_configure(&mgk_format_llama, &checkpoint, &usual, &config));
        assert_int_equal(config.padding, cases[i].padding);
        assert_int_equal(config.padding_word, cases[i].word);
        mgk_checkpoint_close(&checkpoint);
    }
}

/* The angles that transformers 5.24 has for these settings of a family with local layers. */
static void test_rotary_of_layer_types(void **state)
{
    (void)state;
#define FLAT "\"rope_type\": \"linear\", \"factor\": 8, \"rope_theta\": 500000"
    static const struct {
        const char *type, *settings;
        double base, local, factor;
    } cases[] = {
        {"gemma3_text", "", 1e6, 1e4, 1},
        {"gemma3_text", ", \"rope_parameters\": {" FLAT "}", 1e6, 1e4, 1},
        {"gemma3_text", ", \"rope_theta\": 700000, \"rope_parameters\": {" FLAT "}", 7e5, 1e4, 1},
        {"gemma3_text", ", \"rope_parameters\": {\"full_attention\": {" FLAT "}}", 5e5, 1e4, 8},
        {"gemma3_text", ", \"rope_parameters\": {\"sliding_attention\": {\"rope_theta\": 5000}}",
         1e6, 5e3, 1},
        {"gemma3_text",
         ", \"rope_local_base_freq\": 3000, \"rope_scaling\": {\"rope_type\": \"linear\", "
         "\"factor\": 8}",
         1e6, 3e3, 8},
        {"gemma2", ", \"rope_parameters\": {" FLAT "}", 5e5, 0, 8},
        {"olmo3", "", 5e5, 5e5, 1},
        {"olmo3", ", \"rope_parameters\": {\"rope_theta\": 300}", 5e5, 5e5, 1},
        {"olmo3", ", \"rope_scaling\": {\"rope_type\": \"linear\", \"factor\": 8}", 5e5, 5e5, 8},
        {"olmo3", ", \"rope_parameters\": {\"full_attention\": {\"rope_theta\": 300}}", 300, 5e5,
         1},
        {"olmo3", ", \"rope_parameters\": {\"sliding_attention\": {\"rope_theta\": 300}}", 5e5, 300,
         1},
    };
#undef FLAT
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        mgk_checkpoint checkpoint;
        const mgk_model_options usual = {0};
        mgk_config config;
        char text[1024];
        open_checkpoint("llama", &checkpoint);
        snprintf(text, sizeof(text), "{" SIZES "\"model_type\": \"%s\"%s}", cases[i].type,
                 cases[i].settings);
        set_config(&checkpoint, text);
        assert_ok(mgk_format_configure(&mgk_format_llama, &checkpoint, &usual, &config));
        if (config.rotary_base != cases[i].base || config.local_base != cases[i].local ||
            config.rotary_factor != cases[i].factor)
            fail_msg("%s: base %g, local base %g, factor %g", text, config.rotary_base,
                     config.local_base, config.rotary_factor);
        mgk_checkpoint_close(&checkpoint);
    }
}
#undef SIZES

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
                                           "data2vec-text",
                                           "ernie",
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
                                           "nystromformer",
                                           "nystromformer-softmax",
                                           "big_bird",
                                           "big_bird-full",
                                           "longformer",
                                           "longformer-classifier",
                                           "reformer",
                                           "reformer-few",
                                           "reformer-factored",
                                           "reformer-ring",
                                           "reformer-encoder",
                                           "deberta-v2",
                                           "deberta-v2-plain",
                                           "modernbert",
                                           "modernbert-biased",
                                           "esm",
                                           "esm-rounded",
                                           "esm-learned",
                                           "esm-learned-padded",
                                           "t5",
                                           "t5-encoder",
                                           "mt5",
                                           "t5-untied",
                                           "bart",
                                           "mbart",
                                           "marian",
                                           "marian-own",
                                           "pegasus",
                                           "whisper"};
    static const char *const decoders[] = {"t5",     "mt5",        "t5-untied", "bart",   "mbart",
                                           "marian", "marian-own", "pegasus",   "whisper"};
    enum { FAMILIES = sizeof(families) / sizeof(families[0]) };
    enum { DECODERS = sizeof(decoders) / sizeof(decoders[0]) };
    static const struct CMUnitTest others[] = {
        cmocka_unit_test(test_file_in_folder),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_trainer_step),
        cmocka_unit_test(test_usual_parts),
        cmocka_unit_test(test_remark),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_rotary_refused),
        cmocka_unit_test(test_rotary_objects),
        cmocka_unit_test(test_values_refused),
        cmocka_unit_test(test_rotary_of_layer_types),
        cmocka_unit_test(test_keys_named),
        cmocka_unit_test(test_padding_word),
        cmocka_unit_test(test_esm_refused),
        cmocka_unit_test(test_layers_of_gpt_neo),
        cmocka_unit_test(test_layers_of_smollm3),
        cmocka_unit_test(test_outputs_of_their_own),
        cmocka_unit_test(test_words_that_others_read_otherwise),
        cmocka_unit_test(test_usual_values),
        cmocka_unit_test(test_values_without_effect),
    };
    enum { OTHERS = sizeof(others) / sizeof(others[0]) };
    struct CMUnitTest tests[OTHERS + FAMILIES + DECODERS];
    memcpy(tests, others, sizeof(others));
    for (int i = 0; i < DECODERS; i++)
        tests[OTHERS + FAMILIES + i] =
            (struct CMUnitTest){.name = decoders[i],
                                .test_func = check_decoder,
                                .initial_state = (void *)(uintptr_t)decoders[i]};
    for (int i = 0; i < FAMILIES; i++)
        tests[OTHERS + i] = (struct CMUnitTest){.name = families[i],
                                                .test_func = check_family,
                                                .initial_state = (void *)(uintptr_t)families[i]};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
