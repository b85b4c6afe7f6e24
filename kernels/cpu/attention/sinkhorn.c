/* SPDX-License-Identifier: MIT */
/*
 * Sinkhorn normalisation in logarithms, and its gradient. A step subtracts from each row, or each
 * column, the logarithm of its sum of exponentials, x' = x − ln Σ exp x, so that
 *     dx = dx' − exp(x') Σ dx'.
 */
#include <omp.h>
#include <tgmath.h>

#include <string.h>

#include "kernels/cpu/attention/dense.h"
#include "kernels/cpu/exp.h"

/* One matrix of the maps. */
typedef struct balance {
    size_t rows, cols;
    size_t b;
    const mgk_head_maps *maps;
} balance;

static size_t width(const balance *plan, size_t i)
{
    return mgk_cpu_row_width(plan->maps, plan->b, i);
}

/* What to subtract: shift + ln sum; 0 for entries that are all −∞. */
static real log_sum(real shift, real sum)
{
    return sum == 0 ? 0 : shift + log(sum);
}

static real finite_or_zero(real largest)
{
    return largest == -INFINITY ? 0 : largest;
}

static void normalize_rows(const balance *plan, real *x)
{
    for (size_t i = 0; i < plan->rows; i++) {
        const size_t count = width(plan, i);
        real *row = x + i * plan->cols, largest = -INFINITY, sum = 0;
        for (size_t j = 0; j < count; j++)
            largest = row[j] > largest ? row[j] : largest;
        const real shift = finite_or_zero(largest);
#pragma omp simd reduction(+ : sum)
        for (size_t j = 0; j < count; j++)
            sum += mgk_exp(row[j] - shift);
        const real all = log_sum(shift, sum);
        for (size_t j = 0; j < count; j++)
            row[j] -= all;
    }
}

/* `shift` and `sum` [cols] are scratch memory. */
static void normalize_columns(const balance *plan, real *x, real *shift, real *sum)
{
    const size_t cols = plan->cols;
    for (size_t j = 0; j < cols; j++) {
        shift[j] = -INFINITY;
        sum[j] = 0;
    }
    for (size_t i = 0; i < plan->rows; i++) {
        const size_t count = width(plan, i);
        for (size_t j = 0; j < count; j++)
            shift[j] = x[i * cols + j] > shift[j] ? x[i * cols + j] : shift[j];
    }
    for (size_t j = 0; j < cols; j++)
        shift[j] = finite_or_zero(shift[j]);
    for (size_t i = 0; i < plan->rows; i++) {
        const size_t count = width(plan, i);
#pragma omp simd
        for (size_t j = 0; j < count; j++)
            sum[j] += mgk_exp(x[i * cols + j] - shift[j]);
    }
    for (size_t j = 0; j < cols; j++)
        sum[j] = log_sum(shift[j], sum[j]);
    for (size_t i = 0; i < plan->rows; i++)
        mgk_cpu_add_row(width(plan, i), -1, sum, x + i * cols);
}

static void exponentiate(const balance *plan, real *x)
{
    for (size_t i = 0; i < plan->rows; i++) {
        const size_t count = width(plan, i);
        real *row = x + i * plan->cols;
#pragma omp simd
        for (size_t j = 0; j < count; j++)
            row[j] = mgk_exp(row[j]);
        memset(row + count, 0, (plan->cols - count) * sizeof *row);
    }
}

static balance plan_of(const mgk_head_maps *maps, size_t matrix)
{
    return (balance){maps->rows, maps->cols, matrix / maps->heads, maps};
}

