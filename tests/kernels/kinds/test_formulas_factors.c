/* SPDX-License-Identifier: MIT */
/*
 * Kinds of kernels/attention/{linformer,nystrom}.c against their formulas, in double:
 * softmax(Q (E K)ᵀ / √D) E, and F Z B with landmarks and the band of a convolution.
 */
#include <math.h>
#include <string.h>

#include "kind_case.h"

/* The small settings of kind_case.c. */
enum { PROJECTION = 5, LANDMARKS = 4, KERNEL = 3 };

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

/* Matrices of at most 21 x 21, rows of 21. */
enum { MOST = 21 };
typedef double square[MOST][MOST];

/* The mean of segment s of c of the first n vectors of a head. */
static void landmark(const kind_case *problem, kind_input input, int b, int h, int n, int c, int s,
                     double *mean)
{
    const int first = s * n / c, end = (s + 1) * n / c, dim = problem->shape.dim;
    memset(mean, 0, (size_t)dim * sizeof *mean);
    for (int t = first; t < end; t++)
        for (int d = 0; d < dim; d++)
            mean[d] += vector(problem, input, b, t, h)[d] / (end - first);
}

/* out = softmax of q kᵀ / √D for vectors [rows] and [cols] of `dim` numbers, at q[i] and k[j]. */
static void softmax(int rows, int cols, int dim, const double *const *q, const double *const *k,
                    square out)
{
    for (int i = 0; i < rows; i++) {
        double sum = 0;
        for (int j = 0; j < cols; j++)
            sum += out[i][j] = exp(dot(dim, q[i], k[j]) / sqrt(dim));
        for (int j = 0; j < cols; j++)
            out[i][j] /= sum;
    }
}

static void product(int rows, int inner, int cols, const square a, const square b, square out)
{
    square found;
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++) {
            found[i][j] = 0;
            for (int l = 0; l < inner; l++)
                found[i][j] += a[i][l] * b[l][j];
        }
    for (int i = 0; i < rows; i++)
        memcpy(out[i], found[i], (size_t)cols * sizeof(double));
}

/* x = number I − x. */
static void subtract_from(int c, double number, square x)
{
    for (int i = 0; i < c; i++)
        for (int j = 0; j < c; j++)
            x[i][j] = (i == j ? number : 0) - x[i][j];
}

/* Six steps Z ← Z (13 I − K Z (15 I − K Z (7 I − K Z))) / 4. */
static void newton(int c, const square k, square z)
{
    double rows = 0, columns = 0;
    for (int i = 0; i < c; i++) {
        double row = 0, column = 0;
        for (int j = 0; j < c; j++) {
            row += k[i][j];
            column += k[j][i];
        }
        rows = fmax(rows, row);
        columns = fmax(columns, column);
    }
    for (int i = 0; i < c; i++)
        for (int j = 0; j < c; j++)
            z[i][j] = k[j][i] / (rows * columns);
    for (int step = 0; step < 6; step++) {
        square kz, x;
        product(c, c, c, k, z, kz);
        memcpy(x, kz, sizeof x);
        subtract_from(c, 7, x);
        product(c, c, c, kz, x, x);
        subtract_from(c, 15, x);
        product(c, c, c, kz, x, x);
        subtract_from(c, 13, x);
        product(c, c, c, z, x, z);
        for (int i = 0; i < c; i++)
            for (int j = 0; j < c; j++)
                z[i][j] /= 4;
    }
}

/* Z = (K + I)⁻¹ by the Neumann series of (I/2) (I − (I − K) / 2)⁻¹: the norms are below 1. */
static void shifted(int c, const square k, square z)
{
    square power = {{0}}, half = {{0}};
    for (int i = 0; i < c; i++)
        for (int j = 0; j < c; j++) {
            half[i][j] = ((i == j) - k[i][j]) / 2;
            power[i][j] = z[i][j] = (i == j) / 2.0;
        }
    for (int term = 0; term < 4000; term++) {
        product(c, c, c, power, half, power);
        for (int i = 0; i < c; i++)
            for (int j = 0; j < c; j++)
                z[i][j] += power[i][j];
    }
}

