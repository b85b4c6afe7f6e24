/* SPDX-License-Identifier: MIT */
/* The inputs of an analysis as sources of matrices, with their vectors and tokens. */
#include "rank_case.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "run/model_run.h"
#include "run/sources.h"
#include "test.h"
#include "tiny.h"

#define VIT MGK_TEST_GOLDEN "/hugging_face/vit"

static const unsigned all_kinds =
    MGK_VECTORS_BIT(MGK_QUERIES) | MGK_VECTORS_BIT(MGK_KEYS) | MGK_VECTORS_BIT(MGK_VALUES);

/* The device of models; exports are made on the CPU. */
static mgk_job job = {.device = "cpu", .seed = 3, .threads = 2};

static const mgk_job on_cpu = {.device = "cpu", .seed = 3, .threads = 2, .force = true};

static bool on_device(void)
{
    return getenv("MGK_TEST_DEVICE") != NULL;
}

static mgk_source_options from_model(const mgk_input *input)
{
    return (mgk_source_options){.job = &job,
                                .model = case_model,
                                .input = input,
                                .double_precision = true,
                                .on_host = true};
}

static mgk_source_options from_file(const char *const *path)
{
    static const mgk_input none = {.text = NULL};
    return (mgk_source_options){.job = &job, .inputs = path, .input_count = 1, .input = &none};
}

static mgk_source_input *open_input(const mgk_source_options *options)
{
    mgk_source_input *input;
    size_t count;
    assert_ok(mgk_sources_check(options));
    assert_ok(mgk_sources_open(options, &input, &count));
    assert_int_equal(count, 1);
    return input;
}

/* What a source gives, in its order. */
typedef struct gift {
    double *numbers; /* for each group: n, the tokens, the wanted vectors, the matrices */
    size_t count, room;
} gift;

static double *extend(gift *g, size_t count)
{
    assert_in_range(g->count + count, 0, g->room);
    g->count += count;
    return g->numbers + g->count - count;
}

static void take_group(const mgk_source *source, unsigned kinds, const mgk_group *group, gift *out)
{
    int32_t ids[N];
    *extend(out, 1) = (double)group->n;
    assert_true(group->n <= N);
    if (source->tokens) {
        assert_ok(source->tokens(source->state, group, ids));
        for (size_t i = 0; i < group->n; i++)
            *extend(out, 1) = ids[i];
    }
    for (int which = MGK_QUERIES; which <= MGK_VALUES; which++) {
        const size_t mixtures = which == MGK_KEYS ? source->mixtures : 1;
        if (kinds & MGK_VECTORS_BIT(which))
            assert_ok(
                source->vectors(source->state, group, (mgk_vectors)which,
                                extend(out, group->count * mixtures * group->n * source->dim)));
    }
    if (source->output)
        assert_ok(source->output(source->state, group, extend(out, group->n * source->model_dim)));
    for (int which = 0; which < MGK_IMPORTANCES; which++)
        if (source->importances & MGK_IMPORTANCE_BIT(which)) {
            double values[H];
            assert_ok(source->importance(source->state, group, (mgk_importance)which, values));
            memcpy(extend(out, group->count), values, group->count * sizeof(*values));
        }
    for (size_t which = 0; which < group->count; which++)
        assert_ok(source->take(source->state, group, which, extend(out, group->n * group->n)));
}

enum { TOGETHER = 256 };

/* Takes everything, in rounds of at most `most` matrices that are prepared together; a round has no
 * part of a group. */
static gift take_all(const mgk_source_options *options, size_t most)
{
    mgk_source_input *input = open_input(options);
    const mgk_source *source = &input->source;
    gift out = {.room =
                    source->count * N * (N + 2 * N * 4 + 2 + source->model_dim + MGK_IMPORTANCES)};
    bool end = false;
    assert_in_range(most, H, TOGETHER);
    assert_null(source->device);
    assert_ok(mgk_alloc(out.room, sizeof(*out.numbers), &out.numbers));
    while (!end) {
        mgk_group groups[TOGETHER];
        size_t count = 0, prepared;
        for (size_t left = most; left >= H && !end; left -= groups[count++].count) {
            assert_ok(source->next(source->state, left, &groups[count], &end));
            if (end)
                break;
        }
        assert_ok(source->prepare(source->state, groups, count, &prepared));
        assert_int_equal(prepared, count);
        for (size_t g = 0; g < count; g++)
            take_group(source, options->vectors, &groups[g], &out);
    }
    mgk_sources_close(input, 1);
    return out;
}

