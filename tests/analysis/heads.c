/* SPDX-License-Identifier: MIT */
#include "analysis/heads.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/matrices.h"
#include "base/random.h"

/* ---- entries --------------------------------------------------------------------------------- */

static size_t sample_of(const test_model *m, size_t i)
{
    return i / m->heads / m->layers;
}

static size_t order_of(const void *context, size_t i)
{
    const test_model *m = context;
    const size_t lengths[] = {m->n, m->n / 2, 1, 0};
    return m->kind == TEST_PADDED ? lengths[sample_of(m, i) % 4] : m->n;
}

static bool is_cross(const test_model *m)
{
    return m->kind == TEST_WIDE || m->kind == TEST_TALL;
}

static void sides_of(const void *context, size_t i, size_t *queries, size_t *keys)
{
    const test_model *m = context;
    const bool odd = sample_of(m, i) % 2 == 1;
    const size_t third = (m->n + 2) / 3, half = (m->n + 1) / 2;
    *queries = (m->kind == TEST_TALL) == odd ? third : m->n;
    *keys = m->kind == TEST_TALL && !odd ? half : m->n;
}

/* [n, n]: zeros after the keys, and what nothing may read after the queries. */
static void fill_cross(const test_model *m, size_t i, size_t n, double *a)
{
    size_t queries, keys;
    sides_of(m, i, &queries, &keys);
    double *packed = calloc(queries * keys, sizeof(double));
    test_rectangle_softmax(i, queries, keys, 2, packed);
    for (size_t k = 0; k < n * n; k++)
        a[k] = k < queries * n ? 0 : (double)NAN;
    for (size_t k = 0; k < queries; k++)
        memcpy(a + k * n, packed + k * keys, keys * sizeof(*a));
    free(packed);
}

static void one_hot(uint64_t seed, size_t n, double *a)
{
    memset(a, 0, n * n * sizeof(*a));
    for (size_t i = 0; i < n; i++)
        a[i * n + mgk_random_below(seed, 3, i, n)] = 1;
}

static void same_rows(uint64_t seed, size_t n, double *a)
{
    test_matrix_softmax(seed, n, 2, 0, a);
    for (size_t i = 1; i < n; i++)
        memcpy(a + i * n, a, n * sizeof(*a));
}

/* Keys j with j % heads == head alone. */
static void share_keys(uint64_t seed, size_t n, size_t head, size_t heads, double *a)
{
    test_matrix_softmax(seed, n, 2, 0, a);
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t j = 0; j < n; j++)
            sum += a[i * n + j] *= j % heads == head;
        for (size_t j = 0; j < n; j++)
            a[i * n + j] /= sum;
    }
}

static void clear_rows(size_t n, size_t head, double *a)
{
    for (size_t i = 0; i < n; i++)
        if (head == 1 || i % 3 == head % 3)
            memset(a + i * n, 0, n * sizeof(*a));
}

static void negate(uint64_t seed, size_t n, size_t head, double *a)
{
    for (size_t k = 0; k < n * n && head > 0; k++)
        if (k == 0 || mgk_random_below(seed, 4, k, 4) == 0)
            a[k] = -a[k];
}

static bool is_causal(const test_model *m)
{
    return m->kind == TEST_CAUSAL || m->kind == TEST_FLOATS;
}

/* Entries become multiples of 2^-20, and what is left of a row goes to its diagonal. */
static void round_entries(size_t n, double *a)
{
    for (size_t i = 0; i < n; i++) {
        double rest = 1;
        for (size_t j = 0; j < n; j++)
            rest -= a[i * n + j] = ldexp(floor(ldexp(a[i * n + j], 20)), -20);
        a[i * n + i] += rest;
    }
}

static void sink(size_t n, size_t head, double *a)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            a[i * n + j] = j == (i == (head + 2) % n ? i : 0);
}

static void fill(const void *context, size_t i, size_t n, double *a)
{
    const test_model *m = context;
    const size_t head = i % m->heads;
    switch (m->kind) {
    case TEST_ONE_HOT:
        one_hot(i, n, a);
        return;
    case TEST_UNIFORM:
        for (size_t k = 0; k < n * n; k++)
            a[k] = 1 / (double)n;
        return;
    case TEST_SINK:
        sink(n, head, a);
        return;
    case TEST_RANK_ONE:
        same_rows(i, n, a);
        return;
    case TEST_WIDE:
    case TEST_TALL:
        fill_cross(m, i, n, a);
        return;
    case TEST_DISJOINT:
        share_keys(i, n, head, m->heads, a);
        return;
    default:
        test_matrix_softmax(m->kind == TEST_IDENTICAL ? i - head : i, n, 2, is_causal(m), a);
    }
    if (m->kind == TEST_FLOATS)
        round_entries(n, a);
    if (m->kind == TEST_ZERO_ROWS)
        clear_rows(n, head, a);
    if (m->kind == TEST_NEGATIVE)
        negate(i, n, head, a);
}

