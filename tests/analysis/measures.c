/* SPDX-License-Identifier: MIT */
/* Every measure of the registry against its formula, and its value where the answer is known. */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/heads.h"
#include "analysis/measures/registry.h"
#include "analysis/run/diversity.h"

/* A run of all measures over a model. */
typedef struct measured {
    mgk_record_layout layout;
    test_records records;
} measured;

static void run_with(const test_model *model, bool relative, bool across, measured *out)
{
    test_source s = test_source_of_model(model);
    const mgk_source source = test_source_of(&s);
    *out = (measured){.records = {.layout = &out->layout}};
    assert_ok(mgk_record_layout_make(model->layers, model->heads, TEST_MIXTURES, mgk_measures,
                                     mgk_measure_count, &out->layout));
    if (across)
        assert_ok(mgk_record_layout_add_across(&out->layout));
    const mgk_diversity_run_options options = {.layout = &out->layout,
                                               .threshold = relative ? 0.05 : 1e-6,
                                               .relative = relative,
                                               .allow_zero_rows = model->kind == TEST_ZERO_ROWS,
                                               .receive = test_receive,
                                               .state = &out->records};
    assert_ok(mgk_diversity_run(&source, &options));
    assert_false(s.misused);
    assert_false(out->records.misplaced);
    assert_int_equal(out->records.count, model->samples);
}

static void run(const test_model *model, bool relative, measured *out)
{
    run_with(model, relative, false, out);
}

static void forget(measured *m)
{
    test_records_free(&m->records);
    mgk_record_layout_free(&m->layout);
}

/* ---- formulas -------------------------------------------------------------------------------- */

static void compare(const test_model *model, const test_formula *formula, double value,
                    long double exact)
{
    const double expected = (double)exact;
    const double error = formula->absolute + formula->relative * fabs(expected);
    const bool empty = isnan(expected) && isnan(value);
    if (!empty && !(fabs(value - expected) <= error))
        fail_msg("%s of kind %d, %zu heads of %zu tokens: %.17g, expected %.17g", formula->name,
                 (int)model->kind, model->heads, model->n, value, expected);
}

static void compare_heads(const test_model *model, const test_sample *s, size_t layer,
                          const test_formula *formula, const double *values)
{
    for (size_t h = 0; h < s->heads; h++)
        compare(model, formula, values[h], formula->head(s, layer, h));
}

static void compare_components(const test_model *model, const test_sample *s, size_t layer,
                               const test_formula *formula, const double *values)
{
    for (size_t i = 0; i < s->heads * s->mixtures; i++)
        compare(model, formula, values[i],
                formula->component(s, layer, i / s->mixtures, i % s->mixtures));
}

static void compare_pairs(const test_model *model, const test_sample *s, size_t layer,
                          const test_formula *formula, const double *values)
{
    for (size_t h = 0; h < s->heads; h++)
        for (size_t g = 0; g <= h; g++) {
            const long double expected = formula->pair(s, layer, h, g);
            compare(model, formula, values[h * s->heads + g], expected);
            compare(model, formula, values[g * s->heads + h], expected);
        }
}

/* What cross-attention without tokens, values and weights has: no measure compares the position of
 * a query with that of a key. */
static const char *const of_cross[] = {"rank",
                                       "effective_rank",
                                       "stable_rank",
                                       "participation_ratio",
                                       "components_90",
                                       "components_95",
                                       "components_99",
                                       "sigma_ratio",
                                       "entropy",
                                       "normalized_entropy",
                                       "confidence",
                                       "first",
                                       "gini",
                                       "top_8_mass",
                                       "high_frequency",
                                       "js",
                                       "hellinger",
                                       "affinity",
                                       "cosine",
                                       "position_overlap",
                                       "effective_heads",
                                       "disagreement_position",
                                       "mean_js",
                                       "cross_layer_cosine"};

static bool has_measure(const test_sample *s, const char *name)
{
    bool found = !s->cross;
    for (size_t i = 0; i < sizeof(of_cross) / sizeof(*of_cross); i++)
        found |= strcmp(of_cross[i], name) == 0;
    return found;
}

