/* SPDX-License-Identifier: MIT */
/*
 * Kinds of kernels/attention/sparse.c against their formulas: softmax over the pairs that a
 * condition on positions names, in double.
 */
#include <math.h>

#include "kind_case.h"

/* The small settings of kind_case.c. */
enum { WINDOW = 3, DILATION = 2, BLOCK = 4, GLOBAL = 2, RANDOM = 2 };

static bool in_band(int head, int i, int j)
{
    (void)head;
    return abs(i - j) <= WINDOW;
}

static bool in_dilated_band(int head, int i, int j)
{
    (void)head;
    return abs(i - j) <= WINDOW * DILATION && (i - j) % DILATION == 0;
}

static bool is_global(int head, int i, int j)
{
    (void)head;
    return i < GLOBAL || j < GLOBAL;
}

static bool on_stride(int head, int i, int j)
{
    (void)head;
    return (i - j) % BLOCK == 0;
}

static bool is_fixed(int head, int i, int j)
{
    (void)head;
    return i / BLOCK == j / BLOCK || j % BLOCK >= BLOCK - GLOBAL;
}

static bool in_block(int head, int i, int j)
{
    (void)head;
    return i / BLOCK == j / BLOCK;
}

static bool in_chunks(int head, int i, int j)
{
    (void)head;
    return i / WINDOW == j / WINDOW || i / WINDOW == j / WINDOW + 1;
}

static bool in_star(int head, int i, int j)
{
    (void)head;
    return i == 0 || j == 0 || abs(i - j) <= 1;
}

/* Layer 0 of KIND_LAYERS = 3: heads 0 to 2 have no doubling, head 3 has one. */
static bool in_scaled_band(int head, int i, int j)
{
    return abs(i - j) <= (head < KIND_LAYERS ? WINDOW : 2 * WINDOW);
}

static const struct formula {
    const char *kind;
    bool (*sees)(int head, int i, int j);
} formulas[] = {
    {"band", in_band},     {"dilated", in_dilated_band},
    {"global", is_global}, {"strided", on_stride},
    {"fixed", is_fixed},   {"block", in_block},
    {"star", in_star},     {"multi-scale", in_scaled_band},
    {"chunks", in_chunks},
};

static const double *vector(const kind_case *problem, kind_input input, int b, int t, int h)
{
    const kind_shape *s = &problem->shape;
    return problem->layers[0].input[input] +
           (size_t)(((b * s->tokens + t) * s->heads + h) * s->dim);
}

static kind_shape shape_of(const char *kind, bool causal)
{
    return (kind_shape){.kind = mgk_attention_find(kind),
                        .heads = 4,
                        .tokens = 21,
                        .dim = 3,
                        .causal = causal,
                        .shortened = 6};
}

static void compare(workspace *space, const struct formula *formula, bool causal)
{
    const kind_case problem = kind_case_make(space, shape_of(formula->kind, causal));
    const kind_shape *s = &problem.shape;
    double *expected = host_array(space, problem.matrices), *row = expected;
    for (int b = 0; b < KIND_SAMPLES; b++)
        for (int h = 0; h < s->heads; h++)
            for (int i = 0; i < s->tokens; i++, row += s->tokens) {
                const int n = problem.lengths[b];
                double sum = 0;
                for (int j = 0; i < n && j < n; j++)
                    if (formula->sees(h, i, j) && !(causal && j > i))
                        sum += row[j] = exp(kind_dot(s->dim, vector(&problem, KIND_QUERY, b, i, h),
                                                     vector(&problem, KIND_KEY, b, j, h)) /
                                            sqrt(s->dim));
                for (int j = 0; j < n && sum > 0; j++)
                    row[j] /= sum;
            }
    assert_rows_close(problem.matrices / (size_t)s->tokens, (size_t)s->tokens,
                      kind_case_matrices(space, &problem), expected, 10 * space->tolerance);
    workspace_release(space);
}

