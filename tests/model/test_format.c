/* SPDX-License-Identifier: MIT */
/* Model files return the same bits, and other files are refused. */
#include "test.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/half.h"
#include "base/memory.h"
#include "model/formats/format.h"
#include "model/pass_case.h"

#define PATH "format.safetensors"
#define SECOND "format_second.safetensors"

static mgk_device *open_device(mgk_precision precision)
{
    mgk_device *device;
    assert_ok(mgk_device_open("cpu", precision, 1, &device));
    return device;
}

static mgk_model *new_model(const mgk_config *config, mgk_device *device)
{
    mgk_config resolved = *config;
    mgk_model *model;
    assert_ok(mgk_config_resolve(&resolved));
    assert_ok(mgk_model_create(&resolved, 9, device, &model));
    return model;
}

static void assert_equal_files(const char *a, const char *b)
{
    mgk_mapping first, second;
    assert_ok(mgk_map_file(a, &first));
    assert_ok(mgk_map_file(b, &second));
    assert_true(first.size > 0 && first.size == second.size);
    assert_memory_equal(first.data, second.data, first.size);
    mgk_unmap_file(&first);
    mgk_unmap_file(&second);
}

static void check_round_trip(const mgk_config *config, mgk_precision precision)
{
    mgk_device *device = open_device(precision);
    mgk_model *model = new_model(config, device), *loaded;
    assert_ok(mgk_model_save(model, PATH, true, NULL, 0, NULL, 0));
    assert_ok(mgk_model_load(PATH, NULL, device, &loaded));
    assert_int_equal(loaded->parameters.total, model->parameters.total);
    assert_memory_equal(loaded->weights, model->weights,
                        model->parameters.total * device->real_size);
    assert_memory_equal(&loaded->config, &model->config, sizeof(model->config));
    assert_ok(mgk_model_save(loaded, SECOND, true, NULL, 0, NULL, 0));
    assert_equal_files(PATH, SECOND);
    mgk_model_free(loaded);
    mgk_model_free(model);
    mgk_device_close(device);
}

/* A weight beyond the range of float32 is refused, not read as infinity. */
static void test_weight_beyond_single_precision(void **state)
{
    (void)state;
    mgk_config config = case_config(MGK_FAMILY_LM, "softmax", 1);
    mgk_device *wide = open_device(MGK_DOUBLE), *narrow = open_device(MGK_SINGLE);
    mgk_model *model = new_model(&config, wide), *loaded;
    ((double *)model->weights)[3] = -1e39;
    assert_ok(mgk_model_save(model, PATH, true, NULL, 0, NULL, 0));
    mgk_model_free(model);
    assert_fails(mgk_model_load(PATH, NULL, narrow, &loaded), STATUS_NUMERIC);
    assert_non_null(strstr(mgk_fail_message(), "beyond the range of float"));
    assert_null(loaded);
    assert_ok(mgk_model_load(PATH, NULL, wide, &loaded));
    mgk_model_free(loaded);
    mgk_device_close(wide);
    mgk_device_close(narrow);
    unlink(PATH);
}

static void test_round_trip(void **state)
{
    (void)state;
    static const char *const kinds[] = {"softmax", "mgk",  "smgk",        "linear",
                                        "mlk",     "smlk", "softmax,mgk", "smgk,mgk"};
    for (int k = 0; k < 8; k++)
        for (int family = 0; family < 2; family++) {
            int mixtures = k == 0 || k == 3 ? 1 : 3;
            mgk_config config = case_config((mgk_family)family, kinds[k], mixtures);
            config.dual = family == MGK_FAMILY_ENCODER && k % 2;
            config.prior_shape = (mgk_prior_shape)(k % 3);
            config.variance[0] = 0.1 + k / 3.0;
            config.aggregate = k == 4 ? MGK_AGGREGATION_CAPSULES : MGK_AGGREGATION_CONCATENATION;
            check_round_trip(&config, family ? MGK_DOUBLE : MGK_SINGLE);
        }
    unlink(PATH);
    unlink(SECOND);
}

/* A file says the step of its weights, or nothing. */
static void test_step(void **state)
{
    (void)state;
    static const int64_t steps[] = {0, 500, INT64_MAX, -1};
    static const char *const wrong[] = {"", "-1", "soon", "5.5", "9223372036854775808"};
    mgk_config config = case_config(MGK_FAMILY_LM, "softmax", 1);
    mgk_device *device = open_device(MGK_SINGLE);
    mgk_model *model = new_model(&config, device), *loaded;
    assert_int_equal(model->step, 0);
    for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
        model->step = steps[i];
        assert_ok(mgk_model_save(model, PATH, true, NULL, 0, NULL, 0));
        assert_ok(mgk_model_load(PATH, NULL, device, &loaded));
        assert_int_equal(loaded->step, steps[i]);
        mgk_model_free(loaded);
    }
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        const mgk_model_note note = {"training_step", wrong[i]};
        assert_ok(mgk_model_save(model, PATH, true, &note, 1, NULL, 0));
        assert_fails(mgk_model_load(PATH, NULL, device, &loaded), STATUS_FORMAT);
        assert_non_null(strstr(mgk_fail_message(), "expected a number of steps"));
    }
    mgk_model_free(model);
    mgk_device_close(device);
    unlink(PATH);
}

