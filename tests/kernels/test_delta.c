/* SPDX-License-Identifier: MIT */
/*
 * The delta rule: its matrix against the triangular solve in double, its output against matrix
 * times values, its gradient against differences.
 */
#include <string.h>

#include "workspace.h"

enum { SAMPLES = 2, HEADS = 2, GAP = 3 };
enum { QUERY, KEY, VALUE, RATE, OUTPUT, ARRAYS };

typedef struct problem {
    int tokens, dim, features;
    double scale;
    size_t stride[ARRAYS], count[ARRAYS];
    int32_t lengths[SAMPLES];
    double *host[ARRAYS];
} problem;

static int width_of(const problem *p, int array)
{
    return array == RATE ? 1 : array <= KEY ? p->features : p->dim;
}

static problem make(workspace *space, int tokens, int dim, int features)
{
    problem p = {.tokens = tokens,
                 .dim = dim,
                 .features = features,
                 .scale = 0.7,
                 .lengths = {(int32_t)tokens, (int32_t)((2 * tokens + 2) / 3)}};
    for (int k = 0; k < ARRAYS; k++) {
        p.stride[k] = (size_t)(HEADS * width_of(&p, k)) + GAP;
        p.count[k] = (size_t)(SAMPLES * tokens) * p.stride[k];
        p.host[k] = random_values(space, p.count[k]);
    }
    for (size_t i = 0; i < p.count[RATE]; i++)
        p.host[RATE][i] = (double)(float)(1 / (1 + exp(-p.host[RATE][i])));
    for (size_t i = 0; i < p.count[KEY]; i++) /* about unit length, as models normalise them */
        p.host[KEY][i] = (double)(float)(p.host[KEY][i] / sqrt(features));
    return p;
}

typedef struct placed {
    mgk_attention_view view;
    mgk_delta delta;
    void *output;
} placed;

static placed place(workspace *space, const problem *p)
{
    return (placed){.view = {.samples = SAMPLES,
                             .heads = HEADS,
                             .tokens = p->tokens,
                             .dim = p->dim,
                             .mixtures = 1,
                             .causal = true,
                             .lengths = upload_bytes(space, sizeof p->lengths, p->lengths),
                             .query = upload(space, p->count[QUERY], p->host[QUERY]),
                             .key = upload(space, p->count[KEY], p->host[KEY]),
                             .value = upload(space, p->count[VALUE], p->host[VALUE]),
                             .query_stride = p->stride[QUERY],
                             .key_stride = p->stride[KEY],
                             .value_stride = p->stride[VALUE]},
                    .delta = {.scale = p->scale,
                              .features = p->features == p->dim ? 0 : (size_t)p->features,
                              .rate = upload(space, p->count[RATE], p->host[RATE]),
                              .rate_stride = p->stride[RATE]},
                    .output = upload(space, p->count[OUTPUT], p->host[OUTPUT])};
}

/* Row t of a head in an array. */
static const double *at(const problem *p, int array, int sample, int head, size_t t)
{
    return p->host[array] + ((size_t)(sample * p->tokens) + t) * p->stride[array] +
           head * width_of(p, array);
}

static double product(const problem *p, const double *a, const double *b)
{
    double sum = 0;
    for (int r = 0; r < p->features; r++)
        sum += a[r] * b[r];
    return sum;
}

/* X (I + tril(diag(β) K Kᵀ, −1)) = scale tril(Q Kᵀ), solved from the last column; A = X diag(β). */
static double *reference_matrix(workspace *space, const problem *p, int sample, int head)
{
    const size_t n = (size_t)p->tokens, valid = (size_t)p->lengths[sample];
    double *x = host_array(space, n * n);
    for (size_t i = 0; i < valid; i++)
        for (size_t j = i + 1; j-- > 0;) {
            const double *key = at(p, KEY, sample, head, j);
            double sum = p->scale * product(p, at(p, QUERY, sample, head, i), key);
            for (size_t l = j + 1; l <= i; l++)
                sum -= x[i * n + l] * *at(p, RATE, sample, head, l) *
                       product(p, at(p, KEY, sample, head, l), key);
            x[i * n + j] = sum;
        }
    for (size_t i = 0; i < valid; i++)
        for (size_t j = 0; j <= i; j++)
            x[i * n + j] *= *at(p, RATE, sample, head, j);
    return x;
}

