/* SPDX-License-Identifier: MIT */
/*
 * Shares of a batch: the gradients, losses, terms and responsibilities of all shares add up to
 * those of the whole batch, in float64, for every kind of attention.
 */
#include "test.h"

#include <string.h>

#include "base/memory.h"
#include "model/pass_case.h"

/* What a batch, or one of its shares, yields. */
typedef struct yield {
    double *gradient; /* [total] */
    double *sums;     /* of soft-E priors; [count], 0: there are none */
    size_t count;
    double terms[MGK_TERMS];
    mgk_loss loss;
} yield;

static const mgk_regularisation all_terms = {{3, 20, 2, 10}};

/* Adds what sequences first … end − 1 yield. */
static void add_share(const pass_case *c, mgk_pass *pass, int first, int end, yield *out)
{
    const mgk_config *config = &c->model->config;
    const bool lm = config->family == MGK_FAMILY_LM;
    const int32_t *targets = c->targets + (lm             ? first * CASE_TOKENS
                                           : config->dual ? first / 2
                                                          : first);
    const mgk_batch share = {.sequences = end - first,
                             .tokens = CASE_TOKENS,
                             .ids = c->ids + first * CASE_TOKENS,
                             .lengths = c->lengths + first};
    mgk_batch_place place = {.whole = CASE_SEQUENCES, .before = first};
    for (int b = 0; b < first; b++)
        place.valid_before += (size_t)c->lengths[b];
    assert_ok(mgk_pass_load_share(pass, &share, &place, targets, 3, 5));
    assert_ok(mgk_pass_forward(pass, NULL));
    assert_ok(mgk_pass_loss(pass, 0.25, &out->loss));
    assert_ok(mgk_pass_backward(pass, out->gradient, NULL));
}

/* Cut into `cuts` shares; cuts[0] is 0, the last one is CASE_SEQUENCES. */
static void compute(const pass_case *c, const int *cuts, yield *out)
{
    mgk_pass *pass;
    *out = (yield){.count = 0};
    assert_ok(mgk_pass_create(c->model, CASE_SEQUENCES, CASE_TOKENS, 0, true, &pass));
    if (mgk_regularises(&c->what))
        assert_ok(mgk_pass_regularise(pass, &c->what, 1));
    assert_ok(mgk_alloc(c->model->parameters.total, sizeof(double), &out->gradient));
    for (int i = 0; cuts[i] < CASE_SEQUENCES; i++)
        add_share(c, pass, cuts[i], cuts[i + 1], out);
    mgk_pass_take_terms(pass, out->terms);
    const double *sums = mgk_pass_prior_sums(pass, &out->count);
    assert_ok(mgk_alloc(out->count, sizeof(double), &out->sums));
    assert_ok(c->device->op->download(c->device, out->sums, sums, out->count * sizeof(double)));
    mgk_pass_free(pass);
}

static void release(yield *y)
{
    mgk_free(y->gradient);
    mgk_free(y->sums);
}

static void compare(const char *what, size_t count, const double *found, const double *expected)
{
    double largest = 0;
    for (size_t i = 0; i < count; i++)
        largest = fmax(largest, fabs(expected[i]));
    for (size_t i = 0; i < count; i++)
        if (!isfinite(found[i]) || !(fabs(found[i] - expected[i]) <= 1e-12 * (1 + largest)))
            fail_msg("%s, number %zu: %.17g in shares, %.17g as a whole", what, i, found[i],
                     expected[i]);
}

