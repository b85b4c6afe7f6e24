/* SPDX-License-Identifier: MIT */
/* An interrupted and continued run equals an uninterrupted one, bit for bit. */
#include "test.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "train/log.h"
#include "train/train_case.h"

#define WHOLE_OUTPUT "whole.safetensors"
#define WHOLE_LOG "whole.csv"

static int open_fixture(void **state)
{
    static train_case c;
    train_case_open(&c, MGK_SINGLE, 1);
    c.config.dropout = 0.1;
    *state = &c;
    return 0;
}

static int close_fixture(void **state)
{
    train_case_close(*state);
    unlink(WHOLE_OUTPUT);
    unlink(WHOLE_LOG);
    return 0;
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
    return train_case_run(c, settings, true, &watcher, NULL);
}

static mgk_train_settings resumed(const mgk_train_settings *settings)
{
    mgk_train_settings next = *settings;
    next.resume = CHECKPOINT;
    return next;
}

static void check_settings(const train_case *f, const mgk_train_settings *wanted, int first_stop,
                           int second_stop)
{
    mgk_train_settings settings = *wanted;
    remove_outputs();
    settings.output = WHOLE_OUTPUT;
    settings.log = WHOLE_LOG;
    settings.force = true;
    assert_ok(train(f, &settings, -1));
    settings = *wanted;
    assert_fails(train(f, &settings, first_stop), STATUS_INTERRUPTED);
    settings = resumed(&settings);
    if (second_stop)
        assert_fails(train(f, &settings, second_stop), STATUS_INTERRUPTED);
    assert_ok(train(f, &settings, -1));
    assert_equal_files(OUTPUT, WHOLE_OUTPUT);
    assert_equal_files(LOG, WHOLE_LOG);
}

static void check_equals_whole(const train_case *f, int first_stop, int second_stop)
{
    const mgk_train_settings settings = tiny_settings();
    check_settings(f, &settings, first_stop, second_stop);
}

static void test_equals_uninterrupted(void **state)
{
    train_case *f = *state;
    /* After and between evaluations and rows of the log. */
    check_equals_whole(f, 4, 0);
    check_equals_whole(f, 5, 0);
    check_equals_whole(f, 1, 6);
    check_equals_whole(f, 11, 0);
}

static void test_threads(void **state)
{
    train_case *f = *state;
    train_case_device(f, MGK_SINGLE, 3);
    check_equals_whole(f, 5, 0);
}

static void test_soft_expectation(void **state)
{
    train_case *f = *state;
    f->config.prior = MGK_PRIOR_EM;
    check_equals_whole(f, 5, 0);
    f->config.prior_queries = MGK_QUERIES_ALL;
    check_equals_whole(f, 5, 0);
}

static void test_dropout_of_hidden_numbers(void **state)
{
    train_case *f = *state;
    f->config.dropout_hidden = 0.3;
    f->config.dropout_output = 0.2;
    check_equals_whole(f, 5, 0);
    f->config.dropout_attention = 0.3;
    check_equals_whole(f, 5, 0);
}

/* β₁ follows from the step alone. */
static void test_one_cycle(void **state)
{
    const train_case *f = *state;
    mgk_train_settings settings = tiny_settings();
    settings.decay = MGK_DECAY_ONE_CYCLE;
    check_settings(f, &settings, 5, 0);
}

static void test_layers_of_different_keys(void **state)
{
    train_case *f = *state;
    strcpy(f->config.attention, "mgk,softmax,smgk");
    f->config.layers = 3;
    f->config.prior = MGK_PRIOR_EM;
    check_equals_whole(f, 5, 0);
}

static void refuse(const train_case *f, const mgk_train_settings *settings, const char *name)
{
    assert_fails(train(f, settings, -1), STATUS_USAGE);
    if (!strstr(mgk_fail_message(), name))
        fail_msg("no \"%s\" in: %s", name, mgk_fail_message());
}

/* Columns of terms are those of the last step, so that the state need not have them. Two batches of
 * a step give the mean. */
