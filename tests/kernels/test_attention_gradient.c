/* SPDX-License-Identifier: MIT */
/* The gradients of every attention kind against differences of its output, in float64.
 * test_attention_parity compares devices, so each number is checked on one. */
#include "attention_case.h"

/* The loss Σ weight · output. */
static double loss(workspace *space, const attention_case *problem, const double *weight)
{
    static double output[8192];
    double sum = 0;
    assert_in_range(problem->outputs, 1, sizeof output / sizeof *output);
    attention_case_output(space, problem, output);
    for (size_t i = 0; i < problem->outputs; i++)
        sum += weight[i] * output[i];
    return sum;
}

/* The loss after adding `step` · `direction` to an input. */
static double loss_at(workspace *space, attention_case problem, int which, const double *direction,
                      double step, const double *weight)
{
    static double moved[32768];
    assert_in_range(problem.count[which], 1, sizeof moved / sizeof *moved);
    for (size_t i = 0; i < problem.count[which]; i++)
        moved[i] = problem.input[which][i] + step * direction[i];
    problem.input[which] = moved;
    return loss(space, &problem, weight);
}

/* The derivative along a direction by a fourth-order difference with steps of h. */
static double slope(workspace *space, const attention_case *problem, int which,
                    const double *direction, double h, const double *weight)
{
    double near = loss_at(space, *problem, which, direction, h, weight) -
                  loss_at(space, *problem, which, direction, -h, weight);
    double far = loss_at(space, *problem, which, direction, 2 * h, weight) -
                 loss_at(space, *problem, which, direction, -2 * h, weight);
    return (8 * near - far) / (12 * h);
}

/* The slope with steps of h; if it differs by more than the tolerance, with still smaller steps: a
 * maximum of hard-E, of which many may change along a direction, rarely changes within both. */
static double slope_near(workspace *space, const attention_case *problem, int which,
                         const double *direction, double h, const double *weight, double expected,
                         double tolerance)
{
    double wide = slope(space, problem, which, direction, h, weight);
    if (fabs(wide - expected) <= tolerance)
        return wide;
    double narrow = slope(space, problem, which, direction, 0.3 * h, weight);
    return fabs(narrow - expected) < fabs(wide - expected) ? narrow : wide;
}

/* Checks each number of each input. */
static void check_numbers(workspace *space, attention_shape shape)
{
    attention_case problem = attention_case_make(space, shape);
    const double *weight = random_values(space, problem.outputs);
    if (problem.count[PRIOR] > 2)
        problem.input[PRIOR][1] = 1.5; /* clamped: no gradient */
    double *gradient[INPUTS];
    attention_case_gradient(space, &problem, weight, gradient);
    for (int k = 0; k < INPUTS; k++) {
        double *expected = host_array(space, problem.count[k]), largest = 0;
        double *direction = host_array(space, problem.count[k]), own = 0;
        for (size_t i = 0; i < problem.count[k]; i++)
            own = fmax(own, fabs(gradient[k][i]));
        for (size_t i = 0; i < problem.count[k]; i++) {
            direction[i] = 1;
            expected[i] = slope_near(space, &problem, k, direction, 1e-4, weight, gradient[k][i],
                                     0.5e-6 * own);
            direction[i] = 0;
            largest = fmax(largest, fabs(expected[i]));
        }
        /* Far above the rounding error of differences; the gradients of two priors may nearly
         * cancel. */
        if (problem.count[k] > 0 && shape.tokens > 1)
            assert_true(largest > 1e-6);
        assert_rows_match(1, problem.count[k], gradient[k], expected, 1e-6);
    }
}

