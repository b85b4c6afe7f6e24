/* SPDX-License-Identifier: MIT */
/*
 * Kinds without an N × N matrix, whose queries see fewer keys than tokens: the outputs of
 * kernels/attention/{memory_compressed,induced,poolingformer}.c against their formulas, in double.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kind_case.h"

/* The output [N, H, D] of a sample, which is 0 before. */
typedef void output_fn(workspace *space, const kind_case *problem, int b, double *out);

/* The small settings of kind_case.c. */
enum { KERNEL = 3, LANDMARKS = 4, WINDOW = 3 };

static const double *parameter(const kind_case *problem, int index)
{
    return problem->layers[0].input[KIND_PARAMETERS + index];
}

static int width_of(const kind_case *problem)
{
    return problem->shape.heads * problem->shape.dim;
}

/* An input of a sample, [N, H D]. */
static const double *sample(const kind_case *problem, kind_input input, int b)
{
    return problem->layers[0].input[input] + b * problem->shape.tokens * width_of(problem);
}

/* Whether a query sees a key. */
typedef bool sees_fn(const kind_case *problem, int i, int j);

static bool sees_all(const kind_case *problem, int i, int j)
{
    (void)problem, (void)i, (void)j;
    return true;
}

/* out [rows, H D] = softmax(Q Kᵀ / √D) V of each head; 0 without keys. */
static void attend(const kind_case *problem, int rows, const double *q, int keys, const double *k,
                   const double *v, sees_fn *sees, double *out)
{
    const int dim = problem->shape.dim, width = width_of(problem);
    for (int h = 0; h < width; h += dim)
        for (int i = 0; i < rows; i++) {
            double sum = 0, *to = out + i * width + h;
            memset(to, 0, (size_t)dim * sizeof *to);
            for (int j = 0; j < keys; j++) {
                const double score =
                    sees(problem, i, j)
                        ? exp(kind_dot(dim, q + i * width + h, k + j * width + h) / sqrt(dim))
                        : 0;
                sum += score;
                for (int d = 0; d < dim; d++)
                    to[d] += score * v[j * width + h + d];
            }
            for (int d = 0; d < dim; d++)
                to[d] = sum > 0 ? to[d] / sum : 0;
        }
}

static bool sees_whole_blocks(const kind_case *problem, int i, int s)
{
    return !problem->shape.causal || KERNEL * (s + 1) - 1 <= i;
}

/* y [⌈n / c⌉, H D] = Σ_t W_t x_(s c + t) of each head. */
static double *convolved(workspace *space, const kind_case *problem, int n, const double *x)
{
    const int dim = problem->shape.dim, width = width_of(problem);
    const int blocks = (n + KERNEL - 1) / KERNEL;
    double *y = host_array(space, (size_t)(blocks * width));
    for (int j = 0; j < n; j++)
        for (int h = 0; h < problem->shape.heads; h++)
            for (int from = 0; from < dim; from++)
                for (int to = 0; to < dim; to++)
                    y[j / KERNEL * width + h * dim + to] +=
                        x[j * width + h * dim + from] *
                        parameter(problem, 0)[((h * KERNEL + j % KERNEL) * dim + from) * dim + to];
    return y;
}

static void memory_compressed(workspace *space, const kind_case *problem, int b, double *out)
{
    const int n = problem->lengths[b];
    attend(problem, n, sample(problem, KIND_QUERY, b), (n + KERNEL - 1) / KERNEL,
           convolved(space, problem, n, sample(problem, KIND_KEY, b)),
           convolved(space, problem, n, sample(problem, KIND_VALUE, b)), sees_whole_blocks, out);
}

/* out [rows, H D] = x W. */
static double *mapped(workspace *space, const kind_case *problem, int rows, const double *x,
                      int weight)
{
    const int width = width_of(problem);
    double *out = host_array(space, (size_t)(rows * width));
    for (int i = 0; i < rows; i++)
        for (int from = 0; from < width; from++)
            for (int to = 0; to < width; to++)
                out[i * width + to] +=
                    x[i * width + from] * parameter(problem, weight)[from * width + to];
    return out;
}

/* What the learned queries read, [LANDMARKS, H D]. */
static double *packed(workspace *space, const kind_case *problem, int b)
{
    double *out = host_array(space, (size_t)(LANDMARKS * width_of(problem)));
    attend(problem, LANDMARKS, parameter(problem, 0), problem->lengths[b],
           sample(problem, KIND_KEY, b), sample(problem, KIND_VALUE, b), sees_all, out);
    return out;
}

