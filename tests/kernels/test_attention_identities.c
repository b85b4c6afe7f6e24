/* SPDX-License-Identifier: MIT */
/* The paper's statements about attention, checked without the general reference. */
#include <string.h>

#include "attention_case.h"

static attention_case make(workspace *space, const char *kind, attention_shape shape)
{
    shape.kind = mgk_attention_find(kind);
    return attention_case_make(space, shape);
}

static double *matrix_of(workspace *space, const attention_case *problem)
{
    double *matrix = host_array(space, problem->matrices);
    attention_case_matrix(space, problem, MGK_MATRIX_ATTENTION, matrix);
    return matrix;
}

static void assert_same_matrix(workspace *space, const attention_case *a, const attention_case *b,
                               double tolerance)
{
    size_t n = (size_t)a->shape.tokens;
    assert_rows_match(a->matrices / n, n, matrix_of(space, a), matrix_of(space, b), tolerance);
}

static void normalise_vectors(double *x, size_t count, size_t dim)
{
    for (size_t i = 0; i < count; i += dim) {
        double square = 0;
        for (size_t d = 0; d < dim; d++)
            square += x[i + d] * x[i + d];
        for (size_t d = 0; d < dim; d++)
            x[i + d] /= sqrt(square);
    }
}

/* Paper, Eqn. 6. The variance of a case is √D by default. */
static void one_gaussian_key_is_softmax(void **state)
{
    workspace *space = *state;
    attention_shape shape = {.samples = 2, .heads = 3, .tokens = 33, .dim = 16, .mixtures = 1};
    attention_case softmax = make(space, "softmax", shape), mgk = make(space, "mgk", shape);
    normalise_vectors(softmax.input[QUERY], softmax.count[QUERY], 16);
    normalise_vectors(softmax.input[KEY], softmax.count[KEY], 16);
    memcpy(mgk.input[QUERY], softmax.input[QUERY], softmax.count[QUERY] * sizeof(double));
    memcpy(mgk.input[KEY], softmax.input[KEY], softmax.count[KEY] * sizeof(double));
    mgk.input[PRIOR][0] = 1;
    assert_same_matrix(space, &mgk, &softmax, space->tolerance);
    workspace_release(space);
}

/* M equal keys whose priors sum to 1 are one key. */
static void equal_keys_are_one_key(void **state)
{
    workspace *space = *state;
    static const char *const kinds[] = {"mgk", "smgk", "mlk", "smlk"};
    static const double priors[] = {0.5, 0.125, 0.375};
    for (size_t k = 0; k < 4; k++) {
        attention_shape shape = {.samples = 1, .heads = 2, .tokens = 31, .dim = 5, .mixtures = 3};
        attention_case three = make(space, kinds[k], shape);
        shape.mixtures = 1;
        attention_case one = make(space, kinds[k], shape);
        size_t width = 10, copies = three.count[KEY] / one.count[KEY];
        memcpy(one.input[QUERY], three.input[QUERY], one.count[QUERY] * sizeof(double));
        for (size_t i = 0; i < three.count[KEY]; i++)
            three.input[KEY][i] = one.input[KEY][i / (copies * width) * width + i % width];
        for (size_t i = 0; i < three.count[SHIFT]; i++)
            three.input[SHIFT][i] = one.input[SHIFT][i % width];
        memcpy(three.input[PRIOR], priors, sizeof priors);
        one.input[PRIOR][0] = 1;
        assert_same_matrix(space, &three, &one, space->tolerance);
        workspace_release(space);
    }
}

/* Hard-E is the limit of learned, equal priors as σ → 0. */
static void hard_is_the_limit_of_small_variances(void **state)
{
    workspace *space = *state;
    attention_shape shape = {.samples = 1, .heads = 2, .tokens = 17, .dim = 5, .mixtures = 3};
    attention_case soft = make(space, "mgk", shape);
    shape.prior_mode = MGK_PRIOR_HARD;
    attention_case hard = make(space, "mgk", shape);
    for (int k = QUERY; k <= VALUE; k++)
        hard.input[k] = soft.input[k];
    for (size_t r = 0; r < 3; r++)
        soft.input[PRIOR][r] = 1.0 / 3;
    static const double variances[] = {1, 1e-3};
    double differences[2] = {0};
    for (int step = 0; step < 2; step++) {
        for (int r = 0; r < 3; r++)
            soft.variance[r] = hard.variance[r] = variances[step];
        const double *a = matrix_of(space, &soft), *b = matrix_of(space, &hard);
        for (size_t i = 0; i < soft.matrices; i++)
            differences[step] = fmax(differences[step], fabs(a[i] - b[i]));
    }
    assert_true(differences[0] > 1e-2);
    assert_close(differences[1], 0, 1e-6, 0);
    workspace_release(space);
}

/*
 * MGK is softmax over the M N keys k_jr with the bias ln π_jr − ‖k_jr‖²/2σ², written out for one
 * head: the matrix is the sum of the M column blocks.
 */
