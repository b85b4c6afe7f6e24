/* SPDX-License-Identifier: MIT */
/* Special cases of linear attention: long sums, features that overflow or are orthogonal, priors at
 * their bounds, responsibilities computed by hand. */
#include <string.h>

#include "workspace.h"

enum { QUERY, KEY, VALUE, PRIOR, OUTPUT, ARRAYS };

/* Arrays without gaps: query, value and output [B, N, H, D], key [B, N, M, H, D]. */
typedef struct problem {
    int samples, heads, tokens, dim, mixtures;
    bool causal;
    double epsilon;
    const int32_t *lengths; /* [B] */
    mgk_prior_view prior;   /* strides and count only; count 0: no prior */
    double *host[ARRAYS];
} problem;

/* The same on a device. */
typedef struct placed {
    mgk_attention_view view;
    mgk_linear linear;
    size_t stride, count[ARRAYS];
    void *output;
} placed;

static placed place(workspace *space, const problem *p)
{
    size_t stride = (size_t)(p->heads * p->dim), tokens = (size_t)(p->samples * p->tokens);
    size_t mixtures = (size_t)p->mixtures;
    placed out = {.stride = stride,
                  .linear = {.normalizer_epsilon = p->epsilon, .prior = p->prior},
                  .count = {tokens * stride, tokens * stride * mixtures, tokens * stride,
                            p->prior.count, tokens * stride}};
    out.view = (mgk_attention_view){
        .samples = p->samples,
        .heads = p->heads,
        .tokens = p->tokens,
        .dim = p->dim,
        .mixtures = p->mixtures,
        .causal = p->causal,
        .lengths = upload_bytes(space, (size_t)p->samples * sizeof(int32_t), p->lengths),
        .query = upload(space, out.count[QUERY], p->host[QUERY]),
        .key = upload(space, out.count[KEY], p->host[KEY]),
        .value = upload(space, out.count[VALUE], p->host[VALUE]),
        .query_stride = stride,
        .key_stride = stride * mixtures,
        .value_stride = stride};
    if (p->prior.count > 0)
        out.linear.prior.values = upload(space, p->prior.count, p->host[PRIOR]);
    out.output = upload(space, out.count[OUTPUT], host_array(space, out.count[OUTPUT]));
    return out;
}

/* Computes the output and the gradients of Σ weight · output, as double. */
static void differentiate(workspace *space, const problem *p, const double *weight,
                          double *result[ARRAYS])
{
    mgk_device *device = space->device;
    placed on = place(space, p);
    assert_ok(device->op->linear_attention(device, &on.view, &on.linear, on.output, on.stride));
    void *gradient[OUTPUT];
    for (int k = 0; k < OUTPUT; k++)
        gradient[k] = upload(space, on.count[k], host_array(space, on.count[k]));
    mgk_attention_gradient into = {.query = gradient[QUERY],
                                   .key = gradient[KEY],
                                   .value = gradient[VALUE],
                                   .prior = on.count[PRIOR] > 0 ? gradient[PRIOR] : NULL};
    assert_ok(device->op->linear_attention_backward(device, &on.view, &on.linear, on.output,
                                                    upload(space, on.count[OUTPUT], weight),
                                                    on.stride, &into));
    for (int k = 0; k < OUTPUT; k++)
        result[k] = download(space, on.count[k], gradient[k]);
    result[OUTPUT] = download(space, on.count[OUTPUT], on.output);
}

/* One head's matrix of the first sample, [N, N]. */
static double *matrix_of(workspace *space, const problem *p, mgk_matrix_content content)
{
    size_t count = (size_t)(p->tokens * p->tokens);
    const int32_t last = p->heads - 1, *head = upload_bytes(space, sizeof last, &last);
    placed on = place(space, p);
    void *matrix = upload(space, count, host_array(space, count));
    assert_ok(space->device->op->linear_matrix(space->device, &on.view, &on.linear, content, 0, 1,
                                               head, 1, matrix));
    return download(space, count, matrix);
}

