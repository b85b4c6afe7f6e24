/* SPDX-License-Identifier: MIT */
/*
 * The matrix product of attention: a skinny matrix (one side is the head dimension) times a wide
 * one, both in cache. A general BLAS takes longer to pack such operands than to multiply them. Here
 * they are packed once per head and zero-padded to whole vectors, so there are no edge cases.
 */
#ifndef MGK_KERNELS_CPU_TILE_H
#define MGK_KERNELS_CPU_TILE_H

#include "kernels/cpu/vector.h"

/*
 * Products are computed in blocks of MGK_TILE_BLOCK rows by MGK_TILE_VECTORS vectors, and of
 * MGK_TILE_END_BLOCK rows by the fewer vectors at the end. Their sums fill half of the level's
 * vector registers or more: enough independent sums to keep the multipliers busy, and room for the
 * operands.
 */
#if defined(__AVX512F__)
enum { MGK_TILE_BLOCK = 6, MGK_TILE_VECTORS = 4, MGK_TILE_END_BLOCK = 8 };
#elif defined(__AVX__)
enum { MGK_TILE_BLOCK = 6, MGK_TILE_VECTORS = 2, MGK_TILE_END_BLOCK = 6 };
#else
enum { MGK_TILE_BLOCK = 4, MGK_TILE_VECTORS = 2, MGK_TILE_END_BLOCK = 4 };
#endif

/* Products have a multiple of this many rows. */
enum { MGK_TILE_ROWS = 8 };

/* Rows of the right operand per pass: two vectors of each fit the L1 cache, four the L2 cache. */
enum { MGK_TILE_DEPTH = 256 };

static inline size_t mgk_tile_rows(size_t rows)
{
    return (rows + MGK_TILE_ROWS - 1) / MGK_TILE_ROWS * MGK_TILE_ROWS;
}

/* A strided operand: element (i, k) is data[i row + k depth]. */
typedef struct mgk_tile_operand {
    const real *data;
    size_t row, depth;
} mgk_tile_operand;

/* R rows and V vectors of the product, held in registers. */
__attribute__((always_inline)) static inline void
mgk_tile_block(const size_t R, const size_t V, size_t depth, mgk_tile_operand a, const real *b,
               size_t ldb, const real *start, size_t start_stride, real *c, size_t ldc)
{
    mgk_vector sum[8][MGK_TILE_VECTORS];
#pragma GCC unroll 8
    for (size_t i = 0; i < R; i++)
#pragma GCC unroll 4
        for (size_t v = 0; v < V; v++)
            sum[i][v] =
                start ? ((const mgk_loose_vector *)(start + i * start_stride))[v] : (mgk_vector){0};
    for (size_t k = 0; k < depth; k++) {
        const mgk_vector *row = (const mgk_vector *)(b + k * ldb);
#pragma GCC unroll 8
        for (size_t i = 0; i < R; i++)
#pragma GCC unroll 4
            for (size_t v = 0; v < V; v++)
                sum[i][v] += row[v] * a.data[i * a.row + k * a.depth];
    }
#pragma GCC unroll 8
    for (size_t i = 0; i < R; i++)
#pragma GCC unroll 4
        for (size_t v = 0; v < V; v++)
            ((mgk_loose_vector *)(c + i * ldc))[v] = sum[i][v];
}

/* All rows of V vectors of columns: the right operand stays in the first-level cache. */
__attribute__((always_inline)) static inline void
mgk_tile_columns(const size_t V, size_t rows, size_t depth, mgk_tile_operand a, const real *b,
                 size_t ldb, const real *start, size_t start_stride, real *c, size_t ldc)
{
    const size_t block = V == MGK_TILE_VECTORS ? MGK_TILE_BLOCK : MGK_TILE_END_BLOCK;
    for (size_t i = 0; i < rows;) {
        mgk_tile_operand left = {a.data + i * a.row, a.row, a.depth};
        const real *first = start ? start + i * start_stride : NULL;
        /* Blocks of 6 rows, unless 2 would remain: 8 rows are two blocks of 4. */
        if (block != 6 || (rows - i >= 6 && rows - i != 8)) {
            mgk_tile_block(block, V, depth, left, b, ldb, first, start_stride, c + i * ldc, ldc);
            i += block;
        } else {
            mgk_tile_block(4, V, depth, left, b, ldb, first, start_stride, c + i * ldc, ldc);
            i += 4;
        }
    }
}

/*
 * c [rows, cols] = start + a [rows, depth] · b [depth, cols]. start NULL: 0; its rows are
 * start_stride apart: 0 adds one row to all rows, and start = c accumulates. rows is a multiple of
 * MGK_TILE_ROWS, cols one of MGK_LANES, as is the stride of b, which is 64-byte aligned.
 */
static inline void mgk_tile_multiply(size_t rows, size_t cols, size_t depth, mgk_tile_operand a,
                                     const real *b, size_t ldb, const real *start,
                                     size_t start_stride, real *c, size_t ldc)
{
    const size_t pair = 2 * MGK_VECTOR_LANES, most = MGK_TILE_VECTORS * MGK_VECTOR_LANES;
    size_t done = 0;
    do {
        size_t slice = depth - done < MGK_TILE_DEPTH ? depth - done : MGK_TILE_DEPTH;
        size_t j = 0;
        for (; j + most <= cols; j += most)
            mgk_tile_columns(MGK_TILE_VECTORS, rows, slice, a, b + j, ldb, start ? start + j : NULL,
                             start_stride, c + j, ldc);
        for (; j + pair <= cols; j += pair)
            mgk_tile_columns(2, rows, slice, a, b + j, ldb, start ? start + j : NULL, start_stride,
                             c + j, ldc);
        if (j < cols)
            mgk_tile_columns(1, rows, slice, a, b + j, ldb, start ? start + j : NULL, start_stride,
                             c + j, ldc);
        a.data += slice * a.depth;
        b += slice * ldb;
        start = c;
        start_stride = ldc;
        done += slice;
    } while (done < depth);
}

#endif