static void test_terms(void **state)
{
    train_case *f = *state;
    mgk_train_settings settings = tiny_settings(), other;
    settings.regularise = (mgk_regularisation){{1, 0.5, 0, 2}};
    settings.accumulation = 2;
    check_settings(f, &settings, 5, 0);
    settings.force = true;
    assert_fails(train(f, &settings, 5), STATUS_INTERRUPTED);
    other = resumed(&settings);
    other.regularise.weight[MGK_TERM_POSITION] = 0.25;
    refuse(f, &other, "\"position 0.5\", not \"position 0.25\"");
    other.regularise = (mgk_regularisation){{0}};
    refuse(f, &other, "with \"subspace 1\", which is not set now");
    other = resumed(&settings);
    other.regularise.weight[MGK_TERM_OUTPUT] = 3;
    refuse(f, &other, "without \"output 3\"");
}

static void test_capsules(void **state)
{
    train_case *f = *state;
    f->config.aggregate = MGK_AGGREGATION_CAPSULES;
    check_equals_whole(f, 5, 0);
}

/* A crash leaves the last checkpoint; later rows of the log are written again. */
static void test_after_crash(void **state)
{
    train_case *f = *state;
    mgk_train_settings settings = tiny_settings();
    settings.checkpoint_every = 5;
    assert_ok(train(f, &settings, -1));
    assert_int_equal(rename(OUTPUT, WHOLE_OUTPUT), 0);
    assert_int_equal(rename(LOG, WHOLE_LOG), 0);
    assert_false(mgk_exists(CHECKPOINT)); /* no state is left */
    assert_fails(train(f, &settings, 5), STATUS_INTERRUPTED);
    assert_true(mgk_exists(CHECKPOINT));
    FILE *log = fopen(LOG, "a");
    assert_non_null(log);
    fputs("6,384,1,2,3,,,,\n8,512,0.1", log);
    fclose(log);
    settings = resumed(&settings);
    assert_ok(train(f, &settings, -1));
    assert_equal_files(OUTPUT, WHOLE_OUTPUT);
    assert_equal_files(LOG, WHOLE_LOG);
    assert_false(mgk_exists(CHECKPOINT));
    /* Nor the state of an earlier run, which `force` overwrote. */
    remove_outputs();
    settings = tiny_settings();
    assert_fails(train(f, &settings, 2), STATUS_INTERRUPTED);
    settings.force = true;
    assert_ok(train(f, &settings, -1));
    assert_false(mgk_exists(CHECKPOINT));
}

/* Uses a held-out text unlike the training text: at a high rate its loss only grows. */
static void use_strange_text(train_case *f)
{
    char strange[200];
    for (size_t i = 0; i < sizeof(strange); i++)
        strange[i] = "xyz~"[i % 4];
    assert_ok(mgk_write_file(HELD_OUT_TEXT, true, strange, sizeof(strange)));
    mgk_dataset_close(f->held_out);
    f->held_out = open_text(HELD_OUT_TEXT, MGK_SPLIT_EVAL, 1);
}

static mgk_train_settings worsening(void)
{
    mgk_train_settings settings = tiny_settings();
    settings.rate = 0.1;
    settings.warmup = 0;
    return settings;
}

/* The first evaluation is the best one; its weights are only in the model and in the state. */
static void test_best_model_outlives_its_file(void **state)
{
    train_case *f = *state;
    mgk_train_settings settings = worsening();
    use_strange_text(f);
    assert_fails(train(f, &settings, 5), STATUS_INTERRUPTED);
    assert_int_equal(rename(OUTPUT, WHOLE_OUTPUT), 0);
    settings = resumed(&settings);
    assert_ok(train(f, &settings, -1));
    assert_equal_files(OUTPUT, WHOLE_OUTPUT);
    /* With another output name, and after two interruptions. */
    remove_outputs();
    settings = worsening();
    assert_fails(train(f, &settings, 5), STATUS_INTERRUPTED);
    settings = resumed(&settings);
    assert_fails(train(f, &settings, 4), STATUS_INTERRUPTED);
    settings.output = "other.safetensors";
    settings.checkpoint = "other.safetensors.checkpoint";
    settings.log = NULL;
    assert_ok(train(f, &settings, -1));
    assert_false(mgk_exists(settings.checkpoint));
    assert_true(mgk_exists(CHECKPOINT));
    assert_equal_files("other.safetensors", WHOLE_OUTPUT);
    unlink("other.safetensors");
}