static const double *output_of(workspace *space, const problem *p)
{
    const placed on = place(space, p);
    assert_ok(space->device->op->delta_attention(space->device, &on.view, &on.delta, on.output,
                                                 p->stride[OUTPUT]));
    return download(space, p->count[OUTPUT], on.output);
}

static void compare(workspace *space, const problem *p)
{
    const size_t n = (size_t)p->tokens;
    const double *output = output_of(space, p);
    for (int which = 0; which < SAMPLES * HEADS; which++) {
        const int sample = which / HEADS;
        const int32_t head = which % HEADS;
        const placed on = place(space, p);
        void *matrix = upload(space, n * n, host_array(space, n * n));
        const double *expected = reference_matrix(space, p, sample, head);
        assert_ok(space->device->op->delta_matrix(space->device, &on.view, &on.delta, sample, &head,
                                                  1, matrix));
        assert_device_close(space, n, n, matrix, expected);
        double *row = host_array(space, (size_t)p->dim);
        for (size_t i = 0; i < n; i++) {
            for (int d = 0; d < p->dim; d++) {
                row[d] = 0;
                for (size_t j = 0; j <= i; j++)
                    row[d] += expected[i * n + j] * at(p, VALUE, sample, head, j)[d];
            }
            assert_rows_close(1, (size_t)p->dim,
                              output + ((size_t)sample * n + i) * p->stride[OUTPUT] + head * p->dim,
                              row, 10 * space->tolerance);
        }
    }
    workspace_release(space);
}

static const int token_counts[] = {1, 31, 32, 65, 100}, dims[] = {5, 16, 3, 20, 6};
static const int feature_counts[] = {5, 7, 33, 20, 12};

static void check_matrix(workspace *space)
{
    for (int k = 0; k < 5; k++) {
        const problem p = make(space, token_counts[k], dims[k], feature_counts[k]);
        compare(space, &p);
    }
}

static void matrix_and_output_match_the_solve(void **state)
{
    (void)state;
    on_whole_devices(MGK_SINGLE, 3, check_matrix);
}

static bool counts(const problem *p, int array, size_t place_of)
{
    return place_of % p->stride[array] < (size_t)(HEADS * width_of(p, array));
}

static void differentiate(workspace *space, const problem *p, const double *weight,
                          double *result[OUTPUT])
{
    const placed on = place(space, p);
    void *gradient[OUTPUT];
    for (int k = 0; k < OUTPUT; k++)
        gradient[k] = upload(space, p->count[k], p->host[k]); /* is overwritten */
    const mgk_attention_gradient into = {.query = gradient[QUERY],
                                         .key = gradient[KEY],
                                         .value = gradient[VALUE],
                                         .gate = gradient[RATE]};
    assert_ok(space->device->op->delta_attention_backward(space->device, &on.view, &on.delta,
                                                          upload(space, p->count[OUTPUT], weight),
                                                          p->stride[OUTPUT], &into));
    for (int k = 0; k < OUTPUT; k++)
        result[k] = download(space, p->count[k], gradient[k]);
}

static double loss(workspace *space, const problem *p, const double *weight)
{
    const double *output = output_of(space, p);
    double sum = 0;
    for (size_t k = 0; k < p->count[OUTPUT]; k++)
        sum += counts(p, OUTPUT, k) ? weight[k] * output[k] : 0;
    return sum;
}

/* The derivative along a random direction in each array. */
static void check_gradient(workspace *space)
{
    const double step = 1e-6;
    for (int k = 0; k < 5; k++) {
        problem p = make(space, token_counts[k], dims[k], feature_counts[k]);
        const double *weight = random_values(space, p.count[OUTPUT]);
        double *gradient[OUTPUT];
        differentiate(space, &p, weight, gradient);
        for (int array = 0; array < OUTPUT; array++) {
            const double *direction = random_values(space, p.count[array]);
            double *values = p.host[array], *moved = host_array(space, p.count[array]);
            double expected = 0, size = 0, ends[2];
            for (size_t i = 0; i < p.count[array]; i++)
                if (counts(&p, array, i)) {
                    expected += gradient[array][i] * direction[i];
                    size += fabs(gradient[array][i] * direction[i]);
                }
            p.host[array] = moved;
            for (int end = 0; end < 2; end++) {
                for (size_t i = 0; i < p.count[array]; i++)
                    moved[i] = values[i] + (end ? step : -step) * direction[i];
                ends[end] = loss(space, &p, weight);
            }
            p.host[array] = values;
            assert_true(size > 0);
            assert_close(expected, (ends[1] - ends[0]) / (2 * step), 1e-8 * size + 1e-8, 1e-7);
        }
        workspace_release(space);
    }
}

