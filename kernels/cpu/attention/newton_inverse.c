/* SPDX-License-Identifier: MIT */
/*
 * Newton's iteration for the pseudo-inverse of landmark matrices, and its gradient. A thread takes
 * a matrix and keeps all steps in its scratch memory; the gradient computes them anew.
 *
 *     P = K Z, A = 7 I − P, B = 15 I − P A, C = 13 I − P B, Z' = ¼ Z C.
 */
#include <omp.h>
#include <tgmath.h>

#include <limits.h>
#include <string.h>

#include "kernels/cpu/attention/dense.h"
#include "kernels/cpu/gemm.h"

/* One step of the iteration: matrices [m, m]. */
typedef struct newton_step {
    size_t m;
    const real *k;
    real *p, *a, *b, *c;
} newton_step;

enum { STEP_MATRICES = 4, GRADIENT_MATRICES = 4 };

/* out = alpha op(left) op(right) + beta out. */
static void product(size_t m, CBLAS_TRANSPOSE op_left, CBLAS_TRANSPOSE op_right, real alpha,
                    const real *left, const real *right, real beta, real *out)
{
    int n = (int)m;
    MGK_CPU_GEMM(CblasRowMajor, op_left, op_right, n, n, n, alpha, left, n, right, n, beta, out, n);
}

static void set_identity(size_t m, real scale, real *out)
{
    memset(out, 0, m * m * sizeof *out);
    for (size_t i = 0; i < m; i++)
        out[i * m + i] = scale;
}

/* P, A, B and C of a step. */
static void expand(const newton_step *step, const real *z)
{
    const size_t m = step->m;
    product(m, CblasNoTrans, CblasNoTrans, 1, step->k, z, 0, step->p);
    set_identity(m, 7, step->a);
    mgk_cpu_add_row(m * m, -1, step->p, step->a);
    set_identity(m, 15, step->b);
    product(m, CblasNoTrans, CblasNoTrans, -1, step->p, step->a, 1, step->b);
    set_identity(m, 13, step->c);
    product(m, CblasNoTrans, CblasNoTrans, -1, step->p, step->b, 1, step->c);
}

/* The largest column and row sums of |K|, and where they are. */
typedef struct largest_sums {
    real column, row;
    size_t column_at, row_at;
} largest_sums;

static largest_sums sum_sides(size_t m, const real *k)
{
    largest_sums out = {0, 0, 0, 0};
    for (size_t i = 0; i < m; i++) {
        real row = 0, column = 0;
        for (size_t j = 0; j < m; j++) {
            row += fabs(k[i * m + j]);
            column += fabs(k[j * m + i]);
        }
        if (row > out.row)
            out.row = row, out.row_at = i;
        if (column > out.column)
            out.column = column, out.column_at = i;
    }
    return out;
}

/* 1 / (column row); 1 for K = 0, whose Z is 0, and where only a NaN is not 0. */
static real start_scale(const largest_sums *sums)
{
    real size = sums->column * sums->row;
    return size > 0 ? 1 / size : 1;
}

static void start(size_t m, const real *k, real *z)
{
    const largest_sums sums = sum_sides(m, k);
    const real scale = start_scale(&sums);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < m; j++)
            z[i * m + j] = scale * k[j * m + i];
}

/* dk += the gradient through Z_0 = scale Kᵀ, scale = 1 / (column row). */
static void start_backward(size_t m, const real *k, const real *dz, real *dk)
{
    const largest_sums sums = sum_sides(m, k);
    const real scale = start_scale(&sums);
    real dscale = 0;
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < m; j++) {
            dk[j * m + i] += scale * dz[i * m + j];
            dscale += dz[i * m + j] * k[j * m + i];
        }
    if (!(sums.column * sums.row > 0))
        return;
    const real dcolumn = -dscale * scale / sums.column, drow = -dscale * scale / sums.row;
    for (size_t i = 0; i < m; i++) {
        size_t in_column = i * m + sums.column_at, in_row = sums.row_at * m + i;
        dk[in_column] += k[in_column] < 0 ? -dcolumn : dcolumn;
        dk[in_row] += k[in_row] < 0 ? -drow : drow;
    }
}

