/* SPDX-License-Identifier: MIT */
/*
 * Kinds that see a part of the keys by their structure
 * (kernels/attention/{longformer,lowrank_band,etc,bpt}.c) against their formulas, evaluated entry
 * by entry in double.
 */
#include <math.h>
#include <string.h>

#include "entries.h"

/* The small settings of kind_case.c. */
enum { GLOBAL = 2, PROJECTION = 2 };

static double product(const kind_case *problem, int b, int h, int i, int j)
{
    return entry_weight(problem->shape.dim, entry_token(problem, KIND_QUERY, b, i, h),
                        entry_token(problem, KIND_KEY, b, j, h));
}

/* Query 0, key 1 or value 2 of a token, of the maps of global tokens: extra [B, N, 3, H, D]. */
static const double *global_token(const kind_case *problem, int which, int b, int t, int h)
{
    const kind_shape *s = &problem->shape;
    return problem->layers[0].input[KIND_EXTRA] +
           (size_t)((((b * s->tokens + t) * 3 + which) * s->heads + h) * s->dim);
}

static double longformer(const kind_case *problem, int b, int h, int i, int j)
{
    if (i < GLOBAL)
        return entry_weight(problem->shape.dim, global_token(problem, 0, b, i, h),
                            global_token(problem, 1, b, j, h));
    return j < GLOBAL || abs(i - j) <= problem->shape.settings.window ? product(problem, b, h, i, j)
                                                                      : 0;
}

static double lowrank_band(const kind_case *problem, int b, int h, int i, int j)
{
    if (h % 2 == 0)
        return entry_weight(PROJECTION, entry_token(problem, KIND_QUERY, b, i, h),
                            entry_token(problem, KIND_KEY, b, j, h));
    return abs(i - j) <= problem->shape.settings.window ? product(problem, b, h, i, j) : 0;
}

/* The vector of a pair's label: of labels [2, 26, H, D], the first half for other queries. */
static const double *label_of(const kind_case *problem, int h, int i, int j)
{
    const kind_shape *s = &problem->shape;
    const int distance = j - i < -12 ? -12 : j - i > 12 ? 12 : j - i;
    const int label = (i < GLOBAL) != (j < GLOBAL) ? 25 : distance + 12;
    return problem->layers[0].input[KIND_PARAMETERS] +
           (size_t)((((i < GLOBAL) * 26 + label) * s->heads + h) * s->dim);
}

static double etc(const kind_case *problem, int b, int h, int i, int j)
{
    const bool seen = i < GLOBAL || j < GLOBAL || abs(i - j) <= problem->shape.settings.window;
    const double *query = entry_token(problem, KIND_QUERY, b, i, h);
    return seen ? product(problem, b, h, i, j) *
                      entry_weight(problem->shape.dim, query, label_of(problem, h, i, j))
                : 0;
}

/* Tokens first … end − 1. */
typedef struct span {
    int first, end;
} span;

/*
 * The span of BP-Transformer that has token j, as query i sees it: `window` spans of each length on
 * each side, of which the first is half as long where a whole one would not begin (to the right) or
 * end (to the left) at a multiple of the length.
 */
static span span_of(int window, int i, int j)
{
    int edge = j > i ? i + 1 : i;
    for (int length = 1; j != i; length *= 2)
        for (int k = 0; k < window; k++) {
            const int own = k == 0 && edge % length != 0 ? length / 2 : length;
            const int next = j > i ? edge + own : edge - own;
            if (j > i ? j < next : j >= next)
                return j > i ? (span){edge, next} : (span){next, edge};
            edge = next;
        }
    return (span){j, j + 1};
}

static double bpt(const kind_case *problem, int b, int h, int i, int j)
{
    enum { MOST = 8 };
    const int dim = problem->shape.dim;
    span own = span_of(problem->shape.settings.window, i, j);
    double mean[MOST] = {0};
    assert_true(dim <= MOST && own.first >= 0);
    if (own.end > problem->lengths[b])
        own.end = problem->lengths[b];
    for (int t = own.first; t < own.end; t++)
        for (int d = 0; d < dim; d++)
            mean[d] += entry_token(problem, KIND_KEY, b, t, h)[d] / (own.end - own.first);
    return entry_weight(dim, entry_token(problem, KIND_QUERY, b, i, h), mean) /
           (own.end - own.first);
}