/* Files of other runs are not overwritten. */
static void test_foreign_outputs(void **state)
{
    train_case *f = *state;
    for (int stop = 2; stop <= 5; stop += 3) { /* before and after the first evaluation */
        mgk_train_settings settings = tiny_settings();
        remove_outputs();
        assert_fails(train(f, &settings, stop), STATUS_INTERRUPTED);
        settings = resumed(&settings);
        assert_ok(mgk_write_file(OUTPUT, true, "mine", 4));
        assert_fails(train(f, &settings, -1), STATUS_EXISTS);
        assert_file_holds(OUTPUT, "mine");
        /* A state is not a model either. */
        settings.output = CHECKPOINT;
        assert_fails(train(f, &settings, -1), STATUS_EXISTS);
        settings.output = OUTPUT;
        settings.force = true;
        assert_ok(train(f, &settings, -1));
    }
}

static void test_model_of_another_command(void **state)
{
    train_case *f = *state;
    mgk_train_settings settings = tiny_settings();
    settings.command = "one";
    assert_fails(train(f, &settings, 5), STATUS_INTERRUPTED);
    assert_int_equal(rename(OUTPUT, WHOLE_OUTPUT), 0);
    assert_int_equal(rename(CHECKPOINT, "one.checkpoint"), 0);
    unlink(LOG);
    settings.command = "two";
    settings.log = NULL;
    assert_fails(train(f, &settings, 5), STATUS_INTERRUPTED);
    settings.resume = "one.checkpoint";
    settings.command = "one --resume one.checkpoint";
    assert_fails(train(f, &settings, -1), STATUS_EXISTS);
    /* The state of "two" occupies the place of the state of "one". */
    assert_int_equal(rename(WHOLE_OUTPUT, OUTPUT), 0);
    assert_fails(train(f, &settings, -1), STATUS_EXISTS);
    assert_non_null(strstr(mgk_fail_message(), "`resume`"));
    settings.checkpoint = "one.checkpoint";
    assert_ok(train(f, &settings, -1));
    unlink("one.checkpoint");
}

/* The model contains the command that began the run. */
static void test_command_is_kept(void **state)
{
    train_case *f = *state;
    mgk_train_settings settings = tiny_settings();
    settings.command = "train";
    settings.output = WHOLE_OUTPUT;
    settings.log = WHOLE_LOG;
    assert_ok(train(f, &settings, -1));
    settings.output = OUTPUT;
    settings.log = LOG;
    assert_fails(train(f, &settings, 5), STATUS_INTERRUPTED);
    settings = resumed(&settings);
    settings.command = "train --resume";
    assert_ok(train(f, &settings, -1));
    assert_equal_files(OUTPUT, WHOLE_OUTPUT);
}

static void test_foreign_log(void **state)
{
    train_case *f = *state;
    static const char foreign[] = MGK_LOG_HEADER "\n1,64,0.1,5,1,,,,\n20,1280,0.1,5,1,,,,\n";
    mgk_train_settings settings = tiny_settings();
    assert_fails(train(f, &settings, 5), STATUS_INTERRUPTED);
    settings = resumed(&settings);
    assert_ok(mgk_write_file(LOG, true, foreign, strlen(foreign)));
    assert_fails(train(f, &settings, -1), STATUS_EXISTS);
    assert_file_holds(LOG, foreign);
    settings.force = true;
    assert_ok(train(f, &settings, -1));
    /* A run without a log cannot continue one. */
    remove_outputs();
    settings = tiny_settings();
    settings.log = NULL;
    assert_fails(train(f, &settings, 5), STATUS_INTERRUPTED);
    assert_ok(mgk_write_file(LOG, true, foreign, strlen(foreign)));
    settings = resumed(&settings);
    settings.log = LOG;
    assert_fails(train(f, &settings, -1), STATUS_EXISTS);
    assert_file_holds(LOG, foreign);
}

