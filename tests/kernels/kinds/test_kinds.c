/* SPDX-License-Identifier: MIT */
/*
 * What holds for every kind of attention: the output is A·V, padding is 0, rows sum to 1 where the
 * kind says so, a causal kind sees no later token, samples of a batch do not depend on each other
 * or on their padding, gradients are those of differences, and those of all devices are the same.
 * Formulas are in test_formulas_*.c.
 */
#include <math.h>
#include <string.h>

#include "kind_case.h"

static size_t row_of(const kind_case *problem, int b, int h, int i)
{
    return ((size_t)(b * problem->shape.heads + h) * (size_t)problem->shape.tokens + (size_t)i) *
           (size_t)problem->shape.tokens;
}

/* Output [B, N, H, D] of a matrix [B, H, N, N]. */
static double *weigh_values(workspace *space, const kind_case *problem, const double *value,
                            const double *matrix)
{
    const kind_shape *s = &problem->shape;
    double *out = host_array(space, problem->outputs);
    for (int b = 0; b < KIND_SAMPLES; b++)
        for (int h = 0; h < s->heads; h++)
            for (int i = 0; i < s->tokens; i++)
                for (int d = 0; d < s->dim; d++) {
                    double sum = 0;
                    for (int j = 0; j < s->tokens; j++)
                        sum += matrix[row_of(problem, b, h, i) + (size_t)j] *
                               value[((size_t)(b * s->tokens + j) * (size_t)s->heads + (size_t)h) *
                                         (size_t)s->dim +
                                     (size_t)d];
                    out[((size_t)(b * s->tokens + i) * (size_t)s->heads + (size_t)h) *
                            (size_t)s->dim +
                        (size_t)d] = sum;
                }
    return out;
}

/* Padding is 0 in rows and columns; rows sum to 1, or to 0 where the query sees nothing. */
static void check_matrix(const workspace *space, const kind_case *problem, const double *matrix)
{
    const kind_shape *s = &problem->shape;
    for (int b = 0; b < KIND_SAMPLES; b++)
        for (int h = 0; h < s->heads; h++)
            for (int i = 0; i < s->tokens; i++) {
                const double *row = matrix + row_of(problem, b, h, i);
                const int n = problem->lengths[b];
                double sum = 0;
                for (int j = 0; j < s->tokens; j++) {
                    const bool padding = i >= n || j >= n || (s->causal && j > i);
                    if (padding ? row[j] != 0 : !isfinite(row[j]))
                        fail_msg("%s: entry %d, %d of sample %d is %g", s->kind->name, i, j, b,
                                 row[j]);
                    sum += row[j];
                }
                const bool blank = sum == 0 && (i >= n || s->kind->may_be_blank);
                if (!s->kind->unnormalized && !blank &&
                    !(fabs(sum - (i < n)) <= 10 * space->tolerance))
                    fail_msg("%s: row %d of sample %d sums to %.17g", s->kind->name, i, b, sum);
            }
}

static void compare_output(workspace *space, kind_shape shape)
{
    const kind_case problem = kind_case_make(space, shape);
    double *outputs = host_array(space, (size_t)problem.depth * problem.outputs);
    double *matrices = host_array(space, (size_t)problem.depth * problem.matrices);
    const bool has = shape.kind->methods->matrix != NULL;
    kind_case_run(space, &problem, outputs, MGK_MATRIX_ATTENTION, has ? matrices : NULL);
    for (int l = 0; has && l < problem.depth; l++) {
        const double *matrix = matrices + (size_t)l * problem.matrices;
        check_matrix(space, &problem, matrix);
        if (shape.kind->own_values)
            continue;
        assert_rows_close(
            problem.outputs / (size_t)shape.dim, (size_t)shape.dim,
            outputs + (size_t)l * problem.outputs,
            weigh_values(space, &problem, problem.layers[l].input[KIND_VALUE], matrix),
            space->tolerance * (shape.kind->signed_entries ? 100 : 1));
    }
    for (size_t i = 0; i < problem.outputs; i++) { /* padding of sample 1 */
        const size_t row = problem.outputs / KIND_SAMPLES / (size_t)shape.tokens;
        const size_t token = i / row % (size_t)shape.tokens;
        if (token >= (size_t)problem.lengths[i / row / (size_t)shape.tokens])
            assert_true(outputs[i] == 0);
    }
}