/* Weights change precision with one rounding. */
static void test_other_precision(void **state)
{
    (void)state;
    mgk_config config = case_config(MGK_FAMILY_LM, "mgk", 2);
    mgk_device *wide = open_device(MGK_DOUBLE), *narrow = open_device(MGK_SINGLE);
    mgk_model *model = new_model(&config, wide), *loaded;
    assert_ok(mgk_model_save(model, PATH, true, NULL, 0, NULL, 0));
    assert_ok(mgk_model_load(PATH, NULL, narrow, &loaded));
    const double *before = model->weights;
    const float *after = loaded->weights;
    for (size_t i = 0; i < model->parameters.total; i++)
        assert_true(after[i] == (float)before[i]);
    mgk_model_free(loaded);

    assert_ok(mgk_model_save_as(model, MGK_DTYPE_F16, PATH, true, NULL, 0, NULL, 0));
    assert_ok(mgk_model_load(PATH, NULL, narrow, &loaded));
    after = loaded->weights;
    for (size_t i = 0; i < model->parameters.total; i++)
        assert_true(after[i] == mgk_float_from_f16(mgk_f16_from_double(before[i])));
    mgk_model_free(loaded);
    ((double *)model->weights)[3] = 65520; /* the least number that rounds to infinity */
    assert_fails(mgk_model_save_as(model, MGK_DTYPE_F16, PATH, true, NULL, 0, NULL, 0),
                 STATUS_NUMERIC);
    assert_non_null(strstr(mgk_fail_message(), "element 3 is 65520, which F16 cannot hold"));
    mgk_model_free(model);
    mgk_device_close(wide);
    mgk_device_close(narrow);
    unlink(PATH);
}

static void test_notes_and_extras(void **state)
{
    (void)state;
    mgk_config config = case_config(MGK_FAMILY_ENCODER, "smgk", 2);
    mgk_device *device = open_device(MGK_DOUBLE);
    mgk_model *model = new_model(&config, device), *loaded;
    size_t total = model->parameters.total;
    mgk_checkpoint file;
    double *extra, *read;
    assert_ok(mgk_alloc(total, sizeof(*extra), &extra));
    assert_ok(mgk_alloc(total, sizeof(*read), &read));
    for (size_t i = 0; i < total; i++)
        extra[i] = (double)i / 3;
    const mgk_model_note note = {"command", "mgk-train \"quoted\" é"};
    const mgk_model_extra extras[] = {{"m.", extra}};
    assert_ok(mgk_model_save(model, PATH, true, &note, 1, extras, 1));
    assert_ok(mgk_checkpoint_open(PATH, &file));
    assert_string_equal(mgk_tensors_text(file.tensors, "command"), note.value);
    assert_ok(mgk_format_read_tensors(&file, "m.", &model->parameters, read));
    assert_memory_equal(read, extra, total * sizeof(*read));
    assert_fails(mgk_format_read_tensors(&file, "v.", &model->parameters, read), STATUS_SHAPE);
    mgk_checkpoint_close(&file);
    /* Additional tensors do not prevent loading. */
    assert_ok(mgk_model_load(PATH, NULL, device, &loaded));
    assert_memory_equal(loaded->weights, model->weights, total * sizeof(double));
    mgk_model_free(loaded);
    mgk_free(extra);
    mgk_free(read);
    mgk_model_free(model);
    mgk_device_close(device);
    unlink(PATH);
}

static void test_existing_file(void **state)
{
    (void)state;
    mgk_config config = case_config(MGK_FAMILY_LM, "softmax", 1);
    mgk_device *device = open_device(MGK_SINGLE);
    mgk_model *model = new_model(&config, device);
    assert_ok(mgk_write_file(PATH, true, "mine", 4));
    assert_fails(mgk_model_save(model, PATH, false, NULL, 0, NULL, 0), STATUS_EXISTS);
    mgk_mapping mapping;
    assert_ok(mgk_map_file(PATH, &mapping));
    assert_int_equal(mapping.size, 4);
    mgk_unmap_file(&mapping);
    mgk_model_free(model);
    mgk_device_close(device);
    unlink(PATH);
}

