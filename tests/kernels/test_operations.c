/* SPDX-License-Identifier: MIT */
/* Products, activations, losses and the optimizer against a plain reference in double. */
#include "workspace.h"

static void multiplies(workspace *space, size_t m, size_t n)
{
    const size_t k = (m + n) % 33; /* includes 0, with leading dimensions of 0 */
    const size_t gap = k > 0 ? 2 : 0;
    for (int transposes = 0; transposes < 4; transposes++) {
        bool ta = transposes & 1, tb = transposes & 2;
        size_t lda = (ta ? m : k) + gap, ldb = (tb ? k : n) + gap, ldc = n + 2;
        size_t a_count = (ta ? k : m) * lda + 1, b_count = (tb ? n : k) * ldb + 1;
        double *a = random_values(space, a_count), *b = random_values(space, b_count);
        double *c = random_values(space, m * ldc);
        void *da = upload(space, a_count, a), *db = upload(space, b_count, b);
        void *dc = upload(space, m * ldc, c);
        assert_ok(space->device->op->multiply(space->device, ta, tb, m, n, k, 0.5, da, lda, db, ldb,
                                              -2, dc, ldc));
        for (size_t i = 0; i < m; i++)
            for (size_t j = 0; j < n; j++) {
                double sum = 0;
                for (size_t l = 0; l < k; l++)
                    sum += a[ta ? l * lda + i : i * lda + l] * b[tb ? j * ldb + l : l * ldb + j];
                c[i * ldc + j] = 0.5 * sum - 2 * c[i * ldc + j];
            }
        assert_device_close(space, m, ldc, dc, c);
        workspace_release(space);
    }
}

/* Large enough for several threads. */
static void multiplies_in_slices(workspace *space, size_t m, size_t n)
{
    const size_t k = 289;
    const double alpha = 1 / sqrt((double)k);
    double *a = random_values(space, m * k), *b = random_values(space, k * n);
    double *c = host_array(space, m * n);
    void *da = upload(space, m * k, a), *db = upload(space, k * n, b);
    void *dc = upload(space, m * n, c);
    assert_ok(space->device->op->multiply(space->device, false, false, m, n, k, alpha, da, k, db, n,
                                          0, dc, n));
    for (size_t i = 0; i < m; i++)
        for (size_t l = 0; l < k; l++)
            for (size_t j = 0; j < n; j++)
                c[i * n + j] += alpha * a[i * k + l] * b[l * n + j];
    assert_device_close(space, m, n, dc, c);
}

static double activation(mgk_activation function, double x)
{
    switch (function) {
    case MGK_ACTIVATION_RELU:
        return x > 0 ? x : 0;
    case MGK_ACTIVATION_GELU:
        return x * 0.5 * erfc(-x * M_SQRT1_2);
    case MGK_ACTIVATION_GELU_TANH:
        return 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case MGK_ACTIVATION_SILU:
        return x / (1 + exp(-x));
    case MGK_ACTIVATION_NONE:
        break;
    }
    return x;
}

static double derivative(mgk_activation function, double x)
{
    switch (function) {
    case MGK_ACTIVATION_RELU:
        return x > 0;
    case MGK_ACTIVATION_GELU:
        return 0.5 * erfc(-x * M_SQRT1_2) + x * exp(-0.5 * x * x) / sqrt(2 * M_PI);
    case MGK_ACTIVATION_GELU_TANH: {
        double t = tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x));
        return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * sqrt(2 / M_PI) * (1 + 3 * 0.044715 * x * x);
    }
    case MGK_ACTIVATION_SILU:
        return (1 + x / (1 + exp(x))) / (1 + exp(-x));
    case MGK_ACTIVATION_NONE:
        break;
    }
    return 1;
}

static void activates(workspace *space, size_t rows, size_t cols)
{
    mgk_device *device = space->device;
    const size_t count = rows * cols;
    for (int f = MGK_ACTIVATION_GELU; f <= MGK_ACTIVATION_NONE; f++) {
        mgk_activation function = (mgk_activation)f;
        double *x = random_values(space, count), *bias = random_values(space, cols);
        double *dy = random_values(space, count), *y = host_array(space, count);
        double *dx = host_array(space, count);
        for (size_t i = 0; i < count; i++)
            x[i] *= 4;
        void *x_ = upload(space, count, x), *y_ = upload(space, count, y);
        void *dy_ = upload(space, count, dy);
        assert_ok(device->op->bias_activation(device, function, rows, cols,
                                              upload(space, cols, bias), x_, y_));
        for (size_t i = 0; i < count; i++)
            x[i] += bias[i % cols];
        assert_device_close(space, rows, cols, x_, x);
        double *given = download(space, count, x_);
        for (size_t i = 0; i < count; i++) {
            y[i] = activation(function, given[i]);
            dx[i] = dy[i] * derivative(function, given[i]);
        }
        assert_device_close(space, rows, cols, y_, y);
        assert_ok(device->op->bias_activation(device, function, rows, cols, NULL, x_, NULL));
        assert_device_close(space, rows, cols, x_, given);
        assert_ok(device->op->activation_backward(device, function, count, x_, dy_, dy_));
        assert_device_close(space, rows, cols, dy_, dx);
        workspace_release(space);
    }
}

