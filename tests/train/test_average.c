/* SPDX-License-Identifier: MIT */
/* The mean of the weights of several evaluations, and runs that end for lack of a better one. */
#include "test.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "model/formats/format.h"
#include "train/kept.h"
#include "train/train_case.h"

#define WHOLE_OUTPUT "whole.safetensors"
#define WHOLE_LOG "whole.csv"

/* The observations of the watcher. */
typedef struct history {
    int stop_after; /* steps; -1: never */
    int evaluations;
    double loss[64]; /* held out */
    mgk_train_state last;
} history;

static void record(void *context, const mgk_train_state *state)
{
    history *seen = context;
    if (state->evaluated)
        seen->loss[seen->evaluations++] = state->evaluation.loss;
    seen->last = *state;
}

static bool count_down(void *context)
{
    history *seen = context;
    return --seen->stop_after == 0;
}

static mgk_status train(const train_case *c, const mgk_train_settings *settings, bool held_out,
                        int stop_after, history *seen)
{
    *seen = (history){.stop_after = stop_after};
    mgk_train_watcher watcher = {record, count_down, seen};
    return train_case_run(c, settings, held_out, &watcher, NULL);
}

/* Steps 4, 8, 12 and 14 have an evaluation. */
static mgk_train_settings averaged(int average)
{
    mgk_train_settings settings = tiny_settings();
    settings.steps = 14;
    settings.average = average;
    settings.log = NULL;
    return settings;
}

static mgk_model *load(const train_case *c, const char *path)
{
    mgk_model *model;
    assert_ok(mgk_model_load(path, NULL, c->device, &model));
    return model;
}

/* Replaces the weights of `sum` by the mean of the models of these steps, [count]. */
static mgk_model *mean_of(const train_case *c, const mgk_train_settings *s, const int *steps,
                          int count)
{
    mgk_model *mean = NULL;
    for (int i = 0; i < count; i++) {
        char *path;
        assert_ok(mgk_kept_path(s, steps[i], &path));
        mgk_model *model = load(c, path);
        mgk_free(path);
        if (!mean) {
            mean = model;
            continue;
        }
        for (size_t k = 0; k < mean->parameters.total; k++)
            ((double *)mean->weights)[k] += ((double *)model->weights)[k];
        mgk_model_free(model);
    }
    for (size_t k = 0; k < mean->parameters.total; k++)
        ((double *)mean->weights)[k] /= count;
    return mean;
}

static void assert_same(const mgk_model *found, const mgk_model *expected)
{
    for (size_t i = 0; i < expected->parameters.total; i++)
        assert_close(((double *)found->weights)[i], ((double *)expected->weights)[i], 1e-15, 1e-14);
}

/* The mean of the last three of four evaluations, without held-out data. */
static void test_mean(void **state)
{
    train_case *f = *state;
    history seen;
    mgk_train_settings settings = averaged(3);
    settings.keep_every = 4;
    assert_ok(train(f, &settings, false, -1, &seen));
    mgk_model *found = load(f, OUTPUT);
    mgk_model *expected = mean_of(f, &settings, (const int[]){8, 12, 14}, 3);
    mgk_model *last = mean_of(f, &settings, (const int[]){14}, 1);
    double moved = 0;
    assert_same(found, expected);
    assert_int_equal(found->step, 14);
    for (size_t i = 0; i < last->parameters.total; i++)
        moved = fmax(moved, fabs(((double *)last->weights)[i] - ((double *)found->weights)[i]));
    assert_true(moved > 1e-4);
    mgk_model_free(found);
    mgk_model_free(expected);
    mgk_model_free(last);
    /* Of a single evaluation, and of more than there are. */
    settings = averaged(1);
    settings.keep_every = 4;
    settings.force = true;
    for (; settings.average <= 9; settings.average += 8) {
        assert_ok(train(f, &settings, false, -1, &seen));
        found = load(f, OUTPUT);
        expected = settings.average == 1 ? mean_of(f, &settings, (const int[]){14}, 1)
                                         : mean_of(f, &settings, (const int[]){4, 8, 12, 14}, 4);
        assert_same(found, expected);
        mgk_model_free(found);
        mgk_model_free(expected);
    }
}

/* Held-out losses are those of the means, the first of which has one model. */
static void test_means_are_evaluated(void **state)
{
    static const int steps[][2] = {{4, 4}, {4, 8}, {8, 12}, {12, 14}};
    train_case *f = *state;
    history seen;
    mgk_train_settings settings = averaged(2);
    settings.keep_every = 4;
    assert_ok(train(f, &settings, true, -1, &seen));
    assert_int_equal(seen.evaluations, 4);
    for (int i = 0; i < 4; i++) {
        mgk_evaluation found;
        mgk_model *mean = mean_of(f, &settings, steps[i], 2);
        assert_ok(mgk_evaluate_together(NULL, mean, f->held_out, 4, 0, &found));
        assert_close(seen.loss[i], found.loss, 0, 1e-12);
        if (steps[i][1] == seen.last.best_step) {
            mgk_model *best = load(f, OUTPUT);
            assert_same(best, mean);
            mgk_model_free(best);
        }
        mgk_model_free(mean);
    }
}