/* Writes a file of the model's tensors, one of which `change` may alter, with this metadata. */
typedef void (*change_tensor)(mgk_tensor_view *view);

static void write_changed(const mgk_model *model, const char *format, const char *config,
                          const char *name, change_tensor change)
{
    const mgk_parameters *parameters = &model->parameters;
    const double *weights = model->weights;
    mgk_tensor_view *views;
    size_t count = 0;
    assert_ok(mgk_alloc(parameters->count, sizeof(*views), &views));
    for (size_t i = 0; i < parameters->count; i++) {
        const mgk_parameter *p = &parameters->list[i];
        mgk_tensor_view *view = &views[count];
        *view = (mgk_tensor_view){.name = p->name,
                                  .storage = MGK_DTYPE_F64,
                                  .axes = p->axes,
                                  .source = MGK_DTYPE_F64,
                                  .data = weights + p->offset};
        memcpy(view->shape, p->shape, sizeof(p->shape));
        if (name && strcmp(p->name, name) == 0)
            change(view);
        count += view->name != NULL;
    }
    const mgk_metadata metadata[] = {{"config", config}, {"format", format}};
    assert_ok(mgk_safetensors_write(PATH, true, views, count, metadata, format ? 2 : 1));
    mgk_free(views);
}

static void leave_out(mgk_tensor_view *view)
{
    view->name = NULL;
}

static void rename_tensor(mgk_tensor_view *view)
{
    view->name = "layers.1.norm1.gamma";
}

static void transpose(mgk_tensor_view *view)
{
    size_t rows = view->shape[0];
    view->shape[0] = view->shape[1];
    view->shape[1] = rows;
}

static void flatten(mgk_tensor_view *view)
{
    view->axes = 1;
    view->shape[0] *= view->shape[1];
}

static void assert_refused(mgk_device *device, mgk_status expected, const char *says)
{
    mgk_model *model = NULL;
    assert_fails(mgk_model_load(PATH, NULL, device, &model), expected);
    assert_null(model);
    assert_non_null(strstr(mgk_fail_message(), PATH));
    if (!strstr(mgk_fail_message(), says))
        fail_msg("\"%s\" does not say \"%s\"", mgk_fail_message(), says);
}

static void test_wrong_tensors(void **state)
{
    (void)state;
    mgk_config config = case_config(MGK_FAMILY_LM, "mgk", 2);
    mgk_device *device = open_device(MGK_DOUBLE);
    mgk_model *model = new_model(&config, device), *loaded;
    char *json;
    assert_ok(mgk_config_to_json(&model->config, &json));
    write_changed(model, "mgk", json, NULL, NULL);
    assert_ok(mgk_model_load(PATH, NULL, device, &loaded));
    mgk_model_free(loaded);
    write_changed(model, "mgk", json, "layers.1.norm1.weight", leave_out);
    assert_refused(device, STATUS_SHAPE, "\"layers.1.norm1.weight\" is missing");
    write_changed(model, "mgk", json, "layers.0.attention.key.weight", transpose);
    assert_refused(device, STATUS_SHAPE,
                   "\"layers.0.attention.key.weight\" is [6,12], expected [12,6]");
    write_changed(model, "mgk", json, "layers.0.attention.key.weight", flatten);
    assert_refused(device, STATUS_SHAPE, "is [72], expected [12,6]");
    write_changed(model, "mgk", json, "layers.1.norm1.weight", rename_tensor);
    assert_refused(device, STATUS_SHAPE, "\"layers.1.norm1.weight\" is missing");
    mgk_free(json);
    mgk_model_free(model);
    mgk_device_close(device);
    unlink(PATH);
}

static void test_wrong_metadata(void **state)
{
    (void)state;
    mgk_config config = case_config(MGK_FAMILY_LM, "mgk", 2);
    mgk_device *device = open_device(MGK_DOUBLE);
    mgk_model *model = new_model(&config, device);
    char *json;
    assert_ok(mgk_config_to_json(&model->config, &json));
    write_changed(model, NULL, json, NULL, NULL);
    assert_refused(device, STATUS_FORMAT, "known model");
    write_changed(model, "pt", json, NULL, NULL);
    assert_refused(device, STATUS_FORMAT, "known model");
    write_changed(model, "mgk", "{", NULL, NULL);
    assert_refused(device, STATUS_FORMAT, "configuration");
    write_changed(model, "mgk", "{\"family\": \"lm\", \"layers\": 1e9}", NULL, NULL);
    assert_refused(device, STATUS_FORMAT, "layers");
    /* A few bytes of configuration must not allocate terabytes. */
    write_changed(model, "mgk",
                  "{\"family\":\"lm\",\"layers\":4096,\"dim\":1048576,\"hidden\":1048576}", NULL,
                  NULL);
    assert_refused(device, STATUS_SHAPE, "embedding.token.weight");
    write_changed(model, "mgk", "{\"family\":\"lm\",\"attention\":\"psychic\"}", NULL, NULL);
    assert_refused(device, STATUS_UNSUPPORTED, "psychic");
    write_changed(model, "mgk", "{\"family\":\"lm\",\"attention\":\"softmax\"}", NULL, NULL);
    assert_refused(device, STATUS_FORMAT, "one key per position, not 2");
    mgk_free(json);
    mgk_model_free(model);
    mgk_device_close(device);
    unlink(PATH);
}

