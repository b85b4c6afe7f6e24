/* SPDX-License-Identifier: MIT */
/*
 * K = L D Lᵀ of a matrix that fits the second-level cache, by rows of W = D Lᵀ, BLOCK at a time.
 * From the same rows of K a block subtracts L W of the rows above it, and then the contributions of
 * its own rows to each other. A row is summed in registers and written once. K holds L by rows,
 * which are columns of W; so a block is transposed when it is read and when its L is written. Rows
 * of K below the matrix are additional columns of W.
 */
#include <string.h>

#include "kernels/cpu/spectral/block.h"
#include "kernels/cpu/spectral/reduction.h"

enum { BLOCK = MGK_BLOCK_ROWS, WIDTH = MGK_BLOCK_COLUMNS };

_Static_assert((int)BLOCK <= (int)MGK_FACTOR_BLOCK && (int)WIDTH <= (int)MGK_FACTOR_WIDTH,
               "they have their place in the work");
_Static_assert((int)BLOCK <= (int)WIDTH, "a corner lies in the first columns of its block");

/* The arrays in `work`. */
typedef struct factor {
    size_t n, pitch;
    double *w;       /* [n + BLOCK, pitch], right of the diagonal; 0 beyond n */
    double *left;    /* −L of every block, see left_of */
    double *inverse; /* [n]: 1 / D */
} factor;

static factor lay_out(size_t n, double *work)
{
    factor f = {.n = n, .pitch = mgk_factor_pitch(n), .w = work};
    f.left = f.w + (n + BLOCK) * f.pitch;
    f.inverse = f.left + (n + BLOCK) * (n + BLOCK);
    return f;
}

/* [first + BLOCK, BLOCK]: −L of the block of rows from `first`, by columns; its corner is last. */
static double *left_of(const factor *f, size_t first)
{
    return f->left + first * (f->n + BLOCK);
}

/* Reads rows [first, first + rows) of K to W. */
static void read_block(const factor *f, size_t first, size_t rows, const double *k, size_t stride)
{
    double *block = f->w + first * f->pitch;
    for (size_t r = 0; r < BLOCK; r++) {
        memset(block + r * f->pitch + first, 0, BLOCK * sizeof *block);
        memset(block + r * f->pitch + f->n, 0, WIDTH * sizeof *block);
    }
    for (size_t i = first; i < first + rows; i++)
        for (size_t r = 0; r <= i - first; r++)
            block[r * f->pitch + i] = k[i * stride + first + r];
    /* If columns follow, the block is whole. */
    for (size_t i = first + rows; i < f->n; i++)
#pragma GCC unroll 8
        for (size_t r = 0; r < BLOCK; r++)
            block[r * f->pitch + i] = k[i * stride + first + r];
}

/* L of a block's rows and all earlier columns, to `left` and to K. */
static void divide(const factor *f, size_t first, size_t rows, double *k, size_t stride)
{
    double *left = left_of(f, first);
    for (size_t t = 0; t < first; t++) {
        const double *above = f->w + t * f->pitch + first;
        for (size_t r = 0; r < BLOCK; r++)
            left[t * BLOCK + r] = -above[r] * f->inverse[t];
    }
    for (size_t r = 0; r < rows; r++) {
        double *row = k + (first + r) * stride;
        for (size_t t = 0; t < first; t++)
            row[t] = -left[t * BLOCK + r];
    }
}

/* Subtracts the contributions of a block's own rows; corner [BLOCK, BLOCK] is −L by columns. */
__attribute__((always_inline)) static inline void subtract_own(mgk_block *b, const double *corner)
{
#pragma GCC unroll 8
    for (size_t t = 0; t < BLOCK; t++)
#pragma GCC unroll 8
        for (size_t r = t + 1; r < BLOCK; r++)
#pragma GCC unroll 2
            for (size_t v = 0; v < MGK_BLOCK_VECTORS; v++)
                b->sum[r][v] += b->sum[t][v] * corner[t * BLOCK + r];
}

/*
 * WIDTH columns of a block: adds −L times W of `depth` rows above and, if `own`, the contributions
 * of its own rows, whose −L, the corner, follows in `left`.
 */
__attribute__((always_inline)) static inline void subtract(const bool own, size_t depth,
                                                           const double *left, const double *above,
                                                           size_t pitch, double *block)
{
    mgk_block b;
    mgk_block_load(&b, block, pitch);
    mgk_block_add(&b, depth, left, above, pitch);
    if (own)
        subtract_own(&b, left + depth * BLOCK);
    mgk_block_store(&b, block, pitch);
}

/* The corner of a block at its diagonal: D and L, by definition. */
static void factor_corner(const factor *f, size_t first, size_t rows, double *k, size_t stride)
{
    double a[BLOCK][BLOCK], *corner = left_of(f, first) + first * BLOCK;
    double *diagonal = k + first * stride + first;
    memset(corner, 0, sizeof a);
    for (size_t t = 0; t < rows; t++)
        memcpy(a[t], f->w + (first + t) * f->pitch + first, sizeof a[t]);
    for (size_t t = 0; t < rows; t++) {
        diagonal[t * stride + t] = a[t][t];
        f->inverse[first + t] = 1 / a[t][t];
        for (size_t r = t + 1; r < rows; r++) {
            const double l = a[t][r] * f->inverse[first + t];
            diagonal[r * stride + t] = l;
            corner[t * BLOCK + r] = -l;
            for (size_t j = r; j < rows; j++)
                a[r][j] -= l * a[t][j];
        }
    }
}

void MGK_CPU(factor)(size_t n, double *k, size_t stride, double *work)
{
    const factor f = lay_out(n, work);
    for (size_t first = 0; first < n; first += BLOCK) {
        const size_t rows = n - first < BLOCK ? n - first : BLOCK;
        const double *left = left_of(&f, first), *corner = left + first * BLOCK;
        double *above = f.w + first, *block = above + first * f.pitch;
        read_block(&f, first, rows, k, stride);
        divide(&f, first, rows, k, stride);
        subtract(false, first, left, above, f.pitch, block);
        factor_corner(&f, first, rows, k, stride);
        subtract(true, 0, corner, above, f.pitch, block);
        for (size_t j = WIDTH; first + j < n; j += WIDTH)
            subtract(true, first, left, above + j, f.pitch, block + j);
    }
}

/* Reads at most WIDTH rows of K, [rows, n], as columns of W, with zeros around them. */
static void read_columns(size_t n, size_t rows, const double *k, size_t stride, size_t pitch,
                         double *w)
{
    for (size_t t = 0; t < n + BLOCK; t++)
        for (size_t i = 0; i < WIDTH; i++)
            w[t * pitch + i] = t < n && i < rows ? k[i * stride + t] : 0;
}

void MGK_CPU(solve)(size_t n, size_t rows, double *below, size_t stride, double *work, double *w,
                    size_t pitch)
{
    const factor f = lay_out(n, work);
    for (size_t j = 0; j < rows; j += WIDTH) {
        const size_t width = rows - j < WIDTH ? rows - j : WIDTH;
        double *columns = w + j, *k = below + j * stride;
        read_columns(n, width, k, stride, pitch, columns);
        for (size_t first = 0; first < n; first += BLOCK)
            subtract(true, first, left_of(&f, first), columns, pitch, columns + first * pitch);
        for (size_t i = 0; i < width; i++)
            for (size_t t = 0; t < n; t++)
                k[i * stride + t] = columns[t * pitch + i] * f.inverse[t];
    }
}
