/* SPDX-License-Identifier: MIT */
/*
 * Kinds of kernels/attention/{positional,biased,synthesizer,multi_query,localness,camtl}.c against
 * their formulas, evaluated entry by entry in double.
 */
#include <math.h>
#include <string.h>

#include "kind_case.h"

/* An entry before normalisation, of query i and key j of head h, sample b. */
typedef double score_fn(const kind_case *problem, int b, int h, int i, int j);

static const double *parameter(const kind_case *problem, int index)
{
    return problem->layers[0].input[KIND_PARAMETERS + index];
}

/* The numbers of a token's head in an input [B, N, H, D]. */
static const double *token(const kind_case *problem, kind_input input, int b, int t, int h)
{
    const kind_shape *s = &problem->shape;
    return problem->layers[0].input[input] +
           (size_t)(((b * s->tokens + t) * s->heads + h) * s->dim);
}

/* exp(q_i·k_j / √D) with the keys of a head. */
static double product(const kind_case *problem, int b, int h, int key_head, int i, int j)
{
    const int dim = problem->shape.dim;
    return exp(kind_dot(dim, token(problem, KIND_QUERY, b, i, h),
                        token(problem, KIND_KEY, b, j, key_head)) /
               sqrt(dim));
}

static double average(const kind_case *problem, int b, int h, int i, int j)
{
    (void)problem, (void)b, (void)h, (void)i, (void)j;
    return 1;
}

static double hard_coded(const kind_case *problem, int b, int h, int i, int j)
{
    static const int offsets[2][3] = {{-1, 1, -1}, {-1, 0, -1}};
    const double from = j - (i + offsets[problem->shape.causal][h]);
    (void)b;
    return exp(-from * from / 2) / sqrt(2 * 3.14159265358979323846);
}

static double synthesizer_random(const kind_case *problem, int b, int h, int i, int j)
{
    const int length = kind_case_size(problem, 0).length;
    (void)b;
    return exp(parameter(problem, 0)[(h * length + i) * length + j]);
}

static double synthesizer_factored(const kind_case *problem, int b, int h, int i, int j)
{
    const int heads = problem->shape.heads, dim = problem->shape.settings.projection;
    (void)b;
    return exp(kind_dot(dim, parameter(problem, 0) + (i * heads + h) * dim,
                        parameter(problem, 1) + (j * heads + h) * dim));
}

static double synthesizer_dense(const kind_case *problem, int b, int h, int i, int j)
{
    const int heads = problem->shape.heads, dim = problem->shape.dim;
    double sum = 0;
    for (int d = 0; d < dim; d++)
        sum += fmax(token(problem, KIND_QUERY, b, i, h)[d], 0) *
               parameter(problem, 0)[(j * heads + h) * dim + d];
    return exp(sum);
}

static double gaussian(const kind_case *problem, int b, int h, int i, int j)
{
    const double distance = i - j;
    return product(problem, b, h, h, i, j) *
           exp(-fabs(parameter(problem, 0)[h] * distance * distance + parameter(problem, 1)[h]));
}

static double adaptive_span(const kind_case *problem, int b, int h, int i, int j)
{
    const double most = problem->shape.settings.window, ramp = most < 32 ? most : 32;
    const double share = fmin(fmax(parameter(problem, 0)[h], 0), 1), distance = fabs((double)i - j);
    const double weight = fmin(fmax((ramp + share * most - distance) / ramp, 0), 1);
    return distance <= most ? weight * product(problem, b, h, h, i, j) : 0;
}

static double multi_query(const kind_case *problem, int b, int h, int i, int j)
{
    return product(problem, b, h, 0, i, j);
}

/* u·tanh(W q_i), then its sigmoid. */
static double window_share(const kind_case *problem, int b, int h, int i, int index)
{
    const int dim = problem->shape.dim;
    double sum = 0;
    for (int d = 0; d < dim; d++)
        sum += parameter(problem, index)[h * dim + d] *
               tanh(kind_dot(dim, parameter(problem, 0) + (h * dim + d) * dim,
                             token(problem, KIND_QUERY, b, i, h)));
    return 1 / (1 + exp(-sum));
}

static double localness(const kind_case *problem, int b, int h, int i, int j)
{
    const int keys = problem->shape.causal ? i + 1 : problem->lengths[b];
    const double centre = keys * window_share(problem, b, h, i, 1);
    const double deviation = keys * window_share(problem, b, h, i, 2) / 2;
    return product(problem, b, h, h, i, j) * exp(-pow(j - centre, 2) / (2 * deviation * deviation));
}

/* The task's modulation of column c: (1 + gamma) and beta are shared by all positions. */
static double camtl(const kind_case *problem, int b, int h, int i, int j)
{
    const int block = problem->shape.settings.block, c = j - i / block * block;
    const int width = problem->shape.heads * problem->shape.dim;
    const double *task = parameter(problem, 1), *weight = parameter(problem, 2);
    if (c < 0 || c >= block)
        return product(problem, b, h, h, i, j);
    const double gamma = kind_dot(width, weight + c * width, task) + parameter(problem, 3)[c];
    const double beta =
        kind_dot(width, weight + (block + c) * width, task) + parameter(problem, 3)[block + c];
    return product(problem, b, h, h, i, j) *
           exp((1 + gamma) * parameter(problem, 0)[i * block + c] + beta);
}