/* Checks one random direction per input, for cases too large to check each number. */
static void check_directions(workspace *space, attention_shape shape)
{
    attention_case problem = attention_case_make(space, shape);
    const double *weight = random_values(space, problem.outputs);
    double *gradient[INPUTS];
    attention_case_gradient(space, &problem, weight, gradient);
    for (int k = 0; k < INPUTS; k++) {
        if (problem.count[k] == 0)
            continue;
        const double *direction = random_values(space, problem.count[k]);
        double product = 0, square = 0;
        for (size_t i = 0; i < problem.count[k]; i++) {
            product += gradient[k][i] * direction[i];
            square += gradient[k][i] * gradient[k][i];
        }
        const double tolerance = 1e-6 * sqrt(square) + 1e-7;
        assert_close(product,
                     slope_near(space, &problem, k, direction, 1e-6, weight, product, tolerance),
                     tolerance, 0);
    }
}

static const attention_shape small = {.samples = 2,
                                      .heads = 2,
                                      .tokens = 5,
                                      .dim = 3,
                                      .mixtures = 2,
                                      .shortened = 1,
                                      .interleaved = true};

static void every_number_matches_differences(void **state)
{
    for (int i = 0; i < 4; i++) {
        attention_shape shape = small;
        shape.prior = (prior_shape)(i % 3);
        shape.causal = i % 2;
        shape.unequal = i >= 2;
        shape.mixtures = 2 + i % 2;
        attention_for_kinds(*state, shape, check_numbers);
    }
}

static void normalizer_epsilon_passes_gradients(void **state)
{
    static const double epsilons[] = {1e-6, 0.5};
    for (int i = 0; i < 2; i++) {
        attention_shape shape = small;
        shape.normalizer_epsilon = epsilons[i];
        shape.unequal = i % 2;
        attention_for_kinds(*state, shape, check_numbers);
    }
}

static void odd_sizes_match_differences(void **state)
{
    static const int tokens[] = {1, 2, 31, 33, MGK_TEST_LARGEST}, dims[] = {5, 48, 1, 16, 32};
    for (int i = 0; i < 21; i++) {
        attention_shape shape = small;
        shape.tokens = tokens[i / 5];
        shape.dim = dims[i % 5];
        shape.mixtures = 1 + i % 3;
        shape.samples = shape.heads = tokens[i / 5] > 100 ? 1 : 2;
        shape.causal = i % 2;
        shape.normalizer_epsilon = i % 4 == 3 ? 1e-6 : 0;
        shape.unequal = i % 5 == 2;
        shape.prior = (prior_shape)(i % 3);
        attention_for_kinds(*state, shape, check_directions);
    }
}

/* Padding tokens have zero gradients, not values left from an earlier call. */
static void check_padding(workspace *space, attention_shape shape)
{
    attention_case problem = attention_case_make(space, shape);
    double *gradient[INPUTS];
    attention_case_gradient(space, &problem, random_values(space, problem.outputs), gradient);
    for (int k = QUERY; k <= VALUE; k++) {
        size_t width = problem.count[k] / (size_t)(shape.samples * shape.tokens);
        for (size_t i = 0; i < problem.count[k]; i++) {
            int token = (int)(i / width);
            if (token % shape.tokens >= problem.lengths[token / shape.tokens])
                assert_true(gradient[k][i] == 0);
        }
    }
}

static void padding_has_no_gradient(void **state)
{
    attention_shape shape = small;
    shape.samples = 3;
    shape.tokens = 21;
    shape.shortened = 11; /* 21, 10 and 0 tokens */
    attention_for_kinds(*state, shape, check_padding);
}

int main(void)
{
    const struct CMUnitTest numbers[] = {
        cmocka_unit_test(every_number_matches_differences),
        cmocka_unit_test(normalizer_epsilon_passes_gradients),
    };
    const struct CMUnitTest sizes[] = {
        cmocka_unit_test(odd_sizes_match_differences),
        cmocka_unit_test(padding_has_no_gradient),
    };
    return attention_run_best(sizeof numbers / sizeof *numbers, numbers) +
           attention_run_tests(true, sizeof sizes / sizeof *sizes, sizes);
}
