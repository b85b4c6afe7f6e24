/*
 * The product that attention is made of: a skinny matrix (one side is the head
 * dimension) times a wide one, small enough to stay in cache. A general BLAS spends
 * more time packing such operands than multiplying them; here they are packed once
 * per head, zero-padded to whole vectors, and no edge case is left.
 */
#ifndef MGK_KERNELS_CPU_TILE_H
#define MGK_KERNELS_CPU_TILE_H

#include "kernels/cpu/cpu.h"

typedef real mgk_vector __attribute__((vector_size(64), may_alias));

/* Products come in whole groups of this many rows. */
enum { MGK_TILE_ROWS = 8 };

static inline size_t mgk_tile_rows(size_t rows)
{
    return (rows + MGK_TILE_ROWS - 1) / MGK_TILE_ROWS * MGK_TILE_ROWS;
}

/* A strided operand: element (i, k) stands at data[i row + k depth]. */
typedef struct mgk_tile_operand {
    const real *data;
    size_t row, depth;
} mgk_tile_operand;

/* R rows and V vectors of the product below, held in registers. */
__attribute__((always_inline)) static inline void
mgk_tile_block(const size_t R, const size_t V, size_t depth, mgk_tile_operand a, const real *b,
               size_t ldb, const real *start, size_t start_stride, real *c, size_t ldc)
{
    mgk_vector sum[8][2];
#pragma GCC unroll 8
    for (size_t i = 0; i < R; i++)
#pragma GCC unroll 2
        for (size_t v = 0; v < V; v++)
            sum[i][v] =
                start ? ((const mgk_vector *)(start + i * start_stride))[v] : (mgk_vector){0};
    for (size_t k = 0; k < depth; k++) {
        const mgk_vector *row = (const mgk_vector *)(b + k * ldb);
#pragma GCC unroll 8
        for (size_t i = 0; i < R; i++)
#pragma GCC unroll 2
            for (size_t v = 0; v < V; v++)
                sum[i][v] += row[v] * a.data[i * a.row + k * a.depth];
    }
#pragma GCC unroll 8
    for (size_t i = 0; i < R; i++)
#pragma GCC unroll 2
        for (size_t v = 0; v < V; v++)
            ((mgk_vector *)(c + i * ldc))[v] = sum[i][v];
}

/*
 * c [rows, cols] = start + a [rows, depth] · b [depth, cols]. start (NULL: 0) has rows
 * start_stride apart: 0 adds one row to all, c itself accumulates. rows is a
 * multiple of MGK_TILE_ROWS, cols and all strides of b, c, start of MGK_LANES, and
 * those arrays are 64-byte aligned.
 */
static inline void mgk_tile_multiply(size_t rows, size_t cols, size_t depth, mgk_tile_operand a,
                                     const real *b, size_t ldb, const real *start,
                                     size_t start_stride, real *c, size_t ldc)
{
    for (size_t i = 0; i < rows; i += MGK_TILE_ROWS) {
        mgk_tile_operand lower = a, upper = a;
        lower.data = a.data + i * a.row;
        upper.data = a.data + (i + 4) * a.row;
        size_t j = 0;
        for (; j + 2 * MGK_LANES <= cols; j += 2 * MGK_LANES) {
            const real *s = start ? start + i * start_stride + j : NULL;
            const real *s4 = start ? s + 4 * start_stride : NULL;
            mgk_tile_block(4, 2, depth, lower, b + j, ldb, s, start_stride, c + i * ldc + j, ldc);
            mgk_tile_block(4, 2, depth, upper, b + j, ldb, s4, start_stride, c + (i + 4) * ldc + j,
                           ldc);
        }
        if (j < cols)
            mgk_tile_block(8, 1, depth, lower, b + j, ldb,
                           start ? start + i * start_stride + j : NULL, start_stride,
                           c + i * ldc + j, ldc);
    }
}

#endif