static void test_state_of_an_earlier_run(void **state)
{
    train_case *f = *state;
    mgk_train_settings settings = tiny_settings();
    mgk_mapping before, after;
    assert_fails(train(f, &settings, 2), STATUS_INTERRUPTED);
    unlink(LOG);
    assert_ok(mgk_map_file(CHECKPOINT, &before));
    assert_fails(train(f, &settings, 3), STATUS_EXISTS);
    assert_non_null(strstr(mgk_fail_message(), "`resume`"));
    assert_ok(mgk_map_file(CHECKPOINT, &after));
    assert_int_equal(after.size, before.size);
    assert_memory_equal(after.data, before.data, before.size);
    mgk_unmap_file(&before);
    mgk_unmap_file(&after);
    settings.force = true;
    assert_fails(train(f, &settings, 3), STATUS_INTERRUPTED);
}

/* The run is refused with a message that names the difference. */
static void test_other_settings(void **state)
{
    train_case *f = *state;
    mgk_train_settings settings = tiny_settings(), other;
    assert_fails(train(f, &settings, 5), STATUS_INTERRUPTED);
    settings = other = resumed(&settings);
    other.seed++;
    refuse(f, &other, "\"seed 1\", not \"seed 2\"");
    other = settings;
    other.batch++;
    refuse(f, &other, "\"batch 4\"");
    other = settings;
    other.rate *= 2;
    refuse(f, &other, "\"rate 0.02");
    other = settings;
    other.evaluate_every++;
    refuse(f, &other, "evaluate_every");
    other = settings;
    other.evaluate_samples = 3;
    refuse(f, &other, "evaluate_samples");
    other = settings;
    other.log_every++;
    refuse(f, &other, "log_every");
    train_case_device(f, MGK_SINGLE, 2);
    refuse(f, &settings, "\"threads 1\", not \"threads 2\"");
    train_case_device(f, MGK_DOUBLE, 1);
    refuse(f, &settings, "\"precision single\", not \"precision double\"");
    train_case_device(f, MGK_SINGLE, 1);
    mgk_dataset *data = f->data, *held_out = f->held_out;
    write_text("other.txt", 3000, 7);
    f->data = open_text("other.txt", MGK_SPLIT_TRAIN, 1);
    refuse(f, &settings, "\"data ");
    mgk_dataset_close(f->data);
    f->data = data;
    f->held_out = open_text("other.txt", MGK_SPLIT_EVAL, 1);
    refuse(f, &settings, "\"held_out ");
    mgk_dataset_close(f->held_out);
    f->held_out = NULL;
    refuse(f, &settings, "\"held_out ");
    f->held_out = held_out;
    unlink("other.txt");
    f->config.hidden++;
    assert_fails(train(f, &settings, -1), STATUS_SHAPE);
    f->config.hidden--;
    assert_ok(train(f, &settings, -1));
}

static void test_refusals(void **state)
{
    train_case *f = *state;
    mgk_train_settings settings = tiny_settings(), other;
    mgk_mapping before, after;
    settings = resumed(&settings);
    assert_fails(train(f, &settings, -1), STATUS_IO);
    settings.resume = NULL;
    assert_fails(train(f, &settings, 5), STATUS_INTERRUPTED);
    settings = resumed(&settings);
    /* A model is not a state. */
    other = settings;
    other.resume = OUTPUT;
    assert_fails(train(f, &other, -1), STATUS_FORMAT);
    /* A damaged state is refused and left unchanged. */
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

/* Files are the same in a locale with a decimal comma, if the machine has one. */
static void test_locale(void **state)
{
    const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "fr_FR"};
    const char *chosen = NULL;
    train_case *f = *state;
    mgk_train_settings settings = tiny_settings();
    settings.output = WHOLE_OUTPUT;
    settings.log = WHOLE_LOG;
    assert_ok(train(f, &settings, -1));
    for (size_t i = 0; i < 4 && !chosen; i++)
        chosen = setlocale(LC_ALL, names[i]) ? names[i] : NULL;
    if (!chosen)
        skip();
    settings = tiny_settings();
    mgk_status interrupted = train(f, &settings, 5);
    setlocale(LC_ALL, "C");
    assert_int_equal(interrupted, STATUS_INTERRUPTED);
    assert_int_equal(rename(CHECKPOINT, "locale.checkpoint"), 0);
    settings.resume = "locale.checkpoint";
    setlocale(LC_ALL, chosen);
    mgk_status continued = train(f, &settings, -1);
    setlocale(LC_ALL, "C");
    unlink("locale.checkpoint");
    assert_ok(continued);
    assert_equal_files(OUTPUT, WHOLE_OUTPUT);
    assert_equal_files(LOG, WHOLE_LOG);
}

