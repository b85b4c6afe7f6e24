/* SPDX-License-Identifier: MIT */
/* Layer normalisation (Ba, Kiros & Hinton 2016) and RMS normalisation (Zhang & Sennrich 2019). */
#include <tgmath.h>

#include <string.h>

#include "kernels/cpu/columns.h"
#include "kernels/cpu/operations.h"

/* out = gain (x − centre) scale + shift; NULL: 1 and 0. out may be x. */
static inline void scale_row(size_t cols, const real *x, real centre, real scale, const real *gain,
                             const real *shift, real *out)
{
    if (gain && shift) {
#pragma omp simd
        for (size_t c = 0; c < cols; c++)
            out[c] = gain[c] * ((x[c] - centre) * scale) + shift[c];
        return;
    }
#pragma omp simd
    for (size_t c = 0; c < cols; c++)
        out[c] = (gain ? gain[c] : 1) * ((x[c] - centre) * scale) + (shift ? shift[c] : 0);
}

mgk_status MGK_CPU(layer_norm)(mgk_device *device, size_t rows, size_t cols, double epsilon,
                               const void *x, const void *gamma, const void *beta, void *y,
                               void *mean, void *deviation)
{
    const real *gain = gamma, *shift = beta;
    const real inverse = (real)(1.0 / (double)cols);
#pragma omp parallel for schedule(static) \
    num_threads(device->threads) if (rows * cols >= MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t i = 0; i < rows; i++) {
        const real *row = (const real *)x + i * cols;
        real *out = (real *)y + i * cols;
        real sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
        for (size_t c = 0; c < cols; c++)
            sum += row[c];
        const real centre = sum * inverse;
#pragma omp simd reduction(+ : squares)
        for (size_t c = 0; c < cols; c++)
            squares += (row[c] - centre) * (row[c] - centre);
        const real scale = 1 / sqrt(squares * inverse + (real)epsilon);
        scale_row(cols, row, centre, scale, gain, shift, out);
        ((real *)mean)[i] = centre;
        ((real *)deviation)[i] = scale;
    }
    return STATUS_OK;
}

mgk_status MGK_CPU(rms_norm)(mgk_device *device, size_t rows, size_t cols, double epsilon,
                             const void *x, const void *gamma, void *y)
{
    const real *gain = gamma;
    const real inverse = (real)(1.0 / (double)cols);
#pragma omp parallel for schedule(static) \
    num_threads(device->threads) if (rows * cols >= MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t i = 0; i < rows; i++) {
        const real *row = (const real *)x + i * cols;
        real *out = (real *)y + i * cols;
        real squares = 0;
#pragma omp simd reduction(+ : squares)
        for (size_t c = 0; c < cols; c++)
            squares += row[c] * row[c];
        const real scale = 1 / sqrt(squares * inverse + (real)epsilon);
#pragma omp simd
        for (size_t c = 0; c < cols; c++)
            out[c] = gain[c] * (row[c] * scale);
    }
    return STATUS_OK;
}

/* A vector of a group, in place. */
static void norm_group(bool centred, size_t cols, real epsilon, real *x, const real *gamma,
                       const real *beta)
{
    real sum = 0, squares = 0;
    for (size_t c = 0; centred && c < cols; c++)
        sum += x[c];
    const real centre = sum / (real)cols;
#pragma omp simd reduction(+ : squares)
    for (size_t c = 0; c < cols; c++)
        squares += (x[c] - centre) * (x[c] - centre);
    scale_row(cols, x, centre, 1 / sqrt(squares / (real)cols + epsilon), gamma, beta, x);
}

mgk_status MGK_CPU(group_norm)(mgk_device *device, bool centred, size_t rows, size_t groups,
                               size_t cols, double epsilon, void *x, size_t stride,
                               const void *gamma, const void *beta)
{
#pragma omp parallel for schedule(static) \
    num_threads(device->threads) if (rows * groups * cols >= MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t i = 0; i < rows; i++)
        for (size_t g = 0; g < groups; g++)
            norm_group(centred, cols, (real)epsilon, (real *)x + i * stride + g * cols, gamma,
                       beta);
    return STATUS_OK;
}

/*
 * With z = (x − mean) deviation and g = gamma dy,
 *     dx = deviation (g − mean(g) − z mean(g z)),  dgamma += dy z,  dbeta += dy.
 */
static void row_backward(size_t cols, const real *x, const real *gamma, real mean, real deviation,
                         const real *dy, const real *residual, real *dx, real *dgamma, real *dbeta)
{
    real sum = 0, product = 0;
#pragma omp simd reduction(+ : sum, product)
    for (size_t c = 0; c < cols; c++) {
        real z = (x[c] - mean) * deviation, g = gamma[c] * dy[c];
        sum += g;
        product += g * z;
        dgamma[c] += dy[c] * z;
        dbeta[c] += dy[c];
    }
    sum /= (real)cols;
    product /= (real)cols;
#pragma omp simd
    for (size_t c = 0; c < cols; c++) {
        real z = (x[c] - mean) * deviation, g = gamma[c] * dy[c];
        dx[c] = (residual ? residual[c] : 0) + deviation * (g - sum - z * product);
    }
}

static void add(size_t count, const real *x, real *sum)
{
#pragma omp simd
    for (size_t c = 0; c < count; c++)
        sum[c] += x[c];
}

mgk_status MGK_CPU(layer_norm_backward)(mgk_device *device, size_t rows, size_t cols, const void *x,
                                        const void *gamma, const void *mean, const void *deviation,
                                        const void *dy, const void *residual, void *dx,
                                        void *dgamma, void *dbeta)
{
    /*
     * Scratch memory of a part: sums of dgamma and dbeta over its rows, and over a block of rows.
     */
    const size_t parts = (size_t)device->threads, pitch = mgk_cpu_padded(cols);
    TRY(mgk_cpu_reserve_scratch(device, 4 * pitch * sizeof(real)));
#pragma omp parallel for schedule(static) \
    num_threads(device->threads) if (rows * cols >= MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t p = 0; p < parts; p++) {
        real *total = mgk_cpu_scratch(device, (int)p), *block = total + 2 * pitch;
        memset(total, 0, 2 * pitch * sizeof *total);
        const size_t end = rows * (p + 1) / parts;
        for (size_t first = rows * p / parts; first < end; first += MGK_CPU_ROW_BLOCK) {
            size_t last = end - first < MGK_CPU_ROW_BLOCK ? end : first + MGK_CPU_ROW_BLOCK;
            memset(block, 0, 2 * pitch * sizeof *block);
            for (size_t i = first; i < last; i++)
                row_backward(cols, (const real *)x + i * cols, gamma, ((const real *)mean)[i],
                             ((const real *)deviation)[i], (const real *)dy + i * cols,
                             residual ? (const real *)residual + i * cols : NULL,
                             (real *)dx + i * cols, block, block + pitch);
            add(2 * pitch, block, total);
        }
    }
    for (size_t p = 0; p < parts; p++) {
        const real *total = mgk_cpu_scratch(device, (int)p);
        add(cols, total, dgamma);
        add(cols, total + pitch, dbeta);
    }
    return STATUS_OK;
}
