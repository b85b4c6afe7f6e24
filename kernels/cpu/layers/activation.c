/* SPDX-License-Identifier: MIT */
/* Bias, activation and their gradients; kernels/activation.h has the formulas. */
#include "kernels/activation.h"
#include "kernels/cpu/columns.h"
#include "kernels/cpu/operations.h"
#include "kernels/cpu/tanh.h"

/* Callers pass a constant `function`, so that the loop becomes vector code. */
__attribute__((always_inline)) static inline void activate_all(mgk_activation function,
                                                               size_t count, const real *x, real *y)
{
#pragma omp simd
    for (size_t i = 0; i < count; i++)
        y[i] = mgk_activate(function, x[i]);
}

__attribute__((always_inline)) static inline void
differentiate_all(mgk_activation function, size_t count, const real *x, const real *dy, real *dx)
{
#pragma omp simd
    for (size_t i = 0; i < count; i++)
        dx[i] = mgk_activation_gradient(function, x[i], dy[i]);
}

static void activate(mgk_activation function, size_t count, const real *x, real *y)
{
    switch (function) {
    case MGK_ACTIVATION_NONE:
        activate_all(MGK_ACTIVATION_NONE, count, x, y);
        break;
    case MGK_ACTIVATION_RELU:
        activate_all(MGK_ACTIVATION_RELU, count, x, y);
        break;
    case MGK_ACTIVATION_GELU:
        activate_all(MGK_ACTIVATION_GELU, count, x, y);
        break;
    case MGK_ACTIVATION_GELU_TANH:
        activate_all(MGK_ACTIVATION_GELU_TANH, count, x, y);
        break;
    case MGK_ACTIVATION_SILU:
        activate_all(MGK_ACTIVATION_SILU, count, x, y);
        break;
    }
}

static void differentiate(mgk_activation function, size_t count, const real *x, const real *dy,
                          real *dx)
{
    switch (function) {
    case MGK_ACTIVATION_NONE:
        differentiate_all(MGK_ACTIVATION_NONE, count, x, dy, dx);
        break;
    case MGK_ACTIVATION_RELU:
        differentiate_all(MGK_ACTIVATION_RELU, count, x, dy, dx);
        break;
    case MGK_ACTIVATION_GELU:
        differentiate_all(MGK_ACTIVATION_GELU, count, x, dy, dx);
        break;
    case MGK_ACTIVATION_GELU_TANH:
        differentiate_all(MGK_ACTIVATION_GELU_TANH, count, x, dy, dx);
        break;
    case MGK_ACTIVATION_SILU:
        differentiate_all(MGK_ACTIVATION_SILU, count, x, dy, dx);
        break;
    }
}

mgk_status MGK_CPU(bias_activation)(mgk_device *device, mgk_activation function, size_t rows,
                                    size_t cols, const void *bias, void *x, void *y)
{
    const real *offset = bias;
#pragma omp parallel for schedule(static) \
    num_threads(device->threads) if (rows * cols >= MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t i = 0; i < rows; i++) {
        real *row = (real *)x + i * cols;
        if (offset) {
#pragma omp simd
            for (size_t c = 0; c < cols; c++)
                row[c] += offset[c];
        }
        if (y)
            activate(function, cols, row, (real *)y + i * cols);
    }
    return STATUS_OK;
}

mgk_status MGK_CPU(gate)(mgk_device *device, mgk_activation function, size_t rows, size_t cols,
                         const void *x, void *y)
{
#pragma omp parallel for schedule(static) \
    num_threads(device->threads) if (rows * cols >= MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t i = 0; i < rows; i++) {
        const real *gate = (const real *)x + 2 * i * cols, *value = gate + cols;
        real *row = (real *)y + i * cols;
        activate(function, cols, gate, row);
#pragma omp simd
        for (size_t c = 0; c < cols; c++)
            row[c] *= value[c];
    }
    return STATUS_OK;
}

/* Elements of one OpenMP iteration. */
enum { CHUNK = 4096 };

mgk_status MGK_CPU(activation_backward)(mgk_device *device, mgk_activation function, size_t count,
                                        const void *x, const void *dy, void *dx)
{
#pragma omp parallel for schedule(static) \
    num_threads(device->threads) if (count >= MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t i = 0; i < count; i += CHUNK)
        differentiate(function, count - i < CHUNK ? count - i : CHUNK, (const real *)x + i,
                      (const real *)dy + i, (real *)dx + i);
    return STATUS_OK;
}

mgk_status MGK_CPU(soft_cap)(mgk_device *device, size_t count, double cap, void *x)
{
    const real most = (real)cap, inverse = (real)(1 / cap);
#pragma omp parallel for simd schedule(static) \
    num_threads(device->threads) if (count >= MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t i = 0; i < count; i++)
        ((real *)x)[i] = most * mgk_tanh(((real *)x)[i] * inverse);
    return STATUS_OK;
}

/* Threads divide the columns, so that sums do not depend on the number of threads. */
mgk_status MGK_CPU(column_sums)(mgk_device *device, size_t rows, size_t cols, const void *x,
                                void *sums)
{
    const size_t threads = (size_t)device->threads;
    const size_t width = mgk_cpu_padded((cols + threads - 1) / threads);
#pragma omp parallel for schedule(static) \
    num_threads(device->threads) if (rows * cols >= MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t begin = 0; begin < cols; begin += width)
        mgk_cpu_add_columns(rows, cols - begin < width ? cols - begin : width, cols,
                            (const real *)x + begin, (real *)sums + begin);
    return STATUS_OK;
}
