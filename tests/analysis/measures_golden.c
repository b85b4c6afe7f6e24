/* SPDX-License-Identifier: MIT */
/*
 * Measures of the heads in tests/golden/measures against the numbers of public implementations,
 * which compute in double precision. tests/golden/measures.py names them and describes the files.
 */
#include "test.h"

#include <string.h>

#include "analysis/heads.h"
#include "analysis/measures/registry.h"
#include "analysis/run/diversity.h"
#include "base/memory.h"
#include "model/containers/tensors.h"

/* Absolute for numbers up to 1, else relative. */
static const double TOLERANCE = 1e-10;

/* As in measures.py. */
static const double RANK_THRESHOLD = 0.25;

/* ---- references ------------------------------------------------------------------------------ */

/* From our number to the reference's, of n tokens. */
typedef double step(double ours, double n);

static double same(double ours, double n)
{
    (void)n;
    return ours;
}

/* Divided by all rows, including the one for which there is no such key. */
static double of_all_rows(double ours, double n)
{
    return ours * (n - 1) / n;
}

/* The mean over the n^2 patches of a picture of which one line attends. */
static double of_picture(double ours, double n)
{
    return ours / n;
}

/* A sum over rows, in nats. */
static double sum_in_nats(double ours, double n)
{
    return ours * n * log(2);
}

/* The mean of squared Hellinger distances. */
static double complement(double ours, double n)
{
    (void)n;
    return 1 - ours;
}

/* The norm without its root. */
static double square(double ours, double n)
{
    (void)n;
    return ours * ours;
}

typedef struct reference {
    const char *name; /* MEASURE/REFERENCE */
    step *step;
    double smoothing; /* the reference replaces A by (1 - smoothing) A + smoothing / N */
} reference;

static const reference references[] = {
    {"rank/numpy", same, 0},
    {"effective_rank/imp_reg_dl_not_norms", same, 0},
    {"stable_rank/numpy", same, 0},
    {"participation_ratio/scikit-dimension", same, 0},
    {"components_90/scikit-dimension", same, 0},
    {"components_95/scikit-dimension", same, 0},
    {"components_99/scikit-dimension", same, 0},
    {"entropy/scipy", same, 0},
    {"entropy/attention-analysis", same, 0.0001},
    {"normalized_entropy/scipy", same, 0},
    {"gini/QuantEcon.py", same, 0},
    {"diagonal/attention-analysis", same, 0},
    {"previous/attention-analysis", of_all_rows, 0},
    {"next/attention-analysis", of_all_rows, 0},
    {"first/attention-analysis", same, 0},
    {"distance/probing-vits", of_picture, 0},
    {"sink/Attention-Sink", same, 0},
    {"previous_token/TransformerLens", same, 0},
    {"duplicate_token/TransformerLens", same, 0},
    {"induction/TransformerLens", same, 0},
    {"high_frequency/ViT-Anti-Oversmoothing", same, 0},
    {"js/scipy", same, 0},
    {"js/attention-analysis", sum_in_nats, 0.001},
    {"hellinger/gensim", same, 0},
    {"affinity/gensim", complement, 0},
    {"cosine/scikit-learn", same, 0},
    {"cka_output/ecco", same, 0},
    {"cka_output/ecco-gram", same, 0},
    {"cka_output_debiased/ecco", same, 0},
    {"cka_output_debiased/ecco-gram", same, 0},
    {"output_cosine/scikit-learn", same, 0},
    {"value_cosine/scikit-learn", same, 0},
    {"effective_heads/Vendi-Score", same, 0},
    {"effective_heads/Vendi-Score-vectors", same, 0},
    {"rank_collapse/attention-rank-collapse-plots", same, 0},
    {"rank_collapse/attention-rank-collapse", square, 0},
    {"token_cosine/scikit-learn", same, 0},
    {"cross_layer_cosine/scikit-learn", same, 0}, /* of all layers but the last */
    {"rollout_rank/attention_flow", same, 0},
    {"rollout_entropy/attention_flow", same, 0},
};

enum { REFERENCES = sizeof(references) / sizeof(references[0]) };

static const double smoothings[] = {0, 0.0001, 0.001};

/* ---- heads of a file ------------------------------------------------------------------------- */

typedef struct golden {
    mgk_tensors *file;
    size_t samples, layers, heads, n, dim, model_dim;
    double *attention, *values, *output, *tokens;
    bool causal;
    double smoothing; /* of the attention that the source gives */
} golden;

static double *read_tensor(const golden *g, const char *name, const mgk_tensor_info **info)
{
    double *data;
    *info = mgk_tensors_find(g->file, name);
    assert_non_null(*info);
    assert_ok(mgk_alloc((*info)->count, sizeof(*data), &data));
    assert_ok(mgk_tensors_read(g->file, *info, 0, (*info)->count, MGK_DTYPE_F64, data));
    return data;
}

static void load(const char *path, bool causal, golden *g)
{
    const mgk_tensor_info *attention, *values, *output, *tokens;
    *g = (golden){.causal = causal};
    assert_ok(mgk_tensors_open(path, &g->file));
    g->attention = read_tensor(g, "attention", &attention);
    g->values = read_tensor(g, "values", &values);
    g->output = read_tensor(g, "output", &output);
    g->tokens = read_tensor(g, "tokens", &tokens);
    g->samples = attention->shape[0];
    g->layers = attention->shape[1];
    g->heads = attention->shape[2];
    g->n = attention->shape[3];
    g->dim = values->shape[4];
    g->model_dim = output->shape[3];
}