/* The product of that matrix's factors; p is not causal. */
static double *product_of(workspace *space, const problem *p)
{
    size_t tokens = (size_t)p->tokens, depth = (size_t)p->dim + 1, count = tokens * depth;
    const int32_t last = p->heads - 1, *head = upload_bytes(space, sizeof last, &last);
    placed on = place(space, p);
    void *left = upload(space, count, host_array(space, count));
    void *right = upload(space, count, host_array(space, count));
    double *matrix = host_array(space, tokens * tokens);
    assert_ok(space->device->op->linear_factors(space->device, &on.view, &on.linear, 0, head, 1,
                                                left, right));
    const double *l = download(space, count, left), *r = download(space, count, right);
    for (size_t i = 0; i < tokens; i++)
        for (size_t j = 0; j < tokens; j++)
            for (size_t d = 0; d < depth; d++)
                matrix[i * tokens + j] += l[i * depth + d] * r[j * depth + d];
    return matrix;
}

static void on_every_device(void (*body)(workspace *))
{
    for (mgk_precision precision = MGK_SINGLE; precision <= MGK_DOUBLE; precision++) {
        workspace space = {.tolerance = precision == MGK_DOUBLE ? 1e-12 : 1e-5};
        for (int index = 0; (space.device = open_next_device(&index, precision, 2));) {
            body(&space);
            workspace_release(&space);
            mgk_device_close(space.device);
        }
    }
}

/*
 * φ(q_0) = (1, 2), φ(q_1) = (3, 1); key 0 has φ = (1, 1) and (2, 1), key 1 (1, 3) and (½, 1);
 * π = (¼, ¾) for both. Token 2 is padding.
 */
static const double worked_query[] = {0, 1, 2, 0, 7, 7};
static const double worked_key[] = {0, 0, 1, 0, 0, 2, -0.69314718055994530942, 0, 7, 7, 7, 7};
static const double worked_prior[] = {0.25, 0.25, 0.625, 0.75, 0.75, 0.375}; /* [M, N] */
static const int32_t worked_lengths[] = {2};

static problem worked(workspace *space)
{
    problem p = {.samples = 1, .heads = 1, .tokens = 3, .dim = 2, .mixtures = 2};
    p.lengths = worked_lengths;
    p.prior =
        (mgk_prior_view){.head_stride = 6, .component_stride = 3, .key_stride = 1, .count = 6};
    p.host[QUERY] = host_array(space, 6);
    p.host[KEY] = host_array(space, 12);
    p.host[VALUE] = host_array(space, 6);
    p.host[PRIOR] = host_array(space, 6);
    memcpy(p.host[QUERY], worked_query, sizeof worked_query);
    memcpy(p.host[KEY], worked_key, sizeof worked_key);
    memcpy(p.host[PRIOR], worked_prior, sizeof worked_prior);
    return p;
}

static void check_worked_matrix(workspace *space)
{
    problem p = worked(space);
    const double score[] = {3.75, 3.625, 0, 6.25, 3.375, 0, 0, 0, 0};
    const double attention[] = {
        3.75 / 7.375, 3.625 / 7.375, 0, 6.25 / 9.625, 3.375 / 9.625, 0, 0, 0, 0};
    const double causal[] = {1, 0, 0, 6.25 / 9.625, 3.375 / 9.625, 0, 0, 0, 0};
    const double *actual = matrix_of(space, &p, MGK_MATRIX_SCORES);
    assert_rows_close(3, 3, actual, score, space->tolerance);
    actual = matrix_of(space, &p, MGK_MATRIX_ATTENTION);
    assert_rows_close(3, 3, actual, attention, space->tolerance);
    p.causal = true;
    actual = matrix_of(space, &p, MGK_MATRIX_ATTENTION);
    assert_rows_close(3, 3, actual, causal, space->tolerance);
    for (int i = 0; i < 9; i++)
        assert_true(causal[i] != 0 || actual[i] == 0);
}

static void matrix_by_hand(void **state)
{
    (void)state;
    on_every_device(check_worked_matrix);
}

static void update_prior(workspace *space, const placed *on, void *prior)
{
    mgk_device *device = space->device;
    const size_t count = on->linear.prior.count;
    double *sums = upload_bytes(space, 2 * count * sizeof(*sums), host_array(space, 2 * count));
    assert_ok(device->op->linear_responsibilities(device, &on->view, &on->linear, sums));
    assert_ok(device->op->mean_responsibilities(device, count, sums, prior));
}

