/* SPDX-License-Identifier: MIT */
/*
 * Every backward operation except attention's, against finite differences of its forward operation,
 * in double. (test_layers.c and test_operations.c compare the same code in single precision with
 * the reference.)
 */
#include "gradient.h"

enum { SAMPLES = 3, WORDS = 7, MIXTURES = 2 };

static double gelu_value(workspace *space, const layer *subject, const void *x)
{
    void *copy = upload(space, subject->inputs, download(space, subject->inputs, x));
    void *y = zeros(space, subject->inputs);
    assert_ok(space->device->op->bias_activation(space->device, MGK_ACTIVATION_GELU, subject->rows,
                                                 subject->cols, NULL, copy, y));
    return weighted(space, subject, subject->inputs, y);
}

static void gelu_gradient(workspace *space, const layer *subject, const void *x, void *dx)
{
    assert_ok(space->device->op->activation_backward(space->device, MGK_ACTIVATION_GELU,
                                                     subject->inputs, x, subject->weights_, dx));
}

static void gelu(workspace *space, size_t rows, size_t cols)
{
    layer subject = {.rows = rows,
                     .cols = cols,
                     .inputs = rows * cols,
                     .value = gelu_value,
                     .gradient = gelu_gradient};
    check_gradient(space, &subject, rows * cols);
}

/* x, gamma and beta, concatenated; y, mean and deviation likewise. */
static void *run_norm(workspace *space, const layer *subject, const void *x)
{
    mgk_device *device = space->device;
    size_t rows = subject->rows, cols = subject->cols, count = rows * cols;
    void *y = zeros(space, count + 2 * rows);
    assert_ok(device->op->layer_norm(device, rows, cols, 0.1, x, mgk_at(device, x, count),
                                     mgk_at(device, x, count + cols), y, mgk_at(device, y, count),
                                     mgk_at(device, y, count + rows)));
    return y;
}

static double norm_value(workspace *space, const layer *subject, const void *x)
{
    return weighted(space, subject, subject->rows * subject->cols, run_norm(space, subject, x));
}

static void norm_gradient(workspace *space, const layer *subject, const void *x, void *dx)
{
    mgk_device *device = space->device;
    size_t rows = subject->rows, cols = subject->cols, count = rows * cols;
    const void *y = run_norm(space, subject, x);
    assert_ok(device->op->layer_norm_backward(
        device, rows, cols, x, mgk_at(device, x, count), mgk_at(device, y, count),
        mgk_at(device, y, count + rows), subject->weights_, NULL, dx, mgk_at(device, dx, count),
        mgk_at(device, dx, count + cols)));
}

static void layer_norm(workspace *space, size_t rows, size_t cols)
{
    layer subject = {.rows = rows,
                     .cols = cols,
                     .inputs = (rows + 2) * cols,
                     .value = norm_value,
                     .gradient = norm_gradient};
    check_gradient(space, &subject, rows * cols);
}

/* The table, then the positions. */
static double embed_value(workspace *space, const layer *subject, const void *x)
{
    size_t tokens = subject->rows, cols = subject->cols;
    void *y = zeros(space, SAMPLES * tokens * cols);
    assert_ok(space->device->op->embed(space->device, SAMPLES, tokens, cols, subject->integers,
                                       NULL, 1.5, x, mgk_at(space->device, x, WORDS * cols), y));
    return weighted(space, subject, SAMPLES * tokens * cols, y);
}

static void embed_gradient(workspace *space, const layer *subject, const void *x, void *dx)
{
    (void)x;
    assert_ok(space->device->op->embed_backward(
        space->device, SAMPLES, subject->rows, subject->cols, subject->integers, 1.5,
        subject->weights_, dx, mgk_at(space->device, dx, WORDS * subject->cols)));
}

static void embedding(workspace *space, size_t tokens, size_t cols)
{
    int32_t *ids = random_ids(space, SAMPLES * tokens, WORDS);
    ids[0] = 1;
    layer subject = {.rows = tokens,
                     .cols = cols,
                     .inputs = (WORDS + tokens) * cols,
                     .value = embed_value,
                     .gradient = embed_gradient};
    subject.integers = upload_bytes(space, SAMPLES * tokens * sizeof *ids, ids);
    check_gradient(space, &subject, SAMPLES * tokens * cols);
}

static double pool_value(workspace *space, const layer *subject, const void *x)
{
    void *y = zeros(space, SAMPLES * subject->cols);
    assert_ok(space->device->op->pool(space->device, SAMPLES, subject->rows, subject->cols,
                                      subject->integers, 0, x, y));
    return weighted(space, subject, SAMPLES * subject->cols, y);
}

