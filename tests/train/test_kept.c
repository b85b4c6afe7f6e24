/* SPDX-License-Identifier: MIT */
/* Kept models: which steps, which files, the weights of those steps, and what a resumed run does
 * with them. */
#include "test.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "model/formats/format.h"
#include "train/kept.h"
#include "train/train_case.h"

enum { EVERY = 5, KEPT = 4 };

/* The steps of tiny_settings, twelve in all, and the copies of an uninterrupted run. */
static const int64_t kept_steps[KEPT] = {0, 5, 10, 12};
static const char *const kept_files[KEPT] = {
    "model.step-000000.safetensors", "model.step-000005.safetensors",
    "model.step-000010.safetensors", "model.step-000012.safetensors"};
static const char *const copies[KEPT] = {"whole.0", "whole.5", "whole.10", "whole.12"};

static void remove_kept(void)
{
    for (int i = 0; i < KEPT; i++) {
        unlink(kept_files[i]);
        unlink(copies[i]);
    }
}

static int teardown(void **state)
{
    remove_kept();
    return train_case_teardown(state);
}

static mgk_train_settings keeping(void)
{
    mgk_train_settings settings = tiny_settings();
    settings.keep_every = EVERY;
    settings.checkpoint_every = EVERY;
    settings.command = "train";
    return settings;
}

/* Stops after `left` more steps; negative: never. */
static bool count_down(void *context)
{
    int *left = context;
    return *left > 0 && --*left == 0;
}

static mgk_status train(const train_case *c, const mgk_train_settings *settings, int stop_after)
{
    mgk_train_watcher watcher = {NULL, count_down, &stop_after};
    return train_case_run(c, settings, false, &watcher, NULL);
}

/* The steps whose models are kept, until `most` of them are found. */
static size_t list_steps(int64_t steps, int64_t every, size_t most, int64_t *out)
{
    const mgk_train_settings s = {.steps = steps, .keep_every = every};
    size_t count = 0;
    for (int64_t step = mgk_kept_after(&s, -1); step >= 0 && count < most;
         step = mgk_kept_after(&s, step))
        out[count++] = step;
    return count;
}

static void test_steps(void **state)
{
    (void)state;
    int64_t steps[8];
    assert_int_equal(list_steps(12, 5, 8, steps), 4);
    assert_memory_equal(steps, kept_steps, sizeof(kept_steps));
    assert_int_equal(list_steps(10, 5, 8, steps), 3); /* the last one once */
    assert_int_equal(steps[2], 10);
    assert_int_equal(list_steps(3, INT64_MAX, 8, steps), 2);
    assert_int_equal(steps[1], 3);
    assert_int_equal(list_steps(12, 0, 8, steps), 0);
    const mgk_train_settings s = {.steps = 12, .keep_every = 5};
    assert_int_equal(mgk_kept_after(&s, 7), 10);
    for (int64_t step = 0; step <= 13; step++)
        assert_int_equal(mgk_kept(&s, step), step == 0 || step == 5 || step == 10 || step == 12);
    assert_false(mgk_kept(&(mgk_train_settings){.steps = 12}, 0));
}

static void test_most(void **state)
{
    train_case *f = *state;
    mgk_train_settings s = {.steps = 255, .keep_every = 1};
    assert_ok(mgk_kept_check(&s)); /* 0 to 255 */
    s.steps = 256;
    assert_fails(mgk_kept_check(&s), STATUS_USAGE);
    s.keep_every = 2;
    assert_ok(mgk_kept_check(&s));
    s = tiny_settings();
    s.steps = 1000;
    s.keep_every = 1;
    assert_fails(train(f, &s, -1), STATUS_USAGE);
    s.keep_every = -1;
    assert_fails(train(f, &s, -1), STATUS_USAGE);
}

static void expect_path(const char *output, int64_t steps, int64_t step, const char *expected)
{
    const mgk_train_settings s = {.output = output, .steps = steps};
    char *path;
    assert_ok(mgk_kept_path(&s, step, &path));
    assert_string_equal(path, expected);
    mgk_free(path);
}

static void test_paths(void **state)
{
    (void)state;
    expect_path("a.b/run.safetensors", 2000, 500, "a.b/run.step-000500.safetensors");
    expect_path("run", 2000, 0, "run.step-000000");
    expect_path("v1.2", 999999, 999999, "v1.2.step-999999");
    expect_path("run.safetensors", 1000000, 5, "run.step-0000005.safetensors");
    expect_path(".safetensors", 9, 5, ".safetensors.step-000005");
}

