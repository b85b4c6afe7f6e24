/* SPDX-License-Identifier: MIT */
/*
 * An upper bound of ‖G‖₂, G = |L| |D| |Lᵀ|, by Collatz' bound with x = G 1. Two products read the
 * triangle three times: each entry of the first product is multiplied by its row as soon as it is
 * known.
 */
#include <math.h>
#include <string.h>

#include "kernels/cpu/spectral/reduction.h"
#include "kernels/spectral/rounding.h"

/* Σ |row_j| x_j */
static double row_times(size_t n, const double *row, const double *x)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t j = 0; j < n; j++)
        sum += fabs(row[j]) * x[j];
    return sum;
}

/* y_j += |row_j| x */
static void add_row(size_t n, const double *row, double x, double *y)
{
#pragma omp simd
    for (size_t j = 0; j < n; j++)
        y[j] += fabs(row[j]) * x;
}

/* y = |D| y */
static void times_pivots(size_t n, const double *k, size_t stride, double *y)
{
    for (size_t j = 0; j < n; j++)
        y[j] *= fabs(k[j * stride + j]);
}

double MGK_CPU(growth)(size_t n, const double *k, size_t stride, double *work)
{
    double *y = work, *x = y + n, *next = x + n, largest = 0, sum = 0;
    memset(y, 0, n * sizeof *y);
    memset(next, 0, n * sizeof *next);
    for (size_t i = 0; i < n; i++) {
        add_row(i, k + i * stride, 1, y);
        y[i] += 1;
    }
    times_pivots(n, k, stride, y);
    for (size_t i = 0; i < n; i++) {
        const double *row = k + i * stride;
        x[i] = row_times(i, row, y) + y[i];
        add_row(i, row, x[i], next);
        next[i] += x[i];
    }
    times_pivots(n, k, stride, next);
    for (size_t i = 0; i < n; i++) {
        const double product = row_times(i, k + i * stride, next) + next[i];
        largest = x[i] > 0 ? fmax(largest, product / x[i]) : largest;
        sum += product; /* propagates NaN */
    }
    return isfinite(sum) ? mgk_collatz_bound(largest, n) : sum;
}
