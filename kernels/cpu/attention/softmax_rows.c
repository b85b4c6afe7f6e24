/* SPDX-License-Identifier: MIT */
/* Softmax of the rows of explicit matrices. */
#include <string.h>

#include "kernels/cpu/attention/dense.h"
#include "kernels/cpu/exp.h"

/* In place; a row whose entries are all −∞ becomes 0, one with a NaN becomes NaN. */
static void normalize(size_t count, real *x)
{
    real largest = -INFINITY, sum = 0;
#pragma omp simd reduction(max : largest)
    for (size_t j = 0; j < count; j++)
        largest = x[j] > largest ? x[j] : largest;
    const real shift = largest == -INFINITY ? 0 : largest;
#pragma omp simd reduction(+ : sum)
    for (size_t j = 0; j < count; j++) {
        x[j] = mgk_exp(x[j] - shift);
        sum += x[j];
    }
    const real scale = sum == 0 ? 0 : 1 / sum;
#pragma omp simd
    for (size_t j = 0; j < count; j++)
        x[j] *= scale;
}

mgk_status MGK_CPU(softmax_rows)(mgk_device *device, const mgk_head_maps *maps, void *x)
{
    const size_t rows = maps->samples * maps->heads * maps->rows;
#pragma omp parallel for schedule(dynamic, 16) \
    num_threads(device->threads) if (rows * maps->cols >= MGK_CPU_PARALLEL_ELEMENTS / 4)
    for (size_t r = 0; r < rows; r++) {
        size_t b = r / maps->rows / maps->heads;
        size_t width = mgk_cpu_row_width(maps, b, r % maps->rows);
        real *row = (real *)x + r * maps->cols;
        normalize(width, row);
        memset(row + width, 0, (maps->cols - width) * sizeof *row);
    }
    return STATUS_OK;
}

mgk_status MGK_CPU(softmax_rows_backward)(mgk_device *device, const mgk_head_maps *maps,
                                          const void *y, const void *dy, void *dx)
{
    const size_t rows = maps->samples * maps->heads * maps->rows;
#pragma omp parallel for schedule(dynamic, 16) \
    num_threads(device->threads) if (rows * maps->cols >= MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t r = 0; r < rows; r++) {
        size_t b = r / maps->rows / maps->heads;
        size_t width = mgk_cpu_row_width(maps, b, r % maps->rows);
        const real *output = (const real *)y + r * maps->cols;
        const real *gradient = (const real *)dy + r * maps->cols;
        real *row = (real *)dx + r * maps->cols;
        const real mean = mgk_cpu_dot_row(width, output, gradient);
#pragma omp simd
        for (size_t j = 0; j < width; j++)
            row[j] = output[j] * (gradient[j] - mean);
        memset(row + width, 0, (maps->cols - width) * sizeof *row);
    }
    return STATUS_OK;
}