static void fill_values(const void *context, size_t i, size_t n, double *values)
{
    const test_model *m = context;
    for (size_t k = 0; k < n * m->dim; k++)
        values[k] = mgk_random_normal(i, 5, k);
}

/* The width of outputs. */
enum { MODEL_DIM = 11 };

/* All tokens of the uniform kind are alike. */
static void fill_output(const void *context, size_t i, size_t n, double *data)
{
    const test_model *m = context;
    for (size_t k = 0; k < n * MODEL_DIM; k++)
        data[k] = mgk_random_normal(i / m->heads, 7, m->kind == TEST_UNIFORM ? k % MODEL_DIM : k);
}

static void fill_queries(const void *context, size_t i, size_t n, double *data)
{
    const test_model *m = context;
    for (size_t k = 0; k < n * m->dim; k++)
        data[k] = mgk_random_normal(i, 8, k);
}

/* Components with means apart, so that each wins somewhere. */
static void fill_keys(const void *context, size_t i, size_t n, double *data)
{
    const test_model *m = context;
    for (size_t k = 0; k < TEST_MIXTURES * n * m->dim; k++)
        data[k] = mgk_random_normal(i, 9, k) + 0.5 * (double)(k / (n * m->dim));
}

static void fill_mixture(const void *context, size_t i, double *priors, double *variances)
{
    const test_model *m = context;
    for (size_t r = 0; r < TEST_MIXTURES; r++) {
        variances[r] = 1 + 0.25 * (double)r;
        for (size_t j = 0; j < m->n; j++)
            priors[r * m->n + j] = mgk_random_uniform(i, 10, r * m->n + j);
    }
}

static void fill_weights(const void *context, size_t i, size_t r, double *data)
{
    const test_model *m = context;
    for (size_t k = 0; k < TEST_WIDTH * m->dim; k++)
        data[k] = mgk_random_normal(i, 11 + r, k) + 1;
}

static double importance_of(const void *context, size_t i, int which)
{
    (void)context;
    return mgk_random_normal(i, 20, (uint64_t)which);
}

/* Heads 2 k and 2 k + 1 of a layer share values, as grouped queries do; the third key of a head is
 * the sum of the others, so that fewer directions are left than vectors. */
static void fill_projection(const void *context, size_t i, mgk_projection which, double *data)
{
    const test_model *m = context;
    const size_t size = TEST_WIDTH * m->dim, head = i % m->heads;
    const size_t from = which == MGK_PROJECTION_VALUE ? i - head % 2 : i;
    const size_t count = which == MGK_PROJECTION_KEY ? 2 * size : size;
    for (size_t k = 0; k < count; k++)
        data[k] = mgk_random_normal(from, 20 + (uint64_t)which, k);
    for (size_t k = 0; k < size && which == MGK_PROJECTION_KEY; k++)
        data[2 * size + k] = data[k] + data[size + k];
}

static void fill_tokens(const void *context, size_t i, size_t n, int32_t *ids)
{
    const test_model *m = context;
    for (size_t k = 0; k < n; k++)
        ids[k] = m->kind == TEST_ONE_HOT ? 7 - 2 * (int32_t)k
                                         : (int32_t)mgk_random_below(sample_of(m, i), 6, k, 5) - 2;
}

test_source test_source_of_model(const test_model *model)
{
    const bool cross = is_cross(model);
    return (test_source){.count = model->samples * model->layers * model->heads,
                         .heads = model->heads,
                         .layers = model->layers,
                         .n_max = model->n,
                         .order = order_of,
                         .sides = cross ? sides_of : NULL,
                         .fill = fill,
                         .values = model->without_values || cross ? NULL : fill_values,
                         .tokens = model->without_tokens || cross ? NULL : fill_tokens,
                         .dim = model->dim,
                         .output = model->without_outputs || cross ? NULL : fill_output,
                         .model_dim = MODEL_DIM,
                         .mixtures = model->without_mixtures || cross ? 0 : TEST_MIXTURES,
                         .width = TEST_WIDTH,
                         .queries = fill_queries,
                         .keys = fill_keys,
                         .mixture = fill_mixture,
                         .key_weight = fill_weights,
                         .importance = model->without_importance || cross ? NULL : importance_of,
                         .projection = model->without_outputs || cross ? NULL : fill_projection,
                         .causal = is_causal(model),
                         .context = model,
                         .layer_numbers = model->layer_numbers,
                         .failing = SIZE_MAX};
}

/* ---- samples --------------------------------------------------------------------------------- */