/* The weights after a number of steps of a run without kept models. */
static void check_weights(const train_case *f, int64_t steps, const char *path)
{
    mgk_train_settings settings = tiny_settings();
    mgk_model *model, *kept;
    int left = (int)steps;
    mgk_train_watcher watcher = {NULL, count_down, &left};
    settings.log = NULL;
    settings.force = true;
    if (steps == 0)
        model = new_model(&f->config, f->device, 3);
    else
        train_case_run(f, &settings, false, &watcher, &model);
    assert_int_equal(model->step, steps);
    assert_ok(mgk_model_load(path, NULL, f->device, &kept));
    assert_int_equal(kept->step, steps);
    assert_memory_equal(kept->weights, model->weights,
                        model->parameters.total * f->device->real_size);
    mgk_model_free(kept);
    mgk_model_free(model);
}

static void test_models(void **state)
{
    train_case *f = *state;
    const mgk_train_settings settings = keeping();
    assert_ok(train(f, &settings, -1));
    assert_equal_files(kept_files[KEPT - 1], OUTPUT); /* nothing is held out */
    remove_outputs();
    for (int i = 0; i < KEPT; i++) {
        check_weights(f, kept_steps[i], kept_files[i]);
        remove_outputs();
    }
}

static void copy_whole(const train_case *f)
{
    const mgk_train_settings settings = keeping();
    assert_ok(train(f, &settings, -1));
    for (int i = 0; i < KEPT; i++)
        assert_int_equal(rename(kept_files[i], copies[i]), 0);
    remove_outputs();
}

/* A run that stops between and at kept steps, or dies after a model and before its state. */
static void test_resumed(void **state)
{
    train_case *f = *state;
    copy_whole(f);
    for (int stop = 4; stop <= 6; stop++) {
        mgk_train_settings settings = keeping();
        assert_fails(train(f, &settings, stop), STATUS_INTERRUPTED);
        assert_int_equal(mgk_exists(kept_files[1]), stop >= 5);
        settings.resume = CHECKPOINT;
        settings.command = "train --resume";
        if (stop == 6) {
            assert_fails(train(f, &settings, 3), STATUS_INTERRUPTED);
            assert_int_equal(rename(CHECKPOINT, "earlier"), 0);
            settings.resume = "earlier";
            assert_fails(train(f, &settings, 2), STATUS_INTERRUPTED); /* step 11 */
            assert_true(mgk_exists(kept_files[2]));
            assert_int_equal(rename("earlier", CHECKPOINT), 0);
            settings.resume = CHECKPOINT;
        }
        assert_ok(train(f, &settings, -1));
        for (int i = 0; i < KEPT; i++) {
            assert_equal_files(kept_files[i], copies[i]);
            unlink(kept_files[i]);
        }
        remove_outputs();
    }
}

/* Only what the run will write is checked. */
static void test_foreign_files(void **state)
{
    train_case *f = *state;
    mgk_train_settings settings = keeping();
    for (int i = 0; i < KEPT; i++) {
        assert_ok(mgk_write_file(kept_files[i], true, "mine", 4));
        assert_fails(train(f, &settings, -1), STATUS_EXISTS);
        assert_non_null(strstr(mgk_fail_message(), kept_files[i]));
        assert_file_holds(kept_files[i], "mine");
        unlink(kept_files[i]);
        assert_false(mgk_exists(OUTPUT) || mgk_exists(LOG) || mgk_exists(CHECKPOINT));
    }
    assert_fails(train(f, &settings, 7), STATUS_INTERRUPTED);
    settings.resume = CHECKPOINT;
    assert_ok(mgk_write_file(kept_files[1], true, "mine", 4));
    assert_ok(mgk_write_file(kept_files[2], true, "mine", 4));
    assert_fails(train(f, &settings, -1), STATUS_EXISTS);
    assert_non_null(strstr(mgk_fail_message(), kept_files[2]));
    settings.force = true;
    assert_ok(train(f, &settings, -1));
    assert_file_holds(kept_files[1], "mine");
    check_weights(f, kept_steps[2], kept_files[2]);
}

#define kept_test(function) cmocka_unit_test_setup_teardown(function, train_case_setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps), cmocka_unit_test(test_paths), kept_test(test_most),
        kept_test(test_models),       kept_test(test_resumed),      kept_test(test_foreign_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
