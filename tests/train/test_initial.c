/* SPDX-License-Identifier: MIT */
/* First weights as published code draws them, those of another model, and recipes. */
#include "train/train_case.h"

#include <string.h>

#include "base/memory.h"
#include "model/formats/format.h"
#include "test.h"
#include "train/initial.h"
#include "train/recipe.h"

/* Mean and standard deviation of numbers first … first + count − 1 of a parameter. */
typedef struct spread {
    double mean, deviation, most;
} spread;

static const mgk_parameter *find(const mgk_model *model, const char *name)
{
    for (size_t i = 0; i < model->parameters.count; i++)
        if (strcmp(model->parameters.list[i].name, name) == 0)
            return &model->parameters.list[i];
    fail_msg("no %s", name);
    return NULL;
}

static double *read_values(const mgk_model *model, const mgk_parameter *p)
{
    double *values;
    assert_ok(mgk_alloc(p->count, sizeof(*values), &values));
    assert_ok(mgk_model_read(model, p->offset, p->count, values));
    return values;
}

static spread spread_of(const mgk_model *model, const char *name, size_t first, size_t count)
{
    const mgk_parameter *p = find(model, name);
    double *values = read_values(model, p);
    spread s = {0};
    if (count == 0)
        count = p->count - first;
    for (size_t k = first; k < first + count; k++) {
        s.mean += values[k] / (double)count;
        s.most = fmax(s.most, fabs(values[k]));
    }
    for (size_t k = first; k < first + count; k++)
        s.deviation += (values[k] - s.mean) * (values[k] - s.mean) / (double)count;
    s.deviation = sqrt(s.deviation);
    mgk_free(values);
    return s;
}

/* A model of smgk, large enough for a tenth of a deviation: 4 / √count is below 0.1 from 1600. */
static mgk_model *wide_model(const train_case *c, mgk_family family)
{
    mgk_config config;
    mgk_config_defaults(family, &config);
    config.layers = 1;
    config.heads = 40;
    config.dim = 64;
    config.head_dim = 40;
    config.hidden = 64;
    config.length = 32;
    config.vocabulary = 256;
    strcpy(config.attention, "smgk");
    return new_model(&config, c->device, 3);
}

static void test_language_models(void **state)
{
    mgk_model *model = wide_model(*state, MGK_FAMILY_LM);
    assert_ok(mgk_initial_draw(model, MGK_INITIAL_LM, 5));
    static const char *const maps[] = {"embedding.token.weight", "layers.0.attention.query.weight",
                                       "layers.0.attention.output.weight",
                                       "layers.0.feed_forward.in.weight"};
    for (size_t i = 0; i < 4; i++)
        assert_close(spread_of(model, maps[i], 0, 0).deviation, 0.02, 0, 0.1);
    const spread norm = spread_of(model, "layers.0.norm2.weight", 0, 0);
    assert_close(norm.mean, 1, 0.02, 0);
    assert_close(norm.deviation, 0.02, 0, 0.4);
    assert_close(spread_of(model, "layers.0.feed_forward.in.bias", 0, 0).most, 0, 0, 0);
    assert_close(spread_of(model, "layers.0.attention.key_shift", 0, 1600).most, 0, 0, 0);
    assert_close(spread_of(model, "layers.0.attention.key_shift", 1600, 0).deviation, 0.5, 0, 0.1);
    assert_close(spread_of(model, "layers.0.attention.prior", 0, 0).mean, 0.5, 0, 0);
    mgk_model_free(model);
}

/* Tables of two widths, and their maps. */
static void test_adaptive(void **state)
{
    const train_case *c = *state;
    mgk_config config;
    mgk_config_defaults(MGK_FAMILY_LM, &config);
    config.layers = 1;
    config.dim = 64;
    config.vocabulary = 256;
    config.cutoffs[0] = 100;
    config.cutoff_count = 1;
    config.cutoff_divisor = 2;
    mgk_model *model = new_model(&config, c->device, 3);
    assert_close(spread_of(model, "embedding.token.1.weight", 0, 0).deviation, 1 / 8.0, 0, 0.1);
    assert_close(spread_of(model, "embedding.token.1.projection.weight", 0, 0).deviation,
                 1 / sqrt(32), 0, 0.1);
    assert_ok(mgk_initial_draw(model, MGK_INITIAL_LM, 5));
    assert_close(spread_of(model, "embedding.token.1.weight", 0, 0).deviation, 0.02, 0, 0.1);
    assert_close(spread_of(model, "embedding.token.1.projection.weight", 0, 0).deviation, 0.01, 0,
                 0.1);
    assert_close(spread_of(model, "output.projection.weight", 0, 0).deviation, 0.01, 0, 0.1);
    assert_close(spread_of(model, "output.clusters.weight", 0, 0).deviation, 0.02, 0, 0.4);
    mgk_model_free(model);
}

