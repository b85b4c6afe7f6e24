/* SPDX-License-Identifier: MIT */
/* Every attention kind against its definition: matrices, outputs and priors, in both precisions. */
#include <stdlib.h>

#include "attention_case.h"

static const attention_shape plain = {
    .samples = 2, .heads = 2, .tokens = 33, .dim = 16, .mixtures = 2};

static const mgk_device *device_of(void **state)
{
    return ((const workspace *)*state)->device;
}

static void odd_sizes_match(void **state)
{
    static const int tokens[] = {MGK_TEST_SIZES}, dims[] = {5, 48, 1, 16, 32};
    const int last = 5 * (int)(sizeof tokens / sizeof *tokens - 1);
    for (int i = 0; i < last + 2; i++) {
        if (!takes_shape(device_of(state), i))
            continue;
        attention_shape shape = plain;
        /* two dimensions only for the largest, so that the test stays fast */
        shape.tokens = tokens[i / 5];
        shape.dim = dims[i % 5];
        shape.mixtures = 1 + i % 3;
        shape.samples = shape.tokens == MGK_TEST_LARGEST ? 1 : 2;
        shape.heads = shape.tokens == MGK_TEST_LARGEST ? 1 : 3;
        shape.causal = i % 2;
        attention_for_kinds(*state, shape, attention_compare);
    }
}

static void every_prior_shape_matches(void **state)
{
    for (int i = 0; i < 6; i++) { /* pairs each value of a field with each value of another */
        if (!takes_shape(device_of(state), i))
            continue;
        attention_shape shape = plain;
        shape.prior = (prior_shape)(i % 3);
        shape.unequal = i % 2;
        shape.causal = i / 3;
        shape.mixtures = 3;
        attention_for_kinds(*state, shape, attention_compare);
    }
}

static void masks_and_strides_match(void **state)
{
    for (int i = 0; i < 4; i++) { /* pairs each value of a field with each value of another */
        if (!takes_shape(device_of(state), i))
            continue;
        attention_shape shape = plain;
        shape.samples = 3;
        shape.tokens = 37;
        shape.shortened = 19; /* 37, 18 and 0 tokens */
        shape.interleaved = i & 1;
        shape.causal = i & 2;
        shape.prior = shape.interleaved != shape.causal ? PRIOR_OF_KEY : PRIOR_OF_COMPONENT;
        attention_for_kinds(*state, shape, attention_compare);
    }
}

/* Masked keys, with priors that leave some rows without scores, or all keys of all samples. */
static void mask_keys(workspace *space, attention_shape shape)
{
    if (!shape.kind->masks)
        return;
    attention_case problem = attention_case_make(space, shape);
    attention_compare_case(space, &problem);
    for (size_t i = 0; i < problem.count[PRIOR]; i++)
        problem.input[PRIOR][i] = 0;
    attention_compare_case(space, &problem);
}

static void masked_keys_match(void **state)
{
    const workspace *space = *state;
    for (int i = 0; i < 8 && !space->device->accelerator; i++) {
        attention_shape shape = plain;
        shape.shortened = 5;
        shape.masked = i & 1 ? 1 : 3;
        shape.causal = i & 2;
        shape.normalizer_epsilon = i & 4 ? 1e-6 : 0;
        attention_for_kinds(*state, shape, mask_keys);
    }
}

static void normalizer_epsilon_matches(void **state)
{
    static const double epsilons[] = {1e-6, 0.1, 100};
    for (int i = 0; i < 6; i++) {
        if (!takes_shape(device_of(state), i))
            continue;
        attention_shape shape = plain;
        shape.normalizer_epsilon = epsilons[i / 2];
        shape.unequal = i % 2;
        shape.causal = i % 2;
        attention_for_kinds(*state, shape, attention_compare);
    }
}

/* Windows of 1, a few and many keys; every value of a field meets several of the others. */
static void score_terms_match(void **state)
{
    workspace *space = *state;
    static const int windows[] = {0, 1, 5, 40, 200};
    if (!space->device->all_parts)
        skip();
    for (int i = 0; i < 40; i++) {
        attention_shape shape = plain;
        shape.kind = mgk_attention_find("softmax");
        shape.samples = 3;
        shape.tokens = i % 4 == 0 ? 131 : 37;
        shape.shortened = i % 3 ? 19 : 0;
        shape.window = windows[i % 5];
        shape.causal = i % 2;
        shape.cap = i / 2 % 2 ? 0.75 : 0;
        shape.biased = i / 4 % 2;
        shape.by_key = i % 3 == 2;
        shape.scale = i / 8 % 2 ? 0.5 : 0;
        shape.sides = i / 3 % 2 ? 6 : 0;
        shape.normalizer_epsilon = i == 7 ? 0.5 : 0;
        attention_compare(space, shape);
        workspace_release(space);
    }
}