static void gates(workspace *space, size_t rows, size_t cols)
{
    mgk_device *device = space->device;
    double *x = random_values(space, 2 * rows * cols), *y = host_array(space, rows * cols);
    void *x_ = upload(space, 2 * rows * cols, x), *y_ = upload(space, rows * cols, y);
    for (size_t i = 0; i < rows; i++)
        for (size_t c = 0; c < cols; c++)
            y[i * cols + c] =
                activation(MGK_ACTIVATION_SILU, x[2 * i * cols + c]) * x[(2 * i + 1) * cols + c];
    assert_ok(device->op->gate(device, MGK_ACTIVATION_SILU, rows, cols, x_, y_));
    assert_device_close(space, rows, cols, y_, y);
}

/* The whole range, including far tails and NaN. */
static void gelu_is_accurate(workspace *space, size_t rows, size_t cols)
{
    const size_t count = rows * cols;
    mgk_device *device = space->device;
    const double limit = device->precision == MGK_DOUBLE ? 1e-15 : 5e-7;
    double *x = host_array(space, count);
    for (size_t i = 0; i < count; i++)
        x[i] =
            (double)(float)(i % 7 == 0 ? (double)i - 100 : 16 * ((double)i / (double)count - 0.5));
    void *x_ = upload(space, count, x), *y_ = upload(space, count, x);
    assert_ok(device->op->bias_activation(device, MGK_ACTIVATION_GELU, 1, count, NULL, x_, y_));
    double *y = download(space, count, y_);
    for (size_t i = 0; i < count; i++) {
        double expected = activation(MGK_ACTIVATION_GELU, x[i]);
        assert_close(y[i], expected, limit * fmax(1, fabs(x[i])), 0);
    }
    x[0] = NAN;
    x_ = upload(space, count, x);
    for (int f = MGK_ACTIVATION_GELU; f <= MGK_ACTIVATION_NONE; f++) {
        assert_ok(device->op->bias_activation(device, (mgk_activation)f, 1, count, NULL, x_, y_));
        assert_true(isnan(download(space, count, y_)[0]));
    }
}

static void sums_columns(workspace *space, size_t rows, size_t cols)
{
    rows *= 5; /* several blocks of rows */
    double *x = random_values(space, rows * cols), *sums = random_values(space, cols);
    void *sums_ = upload(space, cols, sums);
    assert_ok(space->device->op->column_sums(space->device, rows, cols,
                                             upload(space, rows * cols, x), sums_));
    for (size_t i = 0; i < rows * cols; i++)
        sums[i % cols] += x[i];
    assert_device_close(space, 1, cols, sums_, sums);
}

static void measures_cross_entropy(workspace *space, size_t rows, size_t classes)
{
    const double scale = 0.25;
    double *logits = random_values(space, rows * classes);
    double *gradient = host_array(space, rows * classes);
    int32_t *targets = random_ids(space, rows, (int32_t)classes);
    for (size_t i = 0; i < rows * classes; i++)
        logits[i] *= 30;
    mgk_loss expected = {0}, loss = {0};
    for (size_t i = 0; i < rows; i++) {
        const double *row = logits + i * classes;
        if (targets[i] < 0)
            continue;
        double highest = row[0], sum = 0;
        size_t best = 0;
        for (size_t j = 1; j < classes; j++)
            if (row[j] > highest)
                highest = row[best = j];
        for (size_t j = 0; j < classes; j++)
            sum += exp(row[j] - highest);
        for (size_t j = 0; j < classes; j++)
            gradient[i * classes + j] =
                scale * (exp(row[j] - highest) / sum - ((int32_t)j == targets[i]));
        expected.sum += log(sum) + highest - row[targets[i]];
        expected.count++;
        expected.correct += (int32_t)best == targets[i];
    }
    void *logits_ = upload(space, rows * classes, logits);
    const void *targets_ = upload_bytes(space, rows * sizeof *targets, targets);
    add_loss(space, rows, classes, logits_, targets_, scale, NULL, &loss);
    assert_close(loss.sum, expected.sum, space->tolerance, space->tolerance);
    assert_int_equal(loss.count, expected.count);
    assert_int_equal(loss.correct, expected.correct);
    assert_device_close(space, rows, classes, logits_, logits);
    add_loss(space, rows, classes, logits_, targets_, scale, logits_, &loss);
    assert_close(loss.sum, 2 * expected.sum, space->tolerance, space->tolerance);
    assert_int_equal(loss.count, 2 * expected.count);
    assert_int_equal(loss.correct, 2 * expected.correct);
    assert_device_close(space, rows, classes, logits_, gradient);
}