/* Component 0's share of the pairs (query, key): (0, 0) 0.2, (1, 0) 0.16, (0, 1) 14/29, (1, 1) 4/9.
 */
static void check_worked_responsibilities(workspace *space)
{
    const double key0 = (0.2 + 0.16) / 2, late = 4.0 / 9, key1 = (14.0 / 29 + late) / 2;
    const double of_layer[] = {(key0 + key1) / 2, (2 * key0 + late) / 3};
    for (int causal = 0; causal < 2; causal++) {
        problem p = worked(space);
        p.causal = causal;
        double of_key[] = {key0, causal ? late : key1, 0.625, 0, 0, 0.375};
        for (int j = 0; j < 2; j++)
            of_key[3 + j] = 1 - of_key[j];
        placed on = place(space, &p);
        void *prior = upload(space, 6, p.host[PRIOR]);
        update_prior(space, &on, prior);
        assert_device_close(space, 6, 1, prior, of_key);

        p.prior = (mgk_prior_view){.component_stride = 1, .count = 2};
        p.host[PRIOR][1] = 0.75;
        on = place(space, &p);
        const double expected[] = {of_layer[causal], 1 - of_layer[causal]};
        prior = upload(space, 2, p.host[PRIOR]);
        update_prior(space, &on, prior);
        assert_device_close(space, 2, 1, prior, expected);
    }
}

static void responsibilities_by_hand(void **state)
{
    (void)state;
    on_every_device(check_worked_responsibilities);
}

/* Makes a problem of random numbers. */
static problem random_problem(workspace *space, int tokens, int dim, int mixtures,
                              const int32_t *lengths)
{
    problem p = {.samples = 1, .heads = 2, .tokens = tokens, .dim = dim, .mixtures = mixtures};
    size_t count = (size_t)(p.heads * tokens * dim);
    p.lengths = lengths;
    p.host[QUERY] = random_values(space, count);
    p.host[KEY] = random_values(space, count * (size_t)mixtures);
    p.host[VALUE] = random_values(space, count);
    p.prior = (mgk_prior_view){.component_stride = 1, .count = (size_t)mixtures};
    p.host[PRIOR] = host_array(space, (size_t)mixtures);
    for (int r = 0; r < mixtures; r++)
        p.host[PRIOR][r] = 0.25 + 0.5 * r / mixtures;
    return p;
}

/* |single − exact| relative to the largest value of the array. */
static void assert_array_close(size_t count, const double *single, const double *exact,
                               double tolerance)
{
    double largest = 0;
    for (size_t i = 0; i < count; i++)
        largest = fmax(largest, fabs(exact[i]));
    assert_true(largest > 0);
    for (size_t i = 0; i < count; i++)
        assert_close(single[i], exact[i], tolerance * largest, 0);
}

/* With thousands of terms per sum, single precision still agrees with double. */
static void long_sums_keep_their_digits(void **state)
{
    (void)state;
    static const int32_t lengths[] = {4096};
    for (int i = 0; i < 4; i++) {
        workspace space[2] = {0};
        double *result[2][ARRAYS];
        for (int precision = 0; precision < 2; precision++) {
            workspace *own = &space[precision];
            assert_ok(mgk_device_open("cpu", precision ? MGK_DOUBLE : MGK_SINGLE, 2, &own->device));
            problem p = random_problem(own, lengths[0], 16, 2, lengths);
            p.causal = i & 1;
            size_t outputs = (size_t)(p.heads * p.tokens * p.dim);
            double *weight = random_values(own, outputs);
            /* Equal numbers: all rounding errors have one sign. */
            for (size_t k = 0; i & 2 && k < outputs; k++) {
                p.host[VALUE][k] = (double)(0.1f + 0.01f * (float)(k % 32));
                p.host[KEY][k] = p.host[KEY][outputs + k] = (double)0.7f;
            }
            differentiate(own, &p, weight, result[precision]);
        }
        size_t count = 2 * 4096 * 16;
        assert_array_close(count, result[0][OUTPUT], result[1][OUTPUT], 1e-5);
        assert_array_close(count, result[0][VALUE], result[1][VALUE], 1e-5);
        if (!(i & 2)) { /* with equal keys, the other gradients are rounding errors only */
            assert_array_close(count, result[0][QUERY], result[1][QUERY], 1e-5);
            assert_array_close(2 * count, result[0][KEY], result[1][KEY], 1e-5);
            assert_array_close(2, result[0][PRIOR], result[1][PRIOR], 1e-5);
        }
        for (int precision = 0; precision < 2; precision++) {
            workspace_release(&space[precision]);
            mgk_device_close(space[precision].device);
        }
    }
}

