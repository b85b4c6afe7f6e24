/* SPDX-License-Identifier: MIT */
/*
 * Products C = alpha A Bᵀ + beta C over few numbers, such as those of a head: scores of queries and
 * keys. A BLAS sets C to 0, or scales it, before it adds the product, and C is far larger than the
 * caches. Here a row of C is written once; A is read where it lies, and B is packed, in slices that
 * stay in cache.
 */
#ifndef MGK_KERNELS_CPU_SHALLOW_H
#define MGK_KERNELS_CPU_SHALLOW_H

#include "kernels/cpu/tile.h"
#include "kernels/cpu/transpose.h"
#include "kernels/dense.h"

enum {
    MGK_SHALLOW_DEPTH = 64,    /* the most numbers: with more the passes over C weigh less */
    MGK_SHALLOW_COLUMNS = 256, /* of a slice of C */
    MGK_SHALLOW_ROWS = 24 /* rows of A and C that meet a slice at a time, whole blocks of tiles */
};

/* Whether mgk_shallow_multiply can make the product. */
static inline bool mgk_shallow(const mgk_batched_product *p)
{
    return !p->transpose_a && p->transpose_b && p->k > 0 && p->k <= MGK_SHALLOW_DEPTH &&
           p->n % MGK_LANES == 0 && (p->beta == 0 || p->beta == 1);
}

/* Reals of mgk_shallow_multiply's memory, 64-byte aligned. */
static inline size_t mgk_shallow_scratch(const mgk_batched_product *p)
{
    return mgk_shallow(p) ? p->k * mgk_cpu_pitch(MGK_SHALLOW_COLUMNS) : 0;
}

/* A block of C: rows, a multiple of MGK_TILE_ROWS, and columns, one of MGK_LANES. */
static inline void mgk_shallow_multiply(const mgk_batched_product *p, size_t rows, size_t columns,
                                        const real *a, const real *b, real *c, real *packed)
{
    const size_t pitch = mgk_cpu_pitch(MGK_SHALLOW_COLUMNS), ldc = p->c.row;
    for (size_t j = 0; j < columns; j += MGK_SHALLOW_COLUMNS) {
        const size_t left = columns - j;
        const size_t width = left < MGK_SHALLOW_COLUMNS ? left : MGK_SHALLOW_COLUMNS;
        mgk_transpose(width, p->k, b + j * p->b.row, p->b.row, packed, pitch);
        for (size_t d = 0; d < p->k; d++)
            for (size_t n = 0; n < width; n++)
                packed[d * pitch + n] *= (real)p->alpha;
        for (size_t i = 0; i < rows; i += MGK_SHALLOW_ROWS) {
            const size_t count = rows - i < MGK_SHALLOW_ROWS ? rows - i : MGK_SHALLOW_ROWS;
            real *sum = c + i * ldc + j;
            mgk_tile_multiply(count, width, p->k, (mgk_tile_operand){a + i * p->a.row, p->a.row, 1},
                              packed, pitch, p->beta == 1 ? sum : NULL, ldc, sum, ldc);
        }
    }
}

#endif
