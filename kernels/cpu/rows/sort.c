/* SPDX-License-Identifier: MIT */
/*
 * Sorts rows side by side, as the columns of a network. Floats are sorted as such, of which a
 * register holds twice as many.
 */
#include "kernels/cpu/rows/row.h"

#define FLOATS(name) MGK_CPU_JOIN(name, 32, MGK_CPU_LEVEL)
void FLOATS(row_transpose)(size_t n, const float *const *rows, float *columns);
void FLOATS(row_sort_columns)(size_t n, float *columns);

enum { ROWS = MGK_SORT_ROWS };

enum { LANES = MGK_VECTOR_LANES };

/* Half a vector of floats becomes a vector of doubles. */
typedef float half __attribute__((vector_size(MGK_VECTOR_BYTES / 2), may_alias, aligned(4)));

/* `columns` is the second half of the memory of `wide`: each row is read before it is overwritten.
 */
static void widen(size_t n, const float *columns, double *wide)
{
    for (size_t j = 0; j < n; j++) {
        half row[ROWS / LANES];
#pragma GCC unroll 4
        for (int k = 0; k < ROWS / LANES; k++)
            row[k] = *(const half *)(columns + j * ROWS + k * LANES);
#pragma GCC unroll 4
        for (int k = 0; k < ROWS / LANES; k++)
            *(mgk_loose_vector *)(wide + j * ROWS + k * LANES) =
                __builtin_convertvector(row[k], mgk_vector);
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