static void assert_finite(size_t count, const double *x)
{
    for (size_t i = 0; i < count; i++)
        assert_true(isfinite(x[i]));
}

/* Rows stay averages of the values, however large queries and keys are. */
static void check_extremes(workspace *space)
{
    static const double scales[] = {-1000, 1000, 1e18, 1e37, 1e-30};
    static const int32_t lengths[] = {41};
    for (size_t i = 0; i < 4 * sizeof scales / sizeof *scales; i++) {
        double scale = scales[i / 4];
        problem p = random_problem(space, 41, 5, 2, lengths);
        p.causal = i & 1;
        size_t outputs = (size_t)(p.heads * p.tokens * p.dim);
        for (size_t k = 0; k < outputs; k++) {
            p.host[QUERY][k] = scale * (i & 2 ? p.host[QUERY][k] : 1);
            p.host[KEY][k] *= scale;
            p.host[KEY][outputs + k] *= scale;
            p.host[VALUE][k] = fabs(p.host[VALUE][k]);
        }
        double *weight = random_values(space, outputs), *result[ARRAYS];
        differentiate(space, &p, weight, result);
        for (int k = 0; k < 3; k++)
            assert_finite(outputs * (k == KEY ? 2 : 1), result[k]);
        assert_finite(2, result[PRIOR]);
        for (size_t k = 0; k < outputs; k++)
            assert_in_range((uint64_t)(result[OUTPUT][k] * 1000), 0, 6000);
        const double *matrix = matrix_of(space, &p, MGK_MATRIX_ATTENTION);
        if (!p.causal)
            assert_rows_close((size_t)p.tokens, (size_t)p.tokens, product_of(space, &p), matrix,
                              space->tolerance);
        for (int row = 0; row < p.tokens; row++) {
            double sum = 0;
            for (int j = 0; j < p.tokens; j++)
                sum += matrix[row * p.tokens + j];
            assert_close(sum, 1, space->tolerance, 0);
        }
        workspace_release(space);
    }
}

static void extreme_values_give_averages(void **state)
{
    (void)state;
    on_every_device(check_extremes);
}

/* Orthogonal features: keys lie in dimension 0 and odd queries in dimension 1, so odd rows have no
 * score. These rows are uniform; the others are unaffected. */
static problem strangers(workspace *space, const int32_t *lengths)
{
    problem p = random_problem(space, 37, 2, 1, lengths);
    for (size_t t = 0; t < (size_t)(p.tokens * p.heads); t++) {
        bool stranger = t / (size_t)p.heads % 2;
        p.host[QUERY][2 * t] = stranger ? -2000 : 0.5;
        p.host[QUERY][2 * t + 1] = stranger ? 0.5 : -2000;
        p.host[KEY][2 * t + 1] = -2000;
    }
    return p;
}

