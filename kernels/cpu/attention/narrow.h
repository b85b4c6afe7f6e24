/* SPDX-License-Identifier: MIT */
/*
 * Products C = alpha A B + beta C with few columns, such as the numbers of a head. A BLAS packs A
 * first, which takes a quarter of its time where each number of A is used for so few columns. Here
 * A is read where it lies, and B is packed, in slices that stay in cache.
 */
#ifndef MGK_KERNELS_CPU_NARROW_H
#define MGK_KERNELS_CPU_NARROW_H

#include "kernels/cpu/tile.h"
#include "kernels/dense.h"

enum {
    MGK_NARROW_COLUMNS = 128, /* the most columns: for more it is worth while to pack A */
    MGK_NARROW_DEPTH = 256,   /* rows of a slice of B */
    MGK_NARROW_ROWS = 24 /* rows of A and C that meet a slice at a time, whole blocks of tiles */
};

/* Whether mgk_narrow_multiply can make the product. */
static inline bool mgk_narrow(const mgk_batched_product *p)
{
    return !p->transpose_a && !p->transpose_b && p->k > 0 && p->n % MGK_LANES == 0 &&
           p->n <= MGK_NARROW_COLUMNS && (p->beta == 0 || p->beta == 1);
}

/* Reals of mgk_narrow_multiply's memory, 64-byte aligned. */
static inline size_t mgk_narrow_scratch(const mgk_batched_product *p)
{
    return mgk_narrow(p) ? MGK_NARROW_DEPTH * mgk_cpu_pitch(p->n) : 0;
}

/* Rows 0 … rows − 1 of one matrix C, a multiple of MGK_TILE_ROWS. */
static inline void mgk_narrow_multiply(const mgk_batched_product *p, size_t rows, const real *a,
                                       const real *b, real *c, real *packed)
{
    const size_t pitch = mgk_cpu_pitch(p->n), ldc = p->c.row;
    for (size_t k = 0; k < p->k; k += MGK_NARROW_DEPTH) {
        const size_t depth = p->k - k < MGK_NARROW_DEPTH ? p->k - k : MGK_NARROW_DEPTH;
        for (size_t d = 0; d < depth; d++)
            for (size_t j = 0; j < p->n; j++)
                packed[d * pitch + j] = (real)p->alpha * b[(k + d) * p->b.row + j];
        for (size_t i = 0; i < rows; i += MGK_NARROW_ROWS) {
            const size_t count = rows - i < MGK_NARROW_ROWS ? rows - i : MGK_NARROW_ROWS;
            const mgk_tile_operand left = {a + i * p->a.row + k, p->a.row, 1};
            real *sum = c + i * ldc;
            mgk_tile_multiply(count, p->n, depth, left, packed, pitch,
                              k > 0 || p->beta == 1 ? sum : NULL, ldc, sum, ldc);
        }
    }
}

#endif