/* The tokens of a sample [n, ...] of an array [B, N, ...] of so many numbers. */
static void copy_sample(const kind_case *from, const kind_case *to, int b, int n, size_t count,
                        const double *x, double *y)
{
    const size_t row = count / KIND_SAMPLES / (size_t)from->shape.tokens;
    memcpy(y + (size_t)(b * to->shape.tokens) * row, x + (size_t)(b * from->shape.tokens) * row,
           (size_t)n * row * sizeof *y);
}

/* What stands in padding, and how much of it there is, change nothing. */
static void compare_padded(workspace *space, kind_shape shape)
{
    kind_case padded = kind_case_make(space, shape);
    const int n = padded.lengths[1];
    if (n == 0 || n == shape.tokens)
        return;
    kind_shape own = shape;
    own.tokens = n;
    own.shortened = 0;
    own.length = kind_case_size(&padded, 0).length;
    kind_case alone = kind_case_make(space, own);
    for (int l = 0; l < padded.depth; l++) {
        const kind_layer *from = &padded.layers[l], *to = &alone.layers[l];
        for (int i = 0; i < KIND_INPUTS; i++) {
            if (from->count[i] > 0 && i >= KIND_PARAMETERS)
                memcpy(to->input[i], from->input[i], from->count[i] * sizeof *to->input[i]);
            else if (from->count[i] > 0)
                copy_sample(&padded, &alone, 1, n, from->count[i], from->input[i], to->input[i]);
        }
    }
    double *outputs = host_array(space, (size_t)padded.depth * padded.outputs);
    double *expected = host_array(space, (size_t)alone.depth * alone.outputs);
    double *found = host_array(space, alone.outputs);
    kind_case_run(space, &padded, outputs, MGK_MATRIX_ATTENTION, NULL);
    kind_case_run(space, &alone, expected, MGK_MATRIX_ATTENTION, NULL);
    for (int l = 0; l < padded.depth; l++) {
        const size_t half = alone.outputs / KIND_SAMPLES;
        copy_sample(&padded, &alone, 1, n, padded.outputs, outputs + (size_t)l * padded.outputs,
                    found);
        assert_rows_close(1, half, found + half, expected + (size_t)l * alone.outputs + half,
                          space->tolerance * (shape.kind->signed_entries ? 100 : 1));
    }
}

/*
 * Later tokens of causal kinds, and the other sample of all kinds, change nothing. Where later
 * tokens have a say in the choice of keys, only their values do.
 */
static void compare_changed(workspace *space, kind_shape shape)
{
    kind_case problem = kind_case_make(space, shape);
    const size_t sample = problem.outputs / KIND_SAMPLES, row = sample / (size_t)shape.tokens;
    const size_t kept = shape.causal ? (size_t)(shape.tokens / 2) * row : sample;
    double *before = host_array(space, (size_t)problem.depth * problem.outputs);
    double *after = host_array(space, (size_t)problem.depth * problem.outputs);
    kind_case_run(space, &problem, before, MGK_MATRIX_ATTENTION, NULL);
    for (int l = 0; l < problem.depth; l++)
        for (int i = 0; i < KIND_PARAMETERS; i++) {
            const size_t count = problem.layers[l].count[i];
            const bool chooses = shape.kind->choice_looks_ahead && i != KIND_VALUE;
            const size_t same = chooses ? sample : kept;
            const size_t first = count * same / problem.outputs; /* the same share of every array */
            for (size_t k = first; k < count; k++)
                problem.layers[l].input[i][k] += 1;
        }
    kind_case_run(space, &problem, after, MGK_MATRIX_ATTENTION, NULL);
    for (int l = 0; l < problem.depth; l++)
        assert_rows_close(1, kept, after + (size_t)l * problem.outputs,
                          before + (size_t)l * problem.outputs, space->tolerance);
}

