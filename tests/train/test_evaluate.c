/* SPDX-License-Identifier: MIT */
/* Held-out loss and accuracy, counted by hand. */
#include "test.h"

#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "train/train_case.h"

#define TEXT "evaluate.txt"

/* 40 bytes: 39 are predicted, in windows of 16, 16 and 7. */
static const char text[] = "abcabcabcabcabcabcabcabcabcabcabcabcabca";

/* A model whose logits are its output bias. */
static mgk_model *biased_model(mgk_device *device, char favourite, double bias)
{
    mgk_config config = tiny_config();
    mgk_model *model = new_model(&config, device, 0);
    double *weights = model->weights;
    memset(weights, 0, model->parameters.total * sizeof(*weights));
    weights[model->parameters.head.bias + (size_t)favourite] = bias;
    return model;
}

static void test_counts(void **state)
{
    (void)state;
    mgk_device *device;
    mgk_evaluation all, two;
    assert_ok(mgk_write_file(TEXT, true, text, strlen(text)));
    assert_ok(mgk_device_open("cpu", MGK_DOUBLE, 1, &device));
    mgk_dataset *data = open_text(TEXT, MGK_SPLIT_EVAL, 0);
    mgk_model *model = biased_model(device, 'a', 3);
    /* p(a) = e³ / (e³ + 255), every other byte 1 / (e³ + 255); 13 of the 39 targets are a. */
    double normalizer = log(exp(3) + 255);
    assert_ok(mgk_evaluate_together(NULL, model, data, 2, 0, &all));
    assert_int_equal(all.count, 39);
    assert_close(all.accuracy, 13.0 / 39, 0, 1e-15);
    assert_close(all.loss, normalizer - 3 * 13.0 / 39, 0, 1e-12);
    /* The first two windows predict bytes 1 to 32: ten of them are a. */
    assert_ok(mgk_evaluate_together(NULL, model, data, 5, 2, &two));
    assert_int_equal(two.count, 32);
    assert_close(two.accuracy, 10.0 / 32, 0, 1e-15);
    mgk_model_free(model);
    mgk_dataset_close(data);
    mgk_device_close(device);
    unlink(TEXT);
}

static void test_batch_size_does_not_matter(void **state)
{
    (void)state;
    mgk_device *device;
    mgk_evaluation one, three;
    write_text(TEXT, 150, 4);
    assert_ok(mgk_device_open("cpu", MGK_DOUBLE, 1, &device));
    mgk_dataset *data = open_text(TEXT, MGK_SPLIT_EVAL, 0);
    mgk_config config = tiny_config();
    mgk_model *model = new_model(&config, device, 5);
    assert_ok(mgk_evaluate_together(NULL, model, data, 1, 0, &one));
    assert_ok(mgk_evaluate_together(NULL, model, data, 3, 0, &three));
    assert_int_equal(one.count, 149);
    assert_int_equal(three.count, 149);
    assert_close(three.loss, one.loss, 0, 1e-12);
    assert_true(three.accuracy == one.accuracy);
    mgk_model_free(model);
    mgk_dataset_close(data);
    mgk_device_close(device);
    unlink(TEXT);
}

static void test_refusals(void **state)
{
    (void)state;
    mgk_device *device;
    mgk_evaluation evaluation;
    write_text(TEXT, 150, 4);
    assert_ok(mgk_device_open("cpu", MGK_DOUBLE, 1, &device));
    mgk_dataset *data = open_text(TEXT, MGK_SPLIT_EVAL, 0);
    mgk_dataset *endless = open_text(TEXT, MGK_SPLIT_TRAIN, 0);
    mgk_config config = tiny_config();
    mgk_model *model = new_model(&config, device, 5);
    assert_fails(mgk_evaluate_together(NULL, model, endless, 4, 0, &evaluation), STATUS_USAGE);
    assert_fails(mgk_evaluate_together(NULL, model, data, 0, 0, &evaluation), STATUS_USAGE);
    assert_fails(mgk_evaluate_together(NULL, model, data, -1, 0, &evaluation), STATUS_USAGE);
    mgk_model_free(model);
    config.length = 15;
    model = new_model(&config, device, 5);
    assert_fails(mgk_evaluate_together(NULL, model, data, 4, 0, &evaluation), STATUS_SHAPE);
    mgk_model_free(model);
    mgk_config_defaults(MGK_FAMILY_ENCODER, &config);
    config.vocabulary = 256;
    model = new_model(&config, device, 5);
    assert_fails(mgk_evaluate_together(NULL, model, data, 4, 0, &evaluation), STATUS_SHAPE);
    mgk_model_free(model);
    mgk_dataset_close(data);
    mgk_dataset_close(endless);
    mgk_device_close(device);
    unlink(TEXT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_batch_size_does_not_matter),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
