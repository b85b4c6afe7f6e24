/* SPDX-License-Identifier: MIT */
/*
 * Products and squared differences of all pairs of rows. Sums of a tile of pairs stay in
 * registers, so that a loaded entry serves several pairs. Tiles that reach beyond the last row
 * compute with this row again and drop the results.
 */
#include "kernels/cpu/rows/row.h"
#include "kernels/cpu/transpose.h"

/* Rows and columns of a tile: its sums take half of the registers. */
enum { ROWS = 4, COLUMNS = MGK_VECTOR_BYTES == 64 ? 4 : 2, LANES = MGK_VECTOR_LANES };

typedef struct tile {
    const double *left[ROWS], *right[COLUMNS];
    double sums[ROWS][COLUMNS];
} tile;

/* Adds the terms of one vector of columns of all pairs. */
__attribute__((always_inline)) static inline void add_terms(mgk_row_term *term,
                                                            const mgk_vector *left,
                                                            const mgk_vector *right,
                                                            mgk_vector sum[ROWS][COLUMNS])
{
#pragma GCC unroll 4
    for (size_t r = 0; r < ROWS; r++)
#pragma GCC unroll 4
        for (size_t c = 0; c < COLUMNS; c++)
            sum[r][c] = term(sum[r][c], left[r], right[c]);
}

/* The sums of the lanes of each of the vectors [MGK_VECTOR_LANES], added as mgk_vector_sum does. */
__attribute__((always_inline)) static inline mgk_vector add_lanes(mgk_vector *x)
{
#pragma GCC unroll 4
    for (int step = LANES / 2; step > 0; step /= 2) {
        mgk_transpose_quarters(x, 2 * step, step);
#pragma GCC unroll 8
        for (int r = 0; r < step; r++)
            x[r] += x[r + step];
    }
    return x[0];
}

/* The sums of a tile over n columns. */
__attribute__((always_inline)) static inline void add_columns(mgk_row_term *term, size_t n, tile *t)
{
    mgk_vector left[ROWS], right[COLUMNS], sum[ROWS][COLUMNS] = {{{0}}};
    size_t j = 0;
    for (; j + LANES <= n; j += LANES) {
#pragma GCC unroll 4
        for (size_t r = 0; r < ROWS; r++)
            left[r] = mgk_row_load(t->left[r] + j);
#pragma GCC unroll 4
        for (size_t c = 0; c < COLUMNS; c++)
            right[c] = mgk_row_load(t->right[c] + j);
        add_terms(term, left, right, sum);
    }
    if (j < n) {
#pragma GCC unroll 4
        for (size_t r = 0; r < ROWS; r++)
            left[r] = mgk_row_load_part(t->left[r] + j, n - j);
#pragma GCC unroll 4
        for (size_t c = 0; c < COLUMNS; c++)
            right[c] = mgk_row_load_part(t->right[c] + j, n - j);
        add_terms(term, left, right, sum);
    }
#pragma GCC unroll 8
    for (size_t k = 0; k < ROWS * COLUMNS; k += LANES)
        *(mgk_loose_vector *)(&t->sums[0][0] + k) = add_lanes(&sum[0][0] + k);
}

/* Adds the pairs g <= h of the tile at (first, second), times a factor, to out [heads, heads]. */
static void add_tile(const tile *t, double factor, size_t heads, size_t first, size_t second,
                     double *out)
{
    for (size_t h = first; h < first + ROWS && h < heads; h++)
        for (size_t g = second; g < second + COLUMNS && g <= h; g++)
            out[h * heads + g] += factor * t->sums[h - first][g - second];
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* out [heads, heads], g <= h, += factor times the sums of a term over n columns. */
__attribute__((always_inline)) static inline void add_block(mgk_row_term *term, double factor,
                                                            size_t heads, size_t n,
                                                            const double *rows, size_t pitch,
                                                            double *out)
{
    tile t;
    for (size_t first = 0; first < heads; first += ROWS) {
        for (size_t r = 0; r < ROWS; r++)
            t.left[r] = rows + smaller(first + r, heads - 1) * pitch;
        for (size_t second = 0; second < smaller(first + ROWS, heads); second += COLUMNS) {
            for (size_t c = 0; c < COLUMNS; c++)
                t.right[c] = rows + smaller(second + c, heads - 1) * pitch;
            add_columns(term, n, &t);
            add_tile(&t, factor, heads, first, second, out);
        }
    }
}

/* The same over all columns. */
__attribute__((always_inline)) static inline void add_pairs(mgk_row_term *term, double factor,
                                                            size_t heads, size_t n,
                                                            const double *rows, size_t pitch,
                                                            double *out)
{
    const size_t block = mgk_row_block(heads);
    for (size_t j = 0; j < n; j += block)
        add_block(term, factor, heads, smaller(n - j, block), rows + j, pitch, out);
}

void MGK_CPU(row_products)(size_t heads, size_t n, const double *rows, size_t pitch, double *out)
{
    add_pairs(mgk_row_add_product, 1, heads, n, rows, pitch, out);
}

void MGK_CPU(row_differences)(size_t heads, size_t n, const double *rows, size_t pitch, double *out)
{
    add_pairs(mgk_row_add_square, 0.5, heads, n, rows, pitch, out);
}