static void cross_entropy_of_special_logits(workspace *space, size_t rows, size_t classes)
{
    mgk_loss loss = {0};
    double *logits = host_array(space, rows * classes);
    int32_t *targets = host_bytes(space, rows, sizeof *targets);
    const void *targets_ = upload_bytes(space, rows * sizeof *targets, targets);
    void *equal = upload(space, rows * classes, logits);
    add_loss(space, rows, classes, equal, targets_, 1, NULL, &loss);
    assert_close(loss.sum, (double)rows * log((double)classes), space->tolerance, space->tolerance);
    assert_int_equal(loss.correct, rows);
    for (size_t i = 0; i < rows; i++)
        targets[i] = (int32_t)classes - 1;
    targets_ = upload_bytes(space, rows * sizeof *targets, targets);
    loss = (mgk_loss){0};
    add_loss(space, rows, classes, equal, targets_, 1, NULL, &loss);
    assert_int_equal(loss.correct, classes == 1 ? rows : 0);

    logits[rows * classes / 2] = NAN;
    void *broken = upload(space, rows * classes, logits);
    add_loss(space, rows, classes, broken, targets_, 1, NULL, &loss);
    assert_true(isnan(loss.sum));
    loss = (mgk_loss){0};
    add_loss(space, 0, classes, broken, targets_, 1, broken, &loss);
    assert_true(loss.sum == 0 && loss.count == 0 && loss.correct == 0);
}

static void sums_squares(workspace *space, size_t rows, size_t cols)
{
    const size_t count = rows * cols;
    mgk_device *device = space->device;
    double *x = random_values(space, count), expected = 0, sum = 1;
    double *sum_ = upload_bytes(space, sizeof sum, &sum);
    for (size_t i = 0; i < count; i++)
        expected += x[i] * x[i];
    assert_ok(device->op->sum_squares(device, count, upload(space, count, x), sum_));
    assert_ok(device->op->download(device, &sum, sum_, sizeof sum));
    assert_close(sum, expected, 0, 1e-13);
}

/* The third step is clipped; the last one has no finite gradient and changes nothing. */
static void steps_adamw(workspace *space, size_t rows, size_t cols)
{
    const size_t count = rows * cols;
    mgk_device *device = space->device;
    double *w = random_values(space, count), *g = random_values(space, count);
    double *m = host_array(space, count), *v = host_array(space, count);
    void *w_ = upload(space, count, w), *g_ = upload(space, count, g);
    void *m_ = upload(space, count, m), *v_ = upload(space, count, v);
    const mgk_adamw settings = {
        .beta1 = 0.9, .beta2 = 0.98, .epsilon = 1e-8, .decay = 0.1, .clip = 3};
    const double squares[] = {9, 1, 36, NAN};
    for (int t = 1; t <= 4; t++) {
        const double correction1 = 1 - pow(0.9, t), correction2 = 1 - pow(0.98, t);
        const mgk_adamw_step step = {0.01, correction1, correction2, squares[t - 1]};
        assert_ok(device->op->adamw(device, &settings, upload_bytes(space, sizeof step, &step),
                                    count, g_, w_, m_, v_));
        for (size_t i = 0; i < count && t < 4; i++) {
            double slope = (t == 3 ? 0.5 : 1) * g[i];
            m[i] = 0.9 * m[i] + 0.1 * slope;
            v[i] = 0.98 * v[i] + 0.02 * slope * slope;
            double first = m[i] / correction1, second = v[i] / correction2;
            w[i] -= 0.01 * (first / (sqrt(second) + 1e-8) + 0.1 * w[i]);
        }
    }
    assert_device_close(space, rows, cols, w_, w);
    assert_device_close(space, rows, cols, m_, m);
    assert_device_close(space, rows, cols, v_, v);
}

int main(void)
{
    check checks[] = {
        {.name = "multiplies", .run = multiplies},
        {.name = "multiplies_in_slices", .run = multiplies_in_slices},
        {.name = "activates", .run = activates},
        {.name = "gates", .run = gates},
        {.name = "gelu_is_accurate", .run = gelu_is_accurate},
        {.name = "sums_columns", .run = sums_columns},
        {.name = "measures_cross_entropy", .run = measures_cross_entropy},
        {.name = "cross_entropy_of_special_logits", .run = cross_entropy_of_special_logits},
        {.name = "sums_squares", .run = sums_squares},
        {.name = "steps_adamw", .run = steps_adamw},
    };
    return run_checks(MGK_SINGLE, MGK_DOUBLE, sizeof checks / sizeof *checks, checks);
}
