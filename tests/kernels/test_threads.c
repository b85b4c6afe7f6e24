/* SPDX-License-Identifier: MIT */
/* Results that do not depend on the number of threads, and opening the CPU. */
#include <string.h>

#include "workspace.h"

/* The operation's result on `threads` threads of a device like the workspace's. */
typedef double *(*result)(workspace *, size_t rows, size_t cols);

static void compare_thread_counts(workspace *space, size_t rows, size_t cols, result compute,
                                  size_t count)
{
    const int counts[] = {1, 2, 5};
    double *first = NULL;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        workspace other = {.stream = 0};
        assert_ok(mgk_device_open("cpu", space->device->precision, counts[i], &other.device));
        double *values = compute(&other, rows, cols);
        double *copy = host_array(space, count);
        memcpy(copy, values, count * sizeof *values);
        workspace_release(&other);
        mgk_device_close(other.device);
        if (!first)
            first = copy;
        assert_memory_equal(copy, first, count * sizeof *copy);
    }
}

static double *dropped(workspace *space, size_t rows, size_t cols)
{
    void *x = upload(space, rows * cols, random_values(space, rows * cols));
    const mgk_draw *draw = upload_bytes(space, sizeof *draw, &(mgk_draw){.seed = 3, .stream = 4});
    assert_ok(space->device->op->dropout_add(space->device, rows, cols, 0.2, draw, 0, x, NULL, x));
    return download(space, rows * cols, x);
}

static void dropout(workspace *space, size_t rows, size_t cols)
{
    compare_thread_counts(space, rows, cols, dropped, rows * cols);
}

static double *summed(workspace *space, size_t rows, size_t cols)
{
    const void *x = upload(space, rows * cols, random_values(space, rows * cols));
    void *sums = upload(space, cols, random_values(space, cols));
    assert_ok(space->device->op->column_sums(space->device, rows, cols, x, sums));
    return download(space, cols, sums);
}

static void column_sums(workspace *space, size_t rows, size_t cols)
{
    compare_thread_counts(space, rows, cols, summed, cols);
}

static double *squared(workspace *space, size_t rows, size_t cols)
{
    const void *x = upload(space, rows * cols, random_values(space, rows * cols));
    double *sum = host_array(space, 1);
    assert_ok(space->device->op->sum_squares(space->device, rows * cols, x, sum));
    return sum;
}

static void sum_squares(workspace *space, size_t rows, size_t cols)
{
    compare_thread_counts(space, rows, cols, squared, 1);
}

static double *embedded(workspace *space, size_t rows, size_t cols)
{
    const int32_t words = 3;
    const int32_t *ids = random_ids(space, rows, words);
    const void *dy = upload(space, rows * cols, random_values(space, rows * cols));
    void *dtable = upload(space, (size_t)words * cols, random_values(space, (size_t)words * cols));
    assert_ok(space->device->op->embed_backward(space->device, 1, rows, cols,
                                                upload_bytes(space, rows * sizeof *ids, ids), 2, dy,
                                                dtable, NULL));
    return download(space, (size_t)words * cols, dtable);
}

static void embed_backward(workspace *space, size_t rows, size_t cols)
{
    compare_thread_counts(space, rows, cols, embedded, 3 * cols);
}

/* Heads of samples of very different lengths add to one matrix, side by side. */
enum { MATRIX_SAMPLES = 4, MATRIX_HEADS = 3 };

static double *matrix_gradient(workspace *space, size_t tokens, size_t dim)
{
    const size_t width = MATRIX_HEADS * dim, count = MATRIX_SAMPLES * tokens * width;
    const int32_t n = (int32_t)tokens, lengths[MATRIX_SAMPLES] = {n, n / 5, n, n / 2};
    void *in[4], *out[4];
    for (int i = 0; i < 4; i++) {
        in[i] = upload(space, count, random_values(space, count));
        out[i] = upload(space, count, random_values(space, count));
    }
    void *statistic = upload(space, count, random_values(space, count));
    void *full = upload(space, tokens * tokens, random_values(space, tokens * tokens));
    void *dfull = upload(space, tokens * tokens, random_values(space, tokens * tokens));
    const mgk_attention_view view = {.samples = MATRIX_SAMPLES,
                                     .heads = MATRIX_HEADS,
                                     .tokens = n,
                                     .dim = (int)dim,
                                     .mixtures = 1,
                                     .lengths = upload_bytes(space, sizeof lengths, lengths),
                                     .query = in[0],
                                     .key = in[1],
                                     .value = in[2],
                                     .query_stride = width,
                                     .key_stride = width,
                                     .value_stride = width};
    const mgk_mixture mixture = {.scale = {0.5},
                                 .terms = {.full = full, .full_row_stride = tokens}};
    const mgk_attention_gradient gradient = {
        .query = out[0], .key = out[1], .value = out[2], .full = dfull};
    const mgk_operations *op = space->device->op;
    assert_ok(op->mixture_attention(space->device, &view, &mixture, out[3], width, statistic));
    assert_ok(op->mixture_attention_backward(space->device, &view, &mixture, out[3], statistic,
                                             in[3], width, &gradient));
    return download(space, tokens * tokens, dfull);
}

