/* SPDX-License-Identifier: MIT */
/* Blocks of sums of products in registers, for rows at any address. */
#ifndef MGK_KERNELS_CPU_BLOCK_H
#define MGK_KERNELS_CPU_BLOCK_H

#include "kernels/cpu/tile.h"

/* Rows and columns of a block. */
enum {
    MGK_BLOCK_ROWS = MGK_TILE_BLOCK,
    MGK_BLOCK_VECTORS = 2,
    MGK_BLOCK_COLUMNS = MGK_BLOCK_VECTORS * MGK_VECTOR_LANES
};

typedef struct mgk_block {
    mgk_vector sum[MGK_BLOCK_ROWS][MGK_BLOCK_VECTORS];
} mgk_block;

/* Reads the block from c, rows `stride` apart. */
__attribute__((always_inline)) static inline void mgk_block_load(mgk_block *b, const real *c,
                                                                 size_t stride)
{
#pragma GCC unroll 8
    for (size_t r = 0; r < MGK_BLOCK_ROWS; r++)
#pragma GCC unroll 2
        for (size_t v = 0; v < MGK_BLOCK_VECTORS; v++)
            b->sum[r][v] = ((const mgk_loose_vector *)(c + r * stride))[v];
}

__attribute__((always_inline)) static inline void mgk_block_store(const mgk_block *b, real *c,
                                                                  size_t stride)
{
#pragma GCC unroll 8
    for (size_t r = 0; r < MGK_BLOCK_ROWS; r++)
#pragma GCC unroll 2
        for (size_t v = 0; v < MGK_BLOCK_VECTORS; v++)
            ((mgk_loose_vector *)(c + r * stride))[v] = b->sum[r][v];
}

/* += leftᵀ right; left [depth, MGK_BLOCK_ROWS] is packed, rows of `right` are `stride` apart. */
__attribute__((always_inline)) static inline void
mgk_block_add(mgk_block *b, size_t depth, const real *left, const real *right, size_t stride)
{
    for (size_t t = 0; t < depth; t++) {
        const mgk_loose_vector *row = (const mgk_loose_vector *)(right + t * stride);
#pragma GCC unroll 8
        for (size_t r = 0; r < MGK_BLOCK_ROWS; r++)
#pragma GCC unroll 2
            for (size_t v = 0; v < MGK_BLOCK_VECTORS; v++)
                b->sum[r][v] += row[v] * left[t * MGK_BLOCK_ROWS + r];
    }
}

#endif
