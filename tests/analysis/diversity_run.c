/* SPDX-License-Identifier: MIT */
/* The walk of mgk_diversity_run over groups: what it must not depend on, and how it ends. */
#include "test.h"

#include <cblas.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/heads.h"
#include "analysis/measures/registry.h"
#include "analysis/run/diversity.h"
#include "base/random.h"

/* A model with a fault, and what is watched of its run. The model comes first: it is the context of
 * the source. */
typedef struct trial {
    test_model model;
    test_source source;
    void (*fill)(const void *context, size_t i, size_t n, double *a);
    size_t poisoned[2]; /* matrices with a NaN */
    size_t oversize;    /* matrix that claims to be larger than n_max */
    size_t huge;        /* matrix with finite entries whose products overflow */
    mgk_record_layout layout;
    test_records records;
    size_t calls, cancel_at; /* of progress */
    volatile sig_atomic_t cancel;
    int limited, wanted; /* threads; 0: not told */
    size_t refused;      /* the sample that is not received */
} trial;

static void fill_faulty(const void *context, size_t i, size_t n, double *a)
{
    const trial *t = context;
    t->fill(context, i, n, a);
    if (i == t->poisoned[0] || i == t->poisoned[1])
        a[1] = (double)NAN;
    for (size_t k = 0; i == t->huge && k < n * n; k++)
        a[k] *= 1e200;
}

static size_t order_faulty(const void *context, size_t i)
{
    const trial *t = context;
    return i == t->oversize - t->oversize % t->model.heads ? t->model.n + 1 : t->model.n;
}

/* The second layer of each sample lacks a row. */
static size_t order_shorter(const void *context, size_t i)
{
    const trial *t = context;
    return i / t->model.heads % t->model.layers == 1 ? t->model.n - 1 : t->model.n;
}

/* A trial of these measures, NULL: all; release with forget. */
static void begin(trial *t, const test_model *model, const mgk_measure *const *measures,
                  size_t count)
{
    *t = (trial){.model = *model,
                 .poisoned = {SIZE_MAX, SIZE_MAX},
                 .oversize = SIZE_MAX,
                 .huge = SIZE_MAX,
                 .cancel_at = SIZE_MAX,
                 .refused = SIZE_MAX};
    t->source = test_source_of_model(&t->model);
    t->fill = t->source.fill;
    t->source.fill = fill_faulty;
    t->records.layout = &t->layout;
    assert_ok(mgk_record_layout_make(model->layers, model->heads, TEST_MIXTURES,
                                     measures ? measures : mgk_measures,
                                     measures ? count : mgk_measure_count, &t->layout));
}

/* Which measures: all, or those without rollouts, whose rounds have more matrices than memory. */
typedef enum choice { ALL, WITHOUT_ROLLOUTS } choice;

/* A trial of many measures, with pairs across layers or without. */
static void begin_many(trial *t, const test_model *model, choice chosen, bool across)
{
    const mgk_measure *measures[MGK_MEASURES_MOST];
    size_t count = 0;
    for (size_t m = 0; m < mgk_measure_count; m++)
        if (chosen == ALL || !(mgk_measures[m]->needs & (MGK_NEEDS_ROLLOUT | MGK_NEEDS_IMPORTANCE)))
            measures[count++] = mgk_measures[m];
    begin(t, model, measures, count);
    if (across)
        assert_ok(mgk_record_layout_add_across(&t->layout));
}

static void forget(trial *t)
{
    assert_false(t->source.misused);
    assert_false(t->records.misplaced);
    test_records_free(&t->records);
    mgk_record_layout_free(&t->layout);
}

static mgk_status receive(void *state, size_t sample, double *record)
{
    trial *t = state;
    if (sample == t->refused)
        return mgk_fail(STATUS_IO, "no room for sample %zu", sample);
    return test_receive(&t->records, sample, record);
}

static void progress(void *state, size_t done)
{
    trial *t = state;
    t->calls++;
    if (done >= t->cancel_at)
        t->cancel = 1;
}

static void tell_limit(void *state, int threads, int wanted)
{
    trial *t = state;
    t->limited = threads;
    t->wanted = wanted;
}

static mgk_status run(trial *t, mgk_diversity_run_options options)
{
    const mgk_source source = test_source_of(&t->source);
    options.layout = &t->layout;
    options.threshold = 1e-6;
    options.allow_zero_rows |= t->model.kind == TEST_ZERO_ROWS;
    options.receive = receive;
    options.progress = progress;
    options.limited = tell_limit;
    options.cancel = &t->cancel;
    options.state = t;
    return mgk_diversity_run(&source, &options);
}

