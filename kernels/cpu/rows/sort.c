/* SPDX-License-Identifier: MIT */
/*
 * Sorts rows side by side, as the columns of a network. Floats are sorted as such, of which a
 * register holds twice as many.
 */
#include <string.h>

#include "kernels/cpu/rows/row.h"

#define FLOATS(name) MGK_CPU_JOIN(name, 32, MGK_CPU_LEVEL)
void FLOATS(row_transpose)(size_t n, const float *const *rows, float *columns);
void FLOATS(row_sort_columns)(size_t n, float *columns);

enum { ROWS = MGK_SORT_ROWS };

/* `columns` is the second half of the memory of `wide`: each row is read before it is overwritten.
 */
static void widen(size_t n, const float *columns, double *wide)
{
    for (size_t j = 0; j < n; j++) {
        float row[ROWS];
        memcpy(row, columns + j * ROWS, sizeof(row));
        for (size_t r = 0; r < ROWS; r++)
            wide[j * ROWS + r] = (double)row[r];
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
