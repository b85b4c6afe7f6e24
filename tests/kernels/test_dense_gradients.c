/* SPDX-License-Identifier: MIT */
/* The backward operations of kernels/dense.h against central differences, and in single precision.
 */
#include "dense_case.h"

/* The inputs of an operation: maps or tokens, a kernel, a number of segments or steps. */
typedef struct dense_context {
    map_case maps;
    token_case tokens;
    mgk_token_kernel kernel;
    size_t extra;
} dense_context;

static void *copied(workspace *space, size_t count, const void *x)
{
    return upload(space, count, download(space, count, x));
}

static double softmax_value(workspace *space, const layer *subject, const void *x)
{
    const map_case *maps = &((const dense_context *)subject->context)->maps;
    void *y = copied(space, maps->count, x);
    assert_ok(dense(space)->softmax_rows(space->device, &maps->device, y));
    return weighted(space, subject, maps->count, y);
}

static void softmax_gradient(workspace *space, const layer *subject, const void *x, void *dx)
{
    const map_case *maps = &((const dense_context *)subject->context)->maps;
    void *y = copied(space, maps->count, x);
    assert_ok(dense(space)->softmax_rows(space->device, &maps->device, y));
    assert_ok(dense(space)->softmax_rows_backward(space->device, &maps->device, y,
                                                  subject->weights_, dx));
}

static void softmax(workspace *space, size_t rows, size_t cols)
{
    for (int causal = 0; causal < 2; causal++) {
        size_t wide = cols + 1; /* the softmax of one column is constant */
        dense_context context = {.maps = ragged_maps(space, rows + 1, wide, causal)};
        layer subject = {.inputs = context.maps.count,
                         .context = &context,
                         .value = softmax_value,
                         .gradient = softmax_gradient};
        check_backward(space, &subject, context.maps.count);
        workspace_release(space);
    }
}

static double segment_value(workspace *space, const layer *subject, const void *x)
{
    const dense_context *context = subject->context;
    const mgk_head_tokens *shape = &context->tokens.device;
    size_t count = SAMPLES * context->extra * HEADS * shape->dim;
    void *y = zeros(space, count);
    int32_t *found = upload_bytes(space, SAMPLES * sizeof *found, (int32_t[SAMPLES]){0});
    assert_ok(dense(space)->segment_means(space->device, shape, context->extra, x, y, found));
    return weighted(space, subject, count, y);
}

static void segment_gradient(workspace *space, const layer *subject, const void *x, void *dx)
{
    const dense_context *context = subject->context;
    (void)x;
    assert_ok(dense(space)->segment_means_backward(space->device, &context->tokens.device,
                                                   context->extra, subject->weights_, dx));
}

static void segments(workspace *space, size_t tokens, size_t dim)
{
    dense_context context = {.tokens = ragged_tokens(space, tokens, dim), .extra = 5};
    layer subject = {.inputs = context.tokens.count,
                     .context = &context,
                     .value = segment_value,
                     .gradient = segment_gradient};
    check_backward(space, &subject, SAMPLES * 5 * HEADS * dim);
}

enum { MATRICES = 3, STEPS = 6 };

/*
 * Matrices [MATRICES, m, m] with distinct sums of rows and columns, small and with a diagonal:
 * the iteration converges, and its start is differentiable.
 */
static void *landmark_maps(workspace *space, size_t m, const void *x)
{
    double *k = download(space, MATRICES * m * m, x);
    for (size_t e = 0; e < MATRICES * m * m; e++)
        k[e] = 0.2 * k[e] / sqrt((double)m) + (e / m % m == e % m ? 1 : 0);
    return upload(space, MATRICES * m * m, k);
}

static double newton_value(workspace *space, const layer *subject, const void *x)
{
    const size_t m = subject->rows, count = MATRICES * m * m;
    void *z = zeros(space, count), *k = landmark_maps(space, m, x);
    assert_ok(dense(space)->newton_inverse(space->device, MATRICES, m, (int)subject->cols, k, z));
    return weighted(space, subject, count, z);
}

