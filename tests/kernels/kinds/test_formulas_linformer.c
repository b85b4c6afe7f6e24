/* SPDX-License-Identifier: MIT */
/*
 * kernels/attention/linformer.c against its formula, softmax(Q (E K)ᵀ / √D) E, in double.
 */
#include <math.h>

#include "kind_case.h"

/* The small setting of kind_case.c. */
enum { PROJECTION = 2 };

static const double *vector(const kind_case *problem, kind_input input, int b, int t, int h)
{
    const kind_shape *s = &problem->shape;
    return problem->layers[0].input[input] +
           (size_t)(((b * s->tokens + t) * s->heads + h) * s->dim);
}

static kind_shape shape_of(const char *kind)
{
    return (kind_shape){
        .kind = mgk_attention_find(kind), .heads = 4, .tokens = 21, .dim = 3, .shortened = 18};
}

/* A = P F with P = softmax(Q (E K)ᵀ / √D), whose rank is at most that of F; F is E, or another map.
 */
static void check_formula(workspace *space, const char *kind, int second, bool own)
{
    const kind_case problem = kind_case_make(space, shape_of(kind));
    const kind_shape *s = &problem.shape;
    const double *e = problem.layers[0].input[KIND_PARAMETERS];
    const double *f = problem.layers[0].input[KIND_PARAMETERS + second];
    const int length = kind_case_size(&problem, 0).length;
    const double *maps[] = {e, f};
    double *expected = host_array(space, problem.matrices), *row = expected;
    for (int b = 0; b < KIND_SAMPLES; b++)
        for (int h = 0; h < s->heads; h++)
            for (int i = 0; i < s->tokens; i++, row += s->tokens) {
                const int n = problem.lengths[b];
                const int at = own ? h * PROJECTION * length : 0;
                e = maps[0] + at;
                f = maps[1] + at;
                double p[PROJECTION], sum = 0;
                for (int r = 0; r < PROJECTION; r++) {
                    p[r] = 0;
                    for (int j = 0; j < n; j++)
                        p[r] += e[r * length + j] * kind_dot(s->dim,
                                                             vector(&problem, KIND_QUERY, b, i, h),
                                                             vector(&problem, KIND_KEY, b, j, h));
                    sum += p[r] = exp(p[r] / sqrt(s->dim));
                }
                for (int j = 0; i < n && j < n; j++)
                    for (int r = 0; r < PROJECTION; r++)
                        row[j] += p[r] / sum * f[r * length + j];
            }
    assert_rows_close(problem.matrices / (size_t)s->tokens, (size_t)s->tokens,
                      kind_case_matrices(space, &problem), expected, 10 * space->tolerance);
    workspace_release(space);
}

static void linformers_are_their_formulas(void **state)
{
    check_formula(*state, "linformer", 0, false);
    check_formula(*state, "linformer-separate", 1, false);
    check_formula(*state, "linformer-heads", 0, true);
}

static void linformer_has_the_rank_of_its_map(void **state)
{
    workspace *space = *state;
    const kind_case problem = kind_case_make(space, shape_of("linformer"));
    if (space->device->precision == MGK_DOUBLE)
        assert_int_equal(
            kind_matrix_rank(problem.shape.tokens, kind_case_matrices(space, &problem)),
            PROJECTION);
    workspace_release(space);
}

/* Sums of as many keys as the model has positions have the variance of a key. */
static void maps_begin_with_a_variance_of_one_over_n(void **state)
{
    static const char *const kinds[] = {"linformer", "linformer-separate", "linformer-heads"};
    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        const mgk_attention_kind *kind = mgk_attention_find(kinds[k]);
        const mgk_attention_settings settings = {.projection = 8};
        const mgk_attention_size size = {
            .heads = 2, .tokens = 64, .length = 64, .dim = 4, .settings = &settings};
        mgk_kind_parameter parameters[MGK_KIND_PARAMETERS];
        const int count = kind->parameters(&size, parameters);
        for (int p = 0; p < count; p++) {
            assert_int_equal(parameters[p].initial, MGK_INITIAL_NORMAL);
            assert_true(fabs(parameters[p].value * parameters[p].value * 64 - 1) < 1e-12);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maps_begin_with_a_variance_of_one_over_n),
        cmocka_unit_test(linformers_are_their_formulas),
        cmocka_unit_test(linformer_has_the_rank_of_its_map),
    };
    return kind_run_tests(sizeof tests / sizeof *tests, tests);
}
