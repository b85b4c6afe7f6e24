/* SPDX-License-Identifier: MIT */
/*
 * Kinds of feature maps against their formulas: the features of every query and key and their
 * products in double, or the recurrence of the delta rule, and the ranks that follow.
 */
#include <string.h>

#include "kind_case.h"

enum { MOST_FEATURES = 512, MOST_DIM = 8 };

/* φ of x at a position in the sequence; returns the number of features. */
typedef int feature_fn(const kind_case *problem, int head, int position, const double *x,
                       double *phi);

typedef struct formula {
    const char *kind;
    mgk_attention_settings settings; /* 0: those of kind_case */
    feature_fn *features;
    double least; /* of a row's sum, times the number of features; 0: any */
} formula;

static const double *omega_row(const kind_case *problem, int head, int r)
{
    const size_t *shape = problem->parameters[0].shape;
    return problem->layers[0].input[KIND_PARAMETERS] +
           ((size_t)head * shape[1] + (size_t)r) * shape[2];
}

/* x / D^¼; returns ‖x'‖²/2. */
static double scale_input(int dim, const double *x, double *out)
{
    for (int d = 0; d < dim; d++)
        out[d] = x[d] / pow(dim, 0.25);
    return kind_dot(dim, out, out) / 2;
}

static int positive(const kind_case *problem, int head, int position, const double *x, double *phi)
{
    (void)position;
    const int count = problem->shape.settings.features, dim = problem->shape.dim;
    double scaled[MOST_DIM];
    const double half = scale_input(dim, x, scaled);
    for (int r = 0; r < count; r++)
        phi[r] = exp(kind_dot(dim, omega_row(problem, head, r), scaled) - half) / sqrt(count);
    return count;
}

static int trigonometric(const kind_case *problem, int head, int position, const double *x,
                         double *phi)
{
    (void)position;
    const int rows = problem->shape.settings.features / 2, dim = problem->shape.dim;
    double scaled[MOST_DIM];
    const double half = scale_input(dim, x, scaled);
    for (int r = 0; r < rows; r++) {
        const double u = kind_dot(dim, omega_row(problem, head, r), scaled);
        phi[r] = exp(half) * sin(u) / sqrt(rows);
        phi[rows + r] = exp(half) * cos(u) / sqrt(rows);
    }
    return 2 * rows;
}

static double function_of(int map, double u)
{
    switch (map) {
    case MGK_CHOICE_RELU:
        return fmax(u, 0);
    case MGK_CHOICE_SIGMOID:
        return 1 / (1 + exp(-u));
    case MGK_CHOICE_EXP:
        return exp(u);
    case MGK_CHOICE_ABS:
        return fabs(u);
    case MGK_CHOICE_GELU:
        return u * 0.5 * erfc(-u / sqrt(2));
    case MGK_CHOICE_COS:
        return cos(u);
    case MGK_CHOICE_TANH:
        return tanh(u);
    default:
        return u;
    }
}

static int generalized(const kind_case *problem, int head, int position, const double *x,
                       double *phi)
{
    (void)position;
    const int count = problem->shape.settings.features, dim = problem->shape.dim;
    double scaled[MOST_DIM];
    scale_input(dim, x, scaled);
    for (int r = 0; r < count; r++)
        phi[r] = 1e-3 + function_of(problem->shape.settings.feature_map,
                                    kind_dot(dim, omega_row(problem, head, r), scaled));
    return count;
}

static int on_sphere(const kind_case *problem, int head, int position, const double *x, double *phi)
{
    (void)position;
    const int rows = problem->shape.settings.features / 2, dim = problem->shape.dim;
    const double length = sqrt(kind_dot(dim, x, x)) + 1e-3;
    for (int r = 0; r < rows; r++) {
        const double u = kind_dot(dim, omega_row(problem, head, r), x) / length;
        phi[r] = sin(u) / sqrt(rows);
        phi[rows + r] = cos(u) / sqrt(rows);
    }
    return 2 * rows;
}

static int turned(const kind_case *problem, int head, int position, const double *x, double *phi)
{
    (void)head;
    const mgk_attention_size size = kind_case_size(problem, 0);
    const double angle = acos(-1) * position / (2 * size.length);
    for (int d = 0; d < size.dim; d++) {
        phi[d] = fmax(x[d], 0) * cos(angle);
        phi[size.dim + d] = fmax(x[d], 0) * sin(angle);
    }
    return 2 * size.dim;
}

