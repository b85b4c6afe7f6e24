/* SPDX-License-Identifier: MIT */
/*
 * Sorts rows side by side, as the columns of a network. Floats are sorted as such, of which a
 * register holds twice as many.
 */
#include "kernels/cpu/rows/order.h"
#include "kernels/cpu/rows/row.h"

#define FLOATS(name) MGK_CPU_JOIN(name, 32, MGK_CPU_LEVEL)
void FLOATS(row_transpose)(size_t n, const float *const *rows, float *columns);
void FLOATS(row_sort_columns)(size_t n, float *columns);

enum { ROWS = MGK_SORT_ROWS, LANES = MGK_VECTOR_LANES };

/* As many floats as a vector has doubles. */
static inline mgk_vector widen_half(const float *x)
{
#if defined(__AVX512F__)
    return (mgk_vector)_mm512_cvtps_pd(_mm256_loadu_ps(x));
#elif defined(__AVX__)
    return (mgk_vector)_mm256_cvtps_pd(_mm_loadu_ps(x));
#else
    mgk_vector wide;
    for (int lane = 0; lane < LANES; lane++)
        wide[lane] = (double)x[lane];
    return wide;
#endif
}

/* `columns` is the second half of the memory of `wide`: each row is read before it is overwritten.
 */
static void widen(size_t n, const float *columns, double *wide)
{
    for (size_t j = 0; j < n; j++) {
        mgk_vector row[ROWS / LANES];
#pragma GCC unroll 8
        for (int k = 0; k < ROWS / LANES; k++)
            row[k] = widen_half(columns + j * ROWS + k * LANES);
#pragma GCC unroll 8
        for (int k = 0; k < ROWS / LANES; k++)
            *(mgk_loose_vector *)(wide + j * ROWS + k * LANES) = row[k];
    }
}

void MGK_CPU(row_sort)(size_t n, const double *const *rows, double *sorted)
{
    MGK_CPU(row_transpose)(n, rows, sorted);
    MGK_CPU(row_sort_columns)(n, sorted);
}

void MGK_CPU(row_sort_floats)(size_t n, const float *const *rows, double *sorted)
{
    float *columns = (float *)sorted + n * ROWS;
    FLOATS(row_transpose)(n, rows, columns);
    FLOATS(row_sort_columns)(n, columns);
    widen(n, columns, sorted);
}
