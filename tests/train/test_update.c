/* SPDX-License-Identifier: MIT */
/* One step's effect on the weights: the mean over its samples, clipping, and decay of matrices. */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "train/train_case.h"

/* One step at the full rate. */
static mgk_train_settings one_step(void)
{
    mgk_train_settings settings = tiny_settings();
    settings.steps = 1;
    settings.warmup = 0;
    settings.decay = MGK_DECAY_CONSTANT;
    settings.rate = 0.5;
    settings.weight_decay = 0;
    settings.clip = 0;
    settings.log_every = 1;
    settings.force = true;
    return settings;
}

/* The gradient norm in the first row of the log. */
static double logged_norm(void)
{
    double norm = NAN;
    FILE *log = fopen(LOG, "r");
    assert_non_null(log);
    assert_int_equal(fscanf(log, "%*s 1,%*d,%*g,%*g,%lf", &norm), 1);
    fclose(log);
    return norm;
}

/* Writes the weights after a step from `before` [total]. */
static void step(const train_case *c, const mgk_train_settings *settings, const double *before,
                 double *after)
{
    mgk_model *model = new_model(&c->config, c->device, 3);
    size_t bytes = model->parameters.total * sizeof(double);
    memcpy(model->weights, before, bytes);
    assert_ok(mgk_train(model, c->data, NULL, settings, NULL));
    memcpy(after, model->weights, bytes);
    mgk_model_free(model);
}

/* Initial weights, none of them 0, because decay of 0 is not visible. */
static mgk_model *start(const train_case *c, double **after)
{
    mgk_model *model = new_model(&c->config, c->device, 3);
    double *weights = model->weights;
    for (size_t i = 0; i < model->parameters.total; i++)
        if (!(fabs(weights[i]) > 0))
            weights[i] = 0.25;
    assert_ok(mgk_alloc(model->parameters.total, sizeof(**after), after));
    return model;
}

/* Adam does not depend on the scale of gradients; with epsilon far above them it moves by rate ·
 * gradient / epsilon. */
static void test_clipping(void **state)
{
    const train_case *c = *state;
    double *free_step, *clipped_step;
    mgk_train_settings settings = one_step();
    settings.epsilon = 1e6;
    settings.rate = 1e6;
    mgk_model *model = start(c, &free_step);
    size_t total = model->parameters.total;
    const double *before = model->weights;
    assert_ok(mgk_alloc(total, sizeof(*clipped_step), &clipped_step));
    step(c, &settings, before, free_step);
    double norm = logged_norm(), squares = 0;
    settings.clip = norm / 8;
    step(c, &settings, before, clipped_step);
    for (size_t i = 0; i < total; i++) {
        double moved = free_step[i] - before[i];
        assert_close(clipped_step[i] - before[i], moved / 8, 1e-7 * norm, 0);
        squares += moved * moved;
    }
    assert_close(sqrt(squares), norm, 0, 1e-5);
    /* A gradient within the bound is not clipped. */
    settings.clip = norm * 1.01;
    step(c, &settings, before, clipped_step);
    assert_memory_equal(clipped_step, free_step, total * sizeof(*free_step));
    mgk_free(free_step);
    mgk_free(clipped_step);
    mgk_model_free(model);
}

/* As in the paper's code: matrices decay; norms, biases, key shifts and priors do not. */
static bool decays(const char *name)
{
    static const char *const spared[] = {"norm", "bias", "key_shift", "prior"};
    for (size_t i = 0; i < sizeof(spared) / sizeof(spared[0]); i++)
        if (strstr(name, spared[i]))
            return false;
    return true;
}

static void check_decay(const train_case *c)
{
    double *after;
    size_t decayed = 0, spared = 0;
    mgk_train_settings settings = one_step();
    settings.weight_decay = 0.1;
    settings.epsilon = 1e30; /* gradients move nothing */
    mgk_model *model = start(c, &after);
    const double *before = model->weights;
    step(c, &settings, before, after);
    for (size_t i = 0; i < model->parameters.count; i++) {
        const mgk_parameter *p = &model->parameters.list[i];
        bool decay = decays(p->name);
        decayed += decay;
        spared += !decay;
        for (size_t k = p->offset; k < p->offset + p->count; k++)
            assert_close(after[k], before[k] * (decay ? 1 - 0.5 * 0.1 : 1), 0, 1e-12);
    }
    assert_true(decayed > 4 && spared > 4);
    mgk_free(after);
    mgk_model_free(model);
}

static void test_decay_spares_what_is_no_matrix(void **state)
{
    train_case *c = *state;
    static const mgk_prior_shape shapes[] = {MGK_PRIOR_LAYER, MGK_PRIOR_HEAD, MGK_PRIOR_POSITION};
    strcpy(c->config.attention, "smgk");
    for (size_t i = 0; i < 3; i++) {
        c->config.prior_shape = shapes[i];
        check_decay(c);
    }
    mgk_dataset_close(c->data);
    c->data = open_lists(MGK_SPLIT_TRAIN, 8);
    c->config = tiny_encoder(c->data);
    check_decay(c);
}

/* Gradient norm of the first step with so many samples. */
static double norm_of(const train_case *c, int batch, int accumulation)
{
    mgk_train_settings settings = one_step();
    settings.batch = batch;
    settings.accumulation = accumulation;
    assert_ok(train_case_run(c, &settings, false, NULL, NULL));
    return logged_norm();
}

/* A sample repeated several times has the gradient of the single sample. */
static void check_mean(const train_case *c)
{
    double once = norm_of(c, 1, 1);
    assert_true(once > 1e-3);
    assert_close(norm_of(c, 4, 1), once, 0, 1e-7);
    assert_close(norm_of(c, 1, 3), once, 0, 1e-7);
    assert_close(norm_of(c, 2, 2), once, 0, 1e-7);
}

static void test_loss_is_a_mean(void **state)
{
    train_case *c = *state;
    write_text(TRAINING_TEXT, 17, 5);
    mgk_dataset_close(c->data);
    c->data = open_text(TRAINING_TEXT, MGK_SPLIT_TRAIN, 1);
    check_mean(c);
    mgk_dataset_close(c->data);
    c->data = open_lists(MGK_SPLIT_TRAIN, 1);
    c->config = tiny_encoder(c->data);
    check_mean(c);
}

/* Pairs: four at once equal two and two. */
static void test_pairs_accumulate(void **state)
{
    train_case *c = *state;
    static const char *const paths[] = {FIRST_ARTICLE, SECOND_ARTICLE};
    write_text(FIRST_ARTICLE, 300, 1);
    assert_ok(mgk_write_file(SECOND_ARTICLE, true, "0123456789abcdefghijklmnopqrstuvwxyz", 36));
    mgk_dataset_close(c->data);
    c->data = open_pairs(paths, MGK_SPLIT_TRAIN);
    c->config = tiny_encoder(c->data);
    double whole = norm_of(c, 4, 1);
    assert_true(whole > 1e-3);
    assert_close(norm_of(c, 2, 2), whole, 0, 1e-7);
    assert_close(norm_of(c, 1, 4), whole, 0, 1e-7);
}

#define update_test(function) \
    cmocka_unit_test_setup_teardown(function, train_case_setup, train_case_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        update_test(test_clipping),
        update_test(test_decay_spares_what_is_no_matrix),
        update_test(test_loss_is_a_mean),
        update_test(test_pairs_accumulate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
