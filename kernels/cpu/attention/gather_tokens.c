/* SPDX-License-Identifier: MIT */
/* Tokens chosen by an index for each head. */
#include <string.h>

#include "kernels/cpu/attention/dense.h"

mgk_status MGK_CPU(gather_tokens)(mgk_device *device, const mgk_head_tokens *shape, size_t count,
                                  const int32_t *index, const void *x, void *y, size_t y_stride)
{
    const size_t heads = shape->heads, dim = shape->dim, rows = shape->samples * count;
#pragma omp parallel for schedule(static) \
    num_threads(device->threads) if (rows * heads * dim >= MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t r = 0; r < rows; r++)
        for (size_t h = 0; h < heads; h++) {
            const size_t b = r / count, i = r % count;
            const int32_t token = index[(b * heads + h) * count + i];
            real *to = (real *)y + r * y_stride + h * dim;
            if (token >= 0 && (size_t)token < shape->tokens)
                memcpy(to,
                       (const real *)x +
                           mgk_cpu_token_at(shape, shape->stride, b, (size_t)token, h),
                       dim * sizeof *to);
            else
                memset(to, 0, dim * sizeof *to);
        }
    return STATUS_OK;
}

mgk_status MGK_CPU(scatter_add_tokens)(mgk_device *device, const mgk_head_tokens *shape,
                                       size_t count, const int32_t *index, const void *y,
                                       size_t y_stride, void *x)
{
    const size_t heads = shape->heads, dim = shape->dim, matrices = shape->samples * heads;
#pragma omp parallel for schedule(static) \
    num_threads(device->threads) if (matrices * count * dim >= MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t m = 0; m < matrices; m++)
        for (size_t i = 0; i < count; i++) {
            const size_t b = m / heads, h = m % heads;
            const int32_t token = index[m * count + i];
            if (token >= 0 && (size_t)token < shape->tokens)
                mgk_cpu_add_row(dim, 1, (const real *)y + (b * count + i) * y_stride + h * dim,
                                (real *)x +
                                    mgk_cpu_token_at(shape, shape->stride, b, (size_t)token, h));
        }
    return STATUS_OK;
}

mgk_status MGK_CPU(add_weighed_rows)(mgk_device *device, size_t rows, size_t cols,
                                     const int32_t *index, const void *weight, const void *x,
                                     void *y)
{
#pragma omp parallel for schedule(static) \
    num_threads(device->threads) if (rows * cols >= MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t i = 0; i < rows; i++)
        mgk_cpu_add_row(cols, ((const real *)weight)[i], (const real *)x + i * cols,
                        (real *)y + (size_t)index[i] * cols);
    return STATUS_OK;
}
