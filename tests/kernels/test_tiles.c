/* SPDX-License-Identifier: MIT */
/* Attention through patterns and with terms, against its formula, and its gradients against
 * differences. */
#include "attention_case.h"
#include "tile_case.h"

enum { B = TILE_SAMPLES, H = TILE_HEADS };

/* Every shape is tested for these numbers of queries. */
static const int sizes[] = {1, 15, 16, 17, 100};

static const tile_shape shapes[] = {
    {.dim = 5, .pattern = true},
    {.dim = 5, .pattern = true, .causal = true, .by_head = true, .ragged = true},
    {.dim = 3, .pattern = true, .by_sample = true, .tile_logits = true, .value_dim = 9},
    {.dim = 17, .pattern = true, .by_sample = true, .by_head = true, .ragged = true, .bias = true},
    {.dim = 4, .pattern = true, .keys = 37, .full = true, .full_by_head = true, .ragged = true},
    {.dim = 4, .pattern = true, .keys = 37, .window = 9, .causal = true, .cap = 1.5, .bias = true},
    {.dim = 4, .pattern = true, .unnormalized = true, .full = true, .full_by_sample = true},
    {.dim = 4, .mixtures = 2, .pattern = true, .gaussian = true, .unnormalized = true},
    {.dim = 4, .pattern = true, .gaussian = true, .unnormalized = true, .causal = true},
    {.dim = 4, .mixtures = 2, .pattern = true, .gaussian = true, .prior = true, .ragged = true},
    {.dim = 4, .mixtures = 3, .pattern = true, .gaussian = true, .hard = true, .by_head = true},
    {.dim = 4, .pattern = true, .gaussian = true, .prior = true, .epsilon = 0.5},
    {.dim = 4, .gaussian = true, .prior = true, .window = 7, .ragged = true},
    {.dim = 0, .value_dim = 5, .full = true, .pattern = true, .tile_logits = true, .bias = true},
    {.dim = 6, .keys = 21, .bias = true, .by_key = true, .full = true, .ragged = true},
    {.dim = 6, .window = 18, .cap = 2, .bias = true, .ragged = true},
    {.dim = 6, .causal = true, .unnormalized = true, .cap = 1, .value_dim = 2},
    {.dim = 6, .full = true, .full_by_sample = true, .full_by_head = true, .causal = true},
};

/* Calls body for every shape and size. */
static void for_all(workspace *space, void (*body)(workspace *, const tile_case *))
{
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
            tile_shape shape = shapes[s];
            shape.queries = sizes[n];
            tile_case problem = tile_case_make(space, shape);
            body(space, &problem);
            tile_case_release(&problem);
            workspace_release(space);
        }
}

static void *stale_array(workspace *space, size_t count)
{
    double *stale = host_array(space, count);
    for (size_t i = 0; i < count; i++)
        stale[i] = 12345;
    return upload(space, count, stale);
}

/* The output, both contents of the matrices, and matrices with the output. */
static void compare(workspace *space, const tile_case *problem)
{
    static const int32_t order[H] = {1, 0};
    const size_t n = (size_t)problem->shape.queries, keys = problem->matrix / n;
    const size_t width = problem->outputs / (B * n), matrices = B * H * problem->matrix;
    double *expected[] = {host_array(space, matrices), host_array(space, matrices)};
    double *output = host_array(space, problem->outputs);
    tile_case_reference(problem, expected[MGK_MATRIX_SCORES], expected[MGK_MATRIX_ATTENTION],
                        output);
    mgk_attention_view view;
    mgk_mixture mixture;
    mgk_pattern pattern;
    tile_case_upload(space, problem, &view, &mixture, &pattern);
    const mgk_operations *op = space->device->op;
    void *found = stale_array(space, problem->outputs),
         *both = stale_array(space, problem->outputs);
    assert_ok(op->mixture_attention(space->device, &view, &mixture, found, width,
                                    stale_array(space, problem->rows)));
    assert_device_close(space, B * n, width, found, output);
    const int32_t *heads = upload_bytes(space, sizeof order, order);
    for (int b = 0; b < B; b++)
        for (int kind = 0; kind < 3; kind++) {
            void *matrix = stale_array(space, H * problem->matrix);
            const mgk_matrix_content content = kind == 1 ? MGK_MATRIX_SCORES : MGK_MATRIX_ATTENTION;
            if (kind < 2)
                assert_ok(op->mixture_matrix(space->device, &view, &mixture, content, b, 1, heads,
                                             H, matrix));
            else
                assert_ok(op->mixture_matrix_output(
                    space->device, &view, &mixture, b, heads, H, matrix,
                    mgk_at(space->device, both, (size_t)b * n * width), width));
            for (size_t h = 0; h < H; h++)
                assert_device_close(space, n, keys,
                                    mgk_at(space->device, matrix, (1 - h) * problem->matrix),
                                    expected[content] + ((size_t)b * H + h) * problem->matrix);
        }
    assert_device_close(space, B * n, width, both, output);
}