static void mixture_is_softmax_over_biased_keys(void **state)
{
    enum { N = 19, D = 7, M = 3 };
    workspace *space = *state;
    attention_shape shape = {
        .samples = 1, .heads = 1, .tokens = N, .dim = D, .mixtures = M, .prior = PRIOR_OF_KEY};
    attention_case problem = make(space, "mgk", shape);
    double expected[N * N] = {0};
    for (int i = 0; i < N; i++) {
        double weight[N * M], sum = 0;
        for (int column = 0; column < N * M; column++) {
            int j = column % N, r = column / N;
            const double *k = problem.input[KEY] + (j * M + r) * D;
            double logit = log(problem.input[PRIOR][r * N + j]);
            for (int d = 0; d < D; d++)
                logit += (problem.input[QUERY][i * D + d] * k[d] - k[d] * k[d] / 2) / sqrt(D);
            weight[column] = exp(logit);
            sum += weight[column];
        }
        for (int column = 0; column < N * M; column++)
            expected[i * N + column % N] += weight[column] / sum;
    }
    assert_rows_match(N, N, matrix_of(space, &problem), expected, space->tolerance);
    workspace_release(space);
}

/*
 * Eqn. 11 by hand. Two causal tokens (and one of padding) of dimension 1, σ² = 1/2, so that
 * exp(−‖q − k‖²/2σ²) is 1 at distance 0 and 1/2 at a = √ln 2; priors 1/4 and 3/4.
 * Queries 0, a; keys of token 0: 0, a; keys of token 1: a, 0.
 *
 * Responsibilities of component 0:
 *   query 0, key 0: (1/4) / (1/4 + 3/8) = 2/5
 *   query 1, key 0: (1/8) / (1/8 + 3/4) = 1/7
 *   query 1, key 1: (1/4) / (1/4 + 3/8) = 2/5
 */
static void soft_priors_follow_the_responsibilities(void **state)
{
    workspace *space = *state;
    const double a = sqrt(log(2));
    const double queries[] = {0, a, 9}, keys[] = {0, a, a, 0, 9, 9};
    const double first[][3] = {{11.0 / 35}, {11.0 / 35}, {19.0 / 70, 2.0 / 5, 1.0 / 4}};
    for (int s = PRIOR_OF_COMPONENT; s <= PRIOR_OF_KEY; s++) {
        attention_shape shape = {.samples = 1,
                                 .heads = 1,
                                 .tokens = 3,
                                 .dim = 1,
                                 .mixtures = 2,
                                 .causal = true,
                                 .prior = (prior_shape)s,
                                 .prior_mode = MGK_PRIOR_EM};
        attention_case problem = make(space, "mgk", shape);
        size_t positions = problem.count[PRIOR] / 2;
        problem.lengths[0] = 2;
        problem.variance[0] = problem.variance[1] = 0.5;
        memcpy(problem.input[QUERY], queries, sizeof queries);
        memcpy(problem.input[KEY], keys, sizeof keys);
        for (size_t i = 0; i < 2 * positions; i++)
            problem.input[PRIOR][i] = i < positions ? 0.25 : 0.75;
        double found[6];
        attention_case_update_prior(space, &problem, found);
        for (size_t j = 0; j < positions; j++) {
            assert_close(found[j], first[s][j], space->tolerance, 0);
            assert_close(found[positions + j], 1 - first[s][j], space->tolerance, 0);
        }
        workspace_release(space);
    }
}

/* The registry finds its rows by their names only. */
static void kinds_are_found_by_name(void **state)
{
    (void)state;
    static const char *const names[] = {"softmax", "mgk", "smgk", "linear", "mlk", "smlk"};
    for (size_t i = 0; i < 6; i++) {
        assert_ptr_equal(mgk_attention_find(names[i]), mgk_attention_row(i));
        assert_string_equal(mgk_attention_row(i)->name, names[i]);
    }
    assert_null(mgk_attention_row(1000));
    assert_null(mgk_attention_find("mg"));
    assert_null(mgk_attention_find(""));
}

/* Costs counted by hand for H = 2, N = 3, D = 4, M = 2; six pairs of query and key are visible. */
static void costs_are_counted(void **state)
{
    (void)state;
    const mgk_attention_size size = {
        .heads = 2, .tokens = 3, .dim = 4, .mixtures = 2, .causal = true};
    mgk_attention_size single = size;
    single.mixtures = 1;
    const mgk_attention_kind *softmax = mgk_attention_find("softmax");
    const mgk_attention_kind *mgk = mgk_attention_find("mgk"), *smgk = mgk_attention_find("smgk");
    assert_true(mgk_attention_pairs(&size) == 6);
    assert_true(softmax->flops(softmax, &single) == 2 * (6 * (4 * 4 + 5) + 3 * 4));
    assert_true(mgk->flops(mgk, &size) ==
                2 * (6 * (2 * (2 * 4 + 6) + 2 * 4) + 3 * (2 * (2 * 4 + 2) + 4)));
    assert_true(smgk->flops(smgk, &size) == mgk->flops(mgk, &size));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_gaussian_key_is_softmax),
        cmocka_unit_test(equal_keys_are_one_key),
        cmocka_unit_test(hard_is_the_limit_of_small_variances),
        cmocka_unit_test(mixture_is_softmax_over_biased_keys),
        cmocka_unit_test(soft_priors_follow_the_responsibilities),
        cmocka_unit_test(kinds_are_found_by_name),
        cmocka_unit_test(costs_are_counted),
    };
    return attention_run_tests(false, sizeof tests / sizeof *tests, tests);
}