enum { SAMPLES = 4, LAYERS = 3, HEADS = 5, SAMPLE = LAYERS * HEADS, COUNT = SAMPLES * SAMPLE };

static test_model model_of(test_kind kind)
{
    return (test_model){
        .kind = kind, .samples = SAMPLES, .layers = LAYERS, .heads = HEADS, .n = 19, .dim = 3};
}

/* ---- what changes nothing -------------------------------------------------------------------- */

static void assert_same_records(const trial *a, const trial *b)
{
    const size_t size = mgk_record_size(&a->layout) * sizeof(double);
    assert_int_equal(a->records.count, b->records.count);
    assert_memory_equal(a->records.values, b->records.values, a->records.count * size);
}

/* A run against others with other numbers of threads, and with rounds of one group, or across
 * layers of one sample, whose layers the source prepares one after another; with a little memory
 * rounds have several groups, but few records. The source prepares `ahead` matrices at most; 0:
 * all. */
static void compare_others(const trial *whole, choice chosen, bool across, size_t ahead)
{
    enum { LITTLE = 1 << 18 };
    static const mgk_diversity_run_options others[] = {{.threads = 2},
                                                       {.threads = 5},
                                                       {.threads = 1, .memory = 1},
                                                       {.threads = 2, .memory = 1},
                                                       {.threads = 1, .memory = LITTLE},
                                                       {.threads = 3, .memory = LITTLE}};
    const size_t least = HEADS * (across ? LAYERS : 1);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        trial other;
        begin_many(&other, &whole->model, chosen, across);
        other.source.ahead = ahead;
        assert_ok(run(&other, others[i]));
        if (others[i].memory == 1)
            assert_int_equal(other.source.most_prepared,
                             ahead == 0 || ahead > least ? least : ahead / HEADS * HEADS);
        assert_same_records(whole, &other);
        forget(&other);
    }
}

static void compare_runs(const test_model *model, choice chosen, size_t count, const size_t *ahead)
{
    for (int across = 0; across < 2; across++) {
        trial whole;
        begin_many(&whole, model, chosen, across);
        assert_ok(run(&whole, (mgk_diversity_run_options){.threads = 1}));
        assert_int_equal(whole.records.count, model->samples);
        assert_true(whole.source.most_prepared >= HEADS * (across ? LAYERS : 1));
        for (size_t i = 0; i < count; i++)
            compare_others(&whole, chosen, across, ahead[i]);
        forget(&whole);
    }
}

/* What is prepared at once depends on shapes, not on entries. */
static void threads_and_rounds_change_nothing(void **state)
{
    (void)state;
    static const size_t ahead[] = {
        0, HEADS + 2, /* a group and some: one group */
        2 * HEADS,    /* less than a sample */
        4 * HEADS,    /* rounds end within samples */
    };
    static const test_kind shapes[] = {TEST_RANDOM, TEST_PADDED, TEST_WIDE},
                           others[] = {TEST_CAUSAL, TEST_FLOATS, TEST_ZERO_ROWS, TEST_NEGATIVE,
                                       TEST_TALL};
    for (size_t k = 0; k < sizeof(shapes) / sizeof(shapes[0]); k++) {
        const test_model model = model_of(shapes[k]);
        compare_runs(&model, ALL, sizeof(ahead) / sizeof(ahead[0]), ahead);
    }
    for (size_t k = 0; k < sizeof(others) / sizeof(others[0]); k++) {
        const test_model model = model_of(others[k]);
        compare_runs(&model, ALL, 1, ahead);
    }
}

/* Rounds of more matrices than memory holds, and of more samples than there are records. */
static void long_rounds_change_nothing(void **state)
{
    (void)state;
    static const test_kind kinds[] = {TEST_FLOATS, TEST_PADDED, TEST_WIDE};
    static const size_t ahead[] = {0, 4 * HEADS};
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k += TEST_STEP) {
        test_model model = model_of(kinds[k]);
        model.samples = 12;
        compare_runs(&model, WITHOUT_ROLLOUTS, 2, ahead);
    }
}

/* A source that knows that all entries are floats is measured to the same bits. */
static void floats_are_known_or_not(void **state)
{
    (void)state;
    const test_model model = model_of(TEST_FLOATS);
    trial known, unknown;
    begin_many(&unknown, &model, ALL, false);
    begin_many(&known, &model, ALL, false);
    known.source.floats = true;
    assert_ok(run(&unknown, (mgk_diversity_run_options){.threads = 1}));
    assert_ok(run(&known, (mgk_diversity_run_options){.threads = 1}));
    assert_same_records(&unknown, &known);
    forget(&unknown);
    forget(&known);
}