static void results_follow_the_formula(void **state)
{
    for_all(*state, compare);
}

static void compare_responsibilities(workspace *space, const tile_case *problem)
{
    if (!problem->shape.prior)
        return;
    const size_t count = problem->count[TILE_PRIOR];
    double *expected = host_array(space, count);
    tile_case_reference_prior(problem, expected);
    mgk_attention_view view;
    mgk_mixture mixture;
    mgk_pattern pattern;
    tile_case_upload(space, problem, &view, &mixture, &pattern);
    mgk_device *device = space->device;
    void *found = upload(space, count, problem->input[TILE_PRIOR]);
    double *sums = upload_bytes(space, 2 * count * sizeof(*sums), host_array(space, 2 * count));
    assert_ok(device->op->responsibilities(device, &view, &mixture, sums));
    assert_ok(device->op->mean_responsibilities(device, count, sums, found));
    assert_device_close(space, 1, count, found, expected);
}

static void responsibilities_follow_the_formula(void **state)
{
    for_all(*state, compare_responsibilities);
}

/* The gradients of the loss Σ weight · output, which the workspace keeps. bias and full are added
 * to ones. */
static void find_gradients(workspace *space, const tile_case *problem, const double *weight,
                           double *gradient[TILE_INPUTS])
{
    const size_t n = (size_t)problem->shape.queries, width = problem->outputs / (B * n);
    mgk_device *device = space->device;
    mgk_attention_view view;
    mgk_mixture mixture;
    mgk_pattern pattern;
    tile_case_upload(space, problem, &view, &mixture, &pattern);
    void *out[TILE_INPUTS], *output = stale_array(space, problem->outputs);
    void *statistic = stale_array(space, problem->rows);
    for (int k = 0; k < TILE_INPUTS; k++) {
        double *ones = host_array(space, problem->count[k]);
        for (size_t i = 0; i < problem->count[k]; i++)
            ones[i] = 1;
        out[k] = problem->count[k] > 0 ? upload(space, problem->count[k], ones) : NULL;
    }
    mgk_attention_gradient into = {.query = out[TILE_QUERY],
                                   .key = out[TILE_KEY],
                                   .value = out[TILE_VALUE],
                                   .prior = out[TILE_PRIOR],
                                   .bias = out[TILE_BIAS],
                                   .full = out[TILE_FULL]};
    assert_ok(device->op->mixture_attention(device, &view, &mixture, output, width, statistic));
    assert_ok(device->op->mixture_attention_backward(device, &view, &mixture, output, statistic,
                                                     upload(space, problem->outputs, weight), width,
                                                     &into));
    for (int k = 0; k < TILE_INPUTS; k++) {
        if (problem->count[k] == 0)
            continue;
        gradient[k] = download(space, problem->count[k], out[k]);
        for (size_t i = 0; k >= TILE_PRIOR && i < problem->count[k]; i++)
            gradient[k][i] -= 1;
    }
}

/* The loss with an input moved, by the formula. */
static double loss_at(workspace *space, tile_case problem, int which, const double *direction,
                      double step, const double *weight)
{
    const int hosts = space->host_count;
    const size_t matrices = B * H * problem.matrix;
    double *moved = host_array(space, problem.count[which]), sum = 0;
    double *output = host_array(space, problem.outputs);
    for (size_t i = 0; i < problem.count[which]; i++)
        moved[i] = problem.input[which][i] + step * direction[i];
    problem.input[which] = moved;
    tile_case_reference(&problem, host_array(space, matrices), host_array(space, matrices), output);
    for (size_t i = 0; i < problem.outputs; i++)
        sum += weight[i] * output[i];
    while (space->host_count > hosts)
        mgk_free(space->host[--space->host_count]);
    return sum;
}

/* The derivative along a direction by a fourth-order difference with steps of h. */
static double slope(workspace *space, const tile_case *problem, int which, const double *direction,
                    double h, const double *weight)
{
    double near = loss_at(space, *problem, which, direction, h, weight) -
                  loss_at(space, *problem, which, direction, -h, weight);
    double far = loss_at(space, *problem, which, direction, 2 * h, weight) -
                 loss_at(space, *problem, which, direction, -2 * h, weight);
    return (8 * near - far) / (12 * h);
}

/* The same. The maxima of `hard` may change along a direction, though rarely within the smaller
 * step. */
static double slope_near(workspace *space, const tile_case *problem, int which,
                         const double *direction, const double *weight, double expected)
{
    if (!problem->shape.hard)
        return slope(space, problem, which, direction, 1e-3, weight);
    double wide = slope(space, problem, which, direction, 1e-6, weight);
    double narrow = slope(space, problem, which, direction, 1e-8, weight);
    return fabs(narrow - expected) < fabs(wide - expected) ? narrow : wide;
}