static void test_encoders(void **state)
{
    mgk_model *model = wide_model(*state, MGK_FAMILY_ENCODER);
    assert_ok(mgk_initial_draw(model, MGK_INITIAL_LRA, 5));
    assert_close(spread_of(model, "embedding.token.weight", 0, 0).deviation, 0.02, 0, 0.1);
    const spread map = spread_of(model, "layers.0.attention.output.weight", 0, 0);
    assert_true(map.most <= 1.0 / 40 && map.most > 0.99 / 40);
    assert_close(map.deviation, 1 / 40.0 / sqrt(3), 0, 0.1);
    const spread bias = spread_of(model, "layers.0.attention.key.bias", 0, 0);
    assert_true(bias.most <= 1.0 / 8 && bias.most > 0.9 / 8);
    assert_close(spread_of(model, "layers.0.norm1.weight", 0, 0).mean, 1, 0, 0);
    assert_true(spread_of(model, "classifier.output.weight", 0, 0).most > 0);
    mgk_model_free(model);
}

/* The same numbers, or those of the first rows. */
static void assert_taken(const mgk_model *to, const mgk_model *from, const char *name, bool taken)
{
    const mgk_parameter *p = find(to, name), *source = find(from, name);
    const size_t count = p->count < source->count ? p->count : source->count;
    double *values = read_values(to, p), *expected = read_values(from, source);
    assert_int_equal(memcmp(values, expected, count * sizeof(*values)) == 0, taken);
    mgk_free(values);
    mgk_free(expected);
}

static void test_taking(void **state)
{
    train_case *c = *state;
    char *remark;
    mgk_model *from = new_model(&c->config, c->device, 3), *to;
    assert_ok(mgk_model_save(from, OUTPUT, true, NULL, 0, NULL, 0));
    to = new_model(&c->config, c->device, 4);
    assert_ok(mgk_initial_take(to, OUTPUT, &remark));
    assert_string_equal(remark, "gives all 15 tensors of the new model");
    for (size_t i = 0; i < to->parameters.count; i++)
        assert_taken(to, from, to->parameters.list[i].name, true);
    mgk_free(remark);
    mgk_model_free(to);
    strcpy(c->config.attention, "softmax");
    c->config.mixtures = 1;
    c->config.hidden = 24;
    to = new_model(&c->config, c->device, 4);
    assert_ok(mgk_initial_take(to, OUTPUT, &remark));
    assert_non_null(strstr(remark,
                           "tensors of the new model; the rest begins as usual: "
                           "layers.0.feed_forward.in.weight, layers.0.feed_forward.in.bias"));
    assert_taken(to, from, "layers.0.attention.key.weight", true);
    assert_taken(to, from, "layers.0.attention.value.weight", true);
    assert_taken(to, from, "layers.0.feed_forward.in.weight", false);
    mgk_free(remark);
    assert_fails(mgk_initial_take(to, "none.safetensors", &remark), STATUS_IO);
    mgk_model_free(to);
    c->config.dim = 6;
    c->config.heads = 3;
    c->config.vocabulary = 300;
    to = new_model(&c->config, c->device, 4);
    assert_fails(mgk_initial_take(to, OUTPUT, &remark), STATUS_SHAPE);
    mgk_model_free(to);
    mgk_model_free(from);
}

/* The keys of four heads are no first rows of those of eight. */
static void test_taking_other_heads(void **state)
{
    train_case *c = *state;
    char *remark;
    strcpy(c->config.attention, "softmax");
    c->config.mixtures = 1;
    c->config.heads = 4;
    mgk_model *from = new_model(&c->config, c->device, 3), *to;
    assert_ok(mgk_model_save(from, OUTPUT, true, NULL, 0, NULL, 0));
    c->config.heads = 8;
    to = new_model(&c->config, c->device, 4);
    assert_ok(mgk_initial_take(to, OUTPUT, &remark));
    assert_taken(to, from, "layers.0.attention.key.weight", false);
    assert_taken(to, from, "embedding.token.weight", true);
    mgk_free(remark);
    mgk_model_free(to);
    mgk_model_free(from);
}