static void newton_gradient(workspace *space, const layer *subject, const void *x, void *dx)
{
    const size_t m = subject->rows, count = MATRICES * m * m;
    void *k = landmark_maps(space, m, x), *dk = zeros(space, count);
    assert_ok(dense(space)->newton_inverse_backward(space->device, MATRICES, m, (int)subject->cols,
                                                    k, subject->weights_, dk));
    assert_ok(dense(space)->add_scaled(space->device, count, 0.2 / sqrt((double)m), dk, 0, dx));
}

static void newton(workspace *space, size_t rows, size_t cols)
{
    const size_t m = 1 + (rows + cols) % 20;
    for (size_t steps = 0; steps <= STEPS; steps += steps == 2 ? 4 : 1) {
        layer subject = {.rows = m,
                         .cols = steps,
                         .inputs = MATRICES * m * m,
                         .value = newton_value,
                         .gradient = newton_gradient};
        check_backward(space, &subject, MATRICES * m * m);
        workspace_release(space);
    }
}

static void *inverse_of(workspace *space, size_t m, const void *x)
{
    void *z = zeros(space, MATRICES * m * m);
    assert_ok(dense(space)->shifted_inverse(space->device, MATRICES, m, 0.5,
                                            landmark_maps(space, m, x), z));
    return z;
}

static double inverse_value(workspace *space, const layer *subject, const void *x)
{
    return weighted(space, subject, subject->inputs, inverse_of(space, subject->rows, x));
}

static void inverse_gradient(workspace *space, const layer *subject, const void *x, void *dx)
{
    const size_t m = subject->rows, count = MATRICES * m * m;
    void *dk = zeros(space, count);
    assert_ok(dense(space)->shifted_inverse_backward(
        space->device, MATRICES, m, inverse_of(space, m, x), subject->weights_, dk));
    assert_ok(dense(space)->add_scaled(space->device, count, 0.2 / sqrt((double)m), dk, 0, dx));
}

static void shifted(workspace *space, size_t rows, size_t cols)
{
    const size_t m = 1 + (rows + cols) % 40;
    layer subject = {.rows = m,
                     .inputs = MATRICES * m * m,
                     .value = inverse_value,
                     .gradient = inverse_gradient};
    check_backward(space, &subject, MATRICES * m * m);
}

/* x, then the weights of the kernel. */
static mgk_token_kernel kernel_of(workspace *space, const dense_context *context, const void *x)
{
    mgk_token_kernel kernel = context->kernel;
    kernel.weight = mgk_at(space->device, x, context->tokens.count);
    return kernel;
}

static double token_kernel_value(workspace *space, const layer *subject, const void *x)
{
    const dense_context *context = subject->context;
    const mgk_head_tokens *shape = &context->tokens.device;
    size_t y_stride = HEADS * shape->dim, count = SAMPLES * shape->tokens * y_stride;
    mgk_token_kernel kernel = kernel_of(space, context, x);
    void *y = zeros(space, count);
    assert_ok(dense(space)->convolve_tokens(space->device, shape, &kernel, x, y, y_stride));
    return weighted(space, subject, count, y);
}

static void token_kernel_gradient(workspace *space, const layer *subject, const void *x, void *dx)
{
    const dense_context *context = subject->context;
    const mgk_head_tokens *shape = &context->tokens.device;
    mgk_token_kernel kernel = kernel_of(space, context, x);
    assert_ok(dense(space)->convolve_tokens_backward(
        space->device, shape, &kernel, x, subject->weights_, HEADS * shape->dim, dx,
        mgk_at(space->device, dx, context->tokens.count)));
}