/* Along a random direction. Priors that are 0 stay 0. */
static void check_gradients(workspace *space, const tile_case *problem)
{
    const double *weight = random_values(space, problem->outputs);
    double *gradient[TILE_INPUTS] = {0};
    find_gradients(space, problem, weight, gradient);
    for (int k = 0; k < TILE_INPUTS; k++) {
        if (problem->count[k] == 0)
            continue;
        double *direction = random_values(space, problem->count[k]), product = 0, square = 0;
        for (size_t i = 0; i < problem->count[k]; i++) {
            if (k == TILE_PRIOR && !(problem->input[k][i] > 0))
                direction[i] = 0;
            product += gradient[k][i] * direction[i];
            square += gradient[k][i] * gradient[k][i];
        }
        if (problem->shape.queries == 100)
            assert_true(square > 1e-6);
        assert_close(product, slope_near(space, problem, k, direction, weight, product),
                     1e-6 * sqrt(square) + 1e-7, 0);
    }
}

static void gradients_match_differences(void **state)
{
    workspace *space = *state;
    if (space->device->precision == MGK_DOUBLE)
        for_all(space, check_gradients);
}

/* Padding and queries that see nothing have gradients of 0, as their outputs are. */
static void check_unseen(workspace *space, const tile_case *problem)
{
    const tile_shape *shape = &problem->shape;
    const size_t n = (size_t)shape->queries;
    double *gradient[TILE_INPUTS] = {0};
    find_gradients(space, problem, random_values(space, problem->outputs), gradient);
    for (size_t b = 0; b < B; b++)
        for (size_t i = 0; i < n; i++)
            for (size_t h = 0; h < H; h++) {
                bool sees = false;
                for (int j = 0; j < problem->key_lengths[b] && (int)i < problem->lengths[b]; j++)
                    sees = sees || tile_case_sees(shape, (int)b, (int)h, (int)i, j);
                const double *q = gradient[TILE_QUERY] + ((b * n + i) * H + h) * (size_t)shape->dim;
                for (int d = 0; d < shape->dim && !sees; d++)
                    assert_true(q[d] == 0);
            }
}

static void unseen_queries_have_no_gradient(void **state)
{
    for_all(*state, check_unseen);
}

/* Whether the block of query i computes the tile of these keys: it is listed, and neither behind
 * the window of all queries nor ahead of them. */
static bool computes(const tile_case *problem, size_t i, size_t column)
{
    const tile_shape *shape = &problem->shape;
    const mgk_pattern *pattern = &problem->pattern;
    const size_t tile = MGK_PATTERN_TILE, block = i / tile, window = (size_t)shape->window;
    const size_t keys = problem->matrix / (size_t)shape->queries;
    bool listed = false;
    for (int32_t t = pattern->starts[block]; t < pattern->starts[block + 1]; t++)
        listed = listed || (size_t)pattern->columns[t] == column;
    size_t from = window > 0 && block * tile + 1 > window ? block * tile + 1 - window : 0;
    from = from < keys ? from : keys;
    return listed && column >= from / tile && (!shape->causal || column <= block);
}

/* Values that are not numbers spoil every product that they are part of: blocks without their tile
 * compute none. */
static void check_tiles_that_are_not_listed(workspace *space, const tile_case *problem)
{
    const tile_shape *shape = &problem->shape;
    const size_t n = (size_t)shape->queries, keys = problem->matrix / n, tile = MGK_PATTERN_TILE;
    if (!shape->pattern || shape->gaussian || shape->by_head || shape->by_sample)
        return;
    const size_t value_dim = problem->outputs / (B * n * H);
    const double *weight = random_values(space, problem->outputs);
    for (size_t column = 0; column <= (keys - 1) / tile; column++) {
        const int hosts = space->host_count, arrays = space->device_count;
        tile_case spoilt = *problem;
        double *gradient[TILE_INPUTS] = {0};
        spoilt.input[TILE_VALUE] = host_array(space, problem->count[TILE_VALUE]);
        for (size_t i = 0; i < problem->count[TILE_VALUE]; i++) {
            size_t j = i / (H * value_dim) % keys;
            spoilt.input[TILE_VALUE][i] =
                j / tile == column ? (double)NAN : problem->input[TILE_VALUE][i];
        }
        find_gradients(space, &spoilt, weight, gradient);
        for (size_t i = 0; i < n; i++) {
            const double *q = gradient[TILE_QUERY] + i * H * (size_t)shape->dim;
            for (int d = 0; d < H * shape->dim && !computes(problem, i, column); d++)
                assert_true(isfinite(q[d]));
        }
        while (space->host_count > hosts)
            mgk_free(space->host[--space->host_count]);
        while (space->device_count > arrays)
            space->device->op->release(space->device, space->on_device[--space->device_count]);
    }
}

static void tiles_that_are_not_listed_are_not_computed(void **state)
{
    for_all(*state, check_tiles_that_are_not_listed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_follow_the_formula),
        cmocka_unit_test(responsibilities_follow_the_formula),
        cmocka_unit_test(gradients_match_differences),
        cmocka_unit_test(unseen_queries_have_no_gradient),
        cmocka_unit_test(tiles_that_are_not_listed_are_not_computed),
    };
    return attention_run_tests(false, sizeof tests / sizeof *tests, tests);
}