static bool is_empty(const measured *m, const char *name, size_t sample, size_t layer);

static void compare_layer(const test_model *model, const test_sample *s, size_t layer,
                          const measured *m, size_t sample)
{
    for (size_t k = 0; k < mgk_measure_count; k++) {
        const test_formula *formula = test_formula_find(mgk_measures[k]->name);
        const double *values = test_values(&m->records, mgk_measures[k]->name, sample, layer);
        if (!has_measure(s, formula->name)) {
            if (!is_empty(m, formula->name, sample, layer))
                fail_msg("%s of cross-attention is not empty", formula->name);
        } else if (formula->head)
            compare_heads(model, s, layer, formula, values);
        else if (formula->component)
            compare_components(model, s, layer, formula, values);
        else if (formula->pair)
            compare_pairs(model, s, layer, formula, values);
        else {
            const long double expected = formula->layer(s, layer);
            compare(model, formula, values[0], expected);
        }
    }
}

static void compare_all(const test_model *model, bool relative)
{
    measured m;
    run(model, relative, &m);
    for (size_t i = 0; i < model->samples; i++) {
        test_sample s = test_sample_of_model(model, i);
        s.relative = relative;
        s.threshold = relative ? 0.05 : s.threshold;
        for (size_t l = 0; l < model->layers; l++)
            compare_layer(model, &s, l, &m, i);
        test_sample_free(&s);
    }
    forget(&m);
}

static void every_measure_has_a_formula(void **state)
{
    (void)state;
    for (size_t k = 0; k < mgk_measure_count; k++) {
        const mgk_measure *measure = mgk_measures[k];
        const test_formula *formula = test_formula_find(measure->name);
        if (!formula)
            fail_msg("no formula of %s", measure->name);
        assert_int_equal(measure->level == MGK_MEASURE_HEAD, formula->head || formula->component);
        assert_int_equal(measure->components, formula->component != NULL);
        assert_int_equal(measure->level == MGK_MEASURE_PAIR, formula->pair != NULL);
        assert_int_equal(measure->level == MGK_MEASURE_LAYER, formula->layer != NULL);
        assert_ptr_equal(mgk_measure_find(measure->name), measure);
    }
    assert_null(mgk_measure_find("enthropy"));
}

static const size_t sizes[] = {1, 2, 7, 40, 65}, heads[] = {1, 2, 5, 8};

/* A layer and a sample more where they cost little. */
static test_model model_of(test_kind kind, size_t n, size_t head_count)
{
    const size_t more = n <= 7;
    return (test_model){.kind = kind,
                        .samples = kind == TEST_PADDED ? 4 : 1 + more,
                        .layers = 2 + more,
                        .heads = head_count,
                        .n = n,
                        .dim = 3};
}

/* Half of the large models are enough. With fewer keys than heads no heads are disjoint. */
static bool is_tried(test_kind kind, size_t s, size_t h)
{
    const size_t n = sizes[s], head_count = heads[h];
    return (n <= 7 || (n + head_count) % 2 == 0) && (kind != TEST_DISJOINT || n >= head_count) &&
           ((size_t)kind + s + h) % TEST_STEP == 0;
}

static void measures_follow_their_formulas(void **state)
{
    (void)state;
    for (int kind = 0; kind < TEST_KINDS; kind++)
        for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
            for (size_t h = 0; h < sizeof(heads) / sizeof(heads[0]); h++) {
                const test_model model = model_of((test_kind)kind, sizes[s], heads[h]);
                if (is_tried((test_kind)kind, s, h))
                    compare_all(&model, false);
            }
}

static void relative_thresholds_scale(void **state)
{
    (void)state;
    const test_model model = model_of(TEST_RANDOM, 65, 2);
    compare_all(&model, true);
}