static void compare(gift left, gift right, double tolerance)
{
    assert_true(left.count > 0);
    assert_int_equal(left.count, right.count);
    for (size_t i = 0; i < left.count; i++)
        assert_close(left.numbers[i], right.numbers[i], tolerance, tolerance);
    mgk_free(left.numbers);
    mgk_free(right.numbers);
}

static void compare_store_and_model(const mgk_input *input, const char *kind, mgk_family family)
{
    mgk_config config = tiny_config(family, kind);
    mgk_dump_options d = mgk_dump_options_default();
    mgk_source_options stored = from_file(&case_store), streamed = from_model(input);
    tiny_save(&config, case_model);
    d.job = on_cpu;
    d.double_precision = true;
    d.model = case_model;
    d.output = case_store;
    d.input = *input;
    d.save = MGK_SAVE_ATTENTION | MGK_SAVE_QUERIES | MGK_SAVE_KEYS | MGK_SAVE_VALUES;
    assert_done(mgk_dump_attention(&d, NULL));
    stored.matrices = streamed.matrices = 13;
    for (unsigned kinds = 0; kinds <= all_kinds; kinds++) {
        stored.vectors = streamed.vectors = kinds;
        mgk_source_input *here = open_input(&stored), *there = open_input(&streamed);
        assert_true(here->source.causal == config.causal && there->source.causal == config.causal);
        assert_int_equal(here->source.dim, kinds ? config.head_dim : 0);
        assert_int_equal(there->source.dim, config.head_dim);
        assert_int_equal(here->source.kinds, kinds);
        assert_int_equal(there->source.kinds, kinds);
        assert_int_equal(here->source.mixtures, kinds ? config.mixtures : 0);
        assert_int_equal(there->source.mixtures, kinds ? config.mixtures : 0);
        assert_true((here->source.vectors != NULL) == (kinds != 0));
        assert_true((there->source.vectors != NULL) == (kinds != 0));
        assert_true(here->source.tokens && there->source.tokens);
        mgk_sources_close(here, 1);
        mgk_sources_close(there, 1);
        compare(take_all(&stored, H), take_all(&streamed, 5 * H), 1e-12);
    }
}

/* Samples shorter than N, all heads and some of them, several keys per position. */
static void store_and_model_agree(void **state)
{
    (void)state;
    const mgk_input input = {.text = &case_text, .text_count = 1, .samples = 11};
    compare_store_and_model(&input, "softmax", MGK_FAMILY_LM);
    compare_store_and_model(&input, "mgk", MGK_FAMILY_LM);
    compare_store_and_model(&input, "smgk", MGK_FAMILY_ENCODER);
    compare_store_and_model(&input, "softmax,mgk,smgk", MGK_FAMILY_LM);
}

/* On the CPU a batch has 2048 tokens: groups of two batches are prepared together. Fewer samples
 * suffice for a device, which may be emulated. */
static void groups_of_several_batches(void **state)
{
    (void)state;
    const char *const path = "sources_long.txt";
    const mgk_input input = {.text = &path, .text_count = 1, .samples = on_device() ? 30 : 300};
    mgk_config config = tiny_config(MGK_FAMILY_LM, "mgk");
    mgk_source_options options = from_model(&input);
    tiny_text(path, 3000);
    tiny_save(&config, case_model);
    options.vectors = all_kinds;
    options.outputs = options.whole_groups = true;
    mgk_source_input *opened = open_input(&options);
    assert_int_equal(opened->source.model_dim, config.dim);
    const size_t ahead = opened->source.ahead, most = ahead < TOGETHER ? ahead : TOGETHER;
    mgk_sources_close(opened, 1);
    assert_true(most > (size_t)L * H); /* the groups of more than a sample */
    compare(take_all(&options, most), take_all(&options, H), 0);
}

