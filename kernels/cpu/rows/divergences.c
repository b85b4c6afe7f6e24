/* SPDX-License-Identifier: MIT */
/*
 * Entropies of rows, and Jensen-Shannon divergences of all pairs of rows: the entropy of the mean
 * of two rows minus the mean of their entropies. The terms of identical rows are those of one row's
 * entropy, and so is their order: the divergence is exactly 0.
 *
 * A logarithm is some twenty multiplications and additions; a square root occupies the divider of
 * the processor alone, and for longer. So the roots of a row are taken among the logarithms of
 * pairs, in whose time they disappear.
 */
#include <math.h>

#include "kernels/cpu/log.h"
#include "kernels/cpu/rows/row.h"

/* Rows that are compared with one row at a time. */
enum { TILE = 4, LANES = MGK_VECTOR_LANES };

static inline mgk_vector add_entropy(mgk_vector sum, mgk_vector x)
{
    return sum - x * mgk_log(x);
}

static inline void take_roots(size_t n, const double *x, double *out)
{
#pragma omp simd
    for (size_t j = 0; j < n; j++)
        out[j] = sqrt(x[j]);
}

double MGK_CPU(row_entropy)(size_t n, const double *p)
{
    mgk_vector sum = {0};
    size_t j = 0;
    for (; j + LANES <= n; j += LANES)
        sum = add_entropy(sum, mgk_row_load(p + j));
    if (j < n)
        sum = add_entropy(sum, mgk_row_load_part(p + j, n - j));
    return mgk_row_lanes(sum);
}

/* One row with `count` others, and a row whose roots are taken meanwhile; NULL: none. */
typedef struct tile {
    const double *row, *others[TILE], *squares;
    double *roots;
    double entropies[TILE]; /* of the mean of `row` and each other */
} tile;

/* `count` and `rooted` are constants, so that the sums stay in registers. */
__attribute__((always_inline)) static inline void add_tile(size_t count, bool rooted, size_t n,
                                                           tile *t)
{
    mgk_vector sum[TILE] = {{0}};
    size_t j = 0;
    for (; j + LANES <= n; j += LANES) {
        const mgk_vector x = mgk_row_load(t->row + j);
        if (rooted)
            take_roots(LANES, t->squares + j, t->roots + j);
#pragma GCC unroll 4
        for (size_t g = 0; g < count; g++)
            sum[g] = add_entropy(sum[g], 0.5 * (x + mgk_row_load(t->others[g] + j)));
    }
    if (j < n) {
        const mgk_vector x = mgk_row_load_part(t->row + j, n - j);
        if (rooted)
            take_roots(n - j, t->squares + j, t->roots + j);
#pragma GCC unroll 4
        for (size_t g = 0; g < count; g++)
            sum[g] = add_entropy(sum[g], 0.5 * (x + mgk_row_load_part(t->others[g] + j, n - j)));
    }
#pragma GCC unroll 4
    for (size_t g = 0; g < count; g++)
        t->entropies[g] = mgk_row_lanes(sum[g]);
}

static void measure_tile(size_t count, size_t n, tile *t)
{
    const bool rooted = t->squares;
    if (count == 4)
        rooted ? add_tile(4, true, n, t) : add_tile(4, false, n, t);
    else if (count == 3)
        rooted ? add_tile(3, true, n, t) : add_tile(3, false, n, t);
    else if (count == 2)
        rooted ? add_tile(2, true, n, t) : add_tile(2, false, n, t);
    else
        rooted ? add_tile(1, true, n, t) : add_tile(1, false, n, t);
}

/* The divergences of row h from the rows first … first + count − 1, to out [heads, heads]. */
static void finish_tile(const tile *t, size_t heads, size_t h, size_t first, size_t count,
                        const double *entropies, double *out)
{
    for (size_t g = first; g < first + count; g++) {
        const double mixed = t->entropies[g - first];
        const double divergence = mixed - 0.5 * (entropies[h] + entropies[g]);
        out[h * heads + g] = out[g * heads + h] = divergence > 0 ? divergence : 0;
    }
}

/* Each tile takes the roots of one row, while there are any left. Large tiles come first. */
void MGK_CPU(row_divergences)(size_t heads, size_t n, const double *rows, size_t pitch,
                              const double *entropies, double *roots, double *out)
{
    size_t rooted = roots ? 0 : heads;
    for (size_t h = heads; h-- > 0;) {
        out[h * heads + h] = 0;
        for (size_t first = 0; first < h; first += TILE) {
            const size_t count = h - first < TILE ? h - first : TILE;
            tile t = {.row = rows + h * pitch};
            for (size_t g = 0; g < count; g++)
                t.others[g] = rows + (first + g) * pitch;
            if (rooted < heads) {
                t.squares = rows + rooted * pitch;
                t.roots = roots + rooted * pitch;
                rooted++;
            }
            measure_tile(count, n, &t);
            finish_tile(&t, heads, h, first, count, entropies, out);
        }
    }
    for (; rooted < heads; rooted++)
        MGK_CPU(row_roots)(n, rows + rooted * pitch, roots + rooted * pitch);
}