static void check_strangers(workspace *space)
{
    static const int32_t lengths[] = {35};
    for (int i = 0; i < 4; i++) {
        problem p = strangers(space, lengths);
        p.causal = i & 1;
        p.epsilon = i & 2 ? 1e-6 : 0;
        size_t width = (size_t)(p.heads * p.dim), outputs = width * (size_t)p.tokens;
        const double *weight = random_values(space, outputs);
        double *result[ARRAYS], by_value = 0, by_output = 0;
        differentiate(space, &p, weight, result);
        const double *matrix = matrix_of(space, &p, MGK_MATRIX_ATTENTION);
        if (!p.causal)
            assert_rows_close((size_t)p.tokens, (size_t)p.tokens, product_of(space, &p), matrix,
                              space->tolerance);
        for (int row = 1; row < lengths[0]; row += 2) {
            int visible = p.causal ? row + 1 : lengths[0];
            double expected = p.epsilon > 0 ? 0 : 1.0 / visible, sum = 0;
            assert_close(matrix[row * p.tokens], expected, space->tolerance, 0);
            for (int j = 0; j < visible; j++)
                sum += expected * p.host[VALUE][(size_t)j * width];
            assert_close(result[OUTPUT][(size_t)row * width], sum, space->tolerance, 0);
            for (size_t c = 0; c < width; c++)
                assert_true(result[QUERY][(size_t)row * width + c] == 0);
        }
        /* The output is linear in the values: Σ dv·v = Σ weight·output. */
        for (size_t k = 0; k < outputs; k++) {
            by_value += result[VALUE][k] * p.host[VALUE][k];
            by_output += weight[k] * result[OUTPUT][k];
        }
        assert_close(by_value, by_output, 100 * space->tolerance, 0);
        assert_true(fabs(by_output) > 0.1);
        workspace_release(space);
    }
}

static void rows_without_scores_are_uniform(void **state)
{
    (void)state;
    on_every_device(check_strangers);
}

/* The clamp to [0, 1] passes gradients at its ends, but not beyond them. */
static void check_prior_bounds(workspace *space)
{
    static const double priors[] = {0, 1, -1e-3, 1.001}, near[] = {1e-9, 1 - 1e-9};
    static const int32_t lengths[] = {9};
    if (space->device->precision == MGK_SINGLE)
        return;
    problem p = random_problem(space, 9, 3, 2, lengths);
    const double *weight = random_values(space, 2 * 9 * 3);
    double *at_bound[ARRAYS], *inside[ARRAYS];
    for (int i = 0; i < 4; i++) {
        p.host[PRIOR][0] = priors[i];
        differentiate(space, &p, weight, at_bound);
        p.host[PRIOR][0] = near[i % 2];
        differentiate(space, &p, weight, inside);
        assert_true(fabs(inside[PRIOR][0]) > 1e-3);
        assert_close(at_bound[PRIOR][0], i < 2 ? inside[PRIOR][0] : 0, 1e-7, 0);
        assert_close(at_bound[PRIOR][1], inside[PRIOR][1], 1e-7, 0);
    }
}

static void clamped_priors_have_no_gradient(void **state)
{
    (void)state;
    on_every_device(check_prior_bounds);
}

/* The number of threads does not change a bit of the gradients. */
static void threads_do_not_matter(void **state)
{
    (void)state;
    static const int32_t lengths[] = {70};
    workspace space[2] = {0};
    double *result[2][ARRAYS];
    for (int i = 0; i < 2; i++) {
        assert_ok(mgk_device_open("cpu", MGK_SINGLE, 1 + 2 * i, &space[i].device));
        problem p = random_problem(&space[i], 70, 8, 3, lengths);
        differentiate(&space[i], &p, random_values(&space[i], 2 * 70 * 8), result[i]);
    }
    assert_memory_equal(result[0][QUERY], result[1][QUERY], 2 * 70 * 8 * sizeof(double));
    assert_memory_equal(result[0][KEY], result[1][KEY], 3 * 2 * 70 * 8 * sizeof(double));
    assert_memory_equal(result[0][VALUE], result[1][VALUE], 2 * 70 * 8 * sizeof(double));
    assert_memory_equal(result[0][PRIOR], result[1][PRIOR], 3 * sizeof(double));
    for (int i = 0; i < 2; i++) {
        workspace_release(&space[i]);
        mgk_device_close(space[i].device);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matrix_by_hand),
        cmocka_unit_test(responsibilities_by_hand),
        cmocka_unit_test(long_sums_keep_their_digits),
        cmocka_unit_test(extreme_values_give_averages),
        cmocka_unit_test(rows_without_scores_are_uniform),
        cmocka_unit_test(clamped_priors_have_no_gradient),
        cmocka_unit_test(threads_do_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
