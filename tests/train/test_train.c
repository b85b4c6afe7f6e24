/* SPDX-License-Identifier: MIT */
/* The training loop learns, keeps the best model, accumulates micro-batches, and refuses bad
 * settings. */
#include "test.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "model/formats/format.h"
#include "train/train_case.h"

/* The observations of the watcher. */
enum { MOST_STEPS = 256 };

typedef struct history {
    int reports, evaluations;
    double loss[MOST_STEPS], evaluated[MOST_STEPS];
    mgk_train_state last;
} history;

static void record(void *context, const mgk_train_state *state)
{
    history *seen = context;
    seen->loss[seen->reports++] = state->loss;
    if (state->evaluated)
        seen->evaluated[seen->evaluations++] = state->evaluation.loss;
    seen->last = *state;
}

static mgk_status train(const train_case *c, const mgk_train_settings *settings, bool held_out,
                        history *seen, mgk_model **model)
{
    *seen = (history){0};
    mgk_train_watcher watcher = {record, NULL, seen};
    return train_case_run(c, settings, held_out, &watcher, model);
}

static void test_loss_falls(void **state)
{
    train_case *f = *state;
    history seen;
    mgk_train_settings settings = tiny_settings();
    settings.steps = 120;
    settings.warmup = 10;
    settings.rate = 0.02;
    settings.evaluate_every = 40;
    assert_ok(train(f, &settings, true, &seen, NULL));
    assert_int_equal(seen.reports, 120);
    assert_int_equal(seen.evaluations, 3);
    assert_true(seen.loss[0] > 4.5);
    assert_true(seen.loss[119] < 2.5);
    assert_true(seen.evaluated[2] < seen.evaluated[0]);
    assert_int_equal(seen.last.tokens, 120 * 4 * 16);
    assert_int_equal(seen.last.steps, 120);
}

static void test_best_model_is_kept(void **state)
{
    train_case *f = *state;
    history seen;
    mgk_model *last, *best;
    mgk_evaluation of_last, of_best;
    mgk_train_settings settings = train_case_overfits(f);
    assert_ok(train(f, &settings, true, &seen, &last));
    double smallest = INFINITY;
    for (int i = 0; i < seen.evaluations; i++)
        smallest = fmin(smallest, seen.evaluated[i]);
    assert_int_equal(seen.evaluations, 24);
    assert_true(seen.last.best.loss == smallest);
    assert_true(seen.last.evaluation.loss > smallest);
    assert_ok(mgk_model_load(OUTPUT, NULL, f->device, &best));
    assert_int_equal(best->step, seen.last.best_step);
    assert_ok(mgk_evaluate_together(NULL, best, f->held_out, 4, 0, &of_best));
    assert_ok(mgk_evaluate_together(NULL, last, f->held_out, 4, 0, &of_last));
    assert_true(of_best.loss == smallest);
    assert_true(of_last.loss == seen.last.evaluation.loss);
    mgk_model_free(best);
    mgk_model_free(last);
}

static void check_accumulation(const train_case *f)
{
    history seen;
    mgk_model *whole, *parts;
    mgk_train_settings settings = tiny_settings();
    settings.log = NULL;
    settings.force = true;
    assert_ok(train(f, &settings, false, &seen, &whole));
    settings.batch = 2;
    settings.accumulation = 2;
    assert_ok(train(f, &settings, false, &seen, &parts));
    const double *a = whole->weights, *b = parts->weights;
    double moved = 0;
    mgk_model *initial = new_model(&f->config, f->device, 3);
    for (size_t i = 0; i < whole->parameters.total; i++) {
        assert_close(b[i], a[i], 1e-8, 1e-8);
        moved = fmax(moved, fabs(a[i] - ((double *)initial->weights)[i]));
    }
    assert_true(moved > 0.01);
    mgk_model_free(initial);
    mgk_model_free(whole);
    mgk_model_free(parts);
}

/* Soft-E priors follow the responsibilities of the whole step. */
static void test_accumulation_equals_larger_batch(void **state)
{
    train_case *f = *state;
    check_accumulation(f);
    f->config.prior = MGK_PRIOR_EM;
    check_accumulation(f);
    strcpy(f->config.attention, "softmax,mgk"); /* a later layer has them */
    f->config.layers = 2;
    check_accumulation(f);
}

static void check_seed_decides(train_case *f)
{
    history seen;
    mgk_mapping first, second;
    mgk_train_settings settings = tiny_settings();
    f->config.dropout = 0.1;
    assert_ok(train(f, &settings, true, &seen, NULL));
    assert_int_equal(rename(OUTPUT, "first.safetensors"), 0);
    assert_int_equal(rename(LOG, "first.csv"), 0);
    assert_ok(train(f, &settings, true, &seen, NULL));
    assert_equal_files(OUTPUT, "first.safetensors");
    assert_equal_files(LOG, "first.csv");
    settings.seed++;
    settings.force = true;
    assert_ok(train(f, &settings, true, &seen, NULL));
    assert_ok(mgk_map_file(OUTPUT, &first));
    assert_ok(mgk_map_file("first.safetensors", &second));
    assert_int_equal(first.size, second.size);
    assert_memory_not_equal(first.data, second.data, first.size);
    mgk_unmap_file(&first);
    mgk_unmap_file(&second);
    unlink("first.safetensors");
    unlink("first.csv");
}