static void check(const mgk_config *config, const mgk_regularisation *what)
{
    static const int whole[] = {0, CASE_SEQUENCES}, halves[] = {0, 2, CASE_SEQUENCES},
                     ones[] = {0, 1, 2, 3, CASE_SEQUENCES};
    const int *const cuts[] = {halves, ones};
    pass_case c;
    yield expected, found;
    case_open(&c, config);
    if (what)
        c.what = *what;
    compute(&c, whole, &expected);
    assert_true(expected.loss.count > 0);
    for (size_t i = 0; i < (config->dual ? 1 : 2); i++) {
        compute(&c, cuts[i], &found);
        compare(config->attention, c.model->parameters.total, found.gradient, expected.gradient);
        compare("terms", MGK_TERMS, found.terms, expected.terms);
        assert_int_equal(found.count, expected.count);
        compare("responsibilities", found.count, found.sums, expected.sums);
        compare("loss", 1, &found.loss.sum, &expected.loss.sum);
        assert_int_equal(found.loss.count, expected.loss.count);
        assert_int_equal(found.loss.correct, expected.loss.correct);
        release(&found);
    }
    release(&expected);
    case_close(&c);
}

/* Whether a model of this configuration can be trained. */
static bool trains(const mgk_config *config)
{
    mgk_config resolved = *config;
    mgk_device *device;
    mgk_model *model;
    if (mgk_config_resolve(&resolved) != STATUS_OK)
        return false;
    assert_ok(mgk_device_open("cpu", MGK_DOUBLE, 1, &device));
    bool trained = mgk_model_create(&resolved, 7, device, &model) == STATUS_OK;
    trained = trained && mgk_model_has_gradients(model);
    mgk_model_free(model);
    mgk_device_close(device);
    return trained;
}

static void test_every_kind(void **state)
{
    const mgk_attention_kind *kind;
    int seen = 0;
    (void)state;
    for (size_t row = 0; (kind = mgk_attention_row(row)); row++)
        for (int family = MGK_FAMILY_ENCODER; family <= MGK_FAMILY_LM; family++) {
            mgk_config config = case_config((mgk_family)family, kind->name, kind->mixture ? 2 : 1);
            config.dropout = 0.3;
            config.dropout_hidden = 0.2;
            config.dropout_output = 0.2;
            if (!trains(&config))
                continue;
            check(&config, NULL);
            seen++;
        }
    assert_true(seen > 40);
}

static void test_soft_expectation(void **state)
{
    static const char *const kinds[] = {"mgk",  "smgk",        "mlk",
                                        "smlk", "mgk,softmax", "softmax,smlk"};
    (void)state;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        for (int family = MGK_FAMILY_ENCODER; family <= MGK_FAMILY_LM; family++) {
            mgk_config config = case_config((mgk_family)family, kinds[i], 2);
            config.prior = MGK_PRIOR_EM;
            config.prior_shape = (mgk_prior_shape)(i % 3);
            config.dropout = 0.3;
            check(&config, NULL);
        }
}

static void test_dropout_of_attention(void **state)
{
    static const char *const kinds[] = {"softmax", "mgk", "band"};
    (void)state;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        for (int family = MGK_FAMILY_ENCODER; family <= MGK_FAMILY_LM; family++) {
            mgk_config config = case_config((mgk_family)family, kinds[i], i == 1 ? 2 : 1);
            config.dropout_attention = 0.4;
            check(&config, NULL);
        }
}

/* A pass with terms does not leave padding out: dropout begins elsewhere than without. */
static void test_terms(void **state)
{
    (void)state;
    for (int family = MGK_FAMILY_ENCODER; family <= MGK_FAMILY_LM; family++) {
        mgk_config config = case_config((mgk_family)family, "mgk", 2);
        config.dropout = config.dropout_hidden = config.dropout_attention = 0.3;
        check(&config, &all_terms);
    }
}

static void test_pairs(void **state)
{
    (void)state;
    mgk_config config = case_config(MGK_FAMILY_ENCODER, "mgk", 2);
    config.dual = true;
    config.dropout = 0.3;
    check(&config, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kind),
        cmocka_unit_test(test_soft_expectation),
        cmocka_unit_test(test_dropout_of_attention),
        cmocka_unit_test(test_terms),
        cmocka_unit_test(test_pairs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