static void patterns_are_conditions(void **state)
{
    for (size_t i = 0; i < sizeof formulas / sizeof *formulas; i++)
        for (int causal = 0; causal < 2; causal++)
            compare(*state, &formulas[i], causal);
}

/* Entries above 0 of a row. */
static int seen(const double *row, int tokens)
{
    int count = 0;
    for (int j = 0; j < tokens; j++)
        count += row[j] > 0;
    return count;
}

/*
 * A query of random attention sees itself and others, at most `random` in all because some of the
 * drawn ones are padding; heads differ, samples and runs do not.
 */
static void random_keys_are_drawn(void **state)
{
    workspace *space = *state;
    kind_case problem = kind_case_make(space, shape_of("random", false));
    const size_t tokens = (size_t)problem.shape.tokens;
    const size_t head = tokens * tokens, sample = head * (size_t)problem.shape.heads;
    problem.lengths[1] = problem.lengths[0];
    const double *found = kind_case_matrices(space, &problem);
    const double *again = kind_case_matrices(space, &problem);
    bool heads_differ = false;
    int most = 0;
    for (size_t k = 0; k < sample; k++) {
        assert_true((found[k] > 0) == (found[sample + k] > 0) && found[k] == again[k]);
        heads_differ |= (found[k % head] > 0) != (found[head + k % head] > 0);
    }
    for (size_t i = 0; i < tokens; i++) {
        const int count = seen(found + i * tokens, problem.shape.tokens);
        assert_true(found[i * tokens + i] > 0);
        assert_in_range(count, 1, RANDOM);
        most = count > most ? count : most;
    }
    assert_true(heads_differ && most == RANDOM);
    workspace_release(space);
}

/* The 23 positions of the model are six blocks: 21 tokens end in the last one. */
static void bigbird_sees_blocks(void **state)
{
    workspace *space = *state;
    const kind_case problem = kind_case_make(space, shape_of("bigbird", false));
    const int tokens = problem.shape.tokens, last = (tokens + 2 - 1) / BLOCK;
    const double *row = kind_case_matrices(space, &problem);
    int others = 0;
    for (int h = 0; h < problem.shape.heads; h++)
        for (int i = 0; i < tokens; i++, row += tokens)
            for (int j = 0; j < tokens; j++) {
                const int own = i / BLOCK, other = j / BLOCK;
                const bool certain =
                    own == 0 || own == last || other == 0 || other == last || abs(own - other) <= 1;
                assert_true(!certain || row[j] > 0);
                others += !certain && row[j] > 0;
                assert_true((row[j] > 0) == (row[other * BLOCK] > 0));
            }
    assert_true(others > 0);
    workspace_release(space);
}

/* The largest window and dilation, whose product no int holds; and more keys than can be drawn. */
static void settings_have_limits(void **state)
{
    workspace *space = *state;
    kind_shape shape = shape_of("dilated", false);
    shape.settings.window = 1 << 20;
    for (int dilation = 1; dilation <= 1 << 20; dilation *= 1 << 10) {
        shape.settings.dilation = dilation;
        const kind_case problem = kind_case_make(space, shape);
        const double *row = kind_case_matrices(space, &problem);
        for (int i = 0; i < shape.tokens; i++, row += shape.tokens)
            for (int j = 0; j < shape.tokens; j++)
                assert_true((row[j] > 0) == ((i - j) % dilation == 0));
    }
    for (int i = 0; i < 2; i++) {
        shape = shape_of(i == 0 ? "random" : "bigbird", false);
        shape.settings.random = 256;
        assert_true(kind_can(shape));
        shape.settings.random = 257;
        assert_false(kind_can(shape));
    }
    workspace_release(space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_are_conditions),
        cmocka_unit_test(random_keys_are_drawn),
        cmocka_unit_test(bigbird_sees_blocks),
        cmocka_unit_test(settings_have_limits),
    };
    return kind_run_tests(sizeof tests / sizeof *tests, tests);
}