static void test_seed_decides(void **state)
{
    train_case *f = *state;
    check_seed_decides(f);
    remove_outputs();
    train_case_device(f, MGK_DOUBLE, 3);
    check_seed_decides(f);
}

static void test_log(void **state)
{
    train_case *f = *state;
    static const char *const starts[] = {
        "step,tokens,learning_rate,", "3,192,", "4,256,", "6,384,", "8,512,", "9,576,", "12,768,"};
    history seen;
    char line[512], last[512];
    mgk_train_settings settings = tiny_settings();
    assert_ok(train(f, &settings, true, &seen, NULL));
    FILE *file = fopen(LOG, "r");
    assert_non_null(file);
    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
        assert_non_null(fgets(line, sizeof(line), file));
        assert_memory_equal(line, starts[i], strlen(starts[i]));
        strcpy(last, line);
        int commas = 0;
        for (const char *c = line; *c; c++)
            commas += *c == ',';
        assert_int_equal(commas, 8);
        assert_null(strstr(line, "nan"));
    }
    assert_null(fgets(line, sizeof(line), file));
    fclose(file);
    /* The last row: the mean loss of steps 10 to 12, and the last evaluation. */
    double rate, loss, norm, held_out, accuracy, bits, perplexity;
    assert_int_equal(sscanf(last, "12,768,%lf,%lf,%lf,%lf,%lf,%lf,%lf", &rate, &loss, &norm,
                            &held_out, &accuracy, &bits, &perplexity),
                     7);
    assert_close(rate, settings.rate / 10, 0, 1e-8);
    assert_close(loss, (seen.loss[9] + seen.loss[10] + seen.loss[11]) / 3, 0, 1e-8);
    assert_close(held_out, seen.evaluated[2], 0, 1e-8);
    assert_close(bits, held_out / log(2), 0, 1e-8);
    assert_close(perplexity, exp(held_out), 0, 1e-7);
}

static void test_existing_outputs(void **state)
{
    train_case *f = *state;
    history seen;
    mgk_mapping output;
    mgk_train_settings settings = tiny_settings();
    assert_ok(mgk_write_file(OUTPUT, false, "mine", 4));
    assert_fails(train(f, &settings, true, &seen, NULL), STATUS_EXISTS);
    assert_ok(mgk_map_file(OUTPUT, &output));
    assert_int_equal(output.size, 4);
    mgk_unmap_file(&output);
    assert_int_not_equal(access(LOG, F_OK), 0);
    unlink(OUTPUT);
    assert_ok(mgk_write_file(LOG, false, "mine", 4));
    assert_fails(train(f, &settings, true, &seen, NULL), STATUS_EXISTS);
    assert_int_equal(seen.reports, 0);
    settings.force = true;
    assert_ok(train(f, &settings, true, &seen, NULL));
    assert_ok(train(f, &settings, true, &seen, NULL));
}

/* Outputs that cannot be written are noticed before the first step. */
static void test_unwritable_outputs(void **state)
{
    train_case *f = *state;
    history seen;
    mgk_train_settings settings = tiny_settings();
    settings.output = "nowhere/model.safetensors";
    assert_fails(train(f, &settings, true, &seen, NULL), STATUS_IO);
    assert_int_equal(seen.reports, 0);
    settings.output = ".";
    settings.force = true;
    assert_fails(train(f, &settings, true, &seen, NULL), STATUS_IO);
    assert_int_equal(seen.reports, 0);
    settings = tiny_settings();
    settings.checkpoint = "nowhere/model.checkpoint";
    assert_fails(train(f, &settings, true, &seen, NULL), STATUS_IO);
    assert_int_equal(seen.reports, 0);
    settings = tiny_settings();
    settings.log = "nowhere/log.csv";
    assert_fails(train(f, &settings, true, &seen, NULL), STATUS_IO);
    assert_int_equal(seen.reports, 0);
    assert_int_not_equal(access(LOG, F_OK), 0);
}

/* A kind with numbers that are drawn and not trained; NULL: there is none. */
static const mgk_attention_kind *drawn_kind(const train_case *f)
{
    const mgk_attention_kind *kind;
    for (size_t row = 0; (kind = mgk_attention_row(row)); row++) {
        mgk_config config = f->config;
        mgk_parameters parameters;
        bool drawn = false;
        strcpy(config.attention, kind->name);
        config.mixtures = 1;
        if (mgk_config_resolve(&config) != STATUS_OK ||
            mgk_parameters_build(&config, &parameters) != STATUS_OK)
            continue;
        for (size_t i = 0; i < parameters.count; i++)
            drawn |= parameters.list[i].drawn;
        mgk_parameters_free(&parameters);
        if (drawn)
            return kind;
    }
    return NULL;
}

