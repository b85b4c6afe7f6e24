/* SPDX-License-Identifier: MIT */
/* Tokens times a number of their group. */
#include "kernels/cpu/attention/dense.h"

typedef struct call {
    const mgk_head_tokens *shape;
    size_t groups;
    const int32_t *group;
} call;

/* The weight's place for a token, or −1 if it has none. */
static ptrdiff_t weight_of(const call *c, size_t b, size_t h, size_t t)
{
    const size_t matrix = b * c->shape->heads + h;
    const int32_t own = c->group[matrix * c->shape->tokens + t];
    return own >= 0 && (size_t)own < c->groups ? (ptrdiff_t)(matrix * c->groups) + own : -1;
}

mgk_status MGK_CPU(weigh_groups)(mgk_device *device, const mgk_head_tokens *shape, size_t groups,
                                 const int32_t *group, const void *weight, const void *x, void *y,
                                 size_t y_stride)
{
    const call c = {shape, groups, group};
    const size_t rows = shape->samples * shape->tokens;
#pragma omp parallel for schedule(static) num_threads( \
    device->threads) if (rows * shape->heads * shape->dim >= MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t row = 0; row < rows; row++)
        for (size_t h = 0; h < shape->heads; h++) {
            const ptrdiff_t at = weight_of(&c, row / shape->tokens, h, row % shape->tokens);
            if (at >= 0)
                mgk_cpu_add_row(shape->dim, ((const real *)weight)[at],
                                (const real *)x + row * shape->stride + h * shape->dim,
                                (real *)y + row * y_stride + h * shape->dim);
        }
    return STATUS_OK;
}

mgk_status MGK_CPU(weigh_groups_backward)(mgk_device *device, const mgk_head_tokens *shape,
                                          size_t groups, const int32_t *group, const void *weight,
                                          const void *x, const void *dy, size_t y_stride, void *dx,
                                          void *dweight)
{
    const call c = {shape, groups, group};
    const size_t n = shape->tokens;
#pragma omp parallel for collapse(2) schedule(static) num_threads(device->threads)
    for (size_t b = 0; b < shape->samples; b++)
        for (size_t h = 0; h < shape->heads; h++)
            for (size_t t = 0; t < n; t++) {
                const ptrdiff_t at = weight_of(&c, b, h, t);
                const size_t token = mgk_cpu_token_at(shape, shape->stride, b, t, h);
                const real *from = (const real *)dy + mgk_cpu_token_at(shape, y_stride, b, t, h);
                if (at < 0)
                    continue;
                mgk_cpu_add_row(shape->dim, ((const real *)weight)[at], from, (real *)dx + token);
                ((real *)dweight)[at] += mgk_cpu_dot_row(shape->dim, (const real *)x + token, from);
            }
    return STATUS_OK;
}