/* Rows of a table that mean the same: count rows from row `own` of `to` on are those from row
 * `theirs` of `from` on. */
static void assert_rows(const mgk_model *to, size_t own, const mgk_model *from, size_t theirs,
                        size_t count, const char *name)
{
    const mgk_parameter *p = find(to, name), *source = find(from, name);
    const size_t width = p->count / p->shape[0];
    double *values = read_values(to, p), *expected = read_values(from, source);
    assert_memory_equal(values + own * width, expected + theirs * width,
                        count * width * sizeof(*values));
    mgk_free(values);
    mgk_free(expected);
}

/* A class token is before the other tokens of a sequence, and behind the other words. */
static void test_taking_beside_class_tokens(void **state)
{
    train_case *c = *state;
    char *remark;
    mgk_config config;
    mgk_config_defaults(MGK_FAMILY_ENCODER, &config);
    config.layers = 1;
    config.dim = 8;
    config.head_dim = 4;
    config.hidden = 8;
    config.length = 16;
    config.vocabulary = 256;
    strcpy(config.attention, "softmax");
    config.mixtures = 1;
    mgk_config with = config;
    with.class_token = true;
    with.vocabulary++;
    with.pooling = MGK_POOLING_FIRST;
    mgk_model *plain = new_model(&config, c->device, 3), *to = new_model(&with, c->device, 4);
    assert_ok(mgk_model_save(plain, OUTPUT, true, NULL, 0, NULL, 0));
    assert_ok(mgk_initial_take(to, OUTPUT, &remark));
    assert_non_null(strstr(remark, ", and rows of 2"));
    mgk_free(remark);
    assert_rows(to, 1, plain, 0, 15, "embedding.position.weight");
    assert_rows(to, 0, plain, 0, 256, "embedding.token.weight");
    mgk_model_free(plain);
    assert_ok(mgk_model_save(to, OUTPUT, true, NULL, 0, NULL, 0));
    plain = new_model(&config, c->device, 5);
    assert_ok(mgk_initial_take(plain, OUTPUT, &remark));
    mgk_free(remark);
    assert_rows(plain, 0, to, 1, 15, "embedding.position.weight");
    assert_rows(plain, 0, to, 0, 256, "embedding.token.weight");
    mgk_model_free(plain);
    mgk_model_free(to);
}

static void test_recipes(void **state)
{
    (void)state;
    mgk_train_recipe recipe;
    mgk_initial_values values;
    mgk_config config;
    assert_fails(mgk_recipe_from_name("LM", &recipe), STATUS_USAGE);
    assert_fails(mgk_initial_from_name("", &values), STATUS_USAGE);
    assert_ok(mgk_recipe_from_name("lra", &recipe));
    mgk_config_defaults(MGK_FAMILY_LM, &config);
    assert_fails(mgk_recipe_configure(recipe, &config), STATUS_USAGE);
    mgk_config_defaults(MGK_FAMILY_ENCODER, &config);
    strcpy(config.attention, "mlk");
    assert_ok(mgk_recipe_configure(recipe, &config));
    assert_true(config.mix_keys && !config.row_normalized && config.classifier == 2 * config.dim);
    assert_int_equal(config.pooling, MGK_POOLING_LENGTH);
    assert_ok(mgk_recipe_from_name("lm", &recipe));
    mgk_config_defaults(MGK_FAMILY_LM, &config);
    config.prior = MGK_PRIOR_EM;
    assert_ok(mgk_recipe_configure(recipe, &config));
    assert_true(config.positions_backward && config.prior_queries == MGK_QUERIES_ALL);
    assert_close(config.variance[1], sqrt(config.head_dim) / 3, 0, 1e-15);
    assert_close(config.normalizer_epsilon, 1e-6, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_language_models, train_case_setup,
                                        train_case_teardown),
        cmocka_unit_test_setup_teardown(test_adaptive, train_case_setup, train_case_teardown),
        cmocka_unit_test_setup_teardown(test_encoders, train_case_setup, train_case_teardown),
        cmocka_unit_test_setup_teardown(test_taking, train_case_setup, train_case_teardown),
        cmocka_unit_test_setup_teardown(test_taking_other_heads, train_case_setup,
                                        train_case_teardown),
        cmocka_unit_test_setup_teardown(test_taking_beside_class_tokens, train_case_setup,
                                        train_case_teardown),
        cmocka_unit_test(test_recipes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
