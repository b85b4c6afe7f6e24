/* SPDX-License-Identifier: MIT */
/*
 * Householder QR, column by column. One pass over the rest of the panel applies the previous
 * reflector and multiplies by the new one, as in bidiagonal.c.
 */
#include "kernels/cpu/spectral/panel.h"

#include <string.h>

#include "kernels/blas.h"
#include "kernels/cpu/spectral/reflector.h"
#include "kernels/cpu/vector.h"

enum { GROUP = MGK_PANEL_GROUP };

/* Columns of a group: a −= before z; z [GROUP] becomes tau times their products with u. */
static void update_columns(size_t rows, double *a, size_t pitch, const double *before,
                           const double *u, double tau, double *z)
{
    mgk_vector factor[GROUP], sum[GROUP] = {{0}};
    for (size_t g = 0; g < GROUP; g++)
        factor[g] = z[g] - (mgk_vector){0};
    for (size_t i = 0; i < rows; i += MGK_VECTOR_LANES) {
        const mgk_vector old = *(const mgk_vector *)(before + i),
                         new = *(const mgk_vector *)(u + i);
#pragma GCC unroll 4
        for (size_t g = 0; g < GROUP; g++) {
            mgk_vector *entry = (mgk_vector *)(a + g * pitch + i);
            const mgk_vector updated = *entry - old * factor[g];
            *entry = updated;
            sum[g] += updated * new;
        }
    }
    for (size_t g = 0; g < GROUP; g++)
        z[g] = tau * mgk_vector_sum(sum[g]);
}

/* Column j of V from x, the column of the panel; x_j becomes beta. Returns tau. */
static double reflect(size_t rows, size_t j, double *x, double *u)
{
    double squares = 0;
    memset(u, 0, mgk_cpu_padded(rows) * sizeof *u);
    if (j >= rows)
        return 0;
#pragma omp simd reduction(+ : squares)
    for (size_t i = j + 1; i < rows; i++)
        squares += x[i] * x[i];
    const mgk_reflector h = mgk_reflector_make(x[j], squares);
#pragma omp simd
    for (size_t i = j + 1; i < rows; i++)
        u[i] = h.scale * x[i];
    u[j] = 1;
    x[j] = h.beta;
    return h.tau;
}

/* T of the forward product of reflectors: T_jj = tau_j, T_·j = −tau_j T (Vᵀ v_j). */
static void make_t(size_t rows, size_t cols, size_t pitch, const double *v, const double *tau,
                   double *t, double *products)
{
    mgk_blas.dgemm(CblasColMajor, CblasTrans, CblasNoTrans, (int)cols, (int)cols, (int)rows, 1, v,
                   (int)pitch, v, (int)pitch, 0, products, (int)cols);
    memset(t, 0, cols * cols * sizeof *t);
    for (size_t j = 0; j < cols; j++) {
        double *column = t + j * cols;
        for (size_t k = 0; k < j; k++) {
            const double factor = -tau[j] * products[j * cols + k];
#pragma omp simd
            for (size_t i = 0; i <= k; i++)
                column[i] += t[k * cols + i] * factor;
        }
        column[j] = tau[j];
    }
}

void MGK_CPU(factor_panel)(size_t rows, size_t cols, size_t pitch, double *panel, double *v,
                           double *t, double *work)
{
    double *products = work, *tau = products + cols * cols, *z = tau + cols;
    memset(z, 0, (cols + GROUP) * sizeof *z);
    memset(v, 0, mgk_cpu_padded(rows) * sizeof *v);
    for (size_t j = 0; j < cols; j++) {
        double *column = panel + j * pitch, *u = v + j * pitch;
        /* No reflector precedes the first column: z = 0. */
        const double *before = j > 0 ? u - pitch : u;
        const size_t top = j > 0 ? (j - 1) / MGK_LANES * MGK_LANES : 0;
#pragma omp simd
        for (size_t i = top; i < rows; i++)
            column[i] -= before[i] * z[j];
        tau[j] = reflect(rows, j, column, u);
        /*
         * Columns beyond the rows of a wide panel have no reflector, and nothing is left to update.
         */
        for (size_t g = j + 1; j <= rows && g < cols; g += GROUP)
            update_columns(mgk_cpu_padded(rows) - top, panel + g * pitch + top, pitch, before + top,
                           u + top, tau[j], z + g);
    }
    make_t(rows, cols, pitch, v, tau, t, products);
}
