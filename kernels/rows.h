/* SPDX-License-Identifier: MIT */
/*
 * Kernels for measures of attention rows, in float64 and on the calling thread, compiled for each
 * instruction-set level. A row is an array of n entries at any address; no entry is negative, NaN,
 * infinite or above 2^500; for rows with others the comparisons and the entropy are meaningless,
 * but do not fail. The order of every sum depends on sizes alone: a call gives the same bits on
 * every run of a level. Levels differ in last digits.
 *
 * Below, E = (n / 2 + 16) 2^-53 times the sum of the magnitudes of all terms of a sum. It bounds
 * the error of adding the terms, to which their own errors are added.
 */
#ifndef MGK_KERNELS_ROWS_H
#define MGK_KERNELS_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Rows that `sort` sorts at once. */
enum { MGK_SORT_ROWS = 16 };

/* Rows of a multiple of this many entries are whole vectors on all levels. */
enum { MGK_ROW_UNIT = 8 };

/* The first entries of a row of `most` that are added up if those beyond `count` are 0: fewer than
 * whole vectors only at the end. */
static inline size_t mgk_row_whole(size_t count, size_t most)
{
    const size_t whole = (count + MGK_ROW_UNIT - 1) / MGK_ROW_UNIT * MGK_ROW_UNIT;
    return whole < most ? whole : most;
}

/* Rows and numbers of a vector that `weigh` takes at once. */
enum { MGK_WEIGH_UNIT = 8 };

typedef struct mgk_row_range {
    double smallest, largest;
} mgk_row_range;

/* What one pass over a row tells. */
typedef struct mgk_row_facts {
    double sum, squares; /* of the entries, and of their squares */
    uint64_t bits;       /* those of the numbers that any entry has */
} mgk_row_facts;