#define resume_test(function) cmocka_unit_test_setup_teardown(function, open_fixture, close_fixture)

static void refuse_damaged(const train_case *f, const mgk_train_settings *settings, size_t place)
{
    mgk_status status = train(f, settings, -1);
    if (status != STATUS_FORMAT)
        fail_msg("byte %zu is changed: %s", place, mgk_status_text(status));
    assert_non_null(strstr(mgk_fail_message(), "flipped.checkpoint: "));
    assert_null(strchr(mgk_fail_message(), '\n'));
}

/* Any flipped bit: in numbers, their names, the counters, the checksum itself. */
static void test_flipped_bits(void **state)
{
    train_case *f = *state;
    enum { HEADER_STRIDE = 3, STRIDE = 61 };
    mgk_train_settings settings = tiny_settings();
    mgk_mapping file;
    uint64_t header;
    assert_fails(train(f, &settings, 5), STATUS_INTERRUPTED);
    assert_ok(mgk_map_file(CHECKPOINT, &file));
    unsigned char *bytes = malloc(file.size);
    assert_non_null(bytes);
    memcpy(bytes, file.data, file.size);
    memcpy(&header, bytes, sizeof(header));
    settings.resume = "flipped.checkpoint";
    int damaged = 0;
    for (size_t i = 0; i < file.size; i += i < header ? HEADER_STRIDE : STRIDE, damaged++) {
        FILE *flipped = fopen(settings.resume, "wb"); /* without the fsync of mgk_write_file */
        assert_non_null(flipped);
        bytes[i] ^= (unsigned char)(1 << damaged % 8);
        assert_int_equal(fwrite(bytes, 1, file.size, flipped), file.size);
        assert_int_equal(fclose(flipped), 0);
        refuse_damaged(f, &settings, i);
        bytes[i] = file.data[i];
    }
    assert_true(damaged > 1000);
    assert_ok(mgk_write_file(settings.resume, true, bytes, file.size));
    settings.force = true; /* the resumed state is not the existing one */
    assert_ok(train(f, &settings, -1));
    mgk_unmap_file(&file);
    free(bytes);
    unlink(settings.resume);
}

/* A state of an older version. */
static void test_state_without_checksum(void **state)
{
    train_case *f = *state;
    mgk_train_settings settings = tiny_settings();
    mgk_mapping file;
    assert_fails(train(f, &settings, 5), STATUS_INTERRUPTED);
    settings.resume = "flipped.checkpoint";
    assert_ok(mgk_map_file(CHECKPOINT, &file));
    assert_ok(mgk_write_file(settings.resume, true, file.data, file.size));
    mgk_unmap_file(&file);
    assert_ok(mgk_map_file(settings.resume, &file));
    const unsigned char *name = memmem(file.data, file.size, "training_sha256", 15);
    assert_non_null(name);
    FILE *older = fopen(settings.resume, "r+b");
    assert_non_null(older);
    assert_int_equal(fseek(older, name - file.data, SEEK_SET), 0);
    fputs("something_else_", older);
    fclose(older);
    mgk_unmap_file(&file);
    refuse_damaged(f, &settings, 0);
    assert_non_null(strstr(mgk_fail_message(), "without a checksum"));
    unlink(settings.resume);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        resume_test(test_equals_uninterrupted),
        resume_test(test_threads),
        resume_test(test_soft_expectation),
        resume_test(test_one_cycle),
        resume_test(test_dropout_of_hidden_numbers),
        resume_test(test_layers_of_different_keys),
        resume_test(test_terms),
        resume_test(test_capsules),
        resume_test(test_after_crash),
        resume_test(test_best_model_outlives_its_file),
        resume_test(test_foreign_outputs),
        resume_test(test_model_of_another_command),
        resume_test(test_command_is_kept),
        resume_test(test_foreign_log),
        resume_test(test_state_of_an_earlier_run),
        resume_test(test_other_settings),
        resume_test(test_refusals),
        resume_test(test_flipped_bits),
        resume_test(test_state_without_checksum),
        resume_test(test_locale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