static void sum_rows(workspace *space, attention_shape shape)
{
    attention_case problem = attention_case_make(space, shape);
    double *matrix = host_array(space, problem.matrices);
    attention_case_matrix(space, &problem, MGK_MATRIX_ATTENTION, matrix);
    for (int row = 0; row < shape.samples * shape.heads * shape.tokens; row++) {
        int sample = row / (shape.heads * shape.tokens);
        double sum = 0;
        for (int j = 0; j < shape.tokens; j++)
            sum += matrix[row * shape.tokens + j];
        bool valid = row % shape.tokens < problem.lengths[sample];
        assert_close(sum, valid ? 1 : 0, space->tolerance, 0);
    }
}

static void rows_sum_to_one(void **state)
{
    attention_shape shape = plain;
    shape.shortened = 5;
    attention_for_kinds(*state, shape, sum_rows);
    shape.causal = true;
    attention_for_kinds(*state, shape, sum_rows);
}

/* A device's results for a case and a random gradient of its output, and the expected matrix. */
typedef struct answers {
    double *matrix, *output, *gradient[INPUTS];
    double *expected; /* reference matrix */
} answers;

/* The workspace keeps all arrays. */
static answers solve(workspace *space, const attention_case *problem)
{
    answers found = {.matrix = host_array(space, problem->matrices),
                     .output = host_array(space, problem->outputs),
                     .expected = host_array(space, problem->matrices)};
    double *scores = host_array(space, problem->matrices);
    attention_reference_matrix(space, problem, found.expected, scores);
    attention_case_matrix(space, problem, MGK_MATRIX_ATTENTION, found.matrix);
    attention_case_output(space, problem, found.output);
    attention_case_gradient(space, problem, random_values(space, problem->outputs), found.gradient);
    return found;
}

/* Queries 1000 units from every key: rows are finite and still sum to 1. Logits of dot products
 * reach thousands there, so fewer digits are correct. */
static void look_from_afar(workspace *space, attention_shape shape)
{
    attention_case problem = attention_case_make(space, shape);
    for (size_t i = 0; i < problem.count[QUERY]; i++)
        problem.input[QUERY][i] += i / (size_t)shape.dim % 2 ? 1000 : -1000;
    answers found = solve(space, &problem);
    size_t n = (size_t)shape.tokens;
    assert_rows_match(problem.matrices / n, n, found.matrix, found.expected,
                      1000 * space->tolerance);
    for (size_t i = 0; i < problem.outputs; i++)
        assert_true(isfinite(found.output[i]));
    for (int k = 0; k < INPUTS; k++)
        for (size_t i = 0; i < problem.count[k]; i++)
            assert_true(isfinite(found.gradient[k][i]));
}

static void distant_queries_give_numbers(void **state)
{
    attention_shape shape = plain;
    for (int i = 0; i < 4; i++) {
        if (!takes_shape(device_of(state), i))
            continue;
        shape.unequal = i & 1;
        shape.normalizer_epsilon = i & 2 ? 1e-6 : 0;
        attention_for_kinds(*state, shape, look_from_afar);
    }
}

/* A key with all priors 0 has score 0; a row of such keys is uniform. */
static void silence(workspace *space, attention_shape shape)
{
    attention_case problem = attention_case_make(space, shape);
    double *weighed = host_array(space, problem.outputs);
    for (size_t i = 0; i < problem.count[PRIOR]; i++)
        problem.input[PRIOR][i] = i % 2 ? 0 : -1;
    answers found = solve(space, &problem);
    size_t n = (size_t)shape.tokens;
    if (problem.count[PRIOR] > 0 && shape.normalizer_epsilon == 0)
        assert_close(found.matrix[0], shape.causal ? 1 : 1.0 / shape.tokens, space->tolerance, 0);
    assert_rows_match(problem.matrices / n, n, found.matrix, found.expected, space->tolerance);
    attention_weigh_values(&problem, found.expected, weighed);
    assert_rows_match(1, problem.outputs, found.output, weighed, space->tolerance);
    for (size_t i = 0; problem.count[PRIOR] > 0 && i < problem.count[QUERY]; i++)
        assert_true(found.gradient[QUERY][i] == 0);
}

static void zero_priors_give_uniform_rows(void **state)
{
    attention_shape shape = plain;
    for (int i = 0; i < 4; i++) {
        if (!takes_shape(device_of(state), i))
            continue;
        shape.causal = i & 1;
        shape.normalizer_epsilon = i & 2 ? 1e-6 : 0;
        attention_for_kinds(*state, shape, silence);
    }
}