static int rolled(const kind_case *problem, int head, int position, const double *x, double *phi)
{
    (void)head;
    (void)position;
    const int dim = problem->shape.dim, rolls = problem->shape.settings.features;
    double y[2 * MOST_DIM];
    for (int d = 0; d < dim; d++) {
        y[d] = fmax(x[d], 0);
        y[dim + d] = fmax(-x[d], 0);
    }
    for (int r = 1; r <= rolls; r++)
        for (int e = 0; e < 2 * dim; e++)
            phi[(r - 1) * 2 * dim + e] = y[e] * y[(e - r + 2 * dim * rolls) % (2 * dim)];
    return 2 * dim * rolls;
}

/* 1 − sigmoid(5). */
#define LEAST_SHARE 0.006692850924284856

#define GENERALIZED(map) "performer", {.feature_map = map}, generalized, 0

static const formula formulas[] = {
    {"performer", {.features = 0}, positive, 0},
    {"performer", {.features = 9, .feature_draw = MGK_DRAW_IID}, positive, 0},
    {"performer", {.features = 256, .feature_map = MGK_CHOICE_TRIGONOMETRIC}, trigonometric, 0},
    {GENERALIZED(MGK_CHOICE_RELU)},
    {GENERALIZED(MGK_CHOICE_SIGMOID)},
    {GENERALIZED(MGK_CHOICE_EXP)},
    {GENERALIZED(MGK_CHOICE_ABS)},
    {GENERALIZED(MGK_CHOICE_GELU)},
    {GENERALIZED(MGK_CHOICE_COS)},
    {GENERALIZED(MGK_CHOICE_TANH)},
    {GENERALIZED(MGK_CHOICE_IDENTITY)},
    {"rfa", {.features = 0}, on_sphere, 200},
    {"rfa", {.features = 256}, on_sphere, 200},
    {"rfa-gate", {.features = 0}, on_sphere, 200 * LEAST_SHARE},
    {"rfa-gate", {.features = 256}, on_sphere, 200 * LEAST_SHARE},
    {"cosformer", {.features = 0}, turned, 0},
    {"dpfp", {.features = 1}, rolled, 0},
    {"dpfp", {.features = 3}, rolled, 0},
};
enum { FORMULAS = sizeof formulas / sizeof *formulas };

static const double *vector_of(const kind_case *problem, kind_input input, int sample, int token,
                               int head)
{
    const kind_shape *s = &problem->shape;
    return problem->layers[0].input[input] +
           ((size_t)(sample * s->tokens + token) * (size_t)s->heads + (size_t)head) *
               (size_t)s->dim;
}

static size_t place_of(const kind_case *problem, int sample, int head, int query)
{
    const kind_shape *s = &problem->shape;
    return ((size_t)(sample * s->heads + head) * (size_t)s->tokens + (size_t)query) *
           (size_t)s->tokens;
}

/* The decay of a token. */
static double gate_of(const kind_case *problem, int sample, int head, int token)
{
    const kind_shape *s = &problem->shape;
    const kind_layer *layer = &problem->layers[0];
    return 1 / (1 + exp(-layer->input[KIND_EXTRA][(sample * s->tokens + token) * s->heads + head] -
                        layer->input[KIND_PARAMETERS + 1][head]));
}

/* What gates leave of token j at token i. */
static double gate_weight(const kind_case *problem, int sample, int head, int i, int j)
{
    if (strcmp(problem->shape.kind->name, "rfa-gate") != 0)
        return 1;
    double weight = 1 - gate_of(problem, sample, head, j);
    for (int l = j + 1; l <= i; l++)
        weight *= gate_of(problem, sample, head, l);
    return weight;
}

/* Row i of A; returns Σ |φ_r(q_i) φ_r(k_j)| over the sum of the row, by which errors grow. */
static double expected_row(const kind_case *problem, const formula *f, int sample, int head, int i,
                           double *row)
{
    double query[MOST_FEATURES], key[MOST_FEATURES], sum = 0, sizes = 0;
    const int end = problem->shape.causal ? i + 1 : problem->lengths[sample];
    const int count =
        f->features(problem, head, i, vector_of(problem, KIND_QUERY, sample, i, head), query);
    for (int j = 0; j < end; j++) {
        f->features(problem, head, j, vector_of(problem, KIND_KEY, sample, j, head), key);
        const double weight = gate_weight(problem, sample, head, i, j);
        sum += row[j] = weight * kind_dot(count, query, key);
        for (int r = 0; r < count; r++)
            sizes += weight * fabs(query[r] * key[r]);
    }
    if (f->least > 0)
        sum = fmax(sum, f->least / count);
    for (int j = 0; j < end; j++)
        row[j] = sum == 0 ? 0 : row[j] / sum;
    return sum == 0 ? 1 : sizes / fabs(sum);
}