/* A large normalizer_epsilon changes the outputs of those kinds that say so. */
static void compare_epsilon(workspace *space, kind_shape shape)
{
    kind_case problem = kind_case_make(space, shape);
    const size_t count = (size_t)problem.depth * problem.outputs;
    double *without = host_array(space, count), *with = host_array(space, count);
    kind_case_run(space, &problem, without, MGK_MATRIX_ATTENTION, NULL);
    problem.shape.epsilon = 1000;
    kind_case_run(space, &problem, with, MGK_MATRIX_ATTENTION, NULL);
    const bool same = memcmp(without, with, count * sizeof(*with)) == 0;
    if (same != shape.kind->plain_sums)
        fail_msg("%s: outputs %s", shape.kind->name, same ? "stay the same" : "change");
}

static long double weighted_output(workspace *space, const kind_case *problem,
                                   const double *weights)
{
    const size_t count = (size_t)problem->depth * problem->outputs;
    double *outputs = host_array(space, count);
    long double sum = 0; /* of a difference of large sums */
    kind_case_run(space, problem, outputs, MGK_MATRIX_ATTENTION, NULL);
    for (size_t i = 0; i < count; i++)
        sum += (long double)outputs[i] * weights[i];
    mgk_free(outputs);
    space->host_count--;
    return sum;
}

enum { DIFFERENCES = 24 / TEST_STEP }; /* numbers of an input that are tested */

/* Differences, of fourth order to both sides and of second order to one. */
typedef struct stencil {
    double places[5], weights[5];
} stencil;

static const stencil both_sides = {{-2, -1, 0, 1, 2}, {1, -8, 0, 8, -1}};
static const stencil one_side = {{0, 1, 2}, {-18, 24, -6}};

static double difference(workspace *space, const kind_case *problem, const double *weights,
                         double *x, const stencil *by, double step)
{
    const double at = *x;
    long double sum = 0;
    for (int i = 0; i < 5; i++) {
        *x = at + by->places[i] * step;
        if (by->weights[i] != 0)
            sum += by->weights[i] * weighted_output(space, problem, weights);
    }
    *x = at;
    return (double)(sum / (12 * step));
}

static bool is_close(double found, double expected)
{
    return isfinite(found) && fabs(found - expected) <= 1e-7 * fmax(1, fabs(expected));
}

/*
 * The first step is large, so that rounding does not matter; sharp functions need smaller ones.
 * Between its places there may be a kink of a relu, which small steps to one of both sides miss.
 */
static void check_gradient(workspace *space, const kind_case *problem, const double *weights, int l,
                           int input, size_t k)
{
    const double found = problem->layers[l].gradient[input][k];
    double *x = &problem->layers[l].input[input][k];
    const double expected = difference(space, problem, weights, x, &both_sides, 0x1p-12);
    if (is_close(found, expected) ||
        is_close(found, difference(space, problem, weights, x, &both_sides, 0x1p-16)) ||
        is_close(found, difference(space, problem, weights, x, &both_sides, 0x1p-24)) ||
        is_close(found, difference(space, problem, weights, x, &one_side, 0x1p-20)) ||
        is_close(found, difference(space, problem, weights, x, &one_side, -0x1p-20)))
        return;
    fail_msg("%s, layer %d: gradient of input %d [%zu] is %.12g, expected %.12g",
             problem->shape.kind->name, l, input, k, found, expected);
}

static void compare_with_differences(workspace *space, kind_shape shape)
{
    kind_case problem = kind_case_make(space, shape);
    if (!shape.kind->methods->backward)
        return;
    double *weights = random_values(space, (size_t)problem.depth * problem.outputs);
    kind_case_gradients(space, &problem, weights);
    for (int l = 0; l < problem.depth; l++)
        for (int i = 0; i < KIND_INPUTS; i++) {
            const size_t count = problem.layers[l].count[i];
            if (i >= KIND_PARAMETERS && problem.parameters[i - KIND_PARAMETERS].drawn)
                continue;
            for (size_t k = 0; k < count; k += count / DIFFERENCES + 1)
                check_gradient(space, &problem, weights, l, i, k);
        }
}