/* dz of the step's result becomes that of its z; dk += . `p` to `c` of the step are not kept. */
static void step_backward(const newton_step *step, const real *z, real *dz, real *work, real *dk)
{
    const size_t m = step->m, size = m * m;
    real *next = work, *dp = work + size, *one = dp + size, *other = one + size;
    product(m, CblasNoTrans, CblasTrans, (real)0.25, dz, step->c, 0, next);
    product(m, CblasTrans, CblasNoTrans, (real)0.25, z, dz, 0, one); /* dC */
    product(m, CblasNoTrans, CblasTrans, -1, one, step->b, 0, dp);
    product(m, CblasTrans, CblasNoTrans, -1, step->p, one, 0, other); /* dB */
    product(m, CblasNoTrans, CblasTrans, -1, other, step->a, 1, dp);
    product(m, CblasTrans, CblasNoTrans, -1, step->p, other, 0, one); /* dA */
    mgk_cpu_add_row(size, -1, one, dp);
    product(m, CblasNoTrans, CblasTrans, 1, dp, z, 1, dk);
    product(m, CblasTrans, CblasNoTrans, 1, step->k, dp, 1, next);
    memcpy(dz, next, size * sizeof *dz);
}

static newton_step step_in(size_t m, const real *k, real *memory)
{
    size_t size = m * m;
    return (newton_step){m, k, memory, memory + size, memory + 2 * size, memory + 3 * size};
}

static mgk_status check_size(size_t m)
{
    if (m > INT_MAX)
        return mgk_fail(STATUS_UNSUPPORTED, "matrices of order %zu: too large for BLAS", m);
    return STATUS_OK;
}

mgk_status MGK_CPU(newton_inverse)(mgk_device *device, size_t count, size_t m, int steps,
                                   const void *k, void *z)
{
    const size_t size = m * m;
    TRY(check_size(m));
    TRY(mgk_cpu_reserve_scratch(device, (STEP_MATRICES + 1) * size * sizeof(real)));
#pragma omp parallel for schedule(dynamic) num_threads(device->threads) if (count > 1)
    for (size_t i = 0; i < count; i++) {
        real *memory = mgk_cpu_scratch(device, omp_get_thread_num());
        real *before = memory + STEP_MATRICES * size, *out = (real *)z + i * size;
        newton_step step = step_in(m, (const real *)k + i * size, memory);
        start(m, step.k, out);
        for (int s = 0; s < steps && m > 0; s++) {
            memcpy(before, out, size * sizeof *out);
            expand(&step, before);
            product(m, CblasNoTrans, CblasNoTrans, (real)0.25, before, step.c, 0, out);
        }
    }
    return STATUS_OK;
}

mgk_status MGK_CPU(newton_inverse_backward)(mgk_device *device, size_t count, size_t m, int steps,
                                            const void *k, const void *dz, void *dk)
{
    const size_t size = m * m, kept = (size_t)(steps > 0 ? steps : 1);
    TRY(check_size(m));
    TRY(mgk_cpu_reserve_scratch(device, (STEP_MATRICES + GRADIENT_MATRICES + 1 + kept) * size *
                                            sizeof(real)));
#pragma omp parallel for schedule(dynamic) num_threads(device->threads) if (count > 1)
    for (size_t i = 0; i < count; i++) {
        real *memory = mgk_cpu_scratch(device, omp_get_thread_num());
        real *work = memory + STEP_MATRICES * size, *gradient = work + GRADIENT_MATRICES * size;
        real *states = gradient + size, *out = (real *)dk + i * size; /* Z_0 … Z_steps−1 */
        newton_step step = step_in(m, (const real *)k + i * size, memory);
        start(m, step.k, states);
        memcpy(gradient, (const real *)dz + i * size, size * sizeof *gradient);
        for (int s = 1; s < steps && m > 0; s++) {
            real *state = states + (size_t)s * size;
            expand(&step, state - size);
            product(m, CblasNoTrans, CblasNoTrans, (real)0.25, state - size, step.c, 0, state);
        }
        for (int s = steps - 1; s >= 0 && m > 0; s--) {
            expand(&step, states + (size_t)s * size);
            step_backward(&step, states + (size_t)s * size, gradient, work, out);
        }
        start_backward(m, step.k, gradient, out);
    }
    return STATUS_OK;
}