static double *matrices_of(workspace *space, const kind_case *problem)
{
    double *outputs = host_array(space, problem->outputs);
    double *matrices = host_array(space, problem->matrices);
    kind_case_run(space, problem, outputs, MGK_MATRIX_ATTENTION, matrices);
    return matrices;
}

static void compare_formula(workspace *space, const formula *f, kind_shape shape)
{
    shape.kind = mgk_attention_find(f->kind);
    shape.settings = f->settings;
    if (!kind_can(shape))
        return;
    const kind_case problem = kind_case_make(space, shape);
    const double *matrices = matrices_of(space, &problem);
    double *row = host_array(space, (size_t)shape.tokens);
    for (int b = 0; b < KIND_SAMPLES; b++)
        for (int h = 0; h < shape.heads; h++)
            for (int i = 0; i < problem.lengths[b]; i++) {
                memset(row, 0, (size_t)shape.tokens * sizeof *row);
                const double growth = expected_row(&problem, f, b, h, i, row);
                assert_rows_close(1, (size_t)shape.tokens, matrices + place_of(&problem, b, h, i),
                                  row, space->tolerance * fmax(1, growth));
            }
}

static const kind_shape shapes[] = {
    {.heads = 2, .tokens = 13, .dim = 3, .shortened = 4},
    {.heads = 3, .tokens = 37, .dim = 4, .shortened = 20},
    {.heads = 2, .tokens = 37, .dim = 4, .shortened = 1, .causal = true},
};

static void compare_formulas(workspace *space)
{
    for (int k = 0; k < FORMULAS; k++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
            compare_formula(space, &formulas[k], shapes[i]);
            workspace_release(space);
        }
}

static void matrices_are_those_of_formulas(void **state)
{
    (void)state;
    on_whole_devices(MGK_SINGLE, 3, compare_formulas);
}

/* Features of the delta rule: those of DPFP divided by their sum. */
static int unit_rolled(const kind_case *problem, const double *x, double *phi)
{
    const int count = rolled(problem, 0, 0, x, phi);
    double sum = 0;
    for (int r = 0; r < count; r++)
        sum += phi[r];
    for (int r = 0; r < count && sum > 0; r++)
        phi[r] /= sum;
    return count;
}

/*
 * Row i of A is the output o_i where v_j is unit vector j: S_t = S_{t−1} + β_t k_t (v_t −
 * S_{t−1}ᵀ k_t)ᵀ, o_t = S_tᵀ q_t.
 */
static void compare_recurrence(workspace *space, const kind_case *problem, const double *matrices,
                               int sample, int head)
{
    const int tokens = problem->shape.tokens;
    double query[MOST_FEATURES], key[MOST_FEATURES];
    double *state = host_array(space, (size_t)(MOST_FEATURES * tokens));
    double *row = host_array(space, (size_t)tokens), *error = host_array(space, (size_t)tokens);
    for (int t = 0; t < problem->lengths[sample]; t++) {
        const double *extra = problem->layers[0].input[KIND_EXTRA];
        const double rate =
            1 / (1 + exp(-extra[(sample * tokens + t) * problem->shape.heads + head]));
        const int count = unit_rolled(problem, vector_of(problem, KIND_KEY, sample, t, head), key);
        unit_rolled(problem, vector_of(problem, KIND_QUERY, sample, t, head), query);
        for (int j = 0; j < tokens; j++) {
            error[j] = j == t;
            for (int r = 0; r < count; r++)
                error[j] -= state[r * tokens + j] * key[r];
            row[j] = 0;
            for (int r = 0; r < count; r++) {
                state[r * tokens + j] += rate * key[r] * error[j];
                row[j] += state[r * tokens + j] * query[r];
            }
        }
        assert_rows_close(1, (size_t)tokens, matrices + place_of(problem, sample, head, t), row,
                          space->tolerance);
    }
}

static void compare_delta(workspace *space)
{
    for (int features = 1; features <= 3; features++) {
        kind_shape shape = {.kind = mgk_attention_find("delta"),
                            .settings = {.features = features},
                            .heads = 3,
                            .tokens = 37,
                            .dim = 4,
                            .causal = true,
                            .shortened = 20};
        const kind_case problem = kind_case_make(space, shape);
        const double *matrices = matrices_of(space, &problem);
        for (int b = 0; b < KIND_SAMPLES; b++)
            for (int h = 0; h < shape.heads; h++)
                compare_recurrence(space, &problem, matrices, b, h);
        workspace_release(space);
    }
}