/* The drawn numbers of the model that a run has written. */
static double drawn_sum(const char *path)
{
    mgk_model *model;
    mgk_device *device;
    double *host, sum = 0;
    assert_ok(mgk_device_open("cpu", MGK_DOUBLE, 1, &device));
    assert_ok(mgk_model_load(path, NULL, device, &model));
    assert_ok(mgk_alloc(model->parameters.total, sizeof(*host), &host));
    assert_ok(mgk_model_read(model, 0, model->parameters.total, host));
    for (size_t i = 0; i < model->parameters.count; i++) {
        const mgk_parameter *p = &model->parameters.list[i];
        for (size_t k = 0; p->drawn && k < p->count; k++)
            sum += host[p->offset + k] * (double)(1 + k % 7);
    }
    mgk_free(host);
    mgk_model_free(model);
    mgk_device_close(device);
    return sum;
}

/* Random features stay as they are without `redraw_every`, and change after so many steps. */
static void test_random_features_are_redrawn(void **state)
{
    train_case *f = *state;
    history seen;
    mgk_train_settings settings = tiny_settings();
    double sums[5];
    const mgk_attention_kind *kind = drawn_kind(f);
    settings.redraw_every = 4;
    strcpy(f->config.attention, "softmax");
    f->config.mixtures = 1;
    assert_fails(train(f, &settings, false, &seen, NULL), STATUS_USAGE);
    assert_non_null(strstr(mgk_fail_message(), "`redraw` is 4"));
    if (!kind)
        skip();
    strcpy(f->config.attention, kind->name);
    memset(&f->config.settings, 0, sizeof(f->config.settings));
    assert_ok(mgk_config_resolve(&f->config));
    settings.log = NULL;
    for (int i = 0; i < 5; i++) {
        static const int steps[] = {1, 9, 4, 5, 8}, every[] = {0, 0, 4, 4, 4};
        settings.force = true;
        settings.warmup = 0;
        settings.steps = steps[i];
        settings.redraw_every = every[i];
        assert_ok(train(f, &settings, false, &seen, NULL));
        sums[i] = drawn_sum(OUTPUT);
    }
    assert_true(isfinite(sums[0]) && sums[0] != 0);
    assert_true(sums[1] == sums[0]); /* never drawn anew, nor trained */
    assert_true(sums[2] == sums[0]); /* the fourth step has the first draw */
    assert_true(sums[3] != sums[0]); /* the fifth has the second */
    assert_true(sums[4] == sums[3]); /* and the eighth, too */
}

static void test_divergence(void **state)
{
    train_case *f = *state;
    history seen;
    mgk_train_settings settings = tiny_settings();
    settings.rate = 1e9;
    settings.steps = 100;
    settings.clip = 0;
    train_case_device(f, MGK_SINGLE, 1);
    assert_fails(train(f, &settings, false, &seen, NULL), STATUS_NUMERIC);
    assert_non_null(strstr(mgk_fail_message(), "diverged"));
    assert_int_not_equal(access(OUTPUT, F_OK), 0);
}

static void test_bad_settings(void **state)
{
    train_case *f = *state;
    history seen;
    const mgk_train_settings good = tiny_settings();
    mgk_train_settings bad[13];
    size_t count = 0;
    for (size_t i = 0; i < 13; i++)
        bad[i] = good;
    bad[count++].steps = 0;
    bad[count++].batch = 0;
    bad[count++].accumulation = 0;
    bad[count++].warmup = good.steps;
    bad[count++].warmup = -1;
    bad[count++].log_every = 0;
    bad[count++].evaluate_every = -1;
    bad[count++].redraw_every = -1;
    bad[count++].rate = 0;
    bad[count++].rate = NAN;
    bad[count++].beta2 = 1;
    bad[count++].epsilon = 0;
    bad[count++].checkpoint = NULL;
    for (size_t i = 0; i < count; i++)
        assert_fails(train(f, &bad[i], true, &seen, NULL), STATUS_USAGE);
    assert_int_not_equal(access(OUTPUT, F_OK), 0);
    assert_int_not_equal(access(LOG, F_OK), 0);
}

#define loop_test(function) \
    cmocka_unit_test_setup_teardown(function, train_case_setup, train_case_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        loop_test(test_loss_falls),
        loop_test(test_best_model_is_kept),
        loop_test(test_accumulation_equals_larger_batch),
        loop_test(test_seed_decides),
        loop_test(test_random_features_are_redrawn),
        loop_test(test_log),
        loop_test(test_existing_outputs),
        loop_test(test_unwritable_outputs),
        loop_test(test_divergence),
        loop_test(test_bad_settings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