/* The matrices of a model that are prepared at a time. */
static size_t ahead_of(const mgk_source_options *options)
{
    mgk_source_input *opened = open_input(options);
    const size_t ahead = opened->source.ahead;
    assert_true(opened->held == ahead * N * (N + 2) * sizeof(double));
    mgk_sources_close(opened, 1);
    return ahead;
}

/* A head takes a matrix [N, N] and values [N, 2]. */
static void whole_groups(void **state)
{
    (void)state;
    enum { HEAD = N * (N + 2) * 8 };
    const mgk_input input = {.text = &case_text, .text_count = 1, .samples = 11};
    mgk_config config = tiny_config(MGK_FAMILY_LM, "softmax");
    mgk_source_options options = from_model(&input), roomy = options;
    mgk_source_input *opened;
    size_t count;
    tiny_save(&config, case_model);
    options.job = &on_cpu;
    options.vectors = roomy.vectors = MGK_VECTORS_BIT(MGK_VALUES);
    options.memory = H * HEAD - 1;
    assert_int_equal(ahead_of(&options), H - 1);
    options.whole_groups = true;
    assert_fails(mgk_sources_open(&options, &opened, &count), STATUS_MEMORY);
    assert_string_equal(mgk_fail_message(),
                        "the 4 matrices of a sample and layer, of 9 tokens, take 3.17 kB "
                        "together: `memory` leaves 3.17 kB for them");
    options.memory = H * HEAD;
    assert_int_equal(ahead_of(&options), H);
    compare(take_all(&options, H), take_all(&roomy, H), 1e-12);
    /* Two heads of one sample are chosen in each layer. */
    options.matrices = 2;
    options.memory = 2 * HEAD;
    assert_int_equal(ahead_of(&options), 2);
}

/* What a model takes of the host's memory for importances, and the samples of its batches. */
static size_t importances_of(const mgk_source_options *options, int *batch)
{
    mgk_source_input *opened = open_input(options);
    const size_t matrices = opened->source.ahead * N * N * sizeof(double);
    assert_true(opened->held > matrices);
    const size_t bytes = opened->held - matrices - opened->source.ahead * sizeof(double);
    *batch = opened->run->capacity;
    mgk_sources_close(opened, 1);
    return bytes;
}

/* Hidden states: the inputs of two layers and two last states of [N, 6], a value for each head. The
 * divergence: one state instead of two, which is on the device, and logits of 256 classes twice. */
static void importances_count_as_memory(void **state)
{
    (void)state;
    enum { STATE = N * 6 * 8, VALUES = L * H * 8, LOGITS = 2 * N * 256 * 8, SAMPLES = 11 };
    static const struct {
        mgk_importance which;
        size_t each;
    } kinds[] = {{MGK_IMPORTANCE_HIDDEN, 4 * STATE + VALUES},
                 {MGK_IMPORTANCE_ABLATION, 2 * STATE + VALUES},
                 {MGK_IMPORTANCE_DIVERGENCE, 3 * STATE + VALUES + LOGITS}};
    const mgk_input input = {.text = &case_text, .text_count = 1, .samples = SAMPLES};
    mgk_config config = tiny_config(MGK_FAMILY_LM, "softmax");
    mgk_source_options options = from_model(&input);
    int batch;
    tiny_save(&config, case_model);
    options.job = &on_cpu;
    options.importances = MGK_IMPORTANCE_BIT(MGK_IMPORTANCE_GRADIENT);
    /* The weights' gradient alone has 256 rows of embeddings. */
    assert_true(importances_of(&options, &batch) > 256 * 6 * sizeof(double));
    for (size_t i = 0; i < 3; i++) {
        options.importances = MGK_IMPORTANCE_BIT(kinds[i].which);
        options.memory = 0;
        assert_in_range(importances_of(&options, &batch), SAMPLES * kinds[i].each,
                        SAMPLES * (kinds[i].each + N * 8) + 3000);
        assert_int_equal(batch, SAMPLES);
    }
    /* Little memory means small batches, and the same values. */
    mgk_source_options little = options;
    options.importances = MGK_IMPORTANCE_BIT(MGK_IMPORTANCE_HIDDEN);
    little.importances = options.importances;
    little.memory = 2 * (4 * STATE + VALUES) + STATE;
    assert_in_range(importances_of(&little, &batch), 2 * (4 * STATE + VALUES),
                    2 * (4 * STATE + VALUES + N * 8) + 3000);
    assert_int_equal(batch, 2);
    compare(take_all(&options, H), take_all(&little, H), 1e-12);
    little.memory = 1;
    importances_of(&little, &batch);
    assert_int_equal(batch, 1);
}