static void unpack(workspace *space, const kind_case *problem, int b, const double *y, double *out)
{
    attend(problem, problem->lengths[b], sample(problem, KIND_QUERY, b), LANDMARKS,
           mapped(space, problem, LANDMARKS, y, 1), mapped(space, problem, LANDMARKS, y, 2),
           sees_all, out);
}

static void luna(workspace *space, const kind_case *problem, int b, double *out)
{
    unpack(space, problem, b, packed(space, problem, b), out);
}

static void set(workspace *space, const kind_case *problem, int b, double *out)
{
    const int count = LANDMARKS * width_of(problem);
    double *x = packed(space, problem, b);
    for (int k = 0; k < count; k++)
        x[k] += parameter(problem, 0)[k];
    double *y = mapped(space, problem, LANDMARKS, x, 3);
    for (int k = 0; k < count; k++)
        y[k] = x[k] + fmax(y[k], 0);
    unpack(space, problem, b, y, out);
}

static bool sees_window(const kind_case *problem, int i, int j)
{
    return abs(i - j) <= WINDOW && (!problem->shape.causal || j <= i);
}

static bool sees_means(const kind_case *problem, int i, int s)
{
    return abs(i / KERNEL - s) <= WINDOW && sees_whole_blocks(problem, i, s);
}

static void poolingformer(workspace *space, const kind_case *problem, int b, double *out)
{
    const int n = problem->lengths[b], width = width_of(problem);
    const int means = (n + KERNEL - 1) / KERNEL;
    double *y = host_array(space, (size_t)(n * width));
    double *r = host_array(space, (size_t)(means * width));
    attend(problem, n, sample(problem, KIND_QUERY, b), n, sample(problem, KIND_KEY, b),
           sample(problem, KIND_VALUE, b), sees_window, y);
    for (int i = 0; i < n; i++) {
        const int s = i / KERNEL, size = s + 1 < means ? KERNEL : n - s * KERNEL;
        for (int d = 0; d < width; d++)
            r[s * width + d] += y[i * width + d] / size;
    }
    attend(problem, n, mapped(space, problem, n, y, 0), means, mapped(space, problem, means, r, 1),
           mapped(space, problem, means, r, 2), sees_means, out);
    for (int k = 0; k < n * width; k++)
        out[k] += y[k];
}

static const struct formula {
    const char *name;
    output_fn *output;
} formulas[] = {{"memory-compressed", memory_compressed},
                {"set", set},
                {"luna", luna},
                {"poolingformer", poolingformer}};

static void compare(workspace *space, const struct formula *formula, bool causal, bool large)
{
    const kind_shape shape = {.kind = mgk_attention_find(formula->name),
                              .heads = large ? 3 : 2,
                              .tokens = large ? 50 : 14,
                              .dim = 5,
                              .causal = causal,
                              .shortened = 6};
    assert_non_null(shape.kind);
    if (!kind_can(shape))
        return;
    const kind_case problem = kind_case_make(space, shape);
    const size_t width = (size_t)width_of(&problem), one = problem.outputs / KIND_SAMPLES;
    double *found = host_array(space, problem.outputs);
    double *expected = host_array(space, problem.outputs);
    kind_case_run(space, &problem, found, MGK_MATRIX_ATTENTION, NULL);
    for (int b = 0; b < KIND_SAMPLES; b++)
        formula->output(space, &problem, b, expected + (size_t)b * one);
    assert_rows_close(problem.outputs / width, width, found, expected, 10 * space->tolerance);
    workspace_release(space);
}

static void outputs_are_formulas(void **state)
{
    for (size_t f = 0; f < sizeof formulas / sizeof *formulas; f++)
        for (int causal = 0; causal < 2; causal++)
            for (int large = 0; large < 2; large++)
                compare(*state, &formulas[f], causal, large);
}

static void there_is_no_matrix(void **state)
{
    (void)state;
    for (size_t f = 0; f < sizeof formulas / sizeof *formulas; f++)
        assert_int_equal(mgk_attention_check_matrix(mgk_attention_find(formulas[f].name)),
                         STATUS_UNSUPPORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_are_formulas),
        cmocka_unit_test(there_is_no_matrix),
    };
    return kind_run_tests(sizeof tests / sizeof *tests, tests);
}