/* Across layers, a sample is compared as if all its heads were of one layer. */
static void compare_across(const test_model *model)
{
    measured m;
    run_with(model, false, true, &m);
    for (size_t i = 0; i < model->samples; i++) {
        test_sample s = test_sample_of_model(model, i), flat = s;
        flat.layers = 1;
        flat.heads = s.layers * s.heads;
        for (size_t l = 0; l < model->layers; l++)
            compare_layer(model, &s, l, &m, i);
        for (size_t k = 0; k < mgk_measure_count; k++)
            if (mgk_measures[k]->level == MGK_MEASURE_PAIR &&
                has_measure(&s, mgk_measures[k]->name))
                compare_pairs(model, &flat, 0, test_formula_find(mgk_measures[k]->name),
                              m.records.values + i * mgk_record_size(&m.layout) +
                                  mgk_record_across(&m.layout, k));
        test_sample_free(&s);
    }
    forget(&m);
}

static void pairs_across_layers_follow_their_formulas(void **state)
{
    (void)state;
    for (int kind = 0; kind < TEST_KINDS; kind++)
        for (size_t s = 0; s + 1 < sizeof(sizes) / sizeof(sizes[0]); s++)
            for (size_t h = 0; h + 1 < sizeof(heads) / sizeof(heads[0]); h++) {
                const test_model model = model_of((test_kind)kind, sizes[s], heads[h]);
                if (is_tried((test_kind)kind, s, h))
                    compare_across(&model);
            }
}

/* Outputs of whole vectors and blocks of rows, with rows at the end; more heads than are multiplied
 * at a time. */
static void many_whole_vectors_follow_their_formulas(void **state)
{
    (void)state;
    static const test_kind kinds[] = {TEST_RANDOM, TEST_CAUSAL, TEST_PADDED};
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        test_model model = model_of(kinds[k], 35, 9);
        model.dim = 16;
        compare_across(&model);
    }
}

/* ---- known values ---------------------------------------------------------------------------- */

static void identical_heads_are_one(void **state)
{
    (void)state;
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        const test_model model = model_of(TEST_IDENTICAL, sizes[s], 5);
        measured m;
        run(&model, false, &m);
        assert_close(*test_values(&m.records, "effective_heads", 0, 1), 1, 1e-13, 0);
        for (size_t pair = 0; pair < 25; pair++) {
            assert_true(test_values(&m.records, "js", 0, 1)[pair] == 0);
            assert_true(test_values(&m.records, "hellinger", 0, 1)[pair] == 0);
        }
        forget(&m);
    }
}

static void disjoint_heads_all_count(void **state)
{
    (void)state;
    for (size_t h = 1; h < sizeof(heads) / sizeof(heads[0]); h++) {
        const test_model model = model_of(TEST_DISJOINT, 65, heads[h]);
        measured m;
        run(&model, false, &m);
        assert_close(*test_values(&m.records, "effective_heads", 0, 1), (double)heads[h], 1e-12, 0);
        assert_close(*test_values(&m.records, "mean_js", 0, 1), 1, 1e-13, 0);
        forget(&m);
    }
}

static bool is_empty(const measured *m, const char *name, size_t sample, size_t layer)
{
    const double *values = test_values(&m->records, name, sample, layer);
    const size_t size =
        mgk_measure_size(mgk_measure_find(name), m->layout.heads, m->layout.mixtures);
    for (size_t i = 0; i < size; i++)
        if (!isnan(values[i]))
            return false;
    return true;
}

/* Where nothing can be said, the value is empty: the model says why, `full` is a measure that still
 * has values. */
static void assert_empty(const test_model *model, const char *const *names, const char *full)
{
    measured m;
    run(model, false, &m);
    for (size_t i = 0; names[i]; i++)
        if (!is_empty(&m, names[i], 0, 0))
            fail_msg("%s of kind %d, %zu heads of %zu tokens is not empty", names[i],
                     (int)model->kind, model->heads, model->n);
    assert_false(is_empty(&m, full, 0, 0));
    forget(&m);
}