/* BLAS divides products of this order among its threads, which changes last digits of some. */
static void large_rollouts_do_not_depend_on_threads(void **state)
{
    (void)state;
    const mgk_measure *const rollout[] = {&mgk_measure_rollout_entropy};
    const test_model model = {
        .kind = TEST_RANDOM, .samples = 1, .layers = 8, .heads = 1, .n = 600, .dim = 1};
    trial one, two;
    begin(&one, &model, rollout, 1);
    begin(&two, &model, rollout, 1);
    assert_ok(run(&one, (mgk_diversity_run_options){.threads = 1}));
    assert_ok(run(&two, (mgk_diversity_run_options){.threads = 2}));
    assert_same_records(&one, &two);
    forget(&one);
    forget(&two);
}

/* Measures of heads alone take the heads of a layer in slices. */
static void slices_change_nothing(void **state)
{
    (void)state;
    const mgk_measure *const measures[] = {&mgk_measure_rank, &mgk_measure_gini,
                                           &mgk_measure_induction};
    const test_model model = model_of(TEST_RANDOM);
    trial whole;
    assert_false(mgk_measures_need_groups(measures, 3));
    begin(&whole, &model, measures, 3);
    assert_ok(run(&whole, (mgk_diversity_run_options){.threads = 1}));
    for (size_t ahead = 1; ahead <= HEADS + 1; ahead++)
        for (int threads = 1; threads <= 3; threads++) {
            trial sliced;
            begin(&sliced, &model, measures, 3);
            sliced.source.ahead = ahead;
            assert_ok(run(&sliced, (mgk_diversity_run_options){.threads = threads}));
            assert_int_equal(sliced.source.most_prepared, ahead);
            assert_int_equal(sliced.source.longest, ahead < HEADS ? ahead : HEADS);
            assert_same_records(&whole, &sliced);
            forget(&sliced);
        }
    forget(&whole);
}

static void needs_are_those_of_parts_too(void **state)
{
    (void)state;
    const mgk_measure *const heads[] = {&mgk_measure_effective_heads};
    const mgk_measure *const outputs[] = {&mgk_measure_disagreement_output};
    assert_true(mgk_measures_need_groups(heads, 1));
    assert_true(mgk_measures_needs(outputs, 1) & MGK_NEEDS_VALUES);
}

static void finished_samples_are_skipped(void **state)
{
    (void)state;
    const test_model model = model_of(TEST_RANDOM);
    const size_t matrices = 2 * SAMPLE;
    trial whole, rest;
    begin_many(&whole, &model, ALL, true);
    assert_ok(run(&whole, (mgk_diversity_run_options){.threads = 2}));
    begin_many(&rest, &model, ALL, true);
    rest.records.first = 2;
    assert_ok(run(&rest, (mgk_diversity_run_options){.threads = 2, .finished = 2}));
    assert_int_equal(rest.records.count, SAMPLES - 2);
    assert_memory_equal(rest.records.values,
                        whole.records.values + 2 * mgk_record_size(&whole.layout),
                        2 * mgk_record_size(&whole.layout) * sizeof(double));
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(rest.source.taken[i], i >= matrices);
    forget(&rest);
    begin(&rest, &model, NULL, 0);
    assert_ok(run(&rest, (mgk_diversity_run_options){.finished = SAMPLES}));
    assert_int_equal(rest.records.count, 0);
    forget(&rest);
    forget(&whole);
}

/* No samples, samples without tokens, and a source that does not know how many matrices it has. */
static void small_sources_are_measured(void **state)
{
    (void)state;
    test_model model = model_of(TEST_RANDOM);
    trial t;
    model.samples = 0;
    begin(&t, &model, NULL, 0);
    assert_ok(run(&t, (mgk_diversity_run_options){.threads = 2}));
    assert_int_equal(t.records.count, 0);
    forget(&t);
    model.samples = 2;
    model.n = 0;
    begin_many(&t, &model, ALL, true);
    assert_ok(run(&t, (mgk_diversity_run_options){.threads = 2}));
    assert_int_equal(t.records.count, 2);
    forget(&t);
}

/* ---- failures -------------------------------------------------------------------------------- */

static void assert_message(const char *text)
{
    if (!strstr(mgk_fail_message(), text))
        fail_msg("no \"%s\" in: %s", text, mgk_fail_message());
}