/* The matrix of one head, [N, N]. */
static void nystrom(const kind_case *problem, bool pseudo, int b, int h, square out)
{
    const kind_shape *s = &problem->shape;
    const int n = problem->lengths[b], c = n < LANDMARKS ? n : LANDMARKS;
    double means[2][LANDMARKS][3];
    const double *q[MOST], *k[MOST], *q_mean[LANDMARKS], *k_mean[LANDMARKS];
    square left, right, kernel, z;
    for (int t = 0; t < n; t++) {
        q[t] = vector(problem, KIND_QUERY, b, t, h);
        k[t] = vector(problem, KIND_KEY, b, t, h);
    }
    for (int l = 0; l < c; l++) {
        landmark(problem, KIND_QUERY, b, h, n, c, l, means[0][l]);
        landmark(problem, KIND_KEY, b, h, n, c, l, means[1][l]);
        q_mean[l] = means[0][l];
        k_mean[l] = means[1][l];
    }
    softmax(n, c, s->dim, q, k_mean, left);
    softmax(c, c, s->dim, q_mean, k_mean, kernel);
    softmax(c, n, s->dim, q_mean, k, right);
    if (pseudo)
        newton(c, (const double(*)[MOST])kernel, z);
    else
        shifted(c, (const double(*)[MOST])kernel, z);
    product(n, c, c, (const double(*)[MOST])left, (const double(*)[MOST])z, left);
    product(n, c, n, (const double(*)[MOST])left, (const double(*)[MOST])right, out);
    const double *weight = problem->layers[0].input[KIND_PARAMETERS];
    for (int t = 0; pseudo && t < n; t++)
        for (int tap = 0; tap < KERNEL; tap++) {
            const int j = t + tap - (KERNEL - 1) / 2;
            if (j >= 0 && j < n)
                out[t][j] += weight[h * KERNEL + tap];
        }
}

static void compare_nystrom(workspace *space, const char *kind)
{
    const kind_case problem = kind_case_make(space, shape_of(kind));
    const kind_shape *s = &problem.shape;
    const bool pseudo = strcmp(kind, "nystrom") == 0;
    double *expected = host_array(space, problem.matrices), *row = expected;
    for (int b = 0; b < KIND_SAMPLES; b++)
        for (int h = 0; h < s->heads; h++) {
            square matrix = {{0}};
            nystrom(&problem, pseudo, b, h, matrix);
            for (int i = 0; i < s->tokens; i++, row += s->tokens)
                for (int j = 0; i < problem.lengths[b] && j < problem.lengths[b]; j++)
                    row[j] = matrix[i][j];
        }
    assert_rows_close(problem.matrices / (size_t)s->tokens, (size_t)s->tokens,
                      found_matrices(space, &problem), expected, 100 * space->tolerance);
    workspace_release(space);
}

static void landmarks_are_formulas(void **state)
{
    compare_nystrom(*state, "nystrom");
    compare_nystrom(*state, "csalr");
}

/* Nyström attention has that rank without its band. */
static void ranks_are_bounded(void **state)
{
    workspace *space = *state;
    static const struct {
        const char *kind;
        int rank;
    } rows[] = {{"linformer", PROJECTION}, {"csalr", LANDMARKS}, {"nystrom", LANDMARKS}};
    for (size_t i = 0; space->device->precision == MGK_DOUBLE && i < sizeof rows / sizeof *rows;
         i++) {
        const kind_case problem = kind_case_make(space, shape_of(rows[i].kind));
        if (strcmp(rows[i].kind, "nystrom") == 0)
            memset(problem.layers[0].input[KIND_PARAMETERS], 0,
                   problem.layers[0].count[KIND_PARAMETERS] * sizeof(double));
        assert_int_equal(rank_of(found_matrices(space, &problem), problem.shape.tokens),
                         rows[i].rank);
        workspace_release(space);
    }
}

static int run_on(workspace *space)
{
    const struct CMUnitTest tests[] = {
        {"linformer_is_its_formula", linformer_is_its_formula, NULL, NULL, space},
        {"landmarks_are_formulas", landmarks_are_formulas, NULL, NULL, space},
        {"ranks_are_bounded", ranks_are_bounded, NULL, NULL, space},
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
