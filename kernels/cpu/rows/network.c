/* SPDX-License-Identifier: MIT */
/*
 * Sorts columns of numbers of one precision.
 *
 * Batcher's bitonic sorter (Knuth, The Art of Computer Programming, volume 3, 5.3.4). Which
 * entries it compares depends on n alone, so that all columns are sorted at once and a comparison
 * is the minimum and the maximum of vectors. It compares more than merge exchange does (5.2.2,
 * algorithm M), but three levels at a time in registers, eight rows each, and so reads and writes
 * a third as often.
 *
 * Every comparison leaves the larger entry in the later row. Rows beyond the last one therefore act
 * as if they were infinite, and any n is sorted as the next power of two.
 */
#include <math.h>

#include "kernels/cpu/rows/order.h"

enum { GROUP = 8 }; /* rows in registers */

/* Compares rows `distance` apart, in blocks of twice as many. */
__attribute__((always_inline)) static inline void compare_apart(mgk_vector *x, size_t distance)
{
#pragma GCC unroll 8
    for (size_t r = 0; r < GROUP; r++)
        if (!(r & distance))
            mgk_row_order(x + r, x + r + distance);
}

/* Compares rows with their mirror images in blocks of `size`. */
__attribute__((always_inline)) static inline void compare_mirrored(mgk_vector *x, size_t size)
{
#pragma GCC unroll 8
    for (size_t r = 0; r < GROUP; r++)
        if (!(r & size / 2))
            mgk_row_order(x + r, x + (r ^ (size - 1)));
}

/* Three levels of a merge, after the first one. */
static inline void halve(mgk_vector *x)
{
    compare_apart(x, 4);
    compare_apart(x, 2);
    compare_apart(x, 1);
}

/* The first three levels of merging two sorted halves. */
static inline void fold(mgk_vector *x)
{
    compare_mirrored(x, 8);
    compare_apart(x, 2);
    compare_apart(x, 1);
}

static inline void sort_group(mgk_vector *x)
{
    compare_mirrored(x, 2);
    compare_mirrored(x, 4);
    compare_apart(x, 1);
    fold(x);
}

typedef void network(mgk_vector *x);

/* Applies a network to each column of the rows. */
__attribute__((always_inline)) static inline void apply(network *compare, real *const *row)
{
#pragma GCC unroll 4
    for (size_t c = 0; c < MGK_SORT_ROWS; c += MGK_VECTOR_LANES) {
        mgk_vector x[GROUP];
#pragma GCC unroll 8
        for (size_t r = 0; r < GROUP; r++)
            x[r] = mgk_row_load(row[r] + c);
        compare(x);
#pragma GCC unroll 8
        for (size_t r = 0; r < GROUP; r++)
            *(mgk_loose_vector *)(row[r] + c) = x[r];
    }
}

/* Rows first + r · distance, r < 4, and second + r · distance. */
typedef struct group {
    size_t first, second, distance;
} group;

__attribute__((always_inline)) static inline size_t row_of(group g, size_t r)
{
    return (r < GROUP / 2 ? g.first : g.second) + r % (GROUP / 2) * g.distance;
}

/* Applies a network to a group of the rows of columns [n, MGK_SORT_ROWS]. */
__attribute__((always_inline)) static inline void apply_at(network *compare, size_t n, group g,
                                                           real *columns)
{
    real beyond[MGK_SORT_ROWS], *row[GROUP];
    if (row_of(g, GROUP - 1) < n) {
#pragma GCC unroll 8
        for (size_t r = 0; r < GROUP; r++)
            row[r] = columns + row_of(g, r) * MGK_SORT_ROWS;
        apply(compare, row);
        return;
    }
    for (int c = 0; c < MGK_SORT_ROWS; c++)
        beyond[c] = INFINITY;
    for (size_t r = 0; r < GROUP; r++)
        row[r] = row_of(g, r) < n ? columns + row_of(g, r) * MGK_SORT_ROWS : beyond;
    apply(compare, row);
}

/* Compares rows at `distance` times 4, 2 and 1. */
static void halve_rows(size_t n, size_t distance, real *columns)
{
    for (size_t block = 0; block < n; block += GROUP * distance)
        for (size_t i = block; i < block + distance && i < n; i++)
            apply_at(halve, n, (group){i, i + GROUP / 2 * distance, distance}, columns);
}

/*
 * The first three levels of merging two sorted sequences of size / 2 rows: row i meets its mirror
 * image, and rows size / 4 and size / 8 apart follow.
 */
static void fold_rows(size_t n, size_t size, real *columns)
{
    const size_t distance = size / GROUP;
    for (size_t i = 0; i < distance; i++)
        apply_at(fold, n, (group){i, size / 2 + distance - 1 - i, distance}, columns);
}

/* Sorts each block of `block` rows, in which all comparisons at larger distances are done. */
static void finish_blocks(size_t n, size_t block, real *columns)
{
    if (block > GROUP)
        for (size_t first = 0; first < n; first += block) {
            const size_t rows = n - first < block ? n - first : block;
            real *own = columns + first * MGK_SORT_ROWS;
            halve_rows(rows, block / GROUP, own);
            finish_blocks(rows, block / GROUP, own);
        }
    else if (block > 1) /* this may repeat comparisons, which changes nothing */
        halve_rows(n, 1, columns);
}

/* Sorts n <= size rows, size a power of 2: halves first, so that they are still in the cache. */
static void sort_rows(size_t n, size_t size, real *columns)
{
    const size_t half = size / 2;
    if (size == GROUP) {
        apply_at(sort_group, n, (group){0, GROUP / 2, 1}, columns);
        return;
    }
    sort_rows(n < half ? n : half, half, columns);
    if (n > half) {
        sort_rows(n - half, half, columns + half * MGK_SORT_ROWS);
        fold_rows(n, size, columns);
        finish_blocks(n, size / GROUP, columns);
    }
}

void MGK_CPU(row_sort_columns)(size_t n, real *columns)
{
    size_t size = GROUP;
    while (size < n)
        size *= 2;
    if (n > 1)
        sort_rows(n, size, columns);
}