static void gradients_match_differences(void **state)
{
    (void)state;
    on_whole_devices(MGK_DOUBLE, 1, check_gradient);
}

/* Single precision computes the gradients of double, over many chunks of kept states. */
static void single_precision_gradients_match(void **state)
{
    (void)state;
    workspace space[2] = {0};
    double *result[2][OUTPUT];
    problem p = {0};
    for (int precision = 0; precision < 2; precision++) {
        assert_ok(mgk_device_open("cpu", precision ? MGK_DOUBLE : MGK_SINGLE, 2,
                                  &space[precision].device));
        p = make(&space[precision], 1000, 16, 24);
        differentiate(&space[precision], &p, random_values(&space[precision], p.count[OUTPUT]),
                      result[precision]);
    }
    for (int array = 0; array < OUTPUT; array++) {
        double largest = 0;
        for (size_t i = 0; i < p.count[array]; i++)
            largest = counts(&p, array, i) ? fmax(largest, fabs(result[1][array][i])) : largest;
        assert_true(largest > 0);
        for (size_t i = 0; i < p.count[array]; i++)
            if (counts(&p, array, i))
                assert_close(result[0][array][i], result[1][array][i], 1e-5 * largest, 0);
    }
    for (int precision = 0; precision < 2; precision++) {
        workspace_release(&space[precision]);
        mgk_device_close(space[precision].device);
    }
}

/* A key that is NaN reaches no earlier row; its own and later ones are NaN up to its entry. */
static void check_nan(workspace *space)
{
    for (size_t bad = 0; bad < 70; bad += 23) {
        problem p = make(space, 70, 4, 6);
        const size_t n = (size_t)p.tokens;
        p.host[KEY][bad * p.stride[KEY] + 2] = NAN;
        const placed on = place(space, &p);
        void *matrix = upload(space, n * n, host_array(space, n * n));
        assert_ok(space->device->op->delta_matrix(space->device, &on.view, &on.delta, 0,
                                                  &(int32_t){0}, 1, matrix));
        const double *a = download(space, n * n, matrix);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                if (i < bad || j <= bad)
                    assert_int_equal(isnan(a[i * n + j]) != 0, i >= bad);
        workspace_release(space);
    }
}

static void a_nan_reaches_no_earlier_row(void **state)
{
    (void)state;
    on_whole_devices(MGK_SINGLE, 3, check_nan);
}

/* Keys 0 and 1 are one unit vector and β = 1: the second value replaces the first. */
static void check_replacement(workspace *space)
{
    problem p = make(space, 2, 2, 2);
    memset(p.host[KEY], 0, p.count[KEY] * sizeof(double));
    for (int t = 0; t < 2; t++) {
        p.host[KEY][(size_t)t * p.stride[KEY]] = p.host[RATE][(size_t)t * p.stride[RATE]] = 1;
        p.host[QUERY][(size_t)t * p.stride[QUERY]] = 2;
    }
    const double *output = output_of(space, &p);
    for (size_t t = 0; t < 2; t++)
        for (size_t d = 0; d < 2; d++)
            assert_close(output[t * p.stride[OUTPUT] + d],
                         1.4 * p.host[VALUE][t * p.stride[VALUE] + d], space->tolerance,
                         space->tolerance);
}

static void a_new_value_replaces_the_old(void **state)
{
    (void)state;
    on_whole_devices(MGK_SINGLE, 1, check_replacement);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matrix_and_output_match_the_solve),
        cmocka_unit_test(gradients_match_differences),
        cmocka_unit_test(single_precision_gradients_match),
        cmocka_unit_test(a_nan_reaches_no_earlier_row),
        cmocka_unit_test(a_new_value_replaces_the_old),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
