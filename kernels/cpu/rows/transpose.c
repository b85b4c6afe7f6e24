/* SPDX-License-Identifier: MIT */
/*
 * Rows become columns, in squares of as many rows as a vector has lanes. Each step exchanges the
 * upper right quarter of all blocks of one size with their lower left quarter.
 */
#include "kernels/cpu/rows/order.h"

enum { ROWS = MGK_SORT_ROWS, LANES = MGK_VECTOR_LANES };

typedef real_int lanes __attribute__((vector_size(MGK_VECTOR_BYTES), may_alias));

static const _Alignas(64) real_int places[16] = {0, 1, 2,  3,  4,  5,  6,  7,
                                                 8, 9, 10, 11, 12, 13, 14, 15};

/* Lane i is number from[i] of the lanes of a and then b. */
__attribute__((always_inline)) static inline mgk_vector pick(mgk_vector a, mgk_vector b, lanes from)
{
#ifdef __clang__ /* whose shuffle takes constants only */
    mgk_vector out;
    for (int lane = 0; lane < LANES; lane++)
        out[lane] = from[lane] < LANES ? a[from[lane]] : b[from[lane] - LANES];
    return out;
#else
    return __builtin_shuffle(a, b, from);
#endif
}

/* Of blocks of 2 · step rows. */
__attribute__((always_inline)) static inline void exchange_quarters(mgk_vector *x, int step)
{
    const lanes place = *(const lanes *)places, right = place & step;
    const lanes upper = place + right * (LANES / step - 1), lower = upper + step;
#pragma GCC unroll 16
    for (int r = 0; r < LANES; r++)
        if (!(r & step)) {
            const mgk_vector a = x[r], b = x[r + step];
            x[r] = pick(a, b, upper);
            x[r + step] = pick(a, b, lower);
        }
}

/* The square of rows at (first, j). */
static inline void transpose_square(const real *const *rows, size_t first, size_t j, real *columns)
{
    mgk_vector x[LANES];
#pragma GCC unroll 16
    for (size_t r = 0; r < LANES; r++)
        x[r] = mgk_row_load(rows[first + r] + j);
#pragma GCC unroll 4
    for (int step = LANES / 2; step > 0; step /= 2)
        exchange_quarters(x, step);
#pragma GCC unroll 16
    for (size_t k = 0; k < LANES; k++)
        *(mgk_loose_vector *)(columns + (j + k) * ROWS + first) = x[k];
}

void MGK_CPU(row_transpose)(size_t n, const real *const *rows, real *columns)
{
    size_t j = 0;
    for (; j + LANES <= n; j += LANES)
        for (size_t first = 0; first < ROWS; first += LANES)
            transpose_square(rows, first, j, columns);
    for (; j < n; j++)
        for (size_t r = 0; r < ROWS; r++)
            columns[j * ROWS + r] = rows[r][j];
}
