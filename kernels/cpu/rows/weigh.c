/* SPDX-License-Identifier: MIT */
/* Sums of value vectors with the weights of attention rows, and products of what comes out. */
#include "kernels/cpu/rows/row.h"
#include "kernels/cpu/tile.h"

_Static_assert(MGK_WEIGH_UNIT % MGK_TILE_ROWS == 0 && MGK_WEIGH_UNIT % MGK_LANES == 0,
               "whole tiles");

void MGK_CPU(row_weigh)(size_t rows, size_t keys, size_t dim, const double *a, size_t pitch,
                        const double *values, double *out)
{
    const mgk_tile_operand weights = {a, pitch, 1};
    mgk_tile_multiply(rows, dim, keys, weights, values, dim, NULL, 0, out, dim);
}

double MGK_CPU(row_energy)(size_t count, size_t n, const double *x, const double *y,
                           double *product)
{
    const mgk_tile_operand columns = {x, 1, n};
    mgk_tile_multiply(n, n, count, columns, y, n, NULL, 0, product, n);
    return MGK_CPU(row_dot)(n * n, product, product);
}
