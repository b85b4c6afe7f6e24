/* SPDX-License-Identifier: MIT */
/* Gradients of every kind on every device equal those of the CPU's best level in double, which
 * test_attention_gradient checks against differences. */
#include "attention_case.h"

static void compare(workspace *space, attention_shape shape)
{
    attention_case problem = attention_case_make(space, shape);
    if (problem.count[PRIOR] > 2)
        problem.input[PRIOR][1] = 1.5; /* clamped: no gradient */
    const double *doutput = random_values(space, problem.outputs);
    double *gradient[INPUTS], *expected[INPUTS];
    mgk_device *device = space->device;
    attention_case_gradient(space, &problem, doutput, gradient);
    unsetenv("MGK_CPU_LEVEL"); /* the best; the next device sets its own */
    assert_ok(mgk_device_open("cpu", MGK_DOUBLE, 1, &space->device));
    attention_case_gradient(space, &problem, doutput, expected);
    mgk_device_close(space->device);
    space->device = device;
    /* Gradients of priors and shifts are differences of numbers around 1, and may be 0. */
    const bool near = device->precision == MGK_SINGLE && !device->accelerator;
    for (int k = 0; k < INPUTS; k++)
        assert_rows_close(1, problem.count[k], gradient[k], expected[k],
                          (near && k <= VALUE ? 1 : 10) * space->tolerance);
    workspace_release(space);
}

static void gradients_are_those_of_the_cpu(void **state)
{
    static const int tokens[] = {1, 33, MGK_TEST_LARGEST, 1, 33, MGK_TEST_LARGEST, 37, 70};
    static const int dims[] = {5, 100, 48, 16, 250, 33, 27, 5};
    const int step = TEST_STEP == 1 ? 1 : 2; /* with sanitizers every number of tokens, too */
    for (int i = 0; i < 8; i += step) {
        attention_shape shape = {.samples = 2,
                                 .heads = 2,
                                 .tokens = tokens[i],
                                 .dim = dims[i],
                                 .mixtures = 1 + i / 2 % 3,
                                 .prior = (prior_shape)(i % 3),
                                 .causal = i == 1 || i == 2,
                                 .unequal = i % 3 == 2,
                                 .normalizer_epsilon = i == 4 ? 1e-3 : 0,
                                 .interleaved = i % 2,
                                 .shortened = tokens[i] / 4};
        attention_for_kinds(*state, shape, compare);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(gradients_are_those_of_the_cpu)};
    return attention_run_tests(false, sizeof tests / sizeof *tests, tests);
}
