/*
 * Bias, activation and their gradients.
 *
 * GELU is x Φ(x), Φ the normal distribution function. The tail Φ(−t), t >= 0, is
 *     Φ(−t) = exp(−t²/2) P(u) / (t + 4),  u = (t − 4)/(t + 4),
 * P being the Chebyshev interpolant in u of exp(t²/2) Φ(−t) (t + 4), a smooth function
 * (after Shepherd & Laframboise 1981, who do so for erfc): of degree 9 on [0, 14] for
 * float (relative error 5e-9) and 20 on [0, 39] for double (2e-16). Beyond these the
 * exponential is 0.
 */
#include <tgmath.h>

#include "kernels/cpu/columns.h"
#include "kernels/cpu/exp.h"
#include "kernels/cpu/operations.h"

/* P's coefficients, constant term first, and the end of its interval. */
#if MGK_CPU_REAL == 64
static const real tail_end = 39;
static const real tail_p[] = {
    0x1.82b4bb8c94dccp-1,  -0x1.373e3a893c269p-1,  0x1.8c6dbf2cfc6fap-2,   -0x1.7dff2bff6b427p-3,
    0x1.eec4cc3dee3fbp-5,  -0x1.ee2760fa39b21p-8,  -0x1.c817196c99aabp-9,  0x1.ab825dccdcf9dp-10,
    0x1.17a471f4b13fdp-13, -0x1.e4a3bf1a4ba00p-13, -0x1.ff9872383333dp-20, 0x1.26ca7b37e8fa9p-15,
    0x1.7c4862bf83687p-21, -0x1.8cdabbb6ec346p-18, -0x1.48125dcc40014p-21, 0x1.0fde7a2e2bfe6p-20,
    0x1.07110481728e8p-22, -0x1.408cd918b0403p-23, -0x1.0821c56418a0ep-24, 0x1.c4a0fb641a236p-27,
    0x1.0804e1b828afbp-27};
#else
static const real tail_end = 14;
static const real tail_p[] = {0x1.82b4bcp-1f,  -0x1.373e3ap-1f, 0x1.8c6d90p-2f,  -0x1.7dff9ap-3f,
                              0x1.eeda02p-5f,  -0x1.ed6fdep-8f, -0x1.ce2f18p-9f, 0x1.9c2c78p-10f,
                              0x1.a61392p-13f, -0x1.f81704p-14f};
#endif

/* Φ(x); *bell receives exp(−x²/2). */
static inline real normal_distribution(real x, real *bell)
{
    const int degree = (int)(sizeof tail_p / sizeof *tail_p) - 1;
    const real distance = fabs(x);
    const real t = distance < tail_end ? distance : tail_end;
    const real inverse = 1 / (t + 4);
    const real u = (t - 4) * inverse;
    real p = tail_p[degree];
#pragma GCC unroll 32
    for (int k = degree - 1; k >= 0; k--)
        p = p * u + tail_p[k];
    *bell = mgk_exp((real)-0.5 * x * x);
    const real tail = *bell * (inverse * p);
    return x < 0 ? tail : 1 - tail;
}

static inline real logistic(real x)
{
    return 1 / (1 + mgk_exp(-x));
}

/* 2 √(2/π) (x + 0.044715 x³). */
static inline real twice_u(real x)
{
    return (real)1.5957691216057308 * (x + (real)0.044715 * (x * x * x));
}

static inline real twice_u_slope(real x)
{
    return (real)1.5957691216057308 * (1 + (real)(3 * 0.044715) * (x * x));
}

/* y = activation(x). Comparisons are such that NaN stays NaN. */
static void activate(mgk_activation function, size_t count, const real *x, real *y)
{
    switch (function) {
    case MGK_ACTIVATION_NONE:
#pragma omp simd
        for (size_t i = 0; i < count; i++)
            y[i] = x[i];
        break;
    case MGK_ACTIVATION_RELU:
#pragma omp simd
        for (size_t i = 0; i < count; i++)
            y[i] = x[i] < 0 ? 0 : x[i];
        break;
    case MGK_ACTIVATION_GELU:
#pragma omp simd
        for (size_t i = 0; i < count; i++) {
            real bell;
            y[i] = x[i] * normal_distribution(x[i], &bell);
        }
        break;
    case MGK_ACTIVATION_GELU_TANH:
#pragma omp simd
        for (size_t i = 0; i < count; i++)
            y[i] = x[i] * logistic(twice_u(x[i]));
        break;
    case MGK_ACTIVATION_SILU:
#pragma omp simd
        for (size_t i = 0; i < count; i++)
            y[i] = x[i] * logistic(x[i]);
        break;
    }
}

/* dx = dy activation'(x). */
static void differentiate(mgk_activation function, size_t count, const real *x, const real *dy,
                          real *dx)
{
    const real peak = (real)0.3989422804014327; /* 1/√(2π) */
    switch (function) {
    case MGK_ACTIVATION_NONE:
#pragma omp simd
        for (size_t i = 0; i < count; i++)
            dx[i] = dy[i];
        break;
    case MGK_ACTIVATION_RELU:
#pragma omp simd
        for (size_t i = 0; i < count; i++) {
            real slope = dy[i];
            dx[i] = x[i] <= 0 ? 0 : slope;
        }
        break;
    case MGK_ACTIVATION_GELU:
#pragma omp simd
        for (size_t i = 0; i < count; i++) {
            real bell, below = normal_distribution(x[i], &bell);
            dx[i] = dy[i] * (below + peak * x[i] * bell);
        }
        break;
    case MGK_ACTIVATION_GELU_TANH:
#pragma omp simd
        for (size_t i = 0; i < count; i++) {
            real s = logistic(twice_u(x[i])), slope = twice_u_slope(x[i]);
            dx[i] = dy[i] * (s + x[i] * s * (1 - s) * slope);
        }
        break;
    case MGK_ACTIVATION_SILU:
#pragma omp simd
        for (size_t i = 0; i < count; i++) {
            real s = logistic(x[i]);
            dx[i] = dy[i] * (s + x[i] * s * (1 - s));
        }
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

/* Elements that a thread takes at a time where there are no rows. */
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

/* Threads divide the columns, so that sums do not depend on their number. */
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