static void unload(golden *g)
{
    mgk_free(g->attention);
    mgk_free(g->values);
    mgk_free(g->output);
    mgk_free(g->tokens);
    mgk_tensors_close(g->file);
}

static size_t order_of(const void *context, size_t i)
{
    (void)i;
    return ((const golden *)context)->n;
}

static void fill(const void *context, size_t i, size_t n, double *a)
{
    const golden *g = context;
    for (size_t k = 0; k < n * n; k++)
        a[k] = (1 - g->smoothing) * g->attention[i * n * n + k] + g->smoothing / (double)n;
}

static void fill_values(const void *context, size_t i, size_t n, double *values)
{
    const golden *g = context;
    memcpy(values, g->values + i * n * g->dim, n * g->dim * sizeof(*values));
}

static void fill_output(const void *context, size_t i, size_t n, double *output)
{
    const golden *g = context;
    const size_t size = n * g->model_dim;
    memcpy(output, g->output + i / g->heads * size, size * sizeof(*output));
}

static void fill_tokens(const void *context, size_t i, size_t n, int32_t *ids)
{
    const golden *g = context;
    for (size_t k = 0; k < n; k++)
        ids[k] = (int32_t)g->tokens[i / g->heads / g->layers * n + k];
}

/* Measures all samples; smoothed queries see all keys. */
static void run(const golden *g, mgk_record_layout *layout, test_records *records)
{
    test_source s = {.count = g->samples * g->layers * g->heads,
                     .heads = g->heads,
                     .layers = g->layers,
                     .n_max = g->n,
                     .order = order_of,
                     .fill = fill,
                     .values = fill_values,
                     .tokens = fill_tokens,
                     .output = fill_output,
                     .model_dim = g->model_dim,
                     .dim = g->dim,
                     .causal = g->causal && g->smoothing == 0,
                     .context = g,
                     .failing = SIZE_MAX};
    const mgk_source source = test_source_of(&s);
    assert_ok(
        mgk_record_layout_make(g->layers, g->heads, 1, mgk_measures, mgk_measure_count, layout));
    *records = (test_records){.layout = layout};
    const mgk_diversity_run_options options = {
        .layout = layout, .threshold = RANK_THRESHOLD, .receive = test_receive, .state = records};
    assert_ok(mgk_diversity_run(&source, &options));
    assert_int_equal(records->count, g->samples);
}

/* ---- comparison ------------------------------------------------------------------------------ */

static const mgk_measure *measure_of(const reference *r)
{
    char name[64] = {0};
    const size_t length = strcspn(r->name, "/");
    assert_true(length < sizeof(name));
    memcpy(name, r->name, length);
    const mgk_measure *measure = mgk_measure_find(name);
    assert_non_null(measure);
    return measure;
}

/* One layer of one sample: expected [size]. */
static void compare_layer(const golden *g, const reference *r, const double *ours,
                          const double *expected, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        const double value = r->step(ours[i], (double)g->n);
        if (!isfinite(value) ||
            !(fabs(value - expected[i]) <= TOLERANCE * fmax(1, fabs(expected[i]))))
            fail_msg("%s [%zu], %s: %.17g, expected %.17g", r->name, i,
                     g->causal ? "causal" : "unmasked", value, expected[i]);
    }
}

/* Compares what the file has of a reference [S, layers, size]; false if it has nothing. */
static bool compare(const golden *g, const reference *r, const test_records *records)
{
    const mgk_measure *measure = measure_of(r);
    const size_t size = mgk_measure_size(measure, g->heads, 1);
    if (!mgk_tensors_find(g->file, r->name))
        return false;
    const mgk_tensor_info *info;
    double *expected = read_tensor(g, r->name, &info);
    const size_t layers = info->shape[1];
    assert_true(layers > 0 && layers <= g->layers);
    assert_int_equal(info->shape[0], g->samples);
    assert_int_equal(info->count, g->samples * layers * size);
    for (size_t s = 0; s < g->samples; s++)
        for (size_t l = 0; l < layers; l++)
            compare_layer(g, r, test_values(records, measure->name, s, l),
                          expected + (s * layers + l) * size, size);
    mgk_free(expected);
    return true;
}

/* Compares all numbers of the file; it has no other tensors than the four of heads. `absent` is the
 * reference that cannot tell about such heads. */
static void compare_file(const char *path, bool causal, const char *absent)
{
    golden g;
    size_t compared = 0;
    load(path, causal, &g);
    for (size_t k = 0; k < sizeof(smoothings) / sizeof(smoothings[0]); k++) {
        mgk_record_layout layout;
        test_records records;
        g.smoothing = smoothings[k];
        run(&g, &layout, &records);
        for (size_t i = 0; i < REFERENCES; i++)
            if (references[i].smoothing == g.smoothing) {
                const bool found = compare(&g, &references[i], &records);
                assert_int_equal(found, strcmp(references[i].name, absent) != 0);
                compared += found;
            }
        test_records_free(&records);
        mgk_record_layout_free(&layout);
    }
    assert_int_equal(compared, REFERENCES - 1);
    assert_int_equal(mgk_tensors_count(g.file), compared + 4);
    unload(&g);
}

/* No query sees the next token. */
static void causal_heads_agree(void **state)
{
    (void)state;
    compare_file(MGK_TEST_GOLDEN "/measures/causal.safetensors", true, "next/attention-analysis");
}

/* The reference divides by the queries after a key, but sums over all that see it. */
static void unmasked_heads_agree(void **state)
{
    (void)state;
    compare_file(MGK_TEST_GOLDEN "/measures/unmasked.safetensors", false, "sink/Attention-Sink");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(causal_heads_agree),
        cmocka_unit_test(unmasked_heads_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
