/* SPDX-License-Identifier: MIT */
#include "analysis/counting/reduction.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Equal rows have equal fingerprints, different rows hardly ever: weighted sums, whose weights are
 * the fractional parts of multiples of the golden ratio. Four independent sums, for speed.
 */
static double fingerprint(size_t n, const double *row, const double *weights)
{
    double sum[4] = {0};
    size_t whole = n / 4 * 4;
    for (size_t j = 0; j < whole; j += 4)
        for (size_t lane = 0; lane < 4; lane++)
            sum[lane] += weights[j + lane] * row[j + lane];
    for (size_t j = whole; j < n; j++)
        sum[0] += weights[j] * row[j];
    return sum[0] + sum[1] + sum[2] + sum[3];
}

/* The fingerprints of the rows, and the sums of magnitudes of the columns. */
static void survey(size_t n, const double *a, double *prints, double *sums, double *weights)
{
    static const double golden = 0.6180339887498949;
    for (size_t j = 0; j < n; j++) {
        weights[j] = 0.5 + fmod((double)(j + 1) * golden, 1);
        sums[j] = 0;
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++)
            sums[j] += fabs(a[i * n + j]);
        prints[i] = fingerprint(n, a + i * n, weights);
    }
}

/* Packs the columns that are not all zero; returns their number. */
static size_t drop_zero_columns(size_t n, double *a, const double *sums)
{
    size_t kept = 0;
    double *out = a;
    for (size_t j = 0; j < n; j++)
        kept += sums[j] != 0;
    for (size_t i = 0; i < n && kept < n; i++)
        for (size_t j = 0; j < n; j++)
            if (sums[j] != 0)
                *out++ = a[i * n + j];
    return kept;
}

static double count_equal(const double *values, size_t count, double value)
{
    double equal = 0;
#pragma omp simd reduction(+ : equal)
    for (size_t k = 0; k < count; k++)
        equal += values[k] == value ? 1 : 0;
    return equal;
}

/* The first kept row that equals row i, or `kept`. */
static size_t find_row(const double *a, size_t columns, const double *prints, size_t kept, size_t i)
{
    const double candidates = count_equal(prints, kept, prints[i]);
    for (size_t k = 0; k < kept && candidates > 0; k++)
        if (prints[k] == prints[i] &&
            memcmp(a + k * columns, a + i * columns, columns * sizeof(*a)) == 0)
            return k;
    return kept;
}

/* Packs the different rows, each times the square root of its number of occurrences. */
static size_t merge_rows(size_t rows, size_t columns, double *a, double *prints, double *times)
{
    size_t kept = 0;
    for (size_t i = 0; i < rows; i++) {
        size_t k = find_row(a, columns, prints, kept, i);
        if (k < kept) {
            times[k]++;
            continue;
        }
        if (kept != i)
            memcpy(a + kept * columns, a + i * columns, columns * sizeof(*a));
        prints[kept] = prints[i];
        times[kept++] = 1;
    }
    for (size_t k = 0; k < kept; k++)
        for (size_t j = 0; j < columns && times[k] > 1; j++)
            a[k * columns + j] *= sqrt(times[k]);
    return kept;
}

/* Packs a [rows, columns] as a square of the larger of the two, with zeros. */
static size_t make_square(size_t rows, size_t columns, double *a)
{
    size_t order = rows > columns ? rows : columns;
    for (size_t i = rows; columns < order && i-- > 0;) {
        memmove(a + i * order, a + i * columns, columns * sizeof(*a));
        memset(a + i * order + columns, 0, (order - columns) * sizeof(*a));
    }
    memset(a + rows * order, 0, (order - rows) * order * sizeof(*a));
    return order;
}

size_t mgk_reduce(size_t n, double *a, double *scratch)
{
    double *prints = scratch, *sums = prints + n, *times = sums + n;
    survey(n, a, prints, sums, times);
    size_t columns = drop_zero_columns(n, a, sums);
    if (columns == 0)
        return 0;
    return make_square(merge_rows(n, columns, a, prints, times), columns, a);
}

bool mgk_reduces(size_t n, const double *a, double *scratch)
{
    double *prints = scratch, *sums = prints + n, *weights = sums + n;
    bool reduces = false;
    survey(n, a, prints, sums, weights);
    for (size_t i = 0; i < n && !reduces; i++)
        reduces = sums[i] == 0 || count_equal(prints, i, prints[i]) > 0;
    return reduces;
}

/* The only non-zero column of a row, n if all are zero, and n + 1 if there are more. */
static size_t only_column(size_t n, const double *row)
{
    size_t column = n;
    for (size_t j = 0; j < n; j++)
        if (row[j] != 0) {
            if (column < n)
                return n + 1;
            column = j;
        }
    return column;
}

static int descending(const void *left, const void *right)
{
    const double *a = left, *b = right;
    return (*a < *b) - (*a > *b);
}

bool mgk_reduce_single_entries(size_t n, const double *a, double *sigma)
{
    memset(sigma, 0, n * sizeof(*sigma));
    for (size_t i = 0; i < n; i++) {
        const double *row = a + i * n;
        const size_t j = only_column(n, row);
        if (j > n)
            return false;
        if (j < n)
            sigma[j] += row[j] * row[j];
    }
    for (size_t j = 0; j < n; j++)
        sigma[j] = sqrt(sigma[j]);
    qsort(sigma, n, sizeof(*sigma), descending);
    return true;
}
