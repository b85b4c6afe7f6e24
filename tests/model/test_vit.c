/* SPDX-License-Identifier: MIT */
/* Accepted and refused folders of vision transformers; golden files test the rest. */
#include "test.h"

#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "model/core/cost.h"
#include "model/core/pass.h"
#include "model/formats/format.h"

static const char preprocessor[] = "preprocessor_config.json";

/* Copies the weights of the golden model, which has pictures of 12 pixels and patches of 4. */
static int copy_weights(void **state)
{
    mgk_mapping file;
    (void)state;
    if (mgk_map_file(MGK_TEST_GOLDEN "/hugging_face/vit/model.safetensors", &file) != STATUS_OK)
        return -1;
    mgk_status status = mgk_write_file("model.safetensors", true, file.data, file.size);
    mgk_unmap_file(&file);
    return status == STATUS_OK ? 0 : -1;
}

static int remove_files(void **state)
{
    (void)state;
    unlink("model.safetensors");
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

static mgk_device *cpu;

static mgk_status load(const char *config, const char *pictures, mgk_model **out)
{
    write_text("config.json", config);
    write_text(preprocessor, pictures);
    return mgk_model_load("model.safetensors", NULL, cpu, out);
}

#define NO_PICTURE                                                                     \
    "{\"model_type\": \"vit\", \"num_hidden_layers\": 2, \"num_attention_heads\": 3, " \
    "\"hidden_size\": 12, \"intermediate_size\": 20"
#define MODEL NO_PICTURE ", \"image_size\": 12, \"patch_size\": 4}"

static void test_no_preprocessor(void **state)
{
    (void)state;
    mgk_model *model;
    assert_ok(load(MODEL, NULL, &model));
    const mgk_picture_form *form = &model->config.picture;
    assert_int_equal(form->patch, 4);
    assert_int_equal(form->side, 12);
    assert_int_equal(form->resampling, MGK_RESAMPLING_BILINEAR);
    assert_true(form->scale == 1.0 / 255);
    for (int c = 0; c < MGK_CHANNELS; c++)
        assert_true(form->mean[c] == 0.5 && form->deviation[c] == 0.5);
    assert_non_null(strstr(model->remark, "2 tensors are not used: classifier."));
    assert_true(model->news);
    mgk_model_free(model);
}

static void test_preprocessor(void **state)
{
    (void)state;
    mgk_model *model;
    assert_ok(load(NO_PICTURE ", \"image_size\": [12, 12], \"patch_size\": [4, 4]}",
                   "{\"size\": 12, \"resample\": 1, \"rescale_factor\": 0.5, "
                   "\"image_mean\": [1, 2, 3], \"image_std\": [4, 5, 6], \"do_pad\": false}",
                   &model));
    assert_int_equal(model->config.picture.resampling, MGK_RESAMPLING_LANCZOS);
    assert_true(model->config.picture.scale == 0.5);
    assert_true(model->config.picture.mean[2] == 3 && model->config.picture.deviation[0] == 4);
    mgk_model_free(model);
    assert_ok(load(MODEL,
                   "{\"size\": {\"height\": 30, \"width\": 30}, \"do_resize\": false, "
                   "\"do_rescale\": false, \"do_normalize\": false, \"image_mean\": [1, 2, 3]}",
                   &model));
    assert_int_equal(model->config.picture.resampling, MGK_RESAMPLING_NONE);
    assert_true(model->config.picture.scale == 1);
    assert_true(model->config.picture.mean[0] == 0 && model->config.picture.deviation[0] == 1);
    mgk_model_free(model);
    assert_ok(load(MODEL,
                   "{\"size\": {\"shortest_edge\": 14}, \"do_center_crop\": true, "
                   "\"crop_size\": {\"height\": 12, \"width\": 12}}",
                   &model));
    assert_int_equal(model->config.picture.edge, 14);
    assert_true(model->config.picture.shortest);
    mgk_model_free(model);
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *config, *pictures;
        mgk_status status;
        const char *says;
    } cases[] = {
        {NO_PICTURE "}", NULL, STATUS_SHAPE,
         "embeddings.patch_embeddings.projection.weight\" is [12,3,4,4], expected [12,3,16,16]"},
        {NO_PICTURE ", \"image_size\": 16, \"patch_size\": 4}", NULL, STATUS_SHAPE,
         "vit.embeddings.position_embeddings\" is [1,10,12], expected [1,17,12]"},
        {NO_PICTURE ", \"image_size\": 13, \"patch_size\": 4}", NULL, STATUS_FORMAT,
         "image_size 13: expected a multiple of patch_size 4"},
        {NO_PICTURE ", \"image_size\": 12, \"patch_size\": 0}", NULL, STATUS_FORMAT, "patch_size"},
        {NO_PICTURE ", \"image_size\": -4, \"patch_size\": -4}", NULL, STATUS_FORMAT, "patch_size"},
        {NO_PICTURE ", \"image_size\": 16384, \"patch_size\": 1}", NULL, STATUS_FORMAT, "length"},
        {NO_PICTURE ", \"image_size\": 1073741824, \"patch_size\": 4}", NULL, STATUS_FORMAT,
         "image_size"},
        {NO_PICTURE ", \"image_size\": [12, 16]}", NULL, STATUS_UNSUPPORTED,
         "\"image_size\" is not the side of a square"},
        {NO_PICTURE ", \"image_size\": [12]}", NULL, STATUS_UNSUPPORTED, "\"image_size\""},
        {NO_PICTURE ", \"image_size\": \"12\"}", NULL, STATUS_FORMAT, "\"image_size\""},
        {NO_PICTURE ", \"num_channels\": 1, \"image_size\": 12, \"patch_size\": 4}", NULL,
         STATUS_UNSUPPORTED, "1 channels"},
        {MODEL, "{\"size\":", STATUS_FORMAT, preprocessor},
        {MODEL, "{\"size\": 224}", STATUS_UNSUPPORTED, "resized to 224 pixels"},
        {MODEL, "{\"size\": {\"height\": 12, \"width\": 13}}", STATUS_UNSUPPORTED, "\"size\""},
        {MODEL, "{\"size\": {\"shortest_edge\": 12}}", STATUS_UNSUPPORTED, "\"size\""},
        {MODEL, "{\"size\": {\"height\": 1e300, \"width\": 1e300}}", STATUS_UNSUPPORTED,
         "\"size\""},
        {MODEL, "{\"resample\": 6}", STATUS_FORMAT, "resample 6"},
        {MODEL, "{\"resample\": -1}", STATUS_FORMAT, "resample -1"},
        {MODEL, "{\"do_resize\": 1}", STATUS_FORMAT, "\"do_resize\""},
        {MODEL, "{\"do_center_crop\": true, \"crop_size\": 10}", STATUS_UNSUPPORTED,
         "pictures are cut to 10 pixels, but the model's have 12"},
        {MODEL, "{\"do_center_crop\": true, \"size\": 11}", STATUS_UNSUPPORTED,
         "resized to 11 pixels, less than the 12 that are cut out"},
        {MODEL, "{\"do_center_crop\": true, \"size\": {\"shortest_edge\": 13.5}}", STATUS_FORMAT,
         "\"shortest_edge\" is not an integer"},
        {MODEL, "{\"do_center_crop\": true, \"size\": 1073741824}", STATUS_FORMAT, "image_edge"},
        {MODEL, "{\"do_pad\": true}", STATUS_UNSUPPORTED, "\"do_pad\""},
        {MODEL, "{\"rescale_factor\": 0}", STATUS_FORMAT, "rescale_factor"},
        {MODEL, "{\"rescale_factor\": 1e300}", STATUS_FORMAT, "image_scale"},
        {MODEL, "{\"image_mean\": [0.5, 0.5]}", STATUS_FORMAT, "\"image_mean\" is not 3 numbers"},
        {MODEL, "{\"image_mean\": [1, 2, 3, 4]}", STATUS_FORMAT, "\"image_mean\""},
        {MODEL, "{\"image_mean\": [\"a\", 2, 3]}", STATUS_FORMAT, "\"image_mean\""},
        {MODEL, "{\"image_std\": 0.5}", STATUS_FORMAT, "\"image_std\""},
        {MODEL, "{\"image_std\": [0.5, 0, 0.5]}", STATUS_FORMAT, "image_std[1]"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        mgk_model *model;
        if (load(cases[i].config, cases[i].pictures, &model) != cases[i].status ||
            !strstr(mgk_fail_message(), cases[i].says))
            fail_msg("case %zu: \"%s\" does not say \"%s\"", i, mgk_fail_message(), cases[i].says);
    }
}

/* Batches must have the model's kind of input, and whole pictures. */
static void test_batches(void **state)
{
    (void)state;
    enum { TOKENS = 10, PATCH = 48 };
    const int32_t ids[TOKENS] = {0}, lengths[] = {TOKENS - 1};
    const double patches[TOKENS * PATCH] = {0};
    mgk_model *model;
    mgk_pass *pass;
    size_t bytes;
    assert_ok(load(MODEL, NULL, &model));
    assert_fails(mgk_pass_create(model, 1, TOKENS - 1, 0, false, &pass), STATUS_SHAPE);
    assert_fails(mgk_pass_bytes(model, 1, TOKENS - 1, 0, false, &bytes), STATUS_SHAPE);
    assert_fails(mgk_pass_create(model, 1, TOKENS, 0, true, &pass), STATUS_UNSUPPORTED);
    assert_ok(mgk_pass_create(model, 1, TOKENS, 0, false, &pass));
    mgk_batch batch = {1, TOKENS, ids, lengths, NULL};
    assert_fails(mgk_pass_load(pass, &batch, NULL, 0, 0), STATUS_SHAPE);
    batch.input = patches;
    assert_ok(mgk_pass_load(pass, &batch, NULL, 0, 0));
    batch.tokens = TOKENS - 1;
    assert_fails(mgk_pass_load(pass, &batch, NULL, 0, 0), STATUS_SHAPE);
    mgk_pass_free(pass);
    mgk_model_free(model);
}

/* K = 48 numbers per patch, C = 12, N = 10: 2 K operations and the position for each number. */
static void test_cost(void **state)
{
    (void)state;
    mgk_model *model;
    mgk_cost cost;
    assert_ok(load(MODEL, NULL, &model));
    assert_ok(mgk_cost_of(&model->config, 10, &cost));
    assert_true(cost.flops[MGK_COST_EMBEDDING] == 10 * 12 * (2 * 48 + 1));
    assert_true(cost.parameters[MGK_COST_EMBEDDING] == 12 * 48 + 10 * 12);
    mgk_model_free(model);
}

/* The toolkit's own file contains everything that the folder did. */
static void test_own_file(void **state)
{
    (void)state;
    mgk_model *model, *again;
    assert_ok(load(MODEL, "{\"resample\": 3, \"image_mean\": [1, 2, 3]}", &model));
    assert_ok(mgk_model_save(model, "own.safetensors", true, NULL, 0, NULL, 0));
    assert_ok(mgk_model_load("own.safetensors", NULL, cpu, &again));
    assert_memory_equal(&again->config.picture, &model->config.picture,
                        sizeof(model->config.picture));
    assert_int_equal(again->parameters.total, model->parameters.total);
    assert_memory_equal(again->weights, model->weights, model->parameters.total * cpu->real_size);
    mgk_model_free(again);
    mgk_model_free(model);
    unlink("own.safetensors");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_preprocessor),
        cmocka_unit_test(test_preprocessor),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_cost),
        cmocka_unit_test(test_own_file),
    };
    if (mgk_device_open("cpu", MGK_DOUBLE, 1, &cpu) != STATUS_OK)
        return 1;
    int failed = cmocka_run_group_tests(tests, copy_weights, remove_files);
    mgk_device_close(cpu);
    return failed;
}
