/* SPDX-License-Identifier: MIT */
/*
 * Rows become columns, in squares of as many rows as a vector has lanes. Each step exchanges the
 * upper right quarter of all blocks of one size with their lower left quarter.
 */
#ifndef MGK_KERNELS_CPU_TRANSPOSE_H
#define MGK_KERNELS_CPU_TRANSPOSE_H

#include "kernels/cpu/vector.h"

typedef real_int mgk_vector_places __attribute__((vector_size(MGK_VECTOR_BYTES), may_alias));

static const _Alignas(64) real_int mgk_transpose_places[16] = {0, 1, 2,  3,  4,  5,  6,  7,
                                                               8, 9, 10, 11, 12, 13, 14, 15};

/* Lane i is number from[i] of the lanes of a and then b. */
__attribute__((always_inline)) static inline mgk_vector
mgk_transpose_pick(mgk_vector a, mgk_vector b, mgk_vector_places from)
{
#ifdef __clang__ /* whose shuffle takes constants only */
    mgk_vector out;
    for (int lane = 0; lane < MGK_VECTOR_LANES; lane++)
        out[lane] =
            from[lane] < MGK_VECTOR_LANES ? a[from[lane]] : b[from[lane] - MGK_VECTOR_LANES];
    return out;
#else
    return __builtin_shuffle(a, b, from);
#endif
}

/* Of blocks of 2 · step rows, of the first `rows`. */
__attribute__((always_inline)) static inline void mgk_transpose_quarters(mgk_vector *x, int rows,
                                                                         int step)
{
    const mgk_vector_places place = *(const mgk_vector_places *)mgk_transpose_places;
    const mgk_vector_places right = place & step;
    const mgk_vector_places upper = place + right * (MGK_VECTOR_LANES / step - 1);
    const mgk_vector_places lower = upper + step;
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
        if (!(r & step)) {
            const mgk_vector a = x[r], b = x[r + step];
            x[r] = mgk_transpose_pick(a, b, upper);
            x[r + step] = mgk_transpose_pick(a, b, lower);
        }
}

/* The square x, MGK_VECTOR_LANES vectors, in place. */
__attribute__((always_inline)) static inline void mgk_transpose_square(mgk_vector *x)
{
#pragma GCC unroll 4
    for (int step = MGK_VECTOR_LANES / 2; step > 0; step /= 2)
        mgk_transpose_quarters(x, MGK_VECTOR_LANES, step);
}

/* to [cols, to_stride] = the transpose of from [rows, from_stride]. */
static inline void mgk_transpose(size_t rows, size_t cols, const real *from, size_t from_stride,
                                 real *to, size_t to_stride)
{
    const size_t lanes = MGK_VECTOR_LANES;
    size_t r = 0;
    for (; r + lanes <= rows; r += lanes) {
        size_t c = 0;
        for (; c + lanes <= cols; c += lanes) {
            mgk_vector x[MGK_VECTOR_LANES];
#pragma GCC unroll 16
            for (size_t k = 0; k < lanes; k++)
                x[k] = *(const mgk_loose_vector *)(from + (r + k) * from_stride + c);
            mgk_transpose_square(x);
#pragma GCC unroll 16
            for (size_t k = 0; k < lanes; k++)
                *(mgk_loose_vector *)(to + (c + k) * to_stride + r) = x[k];
        }
        for (; c < cols; c++)
            for (size_t k = r; k < r + lanes; k++)
                to[c * to_stride + k] = from[k * from_stride + c];
    }
    for (; r < rows; r++)
        for (size_t c = 0; c < cols; c++)
            to[c * to_stride + r] = from[r * from_stride + c];
}

#endif