static const struct formula {
    const char *name;
    entry_score *score;
} formulas[] = {
    {"longformer", longformer}, {"lowrank-band", lowrank_band}, {"etc", etc}, {"bpt", bpt}};
enum { FORMULAS = sizeof formulas / sizeof *formulas };

/* Calls body for each formula, causal or not, with a sample shorter than the global tokens, or with
 * a window that is wider than ETC's farthest distance and of BP-Transformer's leaves half spans. */
static void for_formulas(workspace *space,
                         void (*body)(workspace *, const kind_case *, entry_score *))
{
    for (int f = 0; f < FORMULAS; f++)
        for (int causal = 0; causal < 2; causal++)
            for (int large = 0; large < 2; large++) {
                kind_shape shape = {.kind = mgk_attention_find(formulas[f].name),
                                    .heads = large ? 3 : 2,
                                    .tokens = large ? 70 : 19,
                                    .dim = 5,
                                    .causal = causal,
                                    .shortened = large ? 23 : 18};
                assert_non_null(shape.kind);
                if (large && shape.kind->defaults.window)
                    shape.settings.window = shape.kind->pattern_keys ? 5 : 20;
                if (!kind_can(shape)) {
                    assert_true(causal && shape.kind->not_causal);
                    continue;
                }
                const kind_case problem = kind_case_make(space, shape);
                body(space, &problem, formulas[f].score);
                workspace_release(space);
            }
}

static void matrices_are_formulas(void **state)
{
    for_formulas(*state, entries_match);
}

/* Global tokens weigh other values, which the common test of outputs leaves out. */
static const double *value_of(const kind_case *problem, int b, int h, int i, int j)
{
    return i < GLOBAL ? global_token(problem, 2, b, j, h)
                      : entry_token(problem, KIND_VALUE, b, j, h);
}

static void compare_values(workspace *space, const kind_case *problem, entry_score *score)
{
    if (problem->shape.kind->own_values)
        entry_outputs_match(space, problem, score, value_of);
}

static void global_tokens_weigh_their_values(void **state)
{
    for_formulas(*state, compare_values);
}

static void logits_have_a_low_rank(void **state)
{
    enum { TOKENS = 19 };
    workspace *space = *state;
    const kind_case problem = kind_case_make(
        space,
        (kind_shape){
            .kind = mgk_attention_find("lowrank-band"), .heads = 2, .tokens = TOKENS, .dim = 5});
    double *outputs = host_array(space, problem.outputs);
    double *scores = host_array(space, problem.matrices);
    kind_case_run(space, &problem, outputs, MGK_MATRIX_SCORES, scores);
    for (int k = 0; k < TOKENS * TOKENS; k++)
        scores[k] = log(scores[k]);
    if (space->device->precision == MGK_DOUBLE)
        assert_int_equal(kind_matrix_rank(TOKENS, scores), PROJECTION);
    workspace_release(space);
}

static kind_shape lowrank_shape(int heads)
{
    return (kind_shape){
        .kind = mgk_attention_find("lowrank-band"), .heads = heads, .tokens = 5, .dim = 2};
}

/* One head has no band beside it; heads of fewer numbers than `projection` take all. */
static void one_head_is_refused(void **state)
{
    (void)state;
    assert_true(kind_can(lowrank_shape(2)));
    assert_false(kind_can(lowrank_shape(1)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matrices_are_formulas),
        cmocka_unit_test(global_tokens_weigh_their_values),
        cmocka_unit_test(logits_have_a_low_rank),
        cmocka_unit_test(one_head_is_refused),
    };
    return kind_run_tests(sizeof tests / sizeof *tests, tests);
}