static void matrix_gradients(workspace *space, size_t tokens, size_t dim)
{
    if (dim <= 2)
        compare_thread_counts(space, tokens, dim, matrix_gradient, tokens * tokens);
}

/* Threads sum parts of gamma's gradient: every call gives the same numbers. */
static void layer_norm_repeats(workspace *space, size_t rows, size_t cols)
{
    mgk_device *device = space->device;
    double *x = random_values(space, rows * cols), *gains = random_values(space, cols);
    double *moments = random_values(space, rows), *first = NULL;
    for (int call = 0; call < 2; call++) {
        void *x_ = upload(space, rows * cols, x), *gamma = upload(space, cols, gains);
        void *moments_ = upload(space, rows, moments), *dgamma = upload(space, cols, gains);
        void *dbeta = upload(space, cols, gains);
        assert_ok(device->op->layer_norm_backward(device, rows, cols, x_, gamma, moments_, moments_,
                                                  x_, NULL, x_, dgamma, dbeta));
        double *sums = download(space, cols, dgamma);
        first = first ? first : sums;
        assert_memory_equal(sums, first, cols * sizeof *sums);
    }
}

static void opening(void **state)
{
    (void)state;
    mgk_device *device;
    assert_fails(mgk_device_open("gpu", MGK_SINGLE, 0, &device), STATUS_USAGE);
    assert_fails(mgk_device_open("cuda:", MGK_SINGLE, 0, &device), STATUS_USAGE);
    assert_fails(mgk_device_open("cpu", MGK_SINGLE, -1, &device), STATUS_USAGE);
    assert_null(device);
    setenv("MGK_CPU_LEVEL", "v9", 1);
    assert_fails(mgk_device_open("cpu", MGK_SINGLE, 0, &device), STATUS_USAGE);
    assert_null(device);
    unsetenv("MGK_CPU_LEVEL");
    assert_ok(mgk_device_open("cpu", MGK_DOUBLE, 2, &device));
    assert_int_equal(device->real_size, sizeof(double));
    assert_non_null(strstr(device->name, "2 threads)"));
    mgk_device_close(device);
    assert_ok(mgk_device_open("auto", MGK_SINGLE, 0, &device));
    assert_true(device->threads >= 1);
    mgk_device_close(device);
    mgk_device_close(NULL);
}

static void memory(void **state)
{
    (void)state;
    mgk_device *device;
    unsigned char bytes[5] = {1, 2, 3, 4, 5}, *array, *copy;
    assert_ok(mgk_device_open("cpu", MGK_SINGLE, 1, &device));
    assert_ok(device->op->allocate(device, sizeof bytes, &array));
    assert_ok(device->op->allocate(device, sizeof bytes, &copy));
    assert_ok(device->op->upload(device, array, bytes, sizeof bytes));
    assert_ok(device->op->copy(device, copy, array, 3));
    assert_ok(device->op->zero(device, array, 2));
    assert_ok(device->op->copy(device, array, NULL, 0));
    assert_ok(device->op->synchronize(device));
    assert_ok(device->op->download(device, bytes, array, sizeof bytes));
    assert_memory_equal(bytes, "\0\0\3\4\5", sizeof bytes);
    assert_ok(device->op->download(device, bytes, copy, sizeof bytes));
    assert_memory_equal(bytes, "\1\2\3\0\0", sizeof bytes);
    void *huge;
    assert_fails(device->op->allocate(device, SIZE_MAX - 8, &huge), STATUS_MEMORY);
    device->op->release(device, array);
    device->op->release(device, copy);
    device->op->release(device, NULL);
    mgk_device_close(device);
}

int main(void)
{
    const struct CMUnitTest plain[] = {cmocka_unit_test(opening), cmocka_unit_test(memory)};
    check checks[] = {
        {.name = "dropout", .run = dropout},
        {.name = "column_sums", .run = column_sums},
        {.name = "sum_squares", .run = sum_squares},
        {.name = "embed_backward", .run = embed_backward},
        {.name = "matrix_gradients", .run = matrix_gradients},
        {.name = "layer_norm_repeats", .run = layer_norm_repeats},
    };
    int failures = cmocka_run_group_tests(plain, NULL, NULL);
    return failures + run_checks(MGK_SINGLE, MGK_DOUBLE, sizeof checks / sizeof *checks, checks);
}