static void test_not_a_number(void **state)
{
    (void)state;
    mgk_config config = case_config(MGK_FAMILY_LM, "softmax", 1);
    mgk_device *device = open_device(MGK_DOUBLE);
    mgk_model *model = new_model(&config, device);
    double *weights = model->weights;
    const double nan = NAN;
    mgk_mapping mapping;
    weights[model->parameters.total - 1] = NAN;
    assert_fails(mgk_model_save(model, PATH, true, NULL, 0, NULL, 0), STATUS_NUMERIC);
    assert_int_not_equal(access(PATH, F_OK), 0);
    weights[model->parameters.total - 1] = 0;
    assert_ok(mgk_model_save(model, PATH, true, NULL, 0, NULL, 0));
    assert_ok(mgk_map_file(PATH, &mapping));
    size_t size = mapping.size;
    mgk_unmap_file(&mapping);
    FILE *file = fopen(PATH, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, (long)(size - sizeof(nan)), SEEK_SET), 0);
    assert_int_equal(fwrite(&nan, sizeof(nan), 1, file), 1);
    fclose(file);
    assert_refused(device, STATUS_NUMERIC, "output.bias");
    mgk_model_free(model);
    mgk_device_close(device);
    unlink(PATH);
}

static void test_truncated_and_foreign(void **state)
{
    (void)state;
    mgk_config config = case_config(MGK_FAMILY_ENCODER, "mgk", 2);
    mgk_device *device = open_device(MGK_SINGLE);
    mgk_model *model = new_model(&config, device), *loaded;
    mgk_mapping mapping;
    assert_ok(mgk_model_save(model, SECOND, true, NULL, 0, NULL, 0));
    assert_ok(mgk_map_file(SECOND, &mapping));
    size_t step = mapping.size / 37;
    for (size_t size = 0; size < mapping.size; size += step) {
        assert_ok(mgk_write_file(PATH, true, mapping.data, size));
        assert_refused(device, STATUS_FORMAT, "");
    }
    assert_ok(mgk_write_file(PATH, true, mapping.data, mapping.size - 1));
    assert_refused(device, STATUS_FORMAT, "");
    mgk_unmap_file(&mapping);
    assert_ok(mgk_write_file(PATH, true, "\x89PNG\r\n\x1a\n and more", 17));
    assert_refused(device, STATUS_FORMAT, "");
    assert_fails(mgk_model_load("missing.safetensors", NULL, device, &loaded), STATUS_IO);
    assert_null(loaded);
    assert_fails(mgk_model_load(".", NULL, device, &loaded),
                 STATUS_FORMAT); /* contains no checkpoint */
    mgk_model_free(model);
    mgk_device_close(device);
    unlink(PATH);
    unlink(SECOND);
}

/* A file without attention is not called a model of unknown kind. */
static void test_recurrent_network(void **state)
{
    (void)state;
    const float values[8] = {1};
    const char *const names[] = {"encoder.weight", "rnn.weight_ih_l0", "rnn.weight_hh_l0"};
    mgk_device *device = open_device(MGK_SINGLE);
    mgk_tensor_view views[3];
    for (size_t i = 0; i < 3; i++)
        views[i] = (mgk_tensor_view){.name = names[i],
                                     .storage = MGK_DTYPE_F32,
                                     .axes = 2,
                                     .shape = {4, 2},
                                     .source = MGK_DTYPE_F32,
                                     .data = values};
    assert_ok(mgk_safetensors_write(PATH, true, views, 3, NULL, 0));
    assert_refused(device, STATUS_FORMAT, "a recurrent network, which has no attention");
    mgk_device_close(device);
    unlink(PATH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_step),
        cmocka_unit_test(test_weight_beyond_single_precision),
        cmocka_unit_test(test_other_precision),
        cmocka_unit_test(test_notes_and_extras),
        cmocka_unit_test(test_existing_file),
        cmocka_unit_test(test_wrong_tensors),
        cmocka_unit_test(test_wrong_metadata),
        cmocka_unit_test(test_not_a_number),
        cmocka_unit_test(test_truncated_and_foreign),
        cmocka_unit_test(test_recurrent_network),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