/* The input's number of samples comes before that of the options. */
static void numbers_of_samples(void **state)
{
    (void)state;
    mgk_input input = {.text = &case_text, .text_count = 1};
    mgk_config config = tiny_config(MGK_FAMILY_LM, "softmax");
    mgk_source_options options = from_model(&input);
    tiny_save(&config, case_model);
    options.samples = 5;
    for (int samples = 5; samples >= 3; samples -= 2) {
        mgk_source_input *opened = open_input(&options);
        assert_int_equal(opened->source.count, samples * L * H);
        mgk_sources_close(opened, 1);
        input.samples = 3;
    }
}

/* A store with values alone gives values; nothing else can be had from it. */
static void stores_with_some_vectors(void **state)
{
    (void)state;
    const mgk_input input = {.text = &case_text, .text_count = 1, .samples = 3};
    mgk_config config = tiny_config(MGK_FAMILY_LM, "mgk");
    mgk_dump_options d = mgk_dump_options_default();
    mgk_source_options stored = from_file(&case_store);
    tiny_save(&config, case_model);
    d.job = on_cpu;
    d.model = case_model;
    d.output = case_store;
    d.input = input;
    d.save = MGK_SAVE_ATTENTION | MGK_SAVE_VALUES;
    assert_done(mgk_dump_attention(&d, NULL));
    for (unsigned kinds = 1; kinds <= all_kinds; kinds++) {
        stored.vectors = kinds;
        mgk_source_input *opened = open_input(&stored);
        assert_int_equal(opened->source.kinds, kinds & MGK_VECTORS_BIT(MGK_VALUES));
        assert_true((opened->source.vectors != NULL) == (opened->source.kinds != 0));
        mgk_sources_close(opened, 1);
    }
}

/* Arrays of others, and pictures, whose tokens are numbers of patches. */
static void inputs_without_tokens(void **state)
{
    (void)state;
    const char *const pictures[] = {MGK_TEST_GOLDEN "/pictures/photo.png"};
    const mgk_input input = {.images = pictures, .image_count = 1};
    mgk_source_options options = from_file(&case_array);
    case_write_array(case_array, H5T_NATIVE_DOUBLE, case_known);
    mgk_source_input *opened = open_input(&options);
    assert_true(!opened->source.tokens && !opened->source.vectors && !opened->source.causal);
    mgk_sources_close(opened, 1);
    options = from_model(&input);
    options.model = VIT;
    opened = open_input(&options);
    assert_true(opened->source.n_max > 0 && !opened->source.tokens);
    mgk_sources_close(opened, 1);
    mgk_dump_options d = mgk_dump_options_default();
    d.job = on_cpu;
    d.model = VIT;
    d.output = case_store;
    d.input = input;
    assert_done(mgk_dump_attention(&d, NULL));
    options = from_file(&case_store);
    opened = open_input(&options);
    assert_true(opened->source.n_max > 0 && !opened->source.tokens);
    mgk_sources_close(opened, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(store_and_model_agree), cmocka_unit_test(groups_of_several_batches),
        cmocka_unit_test(whole_groups),          cmocka_unit_test(importances_count_as_memory),
        cmocka_unit_test(numbers_of_samples),    cmocka_unit_test(stores_with_some_vectors),
        cmocka_unit_test(inputs_without_tokens),
    };
    if (on_device())
        job.device = getenv("MGK_TEST_DEVICE");
    case_enter(on_device() ? "sources_device" : "sources");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
