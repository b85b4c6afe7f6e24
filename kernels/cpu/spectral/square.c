/* SPDX-License-Identifier: MIT */
/*
 * The product CᵀC of a causal matrix, zero right of its diagonal, in a third of the operations of a
 * general product: column i of C begins at row i, so the product of columns i and j <= i does too.
 * The last blocks overlap their neighbours, so that they do not exceed the matrix.
 */
#include <string.h>

#include "kernels/cpu/spectral/block.h"
#include "kernels/cpu/spectral/reduction.h"

enum { ROWS = MGK_BLOCK_ROWS, COLUMNS = MGK_BLOCK_COLUMNS };

_Static_assert((int)COLUMNS <= (int)MGK_SQUARE_LEAST && (int)ROWS <= (int)MGK_SQUARE_LEAST,
               "a matrix holds a block");

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

void MGK_CPU(square)(size_t n, const double *c, size_t stride, double *product,
                     size_t product_stride)
{
    double left[MGK_SQUARE_LARGEST * ROWS];
    for (size_t next = 0; next < n; next += ROWS) {
        const size_t i = smaller(next, n - ROWS), depth = n - i;
        for (size_t t = 0; t < depth; t++)
            memcpy(left + t * ROWS, c + (i + t) * stride + i, ROWS * sizeof *left);
        for (size_t right = 0; right < i + ROWS; right += COLUMNS) {
            const size_t j = smaller(right, n - COLUMNS);
            mgk_block block = {0};
            mgk_block_add(&block, depth, left, c + i * stride + j, stride);
            mgk_block_store(&block, product + i * product_stride + j, product_stride);
        }
    }
}