/* The best device, in double, whose gradients are compared with differences. */
static mgk_device *exact;

static void compare_gradients(workspace *space, kind_shape shape)
{
    kind_case problem = kind_case_make(space, shape);
    if (!shape.kind->methods->backward)
        return;
    const double *weights = random_values(space, (size_t)problem.depth * problem.outputs);
    double *found[KIND_LAYERS][KIND_INPUTS];
    kind_case_gradients(space, &problem, weights);
    for (int l = 0; l < problem.depth; l++)
        for (int i = 0; i < KIND_INPUTS; i++) {
            const size_t count = problem.layers[l].count[i];
            found[l][i] = host_array(space, count);
            if (count > 0)
                memcpy(found[l][i], problem.layers[l].gradient[i], count * sizeof(double));
        }
    const workspace reference = {.device = exact};
    kind_case_gradients(&reference, &problem, weights);
    for (int l = 0; l < problem.depth; l++)
        for (int i = 0; i < KIND_INPUTS; i++)
            assert_rows_close(1, problem.layers[l].count[i], found[l][i],
                              problem.layers[l].gradient[i], 100 * space->tolerance);
}

/* Sizes at which gradients are tested. With sanitizers the largest would take most of the time. */
#ifndef MGK_TEST_GRADIENT_SIZES
#define MGK_TEST_GRADIENT_SIZES 3
#endif

/* Calls body for every kind, causal or not, in the first `sizes` of three sizes. */
static void for_kinds(workspace *space, size_t sizes, void (*body)(workspace *, kind_shape))
{
    static const kind_shape shapes[] = {
        {.heads = 2, .tokens = 13, .dim = 3, .shortened = 4},
        {.heads = 2, .tokens = 1, .dim = 2, .shortened = 1},
        {.heads = 3, .tokens = 37, .dim = 4, .shortened = 20},
    };
    const char *only = getenv("MGK_TEST_KIND");
    for (size_t row = 0; mgk_attention_row(row); row++)
        for (size_t i = 0; i < sizes; i++)
            for (int causal = 0; causal < 2; causal++) {
                kind_shape shape = shapes[i];
                shape.kind = mgk_attention_row(row);
                shape.causal = causal;
                if (shape.kind->mixture || (only && strcmp(only, shape.kind->name) != 0) ||
                    !mgk_attention_runs_on(shape.kind, space->device) || !kind_can(shape))
                    continue;
                body(space, shape);
                workspace_release(space);
            }
}

static void output_is_that_of_matrix(void **state)
{
    for_kinds(*state, 3, compare_output);
}

static void others_change_nothing(void **state)
{
    for_kinds(*state, 3, compare_changed);
}

static void padding_changes_nothing(void **state)
{
    for_kinds(*state, 3, compare_padded);
}

static void epsilon_is_added_where_said(void **state)
{
    for_kinds(*state, 1, compare_epsilon);
}

static void gradients_are_differences(void **state)
{
    for_kinds(*state, MGK_TEST_GRADIENT_SIZES, compare_with_differences);
}

static void gradients_are_the_same(void **state)
{
    for_kinds(*state, 3, compare_gradients);
}

/* The output is A·V with the largest value of each setting too, wherever a kind accepts it. */
static void settings_have_limits(void **state)
{
    workspace *space = *state;
    const mgk_attention_kind *kind;
    for (size_t i = 0; (kind = mgk_attention_row(i)); i++)
        for (const mgk_attention_setting *row = mgk_attention_setting_rows; row->name; row++) {
            kind_shape shape = {.kind = kind, .heads = 2, .tokens = 7, .dim = 2, .shortened = 2};
            shape.causal = kind->causal_only;
            if (space->device->precision != MGK_DOUBLE || row->words || kind->mixture ||
                mgk_attention_setting_get(&kind->defaults, row) == 0)
                continue;
            mgk_attention_setting_put(&shape.settings, row, row->most);
            if (!kind_can(shape))
                continue;
            compare_output(space, shape);
            workspace_release(space);
        }
}

