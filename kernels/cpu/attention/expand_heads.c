/* SPDX-License-Identifier: MIT */
/* Heads that weigh shared numbers. */
#include <omp.h>
#include <string.h>

#include "kernels/cpu/attention/dense.h"

/* Rows whose products are summed before they are added to the rest. */
enum { ROW_BLOCK = 64 };

/* to += a ∘ b. */
static void add_products(size_t count, const real *a, const real *b, real *to)
{
#pragma omp simd
    for (size_t d = 0; d < count; d++)
        to[d] += a[d] * b[d];
}

mgk_status MGK_CPU(expand_heads)(mgk_device *device, size_t rows, size_t heads, size_t dim,
                                 const void *x, size_t x_stride, const void *m, void *y)
{
#pragma omp parallel for collapse(2) schedule(static) \
    num_threads(device->threads) if (rows * heads * dim >= MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t r = 0; r < rows; r++)
        for (size_t h = 0; h < heads; h++) {
            real *to = (real *)y + (r * heads + h) * dim;
            memset(to, 0, dim * sizeof *to);
            add_products(dim, (const real *)x + r * x_stride, (const real *)m + h * dim, to);
        }
    return STATUS_OK;
}

mgk_status MGK_CPU(expand_heads_backward)(mgk_device *device, size_t rows, size_t heads, size_t dim,
                                          const void *x, size_t x_stride, const void *m,
                                          const void *dy, void *dx, void *dm)
{
    const size_t width = heads * dim;
    const real *gradient = dy;
    TRY(mgk_cpu_reserve_scratch(device, dim * sizeof(real)));
#pragma omp parallel for schedule(static) \
    num_threads(device->threads) if (rows * width >= MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t r = 0; r < rows; r++)
        for (size_t h = 0; h < heads; h++)
            add_products(dim, (const real *)m + h * dim, gradient + r * width + h * dim,
                         (real *)dx + r * x_stride);
#pragma omp parallel for schedule(static) \
    num_threads(device->threads) if (rows * width >= MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t h = 0; h < heads; h++)
        for (size_t first = 0; first < rows; first += ROW_BLOCK) {
            const size_t last = rows - first < ROW_BLOCK ? rows : first + ROW_BLOCK;
            real *sum = mgk_cpu_scratch(device, omp_get_thread_num());
            memset(sum, 0, dim * sizeof *sum);
            for (size_t r = first; r < last; r++)
                add_products(dim, (const real *)x + r * x_stride, gradient + r * width + h * dim,
                             sum);
            mgk_cpu_add_row(dim, 1, sum, (real *)dm + h * dim);
        }
    return STATUS_OK;
}
