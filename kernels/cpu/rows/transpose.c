/* SPDX-License-Identifier: MIT */
/* Rows that lie anywhere become the columns of one array. */
#include "kernels/cpu/transpose.h"
#include "kernels/cpu/rows/order.h"

enum { ROWS = MGK_SORT_ROWS, LANES = MGK_VECTOR_LANES };

/* The square of rows at (first, j). */
static inline void transpose_square(const real *const *rows, size_t first, size_t j, real *columns)
{
    mgk_vector x[LANES];
#pragma GCC unroll 16
    for (size_t r = 0; r < LANES; r++)
        x[r] = mgk_row_load(rows[first + r] + j);
    mgk_transpose_square(x);
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