/* Landmarks, blocks and chosen keys beyond the N tokens take no memory. */
static void memory_has_limits(void **state)
{
    static const struct {
        const char *kind, *setting;
    } limited[] = {
        {"nystrom", "landmarks"},  {"csalr", "landmarks"},
        {"informer", "landmarks"}, {"improved-clustered", "landmarks"},
        {"reformer", "block"},     {"sinkhorn", "block"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof limited / sizeof *limited; i++) {
        const mgk_attention_kind *kind = mgk_attention_find(limited[i].kind);
        const mgk_attention_setting *row = mgk_attention_setting_rows;
        kind_case problem = {
            .shape = {
                .kind = kind, .settings = kind->defaults, .heads = 3, .tokens = 11, .dim = 2}};
        const mgk_attention_size size = kind_case_size(&problem, 0);
        while (strcmp(row->name, limited[i].setting) != 0)
            row++;
        mgk_attention_setting_put(&problem.shape.settings, row, problem.shape.tokens);
        const mgk_kind_memory few = kind->methods->memory(&size, KIND_SAMPLES, true);
        mgk_attention_setting_put(&problem.shape.settings, row, row->most);
        const mgk_kind_memory most = kind->methods->memory(&size, KIND_SAMPLES, true);
        assert_int_equal(few.kept, most.kept);
        assert_int_equal(few.scratch, most.scratch);
    }
}

/* What the registry tells people. */
static void rows_are_complete(void **state)
{
    (void)state;
    const mgk_attention_kind *kind;
    for (size_t row = 0; (kind = mgk_attention_row(row)); row++) {
        assert_ptr_equal(mgk_attention_find(kind->name), kind);
        assert_true(strlen(kind->name) < 24);
        assert_non_null(kind->score);
        assert_non_null(kind->rank_bound);
        assert_non_null(kind->methods->primitives);
        assert_true((kind->methods->matrix == NULL) == (kind->no_matrix != NULL));
        assert_true(kind->flops != NULL && !(kind->not_causal && kind->causal_only));
    }
}

static int run_on(workspace *space)
{
    const struct CMUnitTest tests[] = {
        {"rows_are_complete", rows_are_complete, NULL, NULL, space},
        {"output_is_that_of_matrix", output_is_that_of_matrix, NULL, NULL, space},
        {"others_change_nothing", others_change_nothing, NULL, NULL, space},
        {"settings_have_limits", settings_have_limits, NULL, NULL, space},
        {"memory_has_limits", memory_has_limits, NULL, NULL, space},
        {"padding_changes_nothing", padding_changes_nothing, NULL, NULL, space},
        {"epsilon_is_added_where_said", epsilon_is_added_where_said, NULL, NULL, space},
        {"gradients_are_the_same", gradients_are_the_same, NULL, NULL, space},
    };
    return _cmocka_run_group_tests(space->device->name, tests, sizeof tests / sizeof *tests, NULL,
                                   NULL);
}

int main(void)
{
    exact = open_best_device(MGK_DOUBLE);
    workspace best = {.device = exact, .tolerance = 1e-12};
    const struct CMUnitTest slow[] = {
        {"gradients_are_differences", gradients_are_differences, NULL, NULL, &best}};
    int failures = _cmocka_run_group_tests(exact->name, slow, 1, NULL, NULL);
    for (mgk_precision precision = MGK_SINGLE; precision <= MGK_DOUBLE; precision++) {
        workspace space = {.tolerance = precision == MGK_DOUBLE ? 1e-12 : 1e-5};
        for (int index = 0, threads = 1;
             (space.device = open_next_device(&index, precision, threads)); threads = 4 - threads) {
            failures += run_on(&space);
            mgk_device_close(space.device);
        }
    }
    mgk_device_close(exact);
    return failures;
}