static void delta_is_the_recurrence(void **state)
{
    (void)state;
    on_whole_devices(MGK_SINGLE, 3, compare_delta);
}

/* The rank of 60 tokens. */
typedef struct bound {
    const char *kind;
    mgk_attention_settings settings;
    int rank;
} bound;

static void ranks_are_bounded(void **state)
{
    (void)state;
    static const bound bounds[] = {
        {"performer", {.features = 6}, 6},
        {"performer", {.features = 10, .feature_map = MGK_CHOICE_TRIGONOMETRIC}, 10},
        {"performer", {.features = 11, .feature_map = MGK_CHOICE_SIGMOID}, 11},
        {"rfa", {.features = 12}, 12},
        {"cosformer", {.features = 0}, 8},
        {"dpfp", {.features = 2}, 16},
    };
    workspace space = {.tolerance = 1e-12};
    assert_ok(mgk_device_open("cpu", MGK_DOUBLE, 2, &space.device));
    for (size_t k = 0; k < sizeof bounds / sizeof *bounds; k++) {
        const kind_shape shape = {.kind = mgk_attention_find(bounds[k].kind),
                                  .settings = bounds[k].settings,
                                  .heads = 2,
                                  .tokens = 60,
                                  .dim = 4};
        const kind_case problem = kind_case_make(&space, shape);
        double *matrices = matrices_of(&space, &problem);
        for (int h = 0; h < KIND_SAMPLES * shape.heads; h++) {
            const int rank =
                kind_matrix_rank(shape.tokens, matrices + h * shape.tokens * shape.tokens);
            if (rank != bounds[k].rank)
                fail_msg("%s: rank %d, expected %d", bounds[k].kind, rank, bounds[k].rank);
        }
        workspace_release(&space);
    }
    mgk_device_close(space.device);
}

/* Sizes that are impossible. */
static void odd_pairs_are_refused(void **state)
{
    (void)state;
    kind_shape shape = {.heads = 1, .tokens = 4, .dim = 2, .settings = {.features = 5}};
    shape.kind = mgk_attention_find("performer");
    assert_true(kind_can(shape));
    shape.settings.feature_map = MGK_CHOICE_TRIGONOMETRIC;
    assert_false(kind_can(shape));
    shape.kind = mgk_attention_find("rfa");
    assert_false(kind_can(shape));
    shape.settings.features = 4;
    assert_true(kind_can(shape));
    shape.kind = mgk_attention_find("delta");
    assert_false(kind_can(shape));
}

static size_t columns_of(const char *name, mgk_attention_settings settings)
{
    const mgk_attention_kind *kind = mgk_attention_find(name);
    const mgk_attention_size size = {
        .heads = 2, .tokens = 50, .dim = 4, .mixtures = 1, .length = 50, .settings = &settings};
    return kind->methods->factor_columns ? kind->methods->factor_columns(kind, &size) : 0;
}

/* One more than features; none where entries may be negative. */
static void factors_have_a_column_for_each_feature(void **state)
{
    (void)state;
    assert_int_equal(columns_of("linear", (mgk_attention_settings){0}), 5);
    assert_int_equal(columns_of("performer", (mgk_attention_settings){.features = 6}), 7);
    assert_int_equal(
        columns_of("performer",
                   (mgk_attention_settings){.features = 6, .feature_map = MGK_CHOICE_RELU}),
        7);
    assert_int_equal(
        columns_of("performer",
                   (mgk_attention_settings){.features = 6, .feature_map = MGK_CHOICE_COS}),
        0);
    assert_int_equal(columns_of("cosformer", (mgk_attention_settings){0}), 9);
    assert_int_equal(columns_of("dpfp", (mgk_attention_settings){.features = 2}), 17);
    assert_int_equal(columns_of("rfa", (mgk_attention_settings){.features = 6}), 0);
    assert_int_equal(columns_of("softmax", (mgk_attention_settings){0}), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matrices_are_those_of_formulas),
        cmocka_unit_test(delta_is_the_recurrence),
        cmocka_unit_test(ranks_are_bounded),
        cmocka_unit_test(odd_pairs_are_refused),
        cmocka_unit_test(factors_have_a_column_for_each_feature),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
