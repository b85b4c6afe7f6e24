/* An interrupted run that is continued equals one that was not, bit for bit. */
#include "test.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "train/train_case.h"

#define TEXT "resume.txt"
#define HELD_OUT "resume_held_out.txt"
#define WHOLE_OUTPUT "whole.safetensors"
#define WHOLE_LOG "whole.csv"

typedef struct fixture {
    mgk_device *device;
    mgk_dataset *data, *held_out;
    mgk_config config;
} fixture;

static int open_fixture(void **state)
{
    static fixture f;
    write_text(TEXT, 2000, 1);
    write_text(HELD_OUT, 300, 2);
    remove_outputs();
    assert_ok(mgk_device_open("cpu", MGK_SINGLE, 1, &f.device));
    f.data = open_text(TEXT, MGK_SPLIT_TRAIN, 1);
    f.held_out = open_text(HELD_OUT, MGK_SPLIT_EVAL, 1);
    f.config = tiny_config();
    f.config.dropout = 0.1;
    *state = &f;
    return 0;
}

static int close_fixture(void **state)
{
    fixture *f = *state;
    mgk_dataset_close(f->data);
    mgk_dataset_close(f->held_out);
    mgk_device_close(f->device);
    unlink(TEXT);
    unlink(HELD_OUT);
    unlink(WHOLE_OUTPUT);
    unlink(WHOLE_LOG);
    remove_outputs();
    return 0;
}

/* Stops after `left` more steps; negative: never. */
static bool count_down(void *context)
{
    int *left = context;
    return *left > 0 && --*left == 0;
}

static mgk_status train(fixture *f, const mgk_train_settings *settings, int stop_after)
{
    mgk_train_watcher watcher = {NULL, count_down, &stop_after};
    mgk_model *model = new_model(&f->config, f->device, 3);
    mgk_status status = mgk_train(model, f->data, f->held_out, settings, &watcher);
    mgk_model_free(model);
    return status;
}

static mgk_train_settings resumed(const mgk_train_settings *settings)
{
    mgk_train_settings next = *settings;
    next.resume = CHECKPOINT;
    return next;
}

static void check_equals_whole(fixture *f, int first_stop, int second_stop)
{
    mgk_train_settings settings = tiny_settings();
    remove_outputs();
    settings.output = WHOLE_OUTPUT;
    settings.log = WHOLE_LOG;
    settings.force = true;
    assert_ok(train(f, &settings, -1));
    settings = tiny_settings();
    assert_fails(train(f, &settings, first_stop), STATUS_INTERRUPTED);
    settings = resumed(&settings);
    if (second_stop)
        assert_fails(train(f, &settings, second_stop), STATUS_INTERRUPTED);
    assert_ok(train(f, &settings, -1));
    assert_equal_files(OUTPUT, WHOLE_OUTPUT);
    assert_equal_files(LOG, WHOLE_LOG);
}

static void test_equals_uninterrupted(void **state)
{
    fixture *f = *state;
    /* Behind and between evaluations and rows of the log. */
    check_equals_whole(f, 4, 0);
    check_equals_whole(f, 5, 0);
    check_equals_whole(f, 1, 6);
    check_equals_whole(f, 11, 0);
}

static void test_soft_expectation(void **state)
{
    fixture *f = *state;
    f->config.prior = MGK_PRIOR_EM;
    check_equals_whole(f, 5, 0);
}

/* A crash leaves the last checkpoint; the rows the log got since are written anew. */
static void test_after_crash(void **state)
{
    fixture *f = *state;
    mgk_train_settings settings = tiny_settings();
    settings.checkpoint_every = 5;
    assert_ok(train(f, &settings, -1));
    assert_int_equal(rename(OUTPUT, WHOLE_OUTPUT), 0);
    assert_int_equal(rename(LOG, WHOLE_LOG), 0);
    assert_int_equal(unlink(CHECKPOINT), 0);
    assert_fails(train(f, &settings, 5), STATUS_INTERRUPTED);
    FILE *log = fopen(LOG, "a");
    assert_non_null(log);
    fputs("6,384,1,2,3,,,,\n8,512,0.1", log);
    fclose(log);
    settings = resumed(&settings);
    assert_ok(train(f, &settings, -1));
    assert_equal_files(OUTPUT, WHOLE_OUTPUT);
    assert_equal_files(LOG, WHOLE_LOG);
}

static void test_refusals(void **state)
{
    fixture *f = *state;
    mgk_train_settings settings = tiny_settings(), other;
    mgk_mapping before, after;
    settings = resumed(&settings);
    assert_fails(train(f, &settings, -1), STATUS_IO);
    settings.resume = NULL;
    assert_fails(train(f, &settings, 5), STATUS_INTERRUPTED);
    settings = resumed(&settings);

    other = settings;
    other.seed++;
    assert_fails(train(f, &other, -1), STATUS_USAGE);
    other = settings;
    other.batch++;
    assert_fails(train(f, &other, -1), STATUS_USAGE);
    other = settings;
    other.rate *= 2;
    assert_fails(train(f, &other, -1), STATUS_USAGE);
    f->config.hidden++;
    assert_fails(train(f, &settings, -1), STATUS_SHAPE);
    f->config.hidden--;
    /* A model is not a state. */
    other = settings;
    other.resume = OUTPUT;
    assert_fails(train(f, &other, -1), STATUS_FORMAT);
    /* A log of something else is not cut. */
    assert_ok(mgk_write_file(LOG, true, "a,b\n1,2\n", 8));
    assert_fails(train(f, &settings, -1), STATUS_FORMAT);
    assert_ok(mgk_map_file(LOG, &before));
    assert_int_equal(before.size, 8);
    mgk_unmap_file(&before);
    /* What is broken is refused and left alone. */
    assert_ok(mgk_map_file(CHECKPOINT, &before));
    assert_ok(mgk_write_file("cut.checkpoint", true, before.data, before.size - 1));
    other.resume = "cut.checkpoint";
    assert_fails(train(f, &other, -1), STATUS_FORMAT);
    assert_ok(mgk_map_file(CHECKPOINT, &after));
    assert_int_equal(after.size, before.size);
    mgk_unmap_file(&before);
    mgk_unmap_file(&after);
    unlink("cut.checkpoint");
}

#define resume_test(function) cmocka_unit_test_setup_teardown(function, open_fixture, close_fixture)

int main(void)
{
    const struct CMUnitTest tests[] = {
        resume_test(test_equals_uninterrupted),
        resume_test(test_soft_expectation),
        resume_test(test_after_crash),
        resume_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