static const struct formula {
    const char *name;
    score_fn *score;
} formulas[] = {{"average", average},
                {"hard-coded", hard_coded},
                {"synthesizer-random", synthesizer_random},
                {"synthesizer-factored", synthesizer_factored},
                {"synthesizer-dense", synthesizer_dense},
                {"gaussian", gaussian},
                {"adaptive-span", adaptive_span},
                {"multi-query", multi_query},
                {"localness", localness},
                {"camtl", camtl}};
enum { FORMULAS = sizeof formulas / sizeof *formulas };

/* The matrices [B, H, N, N] of a formula, normalised unless the kind is not. */
static double *matrices_of(workspace *space, const kind_case *problem, score_fn *score)
{
    const kind_shape *s = &problem->shape;
    double *out = host_array(space, problem->matrices), *row = out;
    for (int b = 0; b < KIND_SAMPLES; b++)
        for (int h = 0; h < s->heads; h++)
            for (int i = 0; i < s->tokens; i++, row += s->tokens) {
                double sum = 0;
                for (int j = 0; j < s->tokens; j++) {
                    const bool seen = i < problem->lengths[b] && j < problem->lengths[b] &&
                                      (!s->causal || j <= i);
                    row[j] = seen ? score(problem, b, h, i, j) : 0;
                    sum += row[j];
                }
                for (int j = 0; j < s->tokens && sum > 0 && !s->kind->unnormalized; j++)
                    row[j] /= sum;
            }
    return out;
}

/* Calls body for each formula, causal or not; longer ones see a whole span and its ramp. */
static void for_formulas(workspace *space, void (*body)(workspace *, const kind_case *, score_fn *))
{
    for (int f = 0; f < FORMULAS; f++)
        for (int causal = 0; causal < 2; causal++)
            for (int large = 0; large < 2; large++) {
                kind_shape shape = {.kind = mgk_attention_find(formulas[f].name),
                                    .heads = large ? 3 : 2,
                                    .tokens = large ? 90 : 19,
                                    .dim = 5,
                                    .causal = causal,
                                    .shortened = 6};
                assert_non_null(shape.kind);
                if (large && shape.kind->defaults.window)
                    shape.settings.window = 60;
                if (!kind_can(shape))
                    continue;
                const kind_case problem = kind_case_make(space, shape);
                body(space, &problem, formulas[f].score);
                workspace_release(space);
            }
}

static void compare_matrix(workspace *space, const kind_case *problem, score_fn *score)
{
    double *outputs = host_array(space, problem->outputs);
    double *found = host_array(space, problem->matrices);
    const size_t tokens = (size_t)problem->shape.tokens;
    kind_case_run(space, problem, outputs, MGK_MATRIX_ATTENTION, found);
    assert_rows_close(problem->matrices / tokens, tokens, found, matrices_of(space, problem, score),
                      10 * space->tolerance);
}

static void matrices_are_formulas(void **state)
{
    for_formulas(*state, compare_matrix);
}

/* Multi-query attention weighs the values of head 0, which the common test of outputs leaves out.
 */
static void compare_shared_values(workspace *space, const kind_case *problem, score_fn *score)
{
    const kind_shape *s = &problem->shape;
    if (!s->kind->own_values)
        return;
    double *found = host_array(space, problem->outputs);
    double *expected = host_array(space, problem->outputs);
    const double *matrix = matrices_of(space, problem, score);
    kind_case_run(space, problem, found, MGK_MATRIX_ATTENTION, NULL);
    for (int b = 0; b < KIND_SAMPLES; b++)
        for (int h = 0; h < s->heads; h++)
            for (int i = 0; i < s->tokens; i++, matrix += s->tokens)
                for (int j = 0; j < s->tokens; j++)
                    for (int d = 0; d < s->dim; d++)
                        expected[((b * s->tokens + i) * s->heads + h) * s->dim + d] +=
                            matrix[j] * token(problem, KIND_VALUE, b, j, 0)[d];
    assert_rows_close(problem->outputs / (size_t)s->dim, (size_t)s->dim, found, expected,
                      10 * space->tolerance);
}

static void shared_values_are_those_of_head_0(void **state)
{
    for_formulas(*state, compare_shared_values);
}

/* Matrices that positions determine are the same for all samples of a length. */
static void compare_samples(workspace *space, const kind_case *problem, score_fn *score)
{
    const bool factored = strcmp(problem->shape.kind->name, "synthesizer-factored") == 0;
    (void)score;
    if (!problem->shape.kind->positional && !factored)
        return;
    kind_case equal = *problem;
    equal.lengths[1] = equal.lengths[0];
    double *outputs = host_array(space, problem->outputs);
    double *found = host_array(space, problem->matrices);
    kind_case_run(space, &equal, outputs, MGK_MATRIX_ATTENTION, found);
    assert_memory_equal(found, found + problem->matrices / 2,
                        problem->matrices / 2 * sizeof *found);
}

static void positional_matrices_are_constant(void **state)
{
    for_formulas(*state, compare_samples);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matrices_are_formulas),
        cmocka_unit_test(shared_values_are_those_of_head_0),
        cmocka_unit_test(positional_matrices_are_constant),
    };
    return kind_run_tests(sizeof tests / sizeof *tests, tests);
}
