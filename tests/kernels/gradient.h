/* SPDX-License-Identifier: MIT */
/* Gradients of operations against central differences, in double. */
#ifndef MGK_TESTS_KERNELS_GRADIENT_H
#define MGK_TESTS_KERNELS_GRADIENT_H

#include "workspace.h"

/* A scalar function of the packed inputs x, and its gradient packed likewise. */
typedef struct layer {
    size_t rows, cols;
    size_t inputs;         /* numbers in x */
    const double *weights; /* [outputs]: the function is Σ weights·outputs */
    const void *weights_;  /* the same on the device */
    const int32_t *integers;
    const void *context; /* of the two functions */
    double (*value)(workspace *, const struct layer *, const void *x);
    void (*gradient)(workspace *, const struct layer *, const void *x, void *dx);
} layer;

/* Σ weights·y for an operation that writes y [count]. */
static inline double weighted(workspace *space, const layer *subject, size_t count, const void *y)
{
    const double *values = download(space, count, y);
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += subject->weights[i] * values[i];
    return sum;
}

static inline void *zeros(workspace *space, size_t count)
{
    return upload(space, count, host_array(space, count));
}

static inline double along(size_t count, const double *a, const double *b)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Compares the derivative along random directions, to 1e-7 of its natural size. */
static inline void check_gradient(workspace *space, layer *subject, size_t outputs)
{
    const size_t n = subject->inputs;
    const double h = 1e-5;
    subject->weights = random_values(space, outputs);
    subject->weights_ = upload(space, outputs, subject->weights);
    double *x = random_values(space, n), *moved = host_array(space, n);
    void *dx_ = zeros(space, n);
    subject->gradient(space, subject, upload(space, n, x), dx_);
    const double *dx = download(space, n, dx_);
    assert_true(along(n, dx, dx) > 0);
    for (int trial = 0; trial < 2; trial++) {
        double *direction = random_values(space, n), value[2];
        for (int side = 0; side < 2; side++) {
            for (size_t i = 0; i < n; i++)
                moved[i] = x[i] + (side ? h : -h) * direction[i];
            value[side] = subject->value(space, subject, upload(space, n, moved));
        }
        double scale = sqrt(along(n, dx, dx) * along(n, direction, direction));
        assert_close((value[1] - value[0]) / (2 * h), along(n, dx, direction), 1e-7 * scale, 0);
    }
}

#endif