static void values_without_meaning_are_empty(void **state)
{
    (void)state;
    const test_model one_head = model_of(TEST_RANDOM, 7, 1),
                     one_token = model_of(TEST_RANDOM, 1, 2);
    const test_model no_repeats = model_of(TEST_ONE_HOT, 7, 2),
                     causal = model_of(TEST_CAUSAL, 7, 2);
    const test_model alike = model_of(TEST_UNIFORM, 65, 2), sink = model_of(TEST_SINK, 9, 2);
    test_model alone = model_of(TEST_RANDOM, 7, 2), bare = alone;
    alone.layers = 1;
    bare.without_values = bare.without_tokens = bare.without_mixtures = true;
    bare.without_importance = true;
    bare.without_outputs = true;
    assert_empty(&one_head,
                 (const char *[]){"effective_heads", "mean_js", "disagreement_position",
                                  "disagreement_output", "disagreement_value", NULL},
                 "rollout_rank");
    assert_empty(&one_token,
                 (const char *[]){"sigma_ratio", "normalized_entropy", "previous", "next",
                                  "previous_token", "duplicate_token", "induction", "cka_output",
                                  "cka_output_debiased", NULL},
                 "entropy");
    assert_empty(&no_repeats, (const char *[]){"duplicate_token", "induction", NULL},
                 "previous_token");
    assert_empty(&causal, (const char *[]){"next", NULL}, "previous");
    assert_empty(&alike, (const char *[]){"cka_output", "cka_output_debiased", NULL},
                 "output_cosine");
    assert_empty(&sink, (const char *[]){"cka_output_debiased", NULL}, "cka_output");
    assert_empty(&alone, (const char *[]){"cross_layer_cosine", NULL}, "rollout_entropy");
    assert_empty(&bare,
                 (const char *[]){"duplicate_token", "induction", "cka_output", "output_cosine",
                                  "value_cosine", "disagreement_output", "key_use",
                                  "key_separation", "key_weight_cosine", "importance_ablation",
                                  "importance_gradient", "importance_divergence",
                                  "importance_hidden", "projection_query", "projection_key", NULL},
                 "disagreement_position");
}

static void negative_entries_empty_their_heads(void **state)
{
    (void)state;
    const test_model model = model_of(TEST_NEGATIVE, 7, 2);
    measured m;
    run(&model, false, &m);
    for (size_t k = 0; k < mgk_measure_count; k++) {
        const double *values = test_values(&m.records, mgk_measures[k]->name, 0, 0);
        if ((mgk_measures[k]->needs & MGK_NEEDS_DISTRIBUTION) == 0)
            continue;
        assert_true(!isnan(values[0]) && isnan(values[1]));
    }
    forget(&m);
}

/* Layers 0 and 2 do not follow each other, and layers 2 and 3 have no rollout. */
static void gaps_between_layers_are_seen(void **state)
{
    (void)state;
    static const int32_t gap[] = {0, 2, 3}, late[] = {1, 2, 3};
    test_model model = model_of(TEST_RANDOM, 7, 2);
    measured m;
    model.layer_numbers = gap;
    compare_all(&model, false);
    run(&model, false, &m);
    assert_true(is_empty(&m, "cross_layer_cosine", 1, 0));
    assert_false(is_empty(&m, "cross_layer_cosine", 1, 1));
    assert_true(is_empty(&m, "cross_layer_cosine", 1, 2));
    assert_false(is_empty(&m, "rollout_rank", 1, 0));
    assert_true(is_empty(&m, "rollout_rank", 1, 1));
    assert_true(is_empty(&m, "rollout_rank", 1, 2));
    forget(&m);
    model.layer_numbers = late;
    compare_all(&model, false);
    run(&model, false, &m);
    for (size_t l = 0; l < 3; l++)
        assert_true(is_empty(&m, "rollout_entropy", 1, l));
    assert_false(is_empty(&m, "cross_layer_cosine", 1, 0));
    forget(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_measure_has_a_formula),
        cmocka_unit_test(measures_follow_their_formulas),
        cmocka_unit_test(relative_thresholds_scale),
        cmocka_unit_test(pairs_across_layers_follow_their_formulas),
        cmocka_unit_test(many_whole_vectors_follow_their_formulas),
        cmocka_unit_test(identical_heads_are_one),
        cmocka_unit_test(disjoint_heads_all_count),
        cmocka_unit_test(values_without_meaning_are_empty),
        cmocka_unit_test(negative_entries_empty_their_heads),
        cmocka_unit_test(gaps_between_layers_are_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