mgk_status MGK_CPU(sinkhorn)(mgk_device *device, const mgk_head_maps *maps, int iterations, void *x)
{
    const size_t matrices = maps->samples * maps->heads, size = maps->rows * maps->cols;
    TRY(mgk_cpu_reserve_scratch(device, 2 * maps->cols * sizeof(real)));
#pragma omp parallel for schedule(dynamic) num_threads(device->threads) if (matrices > 1)
    for (size_t m = 0; m < matrices; m++) {
        const balance plan = plan_of(maps, m);
        real *shift = mgk_cpu_scratch(device, omp_get_thread_num()), *matrix = (real *)x + m * size;
        for (int step = 0; step < iterations; step++) {
            normalize_rows(&plan, matrix);
            normalize_columns(&plan, matrix, shift, shift + maps->cols);
        }
        exponentiate(&plan, matrix);
    }
    return STATUS_OK;
}

/* gradient −= exp(x) times the sum of the gradient's row. */
static void rows_backward(const balance *plan, const real *x, real *gradient)
{
    for (size_t i = 0; i < plan->rows; i++) {
        const size_t count = width(plan, i), at = i * plan->cols;
        real sum = 0;
#pragma omp simd reduction(+ : sum)
        for (size_t j = 0; j < count; j++)
            sum += gradient[at + j];
#pragma omp simd
        for (size_t j = 0; j < count; j++)
            gradient[at + j] -= mgk_exp(x[at + j]) * sum;
    }
}

/* The same of its column; `sum` [cols] is scratch memory. */
static void columns_backward(const balance *plan, const real *x, real *gradient, real *sum)
{
    const size_t cols = plan->cols;
    memset(sum, 0, cols * sizeof *sum);
    for (size_t i = 0; i < plan->rows; i++)
        mgk_cpu_add_row(width(plan, i), 1, gradient + i * cols, sum);
    for (size_t i = 0; i < plan->rows; i++) {
        const size_t count = width(plan, i);
#pragma omp simd
        for (size_t j = 0; j < count; j++)
            gradient[i * cols + j] -= mgk_exp(x[i * cols + j]) * sum[j];
    }
}

/* `states` [2 iterations + 1, rows, cols] receives the matrix before and after every step. */
static void backward(const balance *plan, int iterations, const real *x, const real *dy, real *dx,
                     real *states, real *shift)
{
    const size_t size = plan->rows * plan->cols, steps = 2 * (size_t)iterations;
    memcpy(states, x, size * sizeof *x);
    for (size_t step = 0; step < steps; step++) {
        real *next = states + (step + 1) * size;
        memcpy(next, states + step * size, size * sizeof *next);
        if (step % 2 == 0)
            normalize_rows(plan, next);
        else
            normalize_columns(plan, next, shift, shift + plan->cols);
    }
    for (size_t i = 0; i < plan->rows; i++) {
        const size_t count = width(plan, i), at = i * plan->cols;
        for (size_t j = 0; j < count; j++)
            dx[at + j] = dy[at + j] * mgk_exp(states[steps * size + at + j]);
        memset(dx + at + count, 0, (plan->cols - count) * sizeof *dx);
    }
    for (size_t step = steps; step > 0; step--)
        if (step % 2 == 1)
            rows_backward(plan, states + step * size, dx);
        else
            columns_backward(plan, states + step * size, dx, shift);
}

mgk_status MGK_CPU(sinkhorn_backward)(mgk_device *device, const mgk_head_maps *maps, int iterations,
                                      const void *x, const void *dy, void *dx)
{
    const size_t matrices = maps->samples * maps->heads, size = maps->rows * maps->cols;
    const int steps = iterations > 0 ? iterations : 0;
    const size_t states = (2 * (size_t)steps + 1) * size;
    TRY(mgk_cpu_reserve_scratch(device, (states + 2 * maps->cols) * sizeof(real)));
#pragma omp parallel for schedule(dynamic) num_threads(device->threads) if (matrices > 1)
    for (size_t m = 0; m < matrices; m++) {
        const balance plan = plan_of(maps, m);
        real *memory = mgk_cpu_scratch(device, omp_get_thread_num());
        backward(&plan, steps, (const real *)x + m * size, (const real *)dy + m * size,
                 (real *)dx + m * size, memory, memory + states);
    }
    return STATUS_OK;
}
