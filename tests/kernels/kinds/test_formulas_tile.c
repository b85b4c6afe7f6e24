/* SPDX-License-Identifier: MIT */
/*
 * Kinds of kernels/attention/{positional,biased,synthesizer,multi_query,localness,camtl}.c against
 * their formulas, evaluated entry by entry in double.
 */
#include <math.h>
#include <string.h>

#include "entries.h"

static const double *parameter(const kind_case *problem, int index)
{
    return problem->layers[0].input[KIND_PARAMETERS + index];
}

/* exp(q_i·k_j / √D) with the keys of a head. */
static double product(const kind_case *problem, int b, int h, int key_head, int i, int j)
{
    return entry_weight(problem->shape.dim, entry_token(problem, KIND_QUERY, b, i, h),
                        entry_token(problem, KIND_KEY, b, j, key_head));
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
        sum += fmax(entry_token(problem, KIND_QUERY, b, i, h)[d], 0) *
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
                             entry_token(problem, KIND_QUERY, b, i, h)));
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
    entry_score *score;
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

/* Calls body for each formula, causal or not; longer ones see a whole span and its ramp. */
static void for_formulas(workspace *space,
                         void (*body)(workspace *, const kind_case *, entry_score *))
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

static void matrices_are_formulas(void **state)
{
    for_formulas(*state, entries_match);
}

/* Multi-query attention weighs the values of head 0, which the common test of outputs leaves out.
 */
static const double *shared_value(const kind_case *problem, int b, int h, int i, int j)
{
    (void)h, (void)i;
    return entry_token(problem, KIND_VALUE, b, j, 0);
}

static void compare_shared_values(workspace *space, const kind_case *problem, entry_score *score)
{
    if (problem->shape.kind->own_values)
        entry_outputs_match(space, problem, score, shared_value);
}

static void shared_values_are_those_of_head_0(void **state)
{
    for_formulas(*state, compare_shared_values);
}

/* Matrices that positions determine are the same for all samples of a length. */
static void compare_samples(workspace *space, const kind_case *problem, entry_score *score)
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
