/* SPDX-License-Identifier: MIT */
/* Accepted and refused folders of whisper; golden files test the rest. */
#include "test.h"

#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "model/core/cost.h"
#include "model/core/pass.h"
#include "model/formats/format.h"

static const char preprocessor[] = "preprocessor_config.json";
static mgk_device *cpu;

/* Copies the weights of the golden model. */
static int copy_weights(void **state)
{
    mgk_mapping file;
    (void)state;
    if (mgk_map_file(MGK_TEST_GOLDEN "/hugging_face/whisper/model.safetensors", &file) != STATUS_OK)
        return -1;
    mgk_status status = mgk_write_file("model.safetensors", true, file.data, file.size);
    mgk_unmap_file(&file);
    return status == STATUS_OK ? 0 : -1;
}

static int remove_files(void **state)
{
    (void)state;
    unlink("model.safetensors");
    unlink("own.safetensors");
    unlink("config.json");
    unlink(preprocessor);
    return 0;
}

static void write_text(const char *path, const char *text)
{
    unlink(path);
    if (text)
        assert_ok(mgk_write_file(path, true, text, strlen(text)));
}

static mgk_status load(const char *config, const char *sounds, mgk_model **out)
{
    write_text("config.json", config);
    write_text(preprocessor, sounds);
    return mgk_model_load("model.safetensors", NULL, cpu, out);
}

#define SHAPE                                                                               \
    "{\"model_type\": \"whisper\", \"encoder_layers\": 2, \"encoder_attention_heads\": 3, " \
    "\"d_model\": 12, \"encoder_ffn_dim\": 20"
#define MODEL SHAPE ", \"num_mel_bins\": 7, \"max_source_positions\": 10}"
#define SOUNDS "{\"hop_length\": 800, \"n_fft\": 120, \"chunk_length\": 1"

static void test_accepted(void **state)
{
    (void)state;
    mgk_model *model, *again;
    mgk_cost cost;
    assert_ok(load(MODEL, SOUNDS "}", &model));
    const mgk_sound_form *form = &model->config.sound;
    assert_int_equal(form->bands, 7);
    assert_int_equal(form->rate, 16000);
    assert_int_equal(form->hop, 800);
    assert_int_equal(form->window, 120);
    assert_non_null(strstr(model->remark, "the decoder is not run (`part` chooses it): its "));
    /* K = 21 and 36 numbers for each of 12, of 20 frames and of 10 tokens, with bias and GELU. */
    assert_ok(mgk_cost_of(&model->config, 10, &cost));
    assert_true(cost.flops[MGK_COST_EMBEDDING] ==
                20 * 12 * (2 * 21 + 6) + 10 * 12 * (2 * 36 + 6 + 1));
    assert_true(cost.parameters[MGK_COST_EMBEDDING] == 12 * 21 + 12 + 12 * 36 + 12 + 10 * 12);
    /* The toolkit's own file contains everything that the folder did. */
    assert_ok(mgk_model_save(model, "own.safetensors", true, NULL, 0, NULL, 0));
    assert_ok(mgk_model_load("own.safetensors", NULL, cpu, &again));
    assert_memory_equal(&again->config.sound, form, sizeof(*form));
    assert_int_equal(again->parameters.total, model->parameters.total);
    assert_memory_equal(again->weights, model->weights, model->parameters.total * cpu->real_size);
    mgk_model_free(again);
    mgk_model_free(model);
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *config, *sounds;
        mgk_status status;
        const char *says;
    } cases[] = {
        {MODEL, NULL, STATUS_UNSUPPORTED, "30 s of 16000 samples a second in hops of 160"},
        {MODEL, SOUNDS ", \"feature_size\": 8}", STATUS_UNSUPPORTED, "feature_size 8"},
        {MODEL, SOUNDS ", \"sampling_rate\": 8000}", STATUS_UNSUPPORTED, "the model hears 20 hops"},
        {MODEL, SOUNDS ", \"dither\": 0.1}", STATUS_UNSUPPORTED, "dither 0.1"},
        {MODEL, SOUNDS ", \"padding_value\": 1}", STATUS_UNSUPPORTED, "padding_value 1"},
        {MODEL, "{\"hop_length\": 800, \"n_fft\": 121, \"chunk_length\": 1}", STATUS_FORMAT,
         "sound_window is 121"},
        {MODEL, "{\"hop_length\": 800, \"n_fft\": 99999, \"chunk_length\": 1}", STATUS_FORMAT,
         "sound_window is 99999"},
        {MODEL, "{\"hop_length\": \"8\"}", STATUS_FORMAT, "\"hop_length\""},
        {MODEL, "{\"hop_length\":", STATUS_FORMAT, preprocessor},
        {SHAPE ", \"num_mel_bins\": 0}", NULL, STATUS_FORMAT, "num_mel_bins 0"},
        {SHAPE ", \"num_mel_bins\": 80}", NULL, STATUS_SHAPE,
         "encoder.conv1.weight\" is [12,7,3], expected [12,80,3]"},
        {SHAPE ", \"num_mel_bins\": 80, \"max_source_positions\": -1}", NULL, STATUS_FORMAT,
         "max_source_positions -1"},
        {SHAPE ", \"num_mel_bins\": 80, \"max_source_positions\": 2000000000}", NULL, STATUS_FORMAT,
         "max_source_positions"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        mgk_model *model;
        if (load(cases[i].config, cases[i].sounds, &model) != cases[i].status ||
            !strstr(mgk_fail_message(), cases[i].says))
            fail_msg("case %zu: \"%s\" does not say \"%s\"", i, mgk_fail_message(), cases[i].says);
    }
}

/* Batches must have the model's kind of input, and whole recordings. */
static void test_batches(void **state)
{
    (void)state;
    enum { TOKENS = 10 };
    const int32_t ids[TOKENS] = {0}, lengths[] = {TOKENS - 1};
    const double frames[7 * (2 * TOKENS + 2)] = {0};
    mgk_model *model;
    mgk_pass *pass;
    assert_ok(load(MODEL, SOUNDS "}", &model));
    assert_fails(mgk_pass_create(model, 1, TOKENS - 1, 0, false, &pass), STATUS_SHAPE);
    assert_non_null(strstr(mgk_fail_message(), "9 tokens of a recording: expected 10"));
    assert_fails(mgk_pass_create(model, 1, TOKENS, 0, true, &pass), STATUS_UNSUPPORTED);
    assert_ok(mgk_pass_create(model, 1, TOKENS, 0, false, &pass));
    mgk_batch batch = {1, TOKENS, ids, lengths, NULL};
    assert_fails(mgk_pass_load(pass, &batch, NULL, 0, 0), STATUS_SHAPE);
    batch.input = frames;
    assert_ok(mgk_pass_load(pass, &batch, NULL, 0, 0));
    mgk_pass_free(pass);
    mgk_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accepted),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_batches),
    };
    if (mgk_device_open("cpu", MGK_DOUBLE, 1, &cpu) != STATUS_OK)
        return 1;
    int failed = cmocka_run_group_tests(tests, copy_weights, remove_files);
    mgk_device_close(cpu);
    return failed;
}