static void token_kernels(workspace *space, size_t tokens, size_t dim)
{
    const size_t kernels[] = {1, 4, 33};
    for (size_t choice = 0; choice < 6; choice++) {
        dense_context context = {.tokens = ragged_tokens(space, tokens, 1 + dim % 9)};
        context.kernel = (mgk_token_kernel){kernels[choice / 2], choice % 2, NULL};
        layer subject = {.inputs = context.tokens.count + HEADS * context.kernel.taps,
                         .context = &context,
                         .value = token_kernel_value,
                         .gradient = token_kernel_gradient};
        check_backward(space, &subject, SAMPLES * tokens * HEADS * context.tokens.host.dim);
        workspace_release(space);
    }
}

enum { MAP_WEIGHTS = HEADS * HEADS * 9 };

/* x, weights and biases. */
static double map_kernel_value(workspace *space, const layer *subject, const void *x)
{
    const map_case *maps = &((const dense_context *)subject->context)->maps;
    const void *weight = mgk_at(space->device, x, maps->count);
    void *y = zeros(space, maps->count);
    assert_ok(dense(space)->convolve_maps(space->device, &maps->device, weight,
                                          mgk_at(space->device, weight, MAP_WEIGHTS), x, y));
    return weighted(space, subject, maps->count, y);
}

static void map_kernel_gradient(workspace *space, const layer *subject, const void *x, void *dx)
{
    const map_case *maps = &((const dense_context *)subject->context)->maps;
    void *dweight = mgk_at(space->device, dx, maps->count);
    double *dy = host_array(space, maps->count);
    for (size_t e = 0; e < maps->count; e++)
        dy[e] = element_valid(&maps->host, e) ? subject->weights[e] : (double)NAN;
    assert_ok(dense(space)->convolve_maps_backward(
        space->device, &maps->device, mgk_at(space->device, x, maps->count), x,
        upload(space, maps->count, dy), dx, dweight, mgk_at(space->device, dweight, MAP_WEIGHTS)));
}

static void map_kernels(workspace *space, size_t rows, size_t cols)
{
    for (int causal = 0; causal < 2; causal++) {
        dense_context context = {.maps = ragged_maps(space, rows, cols, causal)};
        layer subject = {.inputs = context.maps.count + MAP_WEIGHTS + HEADS,
                         .context = &context,
                         .value = map_kernel_value,
                         .gradient = map_kernel_gradient};
        check_backward(space, &subject, context.maps.count);
        workspace_release(space);
    }
}

static double sinkhorn_value(workspace *space, const layer *subject, const void *x)
{
    const dense_context *context = subject->context;
    void *y = copied(space, context->maps.count, x);
    assert_ok(dense(space)->sinkhorn(space->device, &context->maps.device, (int)context->extra, y));
    return weighted(space, subject, context->maps.count, y);
}

static void sinkhorn_gradient(workspace *space, const layer *subject, const void *x, void *dx)
{
    const dense_context *context = subject->context;
    assert_ok(dense(space)->sinkhorn_backward(space->device, &context->maps.device,
                                              (int)context->extra, x, subject->weights_, dx));
}

static void sinkhorn(workspace *space, size_t rows, size_t cols)
{
    for (size_t iterations = 0; iterations < 4; iterations += 3) {
        /* A single row or column is constant after normalisation. */
        dense_context context = {.maps = ragged_maps(space, rows + 1, cols + 1, rows == cols),
                                 .extra = iterations};
        layer subject = {.inputs = context.maps.count,
                         .context = &context,
                         .value = sinkhorn_value,
                         .gradient = sinkhorn_gradient};
        check_backward(space, &subject, context.maps.count);
        workspace_release(space);
    }
}

enum { GROUPS = 4 };

/* Token t belongs to group t mod GROUPS. */
typedef struct grouping {
    token_case tokens;
    const int32_t *group, *sizes;
} grouping;

static grouping group_tokens(workspace *space, size_t tokens, size_t dim)
{
    grouping out = {.tokens = ragged_tokens(space, tokens, dim)};
    const size_t lines = SAMPLES * HEADS;
    int32_t *group = host_bytes(space, lines * tokens, sizeof *group);
    int32_t *sizes = host_bytes(space, lines * GROUPS, sizeof *sizes);
    for (size_t e = 0; e < lines * tokens; e++) {
        group[e] = (int32_t)(e % tokens % GROUPS);
        if ((int64_t)(e % tokens) < out.tokens.host.lengths[e / tokens / HEADS])
            sizes[e / tokens * GROUPS + (size_t)group[e]]++;
    }
    out.group = upload_ids(space, lines * tokens, group);
    out.sizes = upload_ids(space, lines * GROUPS, sizes);
    return out;
}