/* NaN stays NaN instead of turning into a plausible row. */
static void spread_nan(workspace *space, attention_shape shape)
{
    size_t n = (size_t)shape.tokens, dim = (size_t)shape.dim, heads = (size_t)shape.heads;
    for (int input = QUERY; input <= KEY; input++) {
        attention_case problem = attention_case_make(space, shape);
        double *matrix = host_array(space, problem.matrices);
        double *output = host_array(space, problem.outputs);
        /* Query 0 of head 0, or the last component of key 0 of that head. */
        size_t width = problem.count[input] / ((size_t)shape.samples * n);
        double *vector = problem.input[input] + width - heads * dim;
        for (size_t d = 0; d < dim; d++)
            vector[d] = NAN;
        attention_case_matrix(space, &problem, MGK_MATRIX_ATTENTION, matrix);
        attention_case_output(space, &problem, output);
        assert_true(isnan(matrix[0]) && isnan(output[0]));
        bool second_row = isnan(matrix[n]), second_head = isnan(matrix[n * n]);
        assert_true(second_row == (input == KEY) && !second_head);
        workspace_release(space);
    }
}

static void nan_is_not_hidden(void **state)
{
    attention_shape shape = plain;
    for (int causal = 0; causal < 2; causal++) {
        shape.causal = causal;
        attention_for_kinds(*state, shape, spread_nan);
    }
}

static void update(workspace *space, attention_shape shape)
{
    if (shape.prior_mode != MGK_PRIOR_EM)
        return;
    attention_case problem = attention_case_make(space, shape);
    double *prior = host_array(space, problem.count[PRIOR]);
    double *expected = host_array(space, problem.count[PRIOR]);
    problem.input[PRIOR][0] = 0;
    attention_reference_update_prior(space, &problem, expected);
    attention_case_update_prior(space, &problem, prior);
    assert_rows_match(problem.count[PRIOR], 1, prior, expected, space->tolerance);
}

static void soft_priors_match(void **state)
{
    for (int i = 0; i < 12; i++) {
        if (!takes_shape(device_of(state), i))
            continue;
        attention_shape shape = plain;
        shape.mixtures = 1 + i % 2 * 2;
        shape.causal = i / 2 % 2;
        shape.prior = (prior_shape)(i / 4);
        shape.samples = 3;
        shape.shortened = 6;
        attention_for_kinds(*state, shape, update);
    }
}

/* With TF32, which has 10 bits after the point, results differ from those in float32, but little.
 */
static void tf32_is_close(void **state)
{
    workspace *space = *state, rounding = {0};
    const char *name = getenv("MGK_TEST_DEVICE");
    if (!name || !space->device->accelerator || space->device->precision == MGK_DOUBLE)
        return;
    assert_ok(mgk_device_open(name, MGK_SINGLE, 1, &rounding.device));
    assert_ok(rounding.device->op->allow_tf32(rounding.device));
    rounding.tolerance = space->tolerance;
    for (int i = 0; i < 4; i++) {
        attention_shape shape = plain;
        shape.kind = mgk_attention_find(i % 2 ? "mgk" : "softmax");
        shape.tokens = 70;
        shape.dim = 16 << i; /* a size of its own for each kernel */
        attention_case problem = attention_case_make(space, shape);
        const double *doutput = random_values(space, problem.outputs);
        double *gradient[INPUTS], *rounded[INPUTS];
        double *output = host_array(space, problem.outputs);
        double *rounded_output = host_array(space, problem.outputs);
        double *matrix = host_array(space, problem.matrices);
        double *rounded_matrix = host_array(space, problem.matrices);
        attention_case_matrix(space, &problem, MGK_MATRIX_ATTENTION, matrix);
        attention_case_matrix(&rounding, &problem, MGK_MATRIX_ATTENTION, rounded_matrix);
        attention_case_output(space, &problem, output);
        attention_case_output(&rounding, &problem, rounded_output);
        attention_case_gradient(space, &problem, doutput, gradient);
        attention_case_gradient(&rounding, &problem, doutput, rounded);
        assert_rows_close(1, problem.matrices, rounded_matrix, matrix, 2e-2);
        assert_memory_not_equal(rounded_matrix, matrix, problem.matrices * sizeof(double));
        assert_rows_close(1, problem.outputs, rounded_output, output, 2e-2);
        assert_memory_not_equal(rounded_output, output, problem.outputs * sizeof(double));
        for (int k = QUERY; k <= VALUE; k++) {
            assert_rows_close(1, problem.count[k], rounded[k], gradient[k], 2e-2);
            assert_memory_not_equal(rounded[k], gradient[k], problem.count[k] * sizeof(double));
        }
        workspace_release(&rounding);
        workspace_release(space);
    }
    mgk_device_close(rounding.device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(odd_sizes_match),
        cmocka_unit_test(every_prior_shape_matches),
        cmocka_unit_test(masks_and_strides_match),
        cmocka_unit_test(masked_keys_match),
        cmocka_unit_test(normalizer_epsilon_matches),
        cmocka_unit_test(score_terms_match),
        cmocka_unit_test(rows_sum_to_one),
        cmocka_unit_test(distant_queries_give_numbers),
        cmocka_unit_test(zero_priors_give_uniform_rows),
        cmocka_unit_test(nan_is_not_hidden),
        cmocka_unit_test(soft_priors_match),
        cmocka_unit_test(tf32_is_close),
    };
    return attention_run_tests(false, sizeof tests / sizeof *tests, tests);
}
