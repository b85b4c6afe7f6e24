/* SPDX-License-Identifier: MIT */
/* Matrices in memory, in any order of their axes: the same rows as matrix by matrix. */
#include "mgk.h"

#include <math.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/half.h"
#include "test.h"

enum { S = 3, L = 2, H = 4, N = 7, MATRICES = S * L * H };

#define assert_done(call)                           \
    do {                                            \
        if ((call) != MGK_OK)                       \
            fail_msg("%s: %s", #call, mgk_error()); \
    } while (0)

static double entries[S][L][H][N][N];

/* Matrix m has rank 1 + m % N: rows i < rank differ, the others are the first one. */
static int setup(void **state)
{
    (void)state;
    for (int m = 0; m < MATRICES; m++)
        for (int i = 0; i < N; i++) {
            const int rank = 1 + m % N, row = i < rank ? i : 0;
            double sum = 0, *to = entries[m / (L * H)][m / H % L][m % H][i];
            for (int j = 0; j < N; j++)
                sum += to[j] = 1 + (j == row ? 3 : 0) + 0.01 * m + 0.1 * sin(3 * row + 7 * j);
            for (int j = 0; j < N; j++)
                to[j] /= sum;
        }
    return 0;
}

/* The usual order: sample, layer, head, row, column. */
static mgk_array usual(const void *layers[L])
{
    for (int l = 0; l < L; l++)
        layers[l] = entries[0][l];
    return (mgk_array){.name = "ours",
                       .dtype = "f64",
                       .layers = layers,
                       .layer_count = L,
                       .samples = S,
                       .heads = H,
                       .tokens = N,
                       .sample_stride = sizeof(entries[0]),
                       .head_stride = sizeof(entries[0][0][0]),
                       .row_stride = sizeof(entries[0][0][0][0]),
                       .column_stride = sizeof(double)};
}

static mgk_rank_options options(const mgk_array *array)
{
    mgk_rank_options o = mgk_rank_options_default();
    o.job.device = "cpu";
    o.job.threads = 2;
    o.job.force = true;
    o.arrays = array;
    o.array_count = 1;
    return o;
}

static const int32_t *integers(const mgk_table *table, const char *name)
{
    mgk_table_column column;
    assert_done(mgk_table_find_column(table, name, &column));
    assert_non_null(column.integers);
    return column.integers;
}

/* Each row is about the matrix of its numbers: of n tokens from number `first` on. */
static void assert_rows(const mgk_table *table, const int32_t *first, const int32_t *lengths)
{
    const int32_t *samples = integers(table, "sample"), *layers = integers(table, "layer");
    const int32_t *heads = integers(table, "head"), *ranks = integers(table, "rank");
    const int32_t *sizes = integers(table, "n");
    mgk_table_column largest;
    assert_done(mgk_table_find_column(table, "sigma_max", &largest));
    for (size_t r = 0; r < mgk_table_rows(table); r++) {
        const int s = samples[r], from = first ? first[s] : 0, n = lengths ? lengths[s] : N;
        mgk_matrix_rank expected;
        double values[N];
        const double *matrix = &entries[s][layers[r]][heads[r]][from][from];
        assert_int_equal(sizes[r], n);
        assert_done(mgk_rank_matrix(matrix, (size_t)n, N, 1e-6, NULL, &expected));
        assert_done(mgk_singular_values(matrix, (size_t)n, N, values));
        assert_int_equal(ranks[r], expected.rank);
        assert_close(largest.reals[r], values[0], 1e-14, 0);
    }
}

static void check(const mgk_array *array, const int32_t *first, const int32_t *lengths)
{
    const mgk_rank_options o = options(array);
    mgk_table *table;
    assert_done(mgk_rank_to_table(&o, &table, NULL));
    assert_int_equal(mgk_table_rows(table), MATRICES);
    assert_rows(table, first, lengths);
    mgk_table_close(table);
}

static void usual_order(void **state)
{
    (void)state;
    const void *layers[L];
    const mgk_array array = usual(layers);
    check(&array, NULL, NULL);
    const mgk_rank_options o = options(&array);
    mgk_table *table;
    assert_done(mgk_rank_to_table(&o, &table, NULL));
    for (int m = 0; m < MATRICES; m++) {
        const int s = integers(table, "sample")[m], l = integers(table, "layer")[m];
        const int expected = ((s * L + l) * H + integers(table, "head")[m]) % N + 1;
        assert_int_equal(integers(table, "rank")[m], expected);
    }
    mgk_table_close(table);
}

static void last_head(void **state)
{
    (void)state;
    static const int head = H - 1;
    const void *layers[L];
    const mgk_array array = usual(layers);
    mgk_rank_options o = options(&array);
    mgk_table *table;
    o.heads = &head;
    o.head_count = 1;
    assert_done(mgk_rank_to_table(&o, &table, NULL));
    assert_int_equal(mgk_table_rows(table), S * L);
    for (int m = 0; m < S * L; m++) {
        assert_int_equal(integers(table, "head")[m], head);
        assert_int_equal(integers(table, "rank")[m], (m * H + head) % N + 1);
    }
    mgk_table_close(table);
}

/* Layers apart, heads before samples, columns before rows, last sample first, and odd addresses. */
static void another_order(void **state)
{
    (void)state;
    static char bytes[L][H][S][N][N * sizeof(double) + 3];
    const void *layers[L];
    mgk_array array = usual(layers);
    for (int m = 0; m < MATRICES; m++)
        for (int i = 0; i < N * N; i++) {
            const int s = m / (L * H), l = m / H % L, h = m % H;
            memcpy(&bytes[l][h][S - 1 - s][i % N][1 + sizeof(double) * (size_t)(i / N)],
                   &entries[s][l][h][i / N][i % N], sizeof(double));
        }
    for (int l = 0; l < L; l++)
        layers[l] = &bytes[l][0][S - 1][0][1];
    array.head_stride = sizeof(bytes[0][0]);
    array.sample_stride = -(int64_t)sizeof(bytes[0][0][0]);
    array.column_stride = sizeof(bytes[0][0][0][0]);
    array.row_stride = sizeof(double);
    check(&array, NULL, NULL);
}

static void single_precision(void **state)
{
    (void)state;
    static float narrow[S][L][H][N][N];
    const void *layers[L];
    mgk_array array = usual(layers);
    for (int i = 0; i < MATRICES * N * N; i++)
        (&narrow[0][0][0][0][0])[i] = (float)(&entries[0][0][0][0][0])[i];
    for (int l = 0; l < L; l++)
        layers[l] = narrow[0][l];
    array.dtype = "f32";
    array.sample_stride /= 2;
    array.head_stride /= 2;
    array.row_stride /= 2;
    array.column_stride /= 2;
    mgk_rank_options o = options(&array);
    mgk_table *table;
    mgk_table_column storage;
    assert_done(mgk_rank_to_table(&o, &table, NULL));
    assert_done(mgk_table_find_column(table, "storage", &storage));
    assert_string_equal(storage.words[storage.integers[0]], "f32");
    for (int m = 0; m < MATRICES; m++)
        assert_true(integers(table, "rank")[m] >= 1);
    mgk_table_close(table);
}

static void padding(void **state)
{
    (void)state;
    static const int32_t first[S] = {0, 2, 3}, lengths[S] = {5, 5, 1};
    const void *layers[L];
    mgk_array array = usual(layers);
    array.lengths = lengths;
    check(&array, NULL, lengths);
    array.first = first;
    check(&array, first, lengths);
    array.lengths = NULL;
    static const int32_t rest[S] = {N, N - 2, N - 3};
    check(&array, first, rest);
}

/* The same measures as of the same matrices in another order; names tell inputs apart. */
static void measures(void **state)
{
    (void)state;
    static const char *const entropy = "entropy";
    const void *layers[L];
    mgk_array both[2];
    both[0] = both[1] = usual(layers);
    both[1].name = NULL;
    mgk_diversity_options o = mgk_diversity_options_default();
    mgk_table *table;
    mgk_table_column values, inputs;
    o.job.device = "cpu";
    o.arrays = both;
    o.array_count = 2;
    o.measures = &entropy;
    o.measure_count = 1;
    assert_done(mgk_measure_diversity(&o, &table));
    assert_int_equal(mgk_table_rows(table), 2 * L * H);
    assert_done(mgk_table_find_column(table, "value", &values));
    assert_done(mgk_table_find_column(table, "input", &inputs));
    assert_string_equal(inputs.words[inputs.integers[0]], "ours");
    assert_string_equal(inputs.words[inputs.integers[L * H]], "array");
    for (int head = 0; head < L * H; head++) {
        double sum = 0;
        for (int i = 0; i < S * N * N; i++) {
            const double a = (&entries[i / (N * N)][head / H][head % H][0][0])[i % (N * N)];
            sum -= a * log(a) / (S * N);
        }
        assert_close(values.reals[head], sum, 1e-13, 0);
        assert_true(values.reals[head] == values.reals[L * H + head]);
    }
    mgk_table_close(table);
}

static bool stop(void *context)
{
    ++*(int *)context;
    return true;
}

/* A run that cannot be resumed leaves nothing. Its samples are all the same one, without memory. */
static void interruption(void **state)
{
    (void)state;
    const void *layers[L];
    mgk_array array = usual(layers);
    array.samples = 5000;
    array.sample_stride = 0;
    mgk_rank_options o = options(&array);
    int asked = 0;
    unlink("interrupted.csv"); /* of an earlier run of this test */
    o.output = "interrupted.csv";
    o.matrices = 0;
    o.job.watcher = (mgk_watcher){.stop = stop, .context = &asked};
    assert_int_equal(mgk_rank_attention(&o, NULL), MGK_INTERRUPTED);
    assert_true(asked > 0);
    assert_null(strstr(mgk_error(), "resume"));
    assert_int_not_equal(access("interrupted.csv", F_OK), 0);
    assert_int_not_equal(access("interrupted.csv.part", F_OK), 0);
    o.job.watcher.stop = NULL;
    o.resume = true;
    assert_int_equal(mgk_rank_attention(&o, NULL), MGK_USAGE);
}

static void assert_refused(const mgk_array *array, const char *part)
{
    const mgk_rank_options o = options(array);
    assert_int_equal(mgk_rank_attention(&o, NULL), MGK_USAGE);
    if (!strstr(mgk_error(), part))
        fail_msg("\"%s\", expected \"...%s...\"", mgk_error(), part);
}

static void refusals(void **state)
{
    (void)state;
    static const int32_t numbers[S] = {1, N + 1, 0}, empty[S] = {1, 0, 1}, ends[S] = {0, 0, N};
    const void *layers[L];
    const mgk_array good = usual(layers);
    mgk_array array = good;
    array.dtype = "f8";
    assert_refused(&array, "ours: `dtype` is \"f8\", expected f64, f32, f16 or bf16");
    array = good;
    array.tokens = 0;
    assert_refused(&array, "ours: no matrices");
    array = good;
    array.lengths = numbers;
    assert_refused(&array, "ours: sample 1 has 8 valid tokens from token 0 of 7");
    array = good;
    array.first = numbers;
    assert_refused(&array, "ours: sample 1 begins at token 8 of 7");
    array = good;
    array.lengths = empty;
    assert_refused(&array, "ours: sample 1 has 0 valid tokens from token 0 of 7");
    array = good;
    array.first = ends;
    assert_refused(&array, "ours: sample 2 begins at token 7 of 7");
    array = good;
    layers[1] = NULL;
    assert_refused(&array, "ours: layer 1 is NULL");
    array = usual(layers);
    mgk_rank_options o = options(&array);
    o.axes = "head";
    assert_int_equal(mgk_rank_attention(&o, NULL), MGK_USAGE);
    o = options(&array);
    o.model = "model";
    assert_int_equal(mgk_rank_attention(&o, NULL), MGK_USAGE);
    o = options(&array);
    static const int missing = L;
    o.layers = &missing;
    o.layer_count = 1;
    assert_int_equal(mgk_rank_attention(&o, NULL), MGK_INPUT);
    assert_non_null(strstr(mgk_error(), "ours: layer 2: layers are 0 to 1"));
    static const int no_head = H;
    o = options(&array);
    o.heads = &no_head;
    o.head_count = 1;
    assert_int_equal(mgk_rank_attention(&o, NULL), MGK_INPUT);
    assert_non_null(strstr(mgk_error(), "ours: head "));
}

static uint16_t halves[S][L][H][N][N];
static double widened[S][L][H][N][N];

/* Rounds the entries to 16 bits. */
static mgk_array half_array(bool bf16, const void *layers[L])
{
    mgk_array array = usual(layers);
    for (int m = 0; m < MATRICES * N * N; m++) {
        const double entry = (&entries[0][0][0][0][0])[m];
        const uint16_t half = bf16 ? mgk_bf16_from_double(entry) : mgk_f16_from_double(entry);
        (&halves[0][0][0][0][0])[m] = half;
        (&widened[0][0][0][0][0])[m] =
            (double)(bf16 ? mgk_float_from_bf16(half) : mgk_float_from_f16(half));
    }
    for (int l = 0; l < L; l++)
        layers[l] = halves[0][l];
    array.dtype = bf16 ? "bf16" : "f16";
    array.sample_stride = sizeof(halves[0]);
    array.head_stride = sizeof(halves[0][0][0]);
    array.row_stride = sizeof(halves[0][0][0][0]);
    array.column_stride = sizeof(uint16_t);
    return array;
}

static mgk_result measure(const mgk_array *array, const char *const *name, mgk_table **table)
{
    mgk_diversity_options o = mgk_diversity_options_default();
    o.job.device = "cpu";
    o.arrays = array;
    o.array_count = 1;
    o.measures = name;
    o.measure_count = 1;
    return mgk_measure_diversity(&o, table);
}

/* Numbers of 16 bits are counted only where that is allowed; measures without singular values are
 * those of the same numbers in 64 bits. */
static void half_precision(void **state)
{
    (void)state;
    static const char *const js = "js", *const rank = "rank";
    for (int bf16 = 0; bf16 < 2; bf16++) {
        const void *layers[L], *wide_layers[L];
        const mgk_array array = half_array(bf16, layers);
        mgk_array wide = usual(wide_layers);
        mgk_table *table, *expected;
        mgk_table_column value, expected_value;
        for (int l = 0; l < L; l++)
            wide_layers[l] = widened[0][l];
        mgk_rank_options ranks = options(&array);
        assert_int_equal(mgk_rank_attention(&ranks, NULL), MGK_INPUT);
        assert_non_null(strstr(mgk_error(), bf16 ? "ours: the matrices are bf16, whose rounding"
                                                 : "ours: the matrices are f16, whose rounding"));
        ranks.allow_half = true;
        assert_done(mgk_rank_attention(&ranks, NULL));
        assert_int_equal(measure(&array, &rank, &table), MGK_INPUT);
        assert_done(measure(&array, &js, &table));
        assert_done(measure(&wide, &js, &expected));
        assert_done(mgk_table_find_column(table, "value", &value));
        assert_done(mgk_table_find_column(expected, "value", &expected_value));
        assert_int_equal(mgk_table_rows(table), L * H * (H - 1) / 2);
        for (size_t r = 0; r < mgk_table_rows(table); r++)
            assert_close(value.reals[r], expected_value.reals[r], 1e-14, 0);
        mgk_table_close(table);
        mgk_table_close(expected);
    }
}

/* ---- what is known besides the matrices ------------------------------------------------------ */

enum { VALUE_HEADS = 2, D = 3, C = 5 };

static float values[L][S][VALUE_HEADS][N][D];
static double outputs[S][N][L][C]; /* in an order of its own */
static const int32_t ids[S][N] = {
    {1, 2, 1, 3, 2, 1, 4}, {5, 5, 5, 5, 6, 7, 8}, {1, 2, 3, 4, 5, 6, 7}};
static const int32_t begins[S] = {1, 0, 2}, counts[S] = {5, 7, 4};

/* Everything that is not valid is NaN. */
static mgk_array_context known(const void *of_values[L], const void *of_outputs[L])
{
    for (int l = 0; l < L; l++) {
        of_values[l] = values[l];
        of_outputs[l] = outputs[0][0][l];
        for (int s = 0; s < S; s++)
            for (int t = 0; t < N; t++) {
                const bool valid = t >= begins[s] && t < begins[s] + counts[s];
                for (int d = 0; d < VALUE_HEADS * D; d++)
                    values[l][s][d / D][t][d % D] =
                        valid ? (float)sin(1 + d + 5 * t + 11 * s + 17 * l) : NAN;
                for (int c = 0; c < C; c++)
                    outputs[s][t][l][c] = valid ? cos(c + 3 * t + 7 * s + 13 * l) + 0.5 : NAN;
            }
    }
    return (mgk_array_context){.tokens = ids[0],
                               .values = {.dtype = "f32",
                                          .layers = of_values,
                                          .heads = VALUE_HEADS,
                                          .size = D,
                                          .sample_stride = sizeof(values[0][0]),
                                          .head_stride = sizeof(values[0][0][0]),
                                          .token_stride = sizeof(values[0][0][0][0]),
                                          .stride = sizeof(float)},
                               .outputs = {.dtype = "f64",
                                           .layers = of_outputs,
                                           .heads = 1,
                                           .size = C,
                                           .sample_stride = sizeof(outputs[0]),
                                           .token_stride = sizeof(outputs[0][0]),
                                           .stride = sizeof(double)}};
}

static double cosine(int size, const double *x, const double *y)
{
    double xy = 0, xx = 0, yy = 0;
    for (int d = 0; d < size; d++) {
        xy += x[d] * y[d];
        xx += x[d] * x[d];
        yy += y[d] * y[d];
    }
    return xy / (sqrt(xx) * sqrt(yy));
}

/* The output of head h for token t, from its matrix and the values that it shares. */
static void output_of(int s, int l, int h, int t, double out[D])
{
    for (int d = 0; d < D; d++)
        out[d] = 0;
    for (int j = begins[s]; j < begins[s] + counts[s]; j++)
        for (int d = 0; d < D; d++)
            out[d] += entries[s][l][h][t][j] * (double)values[l][s][h / 2][j][d];
}

/* The mean over samples of the mean cosine of the outputs of two heads. */
static double output_cosine(int l, int h, int g)
{
    double total = 0, x[D], y[D];
    for (int s = 0; s < S; s++) {
        double sum = 0;
        for (int t = begins[s]; t < begins[s] + counts[s]; t++) {
            output_of(s, l, h, t, x);
            output_of(s, l, g, t, y);
            sum += cosine(D, x, y);
        }
        total += sum / counts[s];
    }
    return total / S;
}

static double token_cosine(int l)
{
    double total = 0;
    for (int s = 0; s < S; s++) {
        double sum = 0;
        for (int t = begins[s]; t < begins[s] + counts[s]; t++)
            for (int u = begins[s]; u < begins[s] + counts[s]; u++)
                sum += t == u ? 0 : cosine(C, outputs[s][t][l], outputs[s][u][l]);
        total += sum / (counts[s] * (counts[s] - 1));
    }
    return total / S;
}

/* Over the samples that repeat a token, which the last one does not. */
static double duplicate_token(int l, int h)
{
    double total = 0;
    for (int s = 0; s < S - 1; s++) {
        double sum = 0, all = 0;
        for (int i = begins[s]; i < begins[s] + counts[s]; i++)
            for (int j = begins[s]; j < begins[s] + counts[s]; j++) {
                all += entries[s][l][h][i][j];
                sum += j < i && ids[s][i] == ids[s][j] ? entries[s][l][h][i][j] : 0;
            }
        total += sum / all;
    }
    return total / (S - 1);
}

static void context(void **state)
{
    (void)state;
    static const char *const names[] = {"duplicate_token", "output_cosine", "token_cosine"};
    const void *layers[L], *of_values[L], *of_outputs[L];
    const mgk_array_context besides = known(of_values, of_outputs);
    mgk_array array = usual(layers);
    array.first = begins;
    array.lengths = counts;
    array.context = &besides;
    mgk_diversity_options o = mgk_diversity_options_default();
    o.job.device = "cpu";
    o.job.threads = 2;
    o.arrays = &array;
    o.array_count = 1;
    o.measures = names;
    o.measure_count = 3;
    mgk_table *table;
    mgk_table_column measure, value;
    assert_done(mgk_measure_diversity(&o, &table));
    assert_done(mgk_table_find_column(table, "measure", &measure));
    assert_done(mgk_table_find_column(table, "value", &value));
    assert_int_equal(mgk_table_rows(table), L * (H + H * (H - 1) / 2 + 1));
    for (size_t r = 0; r < mgk_table_rows(table); r++) {
        const int l = integers(table, "layer")[r], h = integers(table, "head")[r];
        const int g = integers(table, "other_head")[r];
        const char *name = measure.words[measure.integers[r]];
        const double expected = strcmp(name, names[0]) == 0   ? duplicate_token(l, h)
                                : strcmp(name, names[1]) == 0 ? output_cosine(l, h, g)
                                                              : token_cosine(l);
        assert_close(value.reals[r], expected, 1e-13, 0);
    }
    mgk_table_close(table);
}

static void wrong_context(void **state)
{
    (void)state;
    const void *layers[L], *of_values[L], *of_outputs[L];
    const mgk_array_context good = known(of_values, of_outputs);
    mgk_array_context besides = good;
    mgk_array array = usual(layers);
    array.context = &besides;
    besides.values.heads = 3;
    assert_refused(&array, "ours: 4 heads with values of 3 heads");
    besides = good;
    besides.outputs.heads = 2;
    assert_refused(&array, "ours: outputs of 2 heads, expected 1");
    besides = good;
    besides.outputs.size = 0;
    assert_refused(&array, "ours: outputs of 0 numbers");
    besides = good;
    besides.values.dtype = NULL;
    assert_refused(&array, "ours: `dtype` of values is \"\", expected f64, f32, f16 or bf16");
    besides = good;
    of_values[1] = NULL;
    assert_refused(&array, "ours: layer 1 of the values is NULL");
    of_values[1] = values[1];
    array.keys = N;
    assert_refused(&array, "ours: attention of one sequence to another has no tokens, values or");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(usual_order),      cmocka_unit_test(another_order),
        cmocka_unit_test(single_precision), cmocka_unit_test(padding),
        cmocka_unit_test(measures),         cmocka_unit_test(interruption),
        cmocka_unit_test(refusals),         cmocka_unit_test(last_head),
        cmocka_unit_test(half_precision),   cmocka_unit_test(context),
        cmocka_unit_test(wrong_context),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
