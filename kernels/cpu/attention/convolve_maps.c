/* SPDX-License-Identifier: MIT */
/* Convolutions of 3 x 3 over maps whose channels are heads. */
#include <string.h>

#include "kernels/cpu/attention/dense.h"

/*
 * The gradient of the input is the same convolution of dy with channels exchanged and the kernel
 * turned by half: `transposed`.
 */
typedef struct convolution {
    const mgk_head_maps *maps;
    bool transposed;
    const real *weight, *bias;
    const real *from;
    real *to;
} convolution;

/* Rows of the kernel in use. */
static size_t kernel_rows(const mgk_head_maps *maps)
{
    return maps->causal ? 2 : 3;
}

/* to_j += Σ_c tap_c from_(j + c − 1), with `wide` valid entries of `from`. */
static void add_taps(size_t count, size_t wide, const real tap[3], const real *from, real *to)
{
    const size_t inner = wide == 0 ? 0 : count < wide - 1 ? count : wide - 1;
#pragma omp simd
    for (size_t j = 1; j < inner; j++)
        to[j] += tap[0] * from[j - 1] + tap[1] * from[j] + tap[2] * from[j + 1];
    for (size_t j = 0; j < count && j <= wide; j = j == 0 && inner > 1 ? inner : j + 1)
        for (size_t c = 0; c < 3; c++)
            if (j + c >= 1 && j + c - 1 < wide)
                to[j] += tap[c] * from[j + c - 1];
}

/* Row i of channel `out` of sample b. */
static void convolve_row(const convolution *task, size_t b, size_t out, size_t i)
{
    const mgk_head_maps *maps = task->maps;
    const size_t width = mgk_cpu_row_width(maps, b, i), heads = maps->heads;
    real *to = task->to + ((b * heads + out) * maps->rows + i) * maps->cols;
    for (size_t j = 0; j < maps->cols; j++)
        to[j] = j < width && task->bias ? task->bias[out] : 0;
    for (size_t in = 0; width > 0 && in < heads; in++)
        for (size_t a = 0; a < kernel_rows(maps); a++) {
            const size_t source = task->transposed ? i + 1 - a : i + a - 1;
            if (source >= maps->rows) /* also before row 0, where it wraps */
                continue;
            const real *w = task->weight +
                            ((task->transposed ? in * heads + out : out * heads + in) * 3 + a) * 3;
            const real tap[3] = {w[task->transposed ? 2 : 0], w[1], w[task->transposed ? 0 : 2]};
            add_taps(width, mgk_cpu_row_width(maps, b, source), tap,
                     task->from + ((b * heads + in) * maps->rows + source) * maps->cols, to);
        }
}

static void convolve(mgk_device *device, const convolution *task)
{
    const mgk_head_maps *maps = task->maps;
    const size_t work = maps->samples * maps->heads * maps->heads * maps->rows * maps->cols;
#pragma omp parallel for collapse(3) schedule(dynamic, 8) \
    num_threads(device->threads) if (work >= MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t b = 0; b < maps->samples; b++)
        for (size_t out = 0; out < maps->heads; out++)
            for (size_t i = 0; i < maps->rows; i++)
                convolve_row(task, b, out, i);
}

mgk_status MGK_CPU(convolve_maps)(mgk_device *device, const mgk_head_maps *maps, const void *weight,
                                  const void *bias, const void *x, void *y)
{
    convolve(device,
             &(convolution){.maps = maps, .weight = weight, .bias = bias, .from = x, .to = y});
    return STATUS_OK;
}

/* dw_c += Σ_j dy_j x_(j + c − 1) of one row of dy, with `wide` valid entries of x. */
static void row_gradient(size_t count, size_t wide, const real *x, const real *dy, double dw[3])
{
    for (size_t c = 0; c < 3; c++) {
        const size_t first = c == 0 ? 1 : 0, end = wide + 1 - c;
        const size_t last = c == 2 && wide == 0 ? 0 : count < end ? count : end;
        if (first < last)
            dw[c] += (double)mgk_cpu_dot_row(last - first, dy + first, x + first + c - 1);
    }
}

/* dweight of output channel g and input channel h +=. */
static void pair_gradient(const mgk_head_maps *maps, size_t g, size_t h, const real *x,
                          const real *dy, real *dweight)
{
    double sum[3][3] = {{0}};
    for (size_t b = 0; b < maps->samples; b++)
        for (size_t i = 0; i < maps->rows; i++)
            for (size_t a = 0; a < kernel_rows(maps); a++) {
                const size_t source = i + a - 1;
                if (source < maps->rows)
                    row_gradient(mgk_cpu_row_width(maps, b, i), mgk_cpu_row_width(maps, b, source),
                                 x + ((b * maps->heads + h) * maps->rows + source) * maps->cols,
                                 dy + ((b * maps->heads + g) * maps->rows + i) * maps->cols,
                                 sum[a]);
            }
    for (size_t a = 0; a < 3; a++)
        for (size_t c = 0; c < 3; c++)
            dweight[((g * maps->heads + h) * 3 + a) * 3 + c] += (real)sum[a][c];
}

/* dbias_g += Σ dy_g. */
static void bias_gradient(const mgk_head_maps *maps, size_t g, const real *dy, real *dbias)
{
    double sum = 0;
    for (size_t b = 0; b < maps->samples; b++)
        for (size_t i = 0; i < maps->rows; i++) {
            const real *row = dy + ((b * maps->heads + g) * maps->rows + i) * maps->cols;
            const size_t width = mgk_cpu_row_width(maps, b, i);
            for (size_t j = 0; j < width; j++)
                sum += (double)row[j];
        }
    dbias[g] += (real)sum;
}

mgk_status MGK_CPU(convolve_maps_backward)(mgk_device *device, const mgk_head_maps *maps,
                                           const void *weight, const void *x, const void *dy,
                                           void *dx, void *dweight, void *dbias)
{
    const size_t heads = maps->heads;
    const size_t work = maps->samples * heads * heads * maps->rows * maps->cols;
    if (dx)
        convolve(device,
                 &(convolution){
                     .maps = maps, .transposed = true, .weight = weight, .from = dy, .to = dx});
#pragma omp parallel for collapse(2) schedule(dynamic) \
    num_threads(device->threads) if (work >= MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t g = 0; g < heads; g++)
        for (size_t h = 0; h < heads; h++) {
            if (dweight)
                pair_gradient(maps, g, h, x, dy, dweight);
            if (dbias && h == 0)
                bias_gradient(maps, g, dy, dbias);
        }
    return STATUS_OK;
}