static void pool_gradient(workspace *space, const layer *subject, const void *x, void *dx)
{
    (void)x;
    assert_ok(space->device->op->pool_backward(space->device, SAMPLES, subject->rows, subject->cols,
                                               subject->integers, 0, subject->weights_, dx));
}

static void pooling(workspace *space, size_t tokens, size_t cols)
{
    const int32_t lengths[SAMPLES] = {(int32_t)tokens, 1, (int32_t)(tokens + 1) / 2};
    layer subject = {.rows = tokens,
                     .cols = cols,
                     .inputs = SAMPLES * tokens * cols,
                     .value = pool_value,
                     .gradient = pool_gradient};
    subject.integers = upload_bytes(space, sizeof lengths, lengths);
    check_gradient(space, &subject, SAMPLES * cols);
}

static double pair_value(workspace *space, const layer *subject, const void *x)
{
    void *y = zeros(space, 4 * subject->rows * subject->cols);
    assert_ok(space->device->op->pair_features(space->device, subject->rows, subject->cols, x, y));
    return weighted(space, subject, 4 * subject->rows * subject->cols, y);
}

static void pair_gradient(workspace *space, const layer *subject, const void *x, void *dx)
{
    assert_ok(space->device->op->pair_features_backward(space->device, subject->rows, subject->cols,
                                                        x, subject->weights_, dx));
}

static void pair_features(workspace *space, size_t pairs, size_t cols)
{
    layer subject = {.rows = pairs,
                     .cols = cols,
                     .inputs = 2 * pairs * cols,
                     .value = pair_value,
                     .gradient = pair_gradient};
    check_gradient(space, &subject, 4 * pairs * cols);
}

/* The projected keys, then the shifts. */
static double shift_value(workspace *space, const layer *subject, const void *x)
{
    size_t rows = subject->rows, cols = subject->cols;
    void *y = zeros(space, rows * MIXTURES * cols);
    assert_ok(space->device->op->shift_keys(space->device, rows, MIXTURES, cols, x, cols,
                                            mgk_at(space->device, x, rows * cols), y));
    return weighted(space, subject, rows * MIXTURES * cols, y);
}

static void shift_gradient(workspace *space, const layer *subject, const void *x, void *dx)
{
    (void)x;
    assert_ok(space->device->op->shift_keys_backward(
        space->device, subject->rows, MIXTURES, subject->cols, subject->weights_, dx, subject->cols,
        mgk_at(space->device, dx, subject->rows * subject->cols)));
}

static void shifted_keys(workspace *space, size_t rows, size_t cols)
{
    layer subject = {.rows = rows,
                     .cols = cols,
                     .inputs = (rows + MIXTURES) * cols,
                     .value = shift_value,
                     .gradient = shift_gradient};
    check_gradient(space, &subject, rows * MIXTURES * cols);
}

static double entropy_value(workspace *space, const layer *subject, const void *x)
{
    mgk_loss loss = {0};
    add_loss(space, subject->rows, subject->cols, x, subject->integers, 1, NULL, &loss);
    return loss.sum;
}

static void entropy_gradient(workspace *space, const layer *subject, const void *x, void *dx)
{
    mgk_loss loss = {0};
    add_loss(space, subject->rows, subject->cols, x, subject->integers, 1, dx, &loss);
}

static void cross_entropy(workspace *space, size_t rows, size_t classes)
{
    classes++; /* the loss of one class is constant */
    int32_t *targets = random_ids(space, rows, (int32_t)classes);
    targets[0] = 1;
    layer subject = {.rows = rows,
                     .cols = classes,
                     .inputs = rows * classes,
                     .value = entropy_value,
                     .gradient = entropy_gradient};
    subject.integers = upload_bytes(space, rows * sizeof *targets, targets);
    check_gradient(space, &subject, 1);
}

int main(void)
{
    check checks[] = {
        {.name = "gelu", .run = gelu},
        {.name = "layer_norm", .run = layer_norm},
        {.name = "embedding", .run = embedding},
        {.name = "pooling", .run = pooling},
        {.name = "pair_features", .run = pair_features},
        {.name = "shifted_keys", .run = shifted_keys},
        {.name = "cross_entropy", .run = cross_entropy},
    };
    return run_checks(MGK_DOUBLE, MGK_DOUBLE, sizeof checks / sizeof *checks, checks);
}
