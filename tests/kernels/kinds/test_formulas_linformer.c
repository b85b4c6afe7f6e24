/* SPDX-License-Identifier: MIT */
/*
 * kernels/attention/linformer.c against its formula, softmax(Q (E K)ᵀ / √D) E, in double.
 */
#include <math.h>

#include "kind_case.h"

/* The small setting of kind_case.c. */
enum { PROJECTION = 5 };

static const double *vector(const kind_case *problem, kind_input input, int b, int t, int h)
{
    const kind_shape *s = &problem->shape;
    return problem->layers[0].input[input] +
           (size_t)(((b * s->tokens + t) * s->heads + h) * s->dim);
}

static double dot(int count, const double *x, const double *y)
{
    double sum = 0;
    for (int d = 0; d < count; d++)
        sum += x[d] * y[d];
    return sum;
}

static kind_shape shape_of(const char *kind)
{
    return (kind_shape){
        .kind = mgk_attention_find(kind), .heads = 4, .tokens = 21, .dim = 3, .shortened = 18};
}

static double *found_matrices(workspace *space, const kind_case *problem)
{
    double *outputs = host_array(space, problem->outputs);
    double *found = host_array(space, problem->matrices);
    kind_case_run(space, problem, outputs, MGK_MATRIX_ATTENTION, found);
    return found;
}

/* A = P E with P = softmax(Q (E K)ᵀ / √D), whose rank is at most that of E. */
static void linformer_is_its_formula(void **state)
{
    workspace *space = *state;
    const kind_case problem = kind_case_make(space, shape_of("linformer"));
    const kind_shape *s = &problem.shape;
    const double *e = problem.layers[0].input[KIND_PARAMETERS];
    const int length = kind_case_size(&problem, 0).length;
    double *expected = host_array(space, problem.matrices), *row = expected;
    for (int b = 0; b < KIND_SAMPLES; b++)
        for (int h = 0; h < s->heads; h++)
            for (int i = 0; i < s->tokens; i++, row += s->tokens) {
                const int n = problem.lengths[b];
                double p[PROJECTION], sum = 0;
                for (int r = 0; r < PROJECTION; r++) {
                    p[r] = 0;
                    for (int j = 0; j < n; j++)
                        p[r] +=
                            e[r * length + j] * dot(s->dim, vector(&problem, KIND_QUERY, b, i, h),
                                                    vector(&problem, KIND_KEY, b, j, h));
                    sum += p[r] = exp(p[r] / sqrt(s->dim));
                }
                for (int j = 0; i < n && j < n; j++)
                    for (int r = 0; r < PROJECTION; r++)
                        row[j] += p[r] / sum * e[r * length + j];
            }
    assert_rows_close(problem.matrices / (size_t)s->tokens, (size_t)s->tokens,
                      found_matrices(space, &problem), expected, 10 * space->tolerance);
    workspace_release(space);
}

/* Pivots above 1e-10 of Gaussian elimination with full pivoting. */
static int rank_of(double *a, int n)
{
    for (int k = 0; k < n; k++) {
        int row = k, column = k;
        for (int i = k; i < n; i++)
            for (int j = k; j < n; j++)
                if (fabs(a[i * n + j]) > fabs(a[row * n + column]))
                    row = i, column = j;
        if (!(fabs(a[row * n + column]) > 1e-10))
            return k;
        for (int j = 0; j < n; j++) {
            const double swapped = a[k * n + j];
            a[k * n + j] = a[row * n + j];
            a[row * n + j] = swapped;
        }
        for (int i = 0; i < n; i++) {
            const double swapped = a[i * n + k];
            a[i * n + k] = a[i * n + column];
            a[i * n + column] = swapped;
        }
        for (int i = k + 1; i < n; i++)
            for (int j = n - 1; j >= k; j--)
                a[i * n + j] -= a[i * n + k] / a[k * n + k] * a[k * n + j];
    }
    return n;
}

static void linformer_has_the_rank_of_its_map(void **state)
{
    workspace *space = *state;
    const kind_case problem = kind_case_make(space, shape_of("linformer"));
    if (space->device->precision == MGK_DOUBLE)
        assert_int_equal(rank_of(found_matrices(space, &problem), problem.shape.tokens),
                         PROJECTION);
    workspace_release(space);
}

static int run_on(workspace *space)
{
    const struct CMUnitTest tests[] = {
        {"linformer_is_its_formula", linformer_is_its_formula, NULL, NULL, space},
        {"linformer_has_the_rank_of_its_map", linformer_has_the_rank_of_its_map, NULL, NULL, space},
    };
    return _cmocka_run_group_tests(space->device->name, tests, sizeof tests / sizeof *tests, NULL,
                                   NULL);
}

int main(void)
{
    int failures = 0;
    for (mgk_precision precision = MGK_SINGLE; precision <= MGK_DOUBLE; precision++) {
        workspace space = {.tolerance = precision == MGK_DOUBLE ? 1e-12 : 1e-5};
        assert_ok(mgk_device_open("cpu", precision, 2, &space.device));
        failures += run_on(&space);
        mgk_device_close(space.device);
    }
    return failures;
}