typedef struct mgk_row_kernels {
    /* The sum of the row; error E. */
    double (*sum)(size_t n, const double *x);

    /* The facts of the row, errors E and one rounding of each square at most; adds the row to
     * columns [n]. Entries may be anything. */
    mgk_row_facts (*facts)(size_t n, const double *x, double *columns);

    /* Whether an entry is not 0. Entries may be negative. */
    bool (*any)(size_t n, const double *x);

    /* The smallest entry, at most 0, and the largest one, at least 0, exactly. Entries may be
     * negative. */
    mgk_row_range (*range)(size_t n, const double *x);

    /* sum_j x_j y_j; error E and one rounding of each product at most. */
    double (*dot)(size_t n, const double *x, const double *y);

    /* out_i = the dot product of vector i of x [count, n] with itself; the bits of `dot`. */
    void (*squares)(size_t count, size_t n, const double *x, double *out);

    /* Divides each vector of x [count, n] by its length, lengths [count]. Vectors of length 0
     * become 0, those whose length overflows NaN. */
    void (*normalise)(size_t count, size_t n, double *x, double *lengths);

    /* out = x [count, n] with the means [n] of its columns subtracted from each vector, `pitch` >=
     * n apart; largest [n]: of the magnitudes in each column of out. A mean is a sum of one vector
     * after another. */
    void (*centre)(size_t count, size_t n, const double *x, double *means, double *out,
                   size_t pitch, double *largest);

    /*
     * out [rows, dim] = a [rows, keys] · values [keys, dim], rows of a `pitch` >= keys apart. rows
     * and dim are multiples of MGK_WEIGH_UNIT, values is aligned to 64 bytes. Terms are added one
     * key after another: error keys 2^-53 times the sum of their magnitudes.
     */
    void (*weigh)(size_t rows, size_t keys, size_t dim, const double *a, size_t pitch,
                  const double *values, double *out);

    /*
     * The cross energy ||xᵀ y||_F² of the vectors x and y [count, n], which may be the same: the
     * sum of the squares of all products of a column of x with one of y. n is a multiple of
     * MGK_WEIGH_UNIT, x and y are aligned to 64 bytes. product [n, n] becomes xᵀ y, terms added as
     * in `weigh`.
     */
    double (*energy)(size_t count, size_t n, const double *x, const double *y, double *product);

    /* sum_j (x_j - y_j)², 0 for identical rows; the relative error is at most
     * (n / 2 + 20) 2^-53, but for squares below 2^-1022. */
    double (*distance)(size_t n, const double *x, const double *y);

    /*
     * The entropy - sum_j p_j ln p_j in nats, 0 ln 0 = 0; error E and that of each p ln p, at most
     * 2^-55 p + 2^-51 |p ln p| + 2^-1015, and at most 2^-53 for p <= 1. Never negative if no p is
     * above 1; exactly 0 if each p is 0 or 1.
     */
    double (*entropy)(size_t n, const double *p);

    /* out_j = the square root of x_j, correctly rounded. out [n] may be x. */
    void (*roots)(size_t n, const double *x, double *out);

    /* out_j = x_j rounded to a float. */
    void (*narrow)(size_t n, const double *x, float *out);

    /* out_j = x_j. */
    void (*widen)(size_t n, const float *x, double *out);

    /*
     * Sorts each of the rows [MGK_SORT_ROWS], of n entries each and any sign, in ascending order.
     * Column r of sorted [n, MGK_SORT_ROWS], row-major, becomes row r; rows may be the same.
     */
    void (*sort)(size_t n, const double *const *rows, double *sorted);

    /* The same for rows of floats, in half of the time. */
    void (*sort_floats)(size_t n, const float *const *rows, double *sorted);

    /* The sum of the differences of all pairs of each column, sorted as `sort` leaves it:
     * out_c = sum_{i<k} (x_kc - x_ic) = sum_k (2 k + 1 - n) x_kc; error (n + 2) 2^-53 times the sum
     * of the magnitudes of these terms. out [MGK_SORT_ROWS]. */
    void (*spreads)(size_t n, const double *columns, double *out);

    /*
     * The following compare all pairs of the rows [heads, n], heads >= 1, `pitch` >= n apart, and
     * add a number for each pair g <= h to out_hg, of out [heads, heads], which does not overlap
     * the rows. Its other entries stay as they are. Errors are of what is added.
     */

    /* out_hg += sum_j x_hj x_gj; error as for `dot`. */
    void (*products)(size_t heads, size_t n, const double *rows, size_t pitch, double *out);

    /*
     * out_hg += 1/2 sum_j (x_hj - x_gj)², exactly 0 on the diagonal and for identical rows. The
     * entries are subtracted before they are squared: the relative error is at most
     * (n / 2 + 20) 2^-53, however close the rows are, but for squares below 2^-1022.
     */
    void (*differences)(size_t heads, size_t n, const double *rows, size_t pitch, double *out);

    /*
     * The Jensen-Shannon divergence in nats,
     *     out_hg += 1/2 sum_j [a ln a + b ln b - (a + b) ln((a + b) / 2)], a = x_hj, b = x_gj,
     * from the entropies [heads] of the rows, which `entropy` of the same level has computed;
     * exactly 0 on the diagonal and for identical rows, and never negative. The error is absolute:
     * the mean of those of the entropies of rows h and g, and that of the entropy of their mean. So
     * a divergence that is not above this error may be rounding alone.
     *
     * roots [heads, pitch], unless NULL, becomes what `roots` makes of each row, which takes hardly
     * more time: square roots and logarithms are computed by different parts of a processor.
     */
    void (*divergences)(size_t heads, size_t n, const double *rows, size_t pitch,
                        const double *entropies, double *roots, double *out);
} mgk_row_kernels;

/*
 * The kernels of the best level that this processor runs, static. STATUS_USAGE, STATUS_DEVICE: see
 * kernels/cpu/variant.h.
 */
mgk_status mgk_row_kernels_choose(const mgk_row_kernels **out);

#endif
