/* SPDX-License-Identifier: MIT */
/* Training of classifiers: single sequences and pairs, and the choice of the best model. */
#include "test.h"

#include "model/formats/format.h"
#include "train/train_case.h"

enum { MOST_EVALUATIONS = 64 };

typedef struct history {
    double first_loss, last_loss;
    int evaluations;
    mgk_evaluation evaluated[MOST_EVALUATIONS], best;
} history;

static void record(void *context, const mgk_train_state *state)
{
    history *seen = context;
    if (state->step == 1)
        seen->first_loss = state->loss;
    seen->last_loss = state->loss;
    if (state->evaluated)
        seen->evaluated[seen->evaluations++] = state->evaluation;
    seen->best = state->best;
}

static void use(train_case *c, mgk_dataset *data, mgk_dataset *held_out)
{
    mgk_dataset_close(c->data);
    mgk_dataset_close(c->held_out);
    c->data = data;
    c->held_out = held_out;
    c->config = tiny_encoder(data);
}

static void train(const train_case *c, const mgk_train_settings *settings, history *seen)
{
    *seen = (history){0};
    mgk_train_watcher watcher = {record, NULL, seen};
    assert_ok(train_case_run(c, settings, true, &watcher, NULL));
}

/* Whether a is better: higher accuracy, then lower loss. */
static bool precedes(const mgk_evaluation *a, const mgk_evaluation *b)
{
    bool equal = !(a->accuracy < b->accuracy) && !(a->accuracy > b->accuracy);
    return equal ? a->loss < b->loss : a->accuracy > b->accuracy;
}

static void check_kept(const train_case *c, const history *seen)
{
    mgk_model *model;
    mgk_evaluation found;
    const mgk_evaluation *best = &seen->evaluated[0];
    for (int i = 1; i < seen->evaluations; i++)
        if (precedes(&seen->evaluated[i], best))
            best = &seen->evaluated[i];
    assert_true(seen->best.accuracy == best->accuracy && seen->best.loss == best->loss);
    assert_ok(mgk_model_load(OUTPUT, NULL, c->device, &model));
    assert_ok(mgk_evaluate_together(NULL, model, c->held_out, 4, 0, &found));
    assert_true(found.accuracy == best->accuracy);
    assert_close(found.loss, best->loss, 0, 1e-12);
    mgk_model_free(model);
}

/* Lists are memorised, beyond the step at which held-out accuracy is best. */
static void test_lists(void **state)
{
    train_case *c = *state;
    history seen;
    mgk_train_settings settings = tiny_settings();
    use(c, open_lists(MGK_SPLIT_TRAIN, 64), open_lists(MGK_SPLIT_EVAL, 50));
    settings.steps = 160;
    settings.batch = 16;
    settings.rate = 0.02;
    settings.decay = MGK_DECAY_CONSTANT;
    settings.evaluate_every = 4;
    train(c, &settings, &seen);
    /* The output layer starts at 0: the loss of chance. */
    assert_close(seen.first_loss, log(10), 0, 1e-12);
    assert_true(seen.last_loss < 1.2);
    assert_int_equal(seen.evaluations, 40);
    assert_int_equal(seen.evaluated[0].count, 50);
    assert_true(seen.best.accuracy > 0.2);
    check_kept(c, &seen);
    /* Accuracy decides, not loss: here they disagree. */
    double lowest = INFINITY;
    for (int i = 0; i < seen.evaluations; i++)
        lowest = fmin(lowest, seen.evaluated[i].loss);
    assert_true(seen.best.loss > lowest);
}

/* Two articles of different letters are distinguished immediately. */
static void test_pairs(void **state)
{
    train_case *c = *state;
    static const char *const paths[] = {FIRST_ARTICLE, SECOND_ARTICLE};
    history seen;
    mgk_train_settings settings = tiny_settings();
    write_text(FIRST_ARTICLE, 400, 1);
    write_text(SECOND_ARTICLE, 400, 2);
    use(c, open_pairs(paths, MGK_SPLIT_TRAIN), open_pairs(paths, MGK_SPLIT_EVAL));
    settings.steps = 60;
    settings.rate = 0.01;
    train(c, &settings, &seen);
    assert_close(seen.first_loss, log(2), 0, 1e-12);
    assert_true(seen.last_loss < seen.first_loss);
    assert_int_equal(seen.evaluations, 15);
    assert_int_equal(seen.evaluated[0].count, 20);
    check_kept(c, &seen);
}

#define classifier_test(function) \
    cmocka_unit_test_setup_teardown(function, train_case_setup, train_case_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        classifier_test(test_lists),
        classifier_test(test_pairs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