static double group_value(workspace *space, const layer *subject, const void *x)
{
    const grouping *groups = subject->context;
    const size_t count = SAMPLES * GROUPS * HEADS * groups->tokens.host.dim;
    void *y = zeros(space, count);
    assert_ok(dense(space)->group_means(space->device, &groups->tokens.device, GROUPS,
                                        groups->group, groups->sizes, x, y));
    return weighted(space, subject, count, y);
}

static void group_gradient(workspace *space, const layer *subject, const void *x, void *dx)
{
    const grouping *groups = subject->context;
    (void)x;
    assert_ok(dense(space)->group_means_backward(space->device, &groups->tokens.device, GROUPS,
                                                 groups->group, groups->sizes, subject->weights_,
                                                 dx));
}

static void group_means(workspace *space, size_t tokens, size_t dim)
{
    grouping groups = group_tokens(space, tokens, dim);
    layer subject = {.inputs = groups.tokens.count,
                     .context = &groups,
                     .value = group_value,
                     .gradient = group_gradient};
    check_backward(space, &subject, SAMPLES * GROUPS * HEADS * dim);
}

static double tree_value(workspace *space, const layer *subject, const void *x)
{
    const dense_context *context = subject->context;
    const mgk_head_tokens *shape = &context->tokens.device;
    void *y = zeros(space, context->extra * HEADS * shape->dim);
    assert_ok(dense(space)->tree_means(space->device, shape, x, y));
    return weighted(space, subject, context->extra * HEADS * shape->dim, y);
}

static void tree_gradient(workspace *space, const layer *subject, const void *x, void *dx)
{
    const dense_context *context = subject->context;
    (void)x;
    assert_ok(dense(space)->tree_means_backward(space->device, &context->tokens.device,
                                                subject->weights_, dx));
}

static void tree(workspace *space, size_t tokens, size_t dim)
{
    dense_context context = {.tokens = ragged_tokens(space, tokens, dim)};
    context.extra = SAMPLES * mgk_tree_place(mgk_tree_levels(tokens), tokens);
    layer subject = {.inputs = context.tokens.count,
                     .context = &context,
                     .value = tree_value,
                     .gradient = tree_gradient};
    check_backward(space, &subject, context.extra * HEADS * dim);
}

/* x with a gap behind each row, then m [HEADS, cols]. */
static double expand_value(workspace *space, const layer *subject, const void *x)
{
    const size_t rows = subject->rows, cols = subject->cols, count = rows * HEADS * cols;
    void *y = upload(space, count, random_values(space, count)); /* is overwritten */
    assert_ok(dense(space)->expand_heads(space->device, rows, HEADS, cols, x, cols + 1,
                                         mgk_at(space->device, x, rows * (cols + 1)), y));
    return weighted(space, subject, count, y);
}

static void expand_gradient(workspace *space, const layer *subject, const void *x, void *dx)
{
    const size_t rows = subject->rows, cols = subject->cols, m = rows * (cols + 1);
    assert_ok(dense(space)->expand_heads_backward(space->device, rows, HEADS, cols, x, cols + 1,
                                                  mgk_at(space->device, x, m), subject->weights_,
                                                  dx, mgk_at(space->device, dx, m)));
}

static void expanded(workspace *space, size_t rows, size_t cols)
{
    layer subject = {.rows = rows,
                     .cols = cols,
                     .inputs = rows * (cols + 1) + HEADS * cols,
                     .value = expand_value,
                     .gradient = expand_gradient};
    check_backward(space, &subject, rows * HEADS * cols);
}

