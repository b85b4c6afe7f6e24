/*
 * K = L D Lᵀ of a matrix that fits the second-level cache, by rows of W = D Lᵀ, BLOCK at a time:
 * a block is the same rows of K less what the rows above it give, L W, and then less what its own
 * rows give each other. A row is summed up in registers and written once. K holds L by rows, which
 * are columns of W; so a block is turned over when it is read and when its L is written.
 */
#include <string.h>

#include "kernels/cpu/reduction.h"
#include "kernels/cpu/tile.h"

/* Rows and columns of a block that registers hold. */
enum { BLOCK = MGK_TILE_BLOCK, VECTORS = 2, WIDTH = VECTORS * MGK_VECTOR_LANES };

_Static_assert((int)BLOCK <= (int)WIDTH && (int)BLOCK <= (int)MGK_FACTOR_BLOCK,
               "a corner lies in the first columns of its block");

typedef struct factor {
    size_t n, stride, pitch;
    double *k;       /* [n], rows `stride` apart */
    double *w;       /* [n + BLOCK, pitch], right of the diagonal; 0 beyond n */
    double *left;    /* [n, BLOCK]: −L of the block's rows, by columns */
    double *inverse; /* [n]: 1 / D */
} factor;

/* Rows [first, first + rows) of W as K has them. */
static void read_block(const factor *f, size_t first, size_t rows)
{
    const size_t end = f->n + WIDTH;
    double *block = f->w + first * f->pitch;
    for (size_t r = 0; r < BLOCK; r++) {
        memset(block + r * f->pitch + first, 0, BLOCK * sizeof *block);
        memset(block + r * f->pitch + f->n, 0, (end - f->n) * sizeof *block);
    }
    for (size_t i = first; i < f->n; i++) {
        const double *row = f->k + i * f->stride + first;
        const size_t count = i - first < rows ? i - first + 1 : rows;
        for (size_t r = 0; r < count; r++)
            block[r * f->pitch + i] = row[r];
    }
}

/* L of a block's rows and all columns before it, to `left` and to K. */
static void divide(const factor *f, size_t first, size_t rows)
{
    for (size_t t = 0; t < first; t++) {
        const double *above = f->w + t * f->pitch + first;
        for (size_t r = 0; r < BLOCK; r++)
            f->left[t * BLOCK + r] = -above[r] * f->inverse[t];
    }
    for (size_t r = 0; r < rows; r++) {
        double *row = f->k + (first + r) * f->stride;
        for (size_t t = 0; t < first; t++)
            row[t] = -f->left[t * BLOCK + r];
    }
}

/*
 * WIDTH columns of a block: with -L and W of `depth` rows above, then with its own rows, of which
 * corner [BLOCK, BLOCK] is −L, by columns.
 */
__attribute__((always_inline)) static inline void subtract(const bool own, size_t depth,
                                                           const double *left, const double *above,
                                                           size_t pitch, const double *corner,
                                                           double *block)
{
    mgk_vector sum[BLOCK][VECTORS];
#pragma GCC unroll 8
    for (size_t r = 0; r < BLOCK; r++)
#pragma GCC unroll 2
        for (size_t v = 0; v < VECTORS; v++)
            sum[r][v] = ((const mgk_loose_vector *)(block + r * pitch))[v];
    for (size_t t = 0; t < depth; t++) {
        const mgk_loose_vector *row = (const mgk_loose_vector *)(above + t * pitch);
#pragma GCC unroll 8
        for (size_t r = 0; r < BLOCK; r++)
#pragma GCC unroll 2
            for (size_t v = 0; v < VECTORS; v++)
                sum[r][v] += row[v] * left[t * BLOCK + r];
    }
    if (own)
#pragma GCC unroll 8
        for (size_t t = 0; t < BLOCK; t++)
#pragma GCC unroll 8
            for (size_t r = t + 1; r < BLOCK; r++)
#pragma GCC unroll 2
                for (size_t v = 0; v < VECTORS; v++)
                    sum[r][v] += sum[t][v] * corner[t * BLOCK + r];
#pragma GCC unroll 8
    for (size_t r = 0; r < BLOCK; r++)
#pragma GCC unroll 2
        for (size_t v = 0; v < VECTORS; v++)
            ((mgk_loose_vector *)(block + r * pitch))[v] = sum[r][v];
}

/* The corner of a block of so many rows at its diagonal: D and L, by definition. */
static void factor_corner(const factor *f, size_t first, size_t rows, double *corner)
{
    double a[BLOCK][BLOCK];
    double *k = f->k + first * f->stride + first;
    for (size_t t = 0; t < rows; t++)
        memcpy(a[t], f->w + (first + t) * f->pitch + first, sizeof a[t]);
    for (size_t t = 0; t < rows; t++) {
        k[t * f->stride + t] = a[t][t];
        f->inverse[first + t] = 1 / a[t][t];
        for (size_t r = t + 1; r < rows; r++) {
            const double l = a[t][r] * f->inverse[first + t];
            k[r * f->stride + t] = l;
            corner[t * BLOCK + r] = -l;
            for (size_t j = r; j < rows; j++)
                a[r][j] -= l * a[t][j];
        }
    }
}

void MGK_CPU(factor)(size_t n, double *k, size_t stride, double *work)
{
    factor f = {.n = n, .stride = stride, .pitch = mgk_factor_pitch(n), .k = k, .w = work};
    f.left = f.w + (n + BLOCK) * f.pitch;
    f.inverse = f.left + n * BLOCK;
    for (size_t first = 0; first < n; first += BLOCK) {
        const size_t rows = n - first < BLOCK ? n - first : BLOCK;
        double corner[BLOCK * BLOCK] = {0};
        double *above = f.w + first, *block = above + first * f.pitch;
        read_block(&f, first, rows);
        divide(&f, first, rows);
        subtract(false, first, f.left, above, f.pitch, corner, block);
        factor_corner(&f, first, rows, corner);
        subtract(true, 0, f.left, above, f.pitch, corner, block);
        for (size_t j = WIDTH; first + j < n; j += WIDTH)
            subtract(true, first, f.left, above + j, f.pitch, corner, block + j);
    }
}