/* Whatever thread finds the later one first. */
static void the_earliest_nan_is_named(void **state)
{
    (void)state;
    static const int32_t samples[] = {10, 11, 12, 13}, layers[] = {0, 2, 4},
                         heads[] = {1, 3, 5, 7, 9};
    const test_model model = model_of(TEST_RANDOM);
    for (int threads = 1; threads <= 5; threads++) {
        trial t;
        begin(&t, &model, NULL, 0);
        t.poisoned[0] = SAMPLE + 2 * HEADS + 3;
        t.poisoned[1] = t.poisoned[0] + 1;
        t.source.sample_numbers = samples;
        t.source.layer_numbers = layers;
        t.source.head_numbers = heads;
        assert_fails(run(&t, (mgk_diversity_run_options){.threads = threads}), STATUS_NUMERIC);
        assert_message("sample 11, layer 4, head 7: entry [0, 1] is nan");
        assert_true(t.records.count <= 1);
        forget(&t);
    }
}

static void rows_of_zeros_are_refused(void **state)
{
    (void)state;
    test_model model = model_of(TEST_RANDOM);
    trial t;
    begin(&t, &model, NULL, 0);
    t.model.kind = TEST_ZERO_ROWS;
    test_source of_zeros = test_source_of_model(&t.model);
    mgk_source source = test_source_of(&of_zeros);
    const mgk_diversity_run_options options = {
        .layout = &t.layout, .threshold = 1e-6, .threads = 2, .receive = receive, .state = &t};
    assert_fails(mgk_diversity_run(&source, &options), STATUS_UNSUPPORTED);
    assert_message("sample 0, layer 0, head 0: row 0 is all zeros");
    assert_message("`allow_zero_rows`");
    assert_int_equal(t.records.count, 0);
    forget(&t);
}

static void failures_of_the_source_end_the_run(void **state)
{
    (void)state;
    static const test_stage stages[] = {TEST_NEXT, TEST_PREPARE, TEST_TAKE, TEST_VECTORS,
                                        TEST_TOKENS};
    const test_model model = model_of(TEST_RANDOM);
    const size_t failing = 2 * SAMPLE; /* the first of a group, which NEXT cannot shorten */
    for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]); i++)
        for (int threads = 1; threads <= 2; threads++) {
            trial t;
            begin(&t, &model, NULL, 0);
            t.source.stage = stages[i];
            t.source.failing = failing;
            assert_fails(run(&t, (mgk_diversity_run_options){.threads = threads, .memory = 1}),
                         STATUS_IO);
            assert_string_equal(mgk_fail_message(), "synthetic: cannot read matrix 30");
            /* the second sample may have had later layers */
            assert_int_equal(t.records.count, 1);
            forget(&t);
        }
}

static void failures_of_the_receiver_end_the_run(void **state)
{
    (void)state;
    const test_model model = model_of(TEST_RANDOM);
    trial t;
    begin(&t, &model, NULL, 0);
    t.refused = 1;
    assert_fails(run(&t, (mgk_diversity_run_options){.threads = 2}), STATUS_IO);
    assert_string_equal(mgk_fail_message(), "no room for sample 1");
    assert_int_equal(t.records.count, 1);
    forget(&t);
}

static void a_matrix_is_not_larger_than_it_may_be(void **state)
{
    (void)state;
    const test_model model = model_of(TEST_RANDOM);
    trial t;
    begin(&t, &model, NULL, 0);
    t.source.order = order_faulty;
    t.oversize = 17;
    assert_fails(run(&t, (mgk_diversity_run_options){.threads = 2}), STATUS_SHAPE);
    assert_message("20 rows, expected at most 19");
    forget(&t);
}

/* Finite entries whose products are not: no file can hold an infinity. */
static void no_value_is_infinite(void **state)
{
    (void)state;
    const test_model model = model_of(TEST_RANDOM);
    trial t;
    begin(&t, &model, NULL, 0);
    t.huge = 1;
    assert_ok(run(&t, (mgk_diversity_run_options){.threads = 2}));
    size_t empty = 0;
    for (size_t i = 0; i < mgk_record_size(&t.layout); i++) {
        assert_true(!isinf(t.records.values[i]));
        empty += isnan(t.records.values[i]) ? 1 : 0;
    }
    assert_true(empty > 0 && empty < mgk_record_size(&t.layout) / 2);
    forget(&t);
}

