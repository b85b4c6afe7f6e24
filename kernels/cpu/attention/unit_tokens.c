/* SPDX-License-Identifier: MIT */
/* Tokens of the same length, and the gradient through it. */
#include <math.h>
#include <string.h>

#include "kernels/cpu/attention/dense.h"

/* 1 / √(mean of x² + epsilon). */
static real inverse_length(const mgk_head_tokens *shape, double epsilon, const real *x)
{
    return 1 / (real)sqrt((double)mgk_cpu_dot_row(shape->dim, x, x) / (double)shape->dim + epsilon);
}

static bool is_valid(const mgk_head_tokens *shape, size_t row)
{
    return row % shape->tokens < mgk_cpu_length(shape->lengths, row / shape->tokens, shape->tokens);
}

mgk_status MGK_CPU(unit_tokens)(mgk_device *device, const mgk_head_tokens *shape, double epsilon,
                                const void *x, void *y)
{
    const size_t rows = shape->samples * shape->tokens, width = shape->heads * shape->dim;
#pragma omp parallel for schedule(static) \
    num_threads(device->threads) if (rows * width >= MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t row = 0; row < rows; row++) {
        real *to = (real *)y + row * width;
        memset(to, 0, width * sizeof *to);
        for (size_t h = 0; is_valid(shape, row) && h < shape->heads; h++) {
            const real *from = (const real *)x + row * shape->stride + h * shape->dim;
            mgk_cpu_add_row(shape->dim, inverse_length(shape, epsilon, from), from,
                            to + h * shape->dim);
        }
    }
    return STATUS_OK;
}

/* dx += s dy − s³ (x·dy / D) x with s = 1 / √(mean of x² + epsilon). */
mgk_status MGK_CPU(unit_tokens_backward)(mgk_device *device, const mgk_head_tokens *shape,
                                         double epsilon, const void *x, const void *dy, void *dx)
{
    const size_t rows = shape->samples * shape->tokens, dim = shape->dim;
#pragma omp parallel for schedule(static) \
    num_threads(device->threads) if (rows * shape->heads * dim >= MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t row = 0; row < rows; row++)
        for (size_t h = 0; is_valid(shape, row) && h < shape->heads; h++) {
            const size_t at = row * shape->stride + h * dim;
            const real *from = (const real *)x + at;
            const real *gradient = (const real *)dy + (row * shape->heads + h) * dim;
            const real s = inverse_length(shape, epsilon, from);
            const real along = mgk_cpu_dot_row(dim, from, gradient) / (real)dim;
            mgk_cpu_add_row(dim, s, gradient, (real *)dx + at);
            mgk_cpu_add_row(dim, -s * s * s * along, from, (real *)dx + at);
        }
    return STATUS_OK;
}