/* Features that are drawn anew are not averaged. */
static void test_drawn_features(void **state)
{
    train_case *f = *state;
    history seen;
    mgk_train_settings settings = averaged(3);
    strcpy(f->config.attention, "performer");
    f->config.mixtures = 1;
    settings.keep_every = 4;
    settings.redraw_every = 3;
    assert_ok(train(f, &settings, false, -1, &seen));
    mgk_model *found = load(f, OUTPUT), *last = mean_of(f, &settings, (const int[]){14}, 1);
    size_t drawn = 0;
    for (size_t i = 0; i < last->parameters.count; i++) {
        const mgk_parameter *p = &last->parameters.list[i];
        if (!p->drawn)
            continue;
        assert_memory_equal((double *)found->weights + p->offset,
                            (double *)last->weights + p->offset, p->count * sizeof(double));
        drawn += p->count;
    }
    assert_true(drawn > 0);
    mgk_model_free(found);
    mgk_model_free(last);
}

/* Gives up after three evaluations without a better one. */
static mgk_train_settings failing(train_case *f)
{
    mgk_train_settings settings = train_case_overfits(f);
    settings.patience = 3;
    return settings;
}

static void test_patience(void **state)
{
    train_case *f = *state;
    history seen, whole;
    mgk_train_settings settings = failing(f);
    assert_ok(train(f, &settings, true, -1, &seen));
    assert_true(seen.last.gave_up);
    assert_true(seen.last.step < 120);
    assert_int_equal(seen.last.step, seen.last.best_step + 15);
    const mgk_train_state ended = seen.last;
    settings.patience = 0;
    settings.force = true;
    assert_ok(train(f, &settings, true, -1, &whole));
    assert_int_equal(whole.last.step, 120);
    assert_false(whole.last.gave_up);
    for (int i = 0; i < seen.evaluations; i++)
        assert_true(whole.loss[i] == seen.loss[i]);
    for (int i = 0; i < seen.evaluations - 1; i++) /* no earlier three are without a better one */
        assert_true(5 * (i + 1) < ended.best_step + 15);
}

/* An interrupted run ends where the whole one does, with the same files. */
static void resumes(const train_case *f, const mgk_train_settings *wanted, int stop)
{
    mgk_train_settings settings = *wanted;
    history seen;
    remove_outputs();
    settings.output = WHOLE_OUTPUT;
    settings.log = WHOLE_LOG;
    settings.force = true;
    assert_ok(train(f, &settings, true, -1, &seen));
    settings = *wanted;
    settings.log = LOG;
    assert_fails(train(f, &settings, true, stop, &seen), STATUS_INTERRUPTED);
    settings.resume = CHECKPOINT;
    assert_ok(train(f, &settings, true, -1, &seen));
    assert_equal_files(OUTPUT, WHOLE_OUTPUT);
    assert_equal_files(LOG, WHOLE_LOG);
    unlink(WHOLE_OUTPUT);
    unlink(WHOLE_LOG);
}

static void test_resumed(void **state)
{
    train_case *f = *state;
    mgk_train_settings settings = averaged(2);
    for (int stop = 3; stop < 14; stop += 3)
        resumes(f, &settings, stop);
    settings = failing(f);
    settings.average = 3;
    resumes(f, &settings, 7);
    resumes(f, &settings, 13);
}

static void refused(const train_case *f, const mgk_train_settings *settings, bool held_out,
                    const char *part)
{
    history seen;
    assert_fails(train(f, settings, held_out, -1, &seen), STATUS_USAGE);
    if (!strstr(mgk_fail_message(), part))
        fail_msg("\"%s\", expected \"...%s...\"", mgk_fail_message(), part);
}

static void test_refusals(void **state)
{
    train_case *f = *state;
    history seen;
    mgk_train_settings settings = averaged(65);
    refused(f, &settings, true, "`average` 65");
    settings.average = -1;
    refused(f, &settings, true, "`average` -1");
    settings.average = 2;
    settings.evaluate_every = 0;
    refused(f, &settings, true, "between evaluations");
    settings = averaged(0);
    settings.patience = -1;
    refused(f, &settings, true, "patience: -1");
    settings.patience = 2;
    refused(f, &settings, false, "`patience` needs `held_out` data");
    settings.evaluate_every = 0;
    refused(f, &settings, true,
            "`patience` needs `held_out` data, and steps between evaluations (`evaluate_every`)");
    settings = averaged(2);
    assert_fails(train(f, &settings, true, 5, &seen), STATUS_INTERRUPTED);
    settings.resume = CHECKPOINT;
    settings.average = 3;
    refused(f, &settings, true, "\"average 2\", not \"average 3\"");
    settings.average = 0;
    refused(f, &settings, true, "\"average 2\", which is not set now");
}

static int teardown(void **state)
{
    static const char *const kept[] = {
        "model.step-000000.safetensors", "model.step-000004.safetensors",
        "model.step-000008.safetensors", "model.step-000012.safetensors",
        "model.step-000014.safetensors"};
    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
        unlink(kept[i]);
    return train_case_teardown(state);
}

#define AVERAGE_TEST(f) cmocka_unit_test_setup_teardown(f, train_case_setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        AVERAGE_TEST(test_mean),           AVERAGE_TEST(test_means_are_evaluated),
        AVERAGE_TEST(test_drawn_features), AVERAGE_TEST(test_patience),
        AVERAGE_TEST(test_resumed),        AVERAGE_TEST(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