test_sample test_sample_of_model(const test_model *model, size_t sample)
{
    const size_t matrices = model->layers * model->heads, first = sample * matrices;
    size_t n = order_of(model, first), columns = n;
    const size_t dim = model->dim;
    if (is_cross(model))
        sides_of(model, first, &n, &columns);
    const size_t order = n > columns ? n : columns, sigmas = n < columns ? n : columns;
    double *a = calloc(matrices * n * columns + 1, sizeof(double));
    double *whole = calloc(order * order + 1, sizeof(double));
    double *sigma = calloc(matrices * sigmas + 1, sizeof(double));
    double *values = calloc(matrices * n * dim + 1, sizeof(double));
    double *queries = calloc(matrices * n * dim + 1, sizeof(double));
    double *keys = calloc(matrices * TEST_MIXTURES * n * dim + 1, sizeof(double));
    double *priors = calloc(matrices * TEST_MIXTURES * model->n + 1, sizeof(double));
    double *variances = calloc(matrices * TEST_MIXTURES + 1, sizeof(double));
    double *weights = calloc(matrices * TEST_MIXTURES * TEST_WIDTH * dim + 1, sizeof(double));
    double *projections =
        calloc(MGK_PROJECTIONS * matrices * TEST_MIXTURES * dim * TEST_WIDTH + 1, sizeof(double));
    double *outputs = calloc(model->layers * n * MODEL_DIM + 1, sizeof(double));
    double *importances = calloc(matrices * TEST_IMPORTANCES, sizeof(double));
    int32_t *tokens = calloc(n + 1, sizeof(int32_t));
    for (size_t i = 0; i < matrices; i++) {
        fill(model, first + i, order, whole);
        for (size_t k = 0; k < n; k++)
            memcpy(a + (i * n + k) * columns, whole + k * order, columns * sizeof(*a));
        fill_values(model, first + i, n, values + i * n * dim);
        fill_queries(model, first + i, n, queries + i * n * dim);
        fill_keys(model, first + i, n, keys + i * TEST_MIXTURES * n * dim);
        fill_mixture(model, i, priors + i * TEST_MIXTURES * model->n,
                     variances + i * TEST_MIXTURES);
        for (size_t r = 0; r < TEST_MIXTURES; r++)
            fill_weights(model, i, r, weights + (i * TEST_MIXTURES + r) * TEST_WIDTH * dim);
        for (int which = 0; which < TEST_IMPORTANCES; which++)
            importances[i * TEST_IMPORTANCES + (size_t)which] =
                importance_of(model, first + i, which);
        if (n > 0)
            test_rectangle_spectrum(n, columns, a + i * n * columns, sigma + i * sigmas);
    }
    for (size_t i = 0; i < MGK_PROJECTIONS * matrices; i++)
        fill_projection(model, i % matrices, (mgk_projection)(i / matrices),
                        projections + i * TEST_MIXTURES * dim * TEST_WIDTH);
    for (size_t l = 0; l < model->layers; l++)
        fill_output(model, first + l * model->heads, n, outputs + l * n * MODEL_DIM);
    fill_tokens(model, first, n, tokens);
    free(whole);
    return (test_sample){.layers = model->layers,
                         .heads = model->heads,
                         .n = n,
                         .columns = columns,
                         .sigmas = sigmas,
                         .cross = is_cross(model),
                         .dim = dim,
                         .causal = is_causal(model),
                         .threshold = 1e-6,
                         .a = a,
                         .sigma = sigma,
                         .values = values,
                         .outputs = outputs,
                         .mixtures = TEST_MIXTURES,
                         .width = TEST_WIDTH,
                         .n_max = model->n,
                         .queries = queries,
                         .keys = keys,
                         .priors = priors,
                         .variances = variances,
                         .weights = weights,
                         .importances = importances,
                         .all_heads = matrices,
                         .projections = projections,
                         .model_dim = MODEL_DIM,
                         .tokens = tokens,
                         .numbers = model->layer_numbers};
}

void test_sample_free(test_sample *sample)
{
    free(sample->a);
    free(sample->sigma);
    free(sample->values);
    free(sample->outputs);
    free(sample->queries);
    free(sample->keys);
    free(sample->priors);
    free(sample->variances);
    free(sample->weights);
    free(sample->importances);
    free(sample->projections);
    free(sample->tokens);
}

/* ---- records --------------------------------------------------------------------------------- */

mgk_status test_receive(void *state, size_t sample, double *record)
{
    test_records *r = state;
    const size_t size = mgk_record_size(r->layout);
    r->misplaced |= sample != r->first + r->count;
    r->values = realloc(r->values, (r->count + 1) * size * sizeof(double));
    memcpy(r->values + r->count++ * size, record, size * sizeof(double));
    return STATUS_OK;
}

const double *test_values(const test_records *records, const char *name, size_t sample,
                          size_t layer)
{
    const mgk_record_layout *layout = records->layout;
    size_t k = 0;
    while (strcmp(layout->measures[k]->name, name) != 0)
        k++;
    return mgk_record_values(layout, records->values + sample * mgk_record_size(layout), layer, k);
}

void test_records_free(test_records *records)
{
    free(records->values);
    records->values = NULL;
    records->count = 0;
}
