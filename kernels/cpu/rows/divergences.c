/* SPDX-License-Identifier: MIT */
/*
 * Entropies of rows, and Jensen-Shannon divergences of all pairs of rows: the entropy of the mean
 * of two rows minus the mean of their entropies. The terms of identical rows are those of one row's
 * entropy, and so is their order: the divergence is exactly 0.
 *
 * A logarithm is some twenty multiplications and additions; a square root occupies the divider of
 * the processor alone, and for longer. So the roots of rows are taken among the logarithms of
 * pairs, in whose time they disappear.
 */
#include <math.h>

#include "kernels/cpu/log.h"
#include "kernels/cpu/rows/row.h"

/* Pairs of a tile, which are all of eight rows in four tiles, and rows whose roots it takes. */
enum { PAIRS = 7, ROOTED = 2, LANES = MGK_VECTOR_LANES };

/* Vectors of one row whose logarithms are computed at once. */
enum { ABREAST = 8 };

/* From the entropy of half of x on, in the order of the vectors. */
__attribute__((always_inline)) static inline mgk_vector add_entropies(int count, mgk_vector sum,
                                                                      const mgk_vector *x)
{
    mgk_vector log[MGK_LOG_MOST];
    mgk_log_halves(count, x, log);
#pragma GCC unroll 8
    for (int k = 0; k < count; k++)
        sum -= x[k] * log[k];
    return sum;
}

static inline mgk_vector add_entropy(mgk_vector sum, mgk_vector x)
{
    return add_entropies(1, sum, &x);
}

static inline void take_roots(size_t n, const double *x, double *out)
{
#pragma omp simd
    for (size_t j = 0; j < n; j++)
        out[j] = sqrt(x[j]);
}

double MGK_CPU(row_entropy)(size_t n, const double *p)
{
    mgk_vector sum = {0}, x[ABREAST];
    size_t j = 0;
    for (; j + ABREAST * LANES <= n; j += ABREAST * LANES) {
#pragma GCC unroll 8
        for (int k = 0; k < ABREAST; k++)
            x[k] = 2 * mgk_row_load(p + j + k * LANES);
        sum = add_entropies(ABREAST, sum, x);
    }
    for (; j + LANES <= n; j += LANES)
        sum = add_entropy(sum, 2 * mgk_row_load(p + j));
    if (j < n)
        sum = add_entropy(sum, 2 * mgk_row_load_part(p + j, n - j));
    return 0.5 * mgk_vector_sum(sum);
}

/* Rows g < h. */
typedef struct pair {
    size_t h, g;
} pair;

static pair next_pair(pair p)
{
    return p.g + 1 < p.h ? (pair){p.h, p.g + 1} : (pair){p.h + 1, 0};
}

/* Some pairs, and rows whose roots are taken meanwhile. */
typedef struct tile {
    const double *left[PAIRS], *right[PAIRS]; /* the rows of each pair */
    mgk_vector sums[PAIRS];                   /* twice the entropies of their means */
    const double *squares[ROOTED];
    double *roots[ROOTED];
} tile;

/* `pairs` and `rooted` are constants, so that the sums stay in registers. */
__attribute__((always_inline)) static inline void add_vectors(int pairs, int rooted, size_t n,
                                                              tile *t)
{
    mgk_vector sum[PAIRS] = {{0}}, x[PAIRS], log[MGK_LOG_MOST];
    for (size_t j = 0; j + LANES <= n; j += LANES) {
#pragma GCC unroll 8
        for (int k = 0; k < rooted; k++)
            take_roots(LANES, t->squares[k] + j, t->roots[k] + j);
#pragma GCC unroll 8
        for (int k = 0; k < pairs; k++)
            x[k] = mgk_row_load(t->left[k] + j) + mgk_row_load(t->right[k] + j);
        mgk_log_halves(pairs, x, log);
#pragma GCC unroll 8
        for (int k = 0; k < pairs; k++)
            sum[k] -= x[k] * log[k];
    }
#pragma GCC unroll 8
    for (int k = 0; k < pairs; k++)
        t->sums[k] = sum[k];
}

/* Adds the last entries, fewer than a vector, from j on. */
static void add_rest(int pairs, int rooted, size_t j, size_t n, tile *t)
{
    for (int k = 0; k < rooted; k++)
        take_roots(n - j, t->squares[k] + j, t->roots[k] + j);
    for (int k = 0; k < pairs; k++)
        t->sums[k] = add_entropy(t->sums[k], mgk_row_load_part(t->left[k] + j, n - j) +
                                                 mgk_row_load_part(t->right[k] + j, n - j));
}

static void measure_tile(int pairs, int rooted, size_t n, tile *t)
{
    const size_t whole = n / LANES * LANES;
    if (pairs == PAIRS)
        rooted ? add_vectors(PAIRS, ROOTED, n, t) : add_vectors(PAIRS, 0, n, t);
    else
        rooted ? add_vectors(1, 1, n, t) : add_vectors(1, 0, n, t);
    if (whole < n)
        add_rest(pairs, rooted, whole, n, t);
}

/* What is left to do for the rows [heads, n]. */
typedef struct work {
    size_t heads, pitch, pairs; /* the number of pairs from `next` on */
    const double *rows;
    double *roots;
    pair next;
    size_t rooted; /* rows whose roots are taken */
} work;

/* The next pairs; a single one where there are too few. Returns their number. */
static int take_pairs(work *w, pair *pairs, tile *t)
{
    const int count = w->pairs < PAIRS ? 1 : PAIRS;
    for (int k = 0; k < count; k++) {
        pairs[k] = w->next;
        t->left[k] = w->rows + w->next.h * w->pitch;
        t->right[k] = w->rows + w->next.g * w->pitch;
        w->next = next_pair(w->next);
    }
    w->pairs -= (size_t)count;
    return count;
}

/* The next rows whose roots are to be taken: as many as a tile takes, or none. */
static int take_rows(work *w, int most, tile *t)
{
    if (w->heads - w->rooted < (size_t)most)
        return 0;
    for (int k = 0; k < most; k++) {
        t->squares[k] = w->rows + w->rooted * w->pitch;
        t->roots[k] = w->roots + w->rooted++ * w->pitch;
    }
    return most;
}

void MGK_CPU(row_divergences)(size_t heads, size_t n, const double *rows, size_t pitch,
                              const double *entropies, double *roots, double *out)
{
    work w = {heads, pitch, heads * (heads - 1) / 2, rows, roots, {1, 0}, roots ? 0 : heads};
    while (w.pairs > 0) {
        tile t;
        pair pairs[PAIRS];
        const int count = take_pairs(&w, pairs, &t);
        measure_tile(count, take_rows(&w, count == PAIRS ? ROOTED : 1, &t), n, &t);
        for (int k = 0; k < count; k++) {
            const size_t h = pairs[k].h, g = pairs[k].g;
            const double mixed = 0.5 * mgk_vector_sum(t.sums[k]);
            const double divergence = mixed - 0.5 * (entropies[h] + entropies[g]);
            out[h * heads + g] += divergence > 0 ? divergence : 0;
        }
    }
    for (; w.rooted < heads; w.rooted++)
        MGK_CPU(row_roots)(n, rows + w.rooted * pitch, roots + w.rooted * pitch);
}
