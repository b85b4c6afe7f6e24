/* SPDX-License-Identifier: MIT */
/* Sums over one or two rows and down columns, the largest and the smallest entry, and square
 * roots. */
#include <math.h>
#include <string.h>

#include "kernels/cpu/rows/row.h"

static inline mgk_vector add(mgk_vector sum, mgk_vector x, mgk_vector y)
{
    (void)y;
    return sum + x;
}

/* Here the largest entry so far is in the place of a sum. */
static inline mgk_vector larger(mgk_vector sum, mgk_vector x, mgk_vector y)
{
    (void)y;
    mgk_row_order(&x, &sum);
    return sum;
}

/* And here the smallest. */
static inline mgk_vector smaller(mgk_vector sum, mgk_vector x, mgk_vector y)
{
    (void)y;
    mgk_row_order(&sum, &x);
    return sum;
}

double MGK_CPU(row_sum)(size_t n, const double *x)
{
    return mgk_row_reduce(add, n, x, x);
}

double MGK_CPU(row_dot)(size_t n, const double *x, const double *y)
{
    return mgk_row_reduce(mgk_row_add_product, n, x, y);
}

double MGK_CPU(row_distance)(size_t n, const double *x, const double *y)
{
    return mgk_row_reduce(mgk_row_add_square, n, x, y);
}

double MGK_CPU(row_largest)(size_t n, const double *x)
{
    mgk_vector of_lanes[MGK_ROW_ABREAST] = {{0}};
    double largest = 0;
    mgk_row_accumulate(larger, n, x, x, of_lanes);
    for (int v = 1; v < MGK_ROW_ABREAST; v++)
        mgk_row_order(of_lanes + v, of_lanes);
    for (int lane = 0; lane < MGK_VECTOR_LANES; lane++)
        largest = of_lanes[0][lane] > largest ? of_lanes[0][lane] : largest;
    return largest;
}

double MGK_CPU(row_smallest)(size_t n, const double *x)
{
    mgk_vector of_lanes[MGK_ROW_ABREAST] = {{0}};
    double smallest = 0;
    mgk_row_accumulate(smaller, n, x, x, of_lanes);
    for (int v = 1; v < MGK_ROW_ABREAST; v++)
        mgk_row_order(of_lanes, of_lanes + v);
    for (int lane = 0; lane < MGK_VECTOR_LANES; lane++)
        smallest = of_lanes[0][lane] < smallest ? of_lanes[0][lane] : smallest;
    return smallest;
}

void MGK_CPU(row_spreads)(size_t n, const double *columns, double *out)
{
    double sum[MGK_SORT_ROWS] = {0};
    for (size_t k = 0; k < n; k++) {
        const double weight = 2 * (double)k + 1 - (double)n;
        for (size_t c = 0; c < MGK_SORT_ROWS; c++)
            sum[c] += weight * columns[k * MGK_SORT_ROWS + c];
    }
    memcpy(out, sum, sizeof sum);
}

void MGK_CPU(row_roots)(size_t n, const double *x, double *out)
{
#pragma omp simd
    for (size_t j = 0; j < n; j++)
        out[j] = sqrt(x[j]);
}
