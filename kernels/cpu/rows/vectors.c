/* SPDX-License-Identifier: MIT */
/* Vectors that lie one after another: their lengths, and the means of their columns. */
#include <math.h>
#include <string.h>

#include "kernels/cpu/rows/row.h"

void MGK_CPU(row_squares)(size_t count, size_t n, const double *x, double *out)
{
    for (size_t i = 0; i < count; i++)
        out[i] = mgk_row_reduce(mgk_row_add_product, n, x + i * n, x + i * n);
}

/* Divides each vector by its length, see mgk_row_kernels.normalise. */
static void divide(size_t count, size_t n, double *x, const double *lengths)
{
    for (size_t i = 0; i < count; i++) {
        const double length = lengths[i];
        const double inverse = length > 0 ? (isinf(length) ? NAN : 1 / length) : 0;
#pragma omp simd
        for (size_t d = 0; d < n; d++)
            x[i * n + d] *= inverse;
    }
}

void MGK_CPU(row_normalise)(size_t count, size_t n, double *x, double *lengths)
{
    MGK_CPU(row_squares)(count, n, x, lengths);
    MGK_CPU(row_roots)(count, lengths, lengths);
    divide(count, n, x, lengths);
}

/* Columns whose sums stay in registers. */
enum { COLUMNS = 2 * MGK_VECTOR_LANES };

/* Of `columns` <= COLUMNS columns. */
__attribute__((always_inline)) static inline void centre_columns(size_t count, size_t n,
                                                                 size_t columns, const double *x,
                                                                 double *means, double *out,
                                                                 size_t pitch, double *largest)
{
    double sum[COLUMNS] = {0}, most[COLUMNS] = {0};
    for (size_t i = 0; i < count; i++)
        for (size_t d = 0; d < columns; d++)
            sum[d] += x[i * n + d];
    for (size_t d = 0; d < columns; d++)
        means[d] = sum[d] /= (double)count;
    for (size_t i = 0; i < count; i++)
#pragma omp simd
        for (size_t d = 0; d < columns; d++) {
            const double rest = x[i * n + d] - sum[d], size = fabs(rest);
            out[i * pitch + d] = rest;
            most[d] = size > most[d] ? size : most[d];
        }
    memcpy(largest, most, columns * sizeof(*most));
}

void MGK_CPU(row_centre)(size_t count, size_t n, const double *x, double *means, double *out,
                         size_t pitch, double *largest)
{
    size_t d = 0;
    for (; d + COLUMNS <= n; d += COLUMNS)
        centre_columns(count, n, COLUMNS, x + d, means + d, out + d, pitch, largest + d);
    if (d < n)
        centre_columns(count, n, n - d, x + d, means + d, out + d, pitch, largest + d);
}