/* Logits, x, then the vectors of centres and of widths [HEADS, dim]. */
typedef struct window_context {
    map_case maps;
    token_case tokens;
} window_context;

static double window_value(workspace *space, const layer *subject, const void *x)
{
    const window_context *context = subject->context;
    const size_t scores = context->maps.count, tokens = scores + context->tokens.count;
    const size_t dim = context->tokens.host.dim;
    double *valid = host_array(space, scores);
    void *y = copied(space, scores, x);
    assert_ok(dense(space)->subtract_windows(
        space->device, &context->maps.device, &context->tokens.device,
        mgk_at(space->device, x, scores), mgk_at(space->device, x, tokens),
        mgk_at(space->device, x, tokens + HEADS * dim), y));
    const double *before = download(space, scores, x), *found = download(space, scores, y);
    for (size_t e = 0; e < scores; e++) {
        const bool is_valid = element_valid(&context->maps.host, e);
        valid[e] = is_valid ? found[e] : 0;
        if (!is_valid)
            assert_true(found[e] == before[e]);
    }
    return weighted(space, subject, scores, upload(space, scores, valid));
}

static void window_gradient(workspace *space, const layer *subject, const void *x, void *dx)
{
    const window_context *context = subject->context;
    const size_t scores = context->maps.count, tokens = scores + context->tokens.count;
    const size_t widths = tokens + HEADS * context->tokens.host.dim;
    mgk_device *device = space->device;
    double *dscores = host_array(space, scores);
    const double *weights = download(space, scores, subject->weights_);
    for (size_t e = 0; e < scores; e++)
        dscores[e] = element_valid(&context->maps.host, e) ? weights[e] : 0;
    const void *dscores_ = upload(space, scores, dscores);
    assert_ok(device->op->copy(device, dx, dscores_, scores * device->real_size));
    assert_ok(dense(space)->subtract_windows_backward(
        device, &context->maps.device, &context->tokens.device, mgk_at(device, x, scores),
        mgk_at(device, x, tokens), mgk_at(device, x, widths), dscores_, mgk_at(device, dx, scores),
        mgk_at(device, dx, tokens), mgk_at(device, dx, widths)));
}

static void windows(workspace *space, size_t rows, size_t cols)
{
    for (int causal = 0; causal < 2; causal++) {
        window_context context = {.maps = ragged_maps(space, rows + 1, rows + 1, causal),
                                  .tokens = ragged_tokens(space, rows + 1, cols)};
        layer subject = {.inputs = context.maps.count + context.tokens.count + 2 * HEADS * cols,
                         .context = &context,
                         .value = window_value,
                         .gradient = window_gradient};
        check_backward(space, &subject, context.maps.count);
        workspace_release(space);
    }
}

/* Lengths of tokens, with an epsilon that is not small beside them. */
static double unit_value(workspace *space, const layer *subject, const void *x)
{
    const token_case *tokens = subject->context;
    const size_t count = SAMPLES * tokens->host.tokens * HEADS * tokens->host.dim;
    void *y = zeros(space, count);
    assert_ok(dense(space)->unit_tokens(space->device, &tokens->device, 0.25, x, y));
    return weighted(space, subject, count, y);
}

static void unit_gradient(workspace *space, const layer *subject, const void *x, void *dx)
{
    const token_case *tokens = subject->context;
    assert_ok(dense(space)->unit_tokens_backward(space->device, &tokens->device, 0.25, x,
                                                 subject->weights_, dx));
}

static void unit_tokens(workspace *space, size_t tokens, size_t dim)
{
    token_case shape = ragged_tokens(space, tokens, dim);
    layer subject = {
        .inputs = shape.count, .context = &shape, .value = unit_value, .gradient = unit_gradient};
    check_backward(space, &subject, SAMPLES * tokens * HEADS * dim);
}

