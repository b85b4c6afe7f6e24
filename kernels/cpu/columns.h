/* SPDX-License-Identifier: MIT */
/* Sums down the columns of a matrix, the core of several gradients. */
#ifndef MGK_KERNELS_CPU_COLUMNS_H
#define MGK_KERNELS_CPU_COLUMNS_H

#include "kernels/cpu/cpu.h"

/* Rows summed separately before they are added to a total, which keeps rounding errors small. */
enum { MGK_CPU_ROW_BLOCK = 128 };

/* Columns of one block of sums: 1 KiB. */
enum { MGK_CPU_COLUMN_BLOCK = 16 * MGK_LANES };

/* sums [cols] += column sums of x [rows, cols], whose rows are `stride` apart. */
static inline void mgk_cpu_add_columns(size_t rows, size_t cols, size_t stride, const real *x,
                                       real *sums)
{
    for (size_t c0 = 0; c0 < cols; c0 += MGK_CPU_COLUMN_BLOCK) {
        size_t width = cols - c0 < MGK_CPU_COLUMN_BLOCK ? cols - c0 : MGK_CPU_COLUMN_BLOCK;
        for (size_t r0 = 0; r0 < rows; r0 += MGK_CPU_ROW_BLOCK) {
            size_t r1 = rows - r0 < MGK_CPU_ROW_BLOCK ? rows : r0 + MGK_CPU_ROW_BLOCK;
            real block[MGK_CPU_COLUMN_BLOCK] = {0};
            for (size_t r = r0; r < r1; r++) {
                const real *row = x + r * stride + c0;
#pragma omp simd
                for (size_t c = 0; c < width; c++)
                    block[c] += row[c];
            }
#pragma omp simd
            for (size_t c = 0; c < width; c++)
                sums[c0 + c] += block[c];
        }
    }
}

#endif