static void cancelling_stops_soon(void **state)
{
    (void)state;
    const test_model model = model_of(TEST_RANDOM);
    trial t;
    begin(&t, &model, NULL, 0);
    t.cancel_at = 4;
    assert_fails(run(&t, (mgk_diversity_run_options){.threads = 1}), STATUS_INTERRUPTED);
    assert_int_equal(t.calls, 4);
    assert_int_equal(t.records.count, 0);
    forget(&t);
}

static void progress_counts_every_matrix(void **state)
{
    (void)state;
    const test_model model = model_of(TEST_RANDOM);
    trial t;
    begin(&t, &model, NULL, 0);
    assert_ok(run(&t, (mgk_diversity_run_options){.threads = 1}));
    assert_int_equal(t.calls, COUNT);
    forget(&t);
}

/* Heads of two layers can be compared only over the same tokens. */
static void layers_of_a_sample_have_the_same_order(void **state)
{
    (void)state;
    const test_model model = model_of(TEST_RANDOM);
    trial t;
    begin_many(&t, &model, ALL, true);
    t.source.order = order_shorter;
    t.source.tokens = NULL;
    assert_fails(run(&t, (mgk_diversity_run_options){.threads = 2}), STATUS_SHAPE);
    assert_message("layers of 19 and 18 rows in a sample");
    forget(&t);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void memory_bounds_threads(void **state)
{
    (void)state;
    const test_model model = model_of(TEST_RANDOM);
    trial t;
    begin(&t, &model, NULL, 0);
    assert_fails(
        run(&t, (mgk_diversity_run_options){.threads = 2, .memory = 1, .memory_is_most = true}),
        STATUS_MEMORY);
    assert_message("`memory`: 5 matrices of 19 rows and their measures take ");
    assert_fails(run(&t,
                     (mgk_diversity_run_options){
                         .threads = 2, .memory = 1000, .memory_is_most = true, .held = 4000}),
                 STATUS_MEMORY);
    assert_message(" GB, what the model prepares at once 4e-06 GB, 5e-06 GB are given");
    assert_int_equal(t.records.count, 0);
    assert_ok(run(&t, (mgk_diversity_run_options){.threads = 2, .memory = 1}));
    assert_int_equal(t.limited, 1);
    assert_int_equal(t.wanted, 2);
    assert_int_equal(t.source.threads, 1);
    forget(&t);
    begin(&t, &model, NULL, 0);
    assert_ok(run(&t, (mgk_diversity_run_options){
                          .threads = 2, .memory = (size_t)1 << 30, .memory_is_most = true}));
    assert_int_equal(t.limited, 0);
    assert_int_equal(t.source.threads, 2);
    forget(&t);
}

static void blas_threads_are_restored(void **state)
{
    (void)state;
    const test_model model = model_of(TEST_RANDOM);
    const int before = openblas_get_num_threads();
    trial t;
    openblas_set_num_threads(2);
    begin(&t, &model, NULL, 0);
    assert_ok(run(&t, (mgk_diversity_run_options){.threads = 1}));
    assert_int_equal(openblas_get_num_threads(), 2);
    forget(&t);
    begin(&t, &model, NULL, 0);
    t.poisoned[0] = 0;
    assert_fails(run(&t, (mgk_diversity_run_options){.threads = 1}), STATUS_NUMERIC);
    assert_int_equal(openblas_get_num_threads(), 2);
    openblas_set_num_threads(before);
    forget(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_and_rounds_change_nothing),
        cmocka_unit_test(long_rounds_change_nothing),
        cmocka_unit_test(floats_are_known_or_not),
        cmocka_unit_test(large_rollouts_do_not_depend_on_threads),
        cmocka_unit_test(slices_change_nothing),
        cmocka_unit_test(needs_are_those_of_parts_too),
        cmocka_unit_test(finished_samples_are_skipped),
        cmocka_unit_test(small_sources_are_measured),
        cmocka_unit_test(the_earliest_nan_is_named),
        cmocka_unit_test(rows_of_zeros_are_refused),
        cmocka_unit_test(failures_of_the_source_end_the_run),
        cmocka_unit_test(failures_of_the_receiver_end_the_run),
        cmocka_unit_test(a_matrix_is_not_larger_than_it_may_be),
        cmocka_unit_test(layers_of_a_sample_have_the_same_order),
        cmocka_unit_test(no_value_is_infinite),
        cmocka_unit_test(cancelling_stops_soon),
        cmocka_unit_test(progress_counts_every_matrix),
        cmocka_unit_test(memory_bounds_threads),
        cmocka_unit_test(blas_threads_are_restored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