/* Tokens, then weights [B, H, GROUPS]. */
static double weigh_value(workspace *space, const layer *subject, const void *x)
{
    const grouping *groups = subject->context;
    const mgk_head_tokens *shape = &groups->tokens.device;
    const size_t width = HEADS * shape->dim, count = SAMPLES * shape->tokens * width;
    void *y = zeros(space, count);
    assert_ok(dense(space)->weigh_groups(space->device, shape, GROUPS, groups->group,
                                         mgk_at(space->device, x, groups->tokens.count), x, y,
                                         width));
    return weighted(space, subject, count, y);
}

static void weigh_gradient(workspace *space, const layer *subject, const void *x, void *dx)
{
    const grouping *groups = subject->context;
    const mgk_head_tokens *shape = &groups->tokens.device;
    assert_ok(dense(space)->weigh_groups_backward(space->device, shape, GROUPS, groups->group,
                                                  mgk_at(space->device, x, groups->tokens.count), x,
                                                  subject->weights_, HEADS * shape->dim, dx,
                                                  mgk_at(space->device, dx, groups->tokens.count)));
}

static void weigh_groups(workspace *space, size_t tokens, size_t dim)
{
    grouping groups = group_tokens(space, tokens, dim);
    layer subject = {.inputs = groups.tokens.count + SAMPLES * HEADS * GROUPS,
                     .context = &groups,
                     .value = weigh_value,
                     .gradient = weigh_gradient};
    check_backward(space, &subject, SAMPLES * tokens * HEADS * dim);
}

/* Votes of length 2: longer ones make couplings that rounding decides. */
static double vote_scale(const mgk_capsules *k)
{
    return 2 / sqrt((double)k->dim);
}

static void *scaled_votes(workspace *space, const layer *subject, const void *x)
{
    void *u = zeros(space, subject->inputs);
    assert_ok(dense(space)->add_scaled(space->device, subject->inputs, vote_scale(subject->context),
                                       x, 0, u));
    return u;
}

static double route_value(workspace *space, const layer *subject, const void *x)
{
    const mgk_capsules *k = subject->context;
    const size_t count = k->rows * k->outputs * k->dim;
    void *y = zeros(space, count);
    assert_ok(dense(space)->route_capsules(space->device, k, scaled_votes(space, subject, x), y));
    return weighted(space, subject, count, y);
}

static void route_gradient(workspace *space, const layer *subject, const void *x, void *dx)
{
    const mgk_capsules *k = subject->context;
    void *du = upload(space, subject->inputs, random_values(space, subject->inputs));
    assert_ok(dense(space)->route_capsules_backward(
        space->device, k, scaled_votes(space, subject, x), subject->weights_, du));
    assert_ok(dense(space)->add_scaled(space->device, subject->inputs, vote_scale(k), du, 0, dx));
}

static void routed(workspace *space, size_t rows, size_t cols)
{
    for (int steps = 1; steps < 5; steps++) {
        const mgk_capsules k = {.rows = rows,
                                .inputs = 1 + rows % 3,
                                .outputs = 2 + cols % 3,
                                .dim = cols,
                                .steps = steps};
        layer subject = {.inputs = rows * k.inputs * k.outputs * cols,
                         .context = &k,
                         .value = route_value,
                         .gradient = route_gradient};
        check_backward(space, &subject, rows * k.outputs * cols);
        workspace_release(space);
    }
}

int main(void)
{
    check checks[] = {
        {.name = "softmax", .run = softmax},
        {.name = "segments", .run = segments},
        {.name = "tree", .run = tree},
        {.name = "newton", .run = newton},
        {.name = "shifted", .run = shifted},
        {.name = "token_kernels", .run = token_kernels},
        {.name = "map_kernels", .run = map_kernels},
        {.name = "sinkhorn", .run = sinkhorn},
        {.name = "group_means", .run = group_means},
        {.name = "expanded", .run = expanded},
        {.name = "windows", .run = windows},
        {.name = "unit_tokens", .run = unit_tokens},
        {.name = "weigh_groups", .run = weigh_groups},
        {.name = "routed", .run = routed},
    };
    return run_checks(MGK_SINGLE, MGK_DOUBLE, sizeof checks / sizeof *checks, checks);
}
