/* SPDX-License-Identifier: MIT */
/*
 * The error of a factorisation of CᵀC - x I, applied to vectors. It is the difference of numbers
 * that agree in all their digits, so every sum consists of two numbers, high + low.
 *
 * A sum starts at an origin M = 1.5 · 2^k; all its partial sums, without M, are below 2^(k - 1). So
 * every high part is a multiple of the same unit, differences of high parts are exact, and the
 * rounding error of each addition, at most half a unit, is added to the low part. This costs four
 * operations per product.
 */
#include "kernels/cpu/spectral/reduction.h"

#include <math.h>
#include <string.h>
#ifdef __AVX__
#include <immintrin.h>
#endif

#include "kernels/cpu/vector.h"

enum { VECTORS = MGK_RESIDUAL_VECTORS, LANES = MGK_VECTOR_LANES };

_Static_assert((int)MGK_LANES % (int)LANES == 0, "arrays hold whole vectors");

static mgk_vector spread(double x)
{
    return x - (mgk_vector){0};
}

#ifdef __FP_FAST_FMA

/* a b + c, rounded once, independent of the compiler's contraction. */
__attribute__((always_inline)) static inline mgk_vector fuse(mgk_vector a, mgk_vector b,
                                                             mgk_vector c)
{
#if defined(__AVX512F__)
    return (mgk_vector)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(__AVX__)
    return (mgk_vector)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#else
    mgk_vector sum;
    for (int lane = 0; lane < LANES; lane++)
        sum[lane] = __builtin_fma(a[lane], b[lane], c[lane]);
    return sum;
#endif
}

/* a b - product, the rounding error of product = fl(a b). */
static mgk_vector product_error(mgk_vector a, mgk_vector b, mgk_vector product)
{
    return fuse(a, b, -product);
}

/* sum += a b; adds the rounding error to *low. */
__attribute__((always_inline)) static inline void accumulate(mgk_vector a, mgk_vector b,
                                                             mgk_vector *sum, mgk_vector *low)
{
    const mgk_vector next = fuse(a, b, *sum);
    *low += fuse(a, b, *sum - next);
    *sum = next;
}

#else

static mgk_vector fuse(mgk_vector a, mgk_vector b, mgk_vector c)
{
    return a * b + c; /* only for low parts */
}

/* The upper half of a number's digits (Veltkamp; Dekker 1971). */
static mgk_vector upper(mgk_vector x)
{
    const mgk_vector large = x * 0x1.0000002p27;
    return large - (large - x);
}

static mgk_vector product_error(mgk_vector a, mgk_vector b, mgk_vector product)
{
    const mgk_vector a1 = upper(a), a2 = a - a1, b1 = upper(b), b2 = b - b1;
    return ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2;
}

__attribute__((always_inline)) static inline void accumulate(mgk_vector a, mgk_vector b,
                                                             mgk_vector *sum, mgk_vector *low)
{
    const mgk_vector product = a * b, next = *sum + product;
    *low += (product - (next - *sum)) + product_error(a, b, product);
    *sum = next;
}

#endif

/* The rounded sum; *error receives its rounding error (Knuth). */
static mgk_vector two_sum(mgk_vector a, mgk_vector b, mgk_vector *error)
{
    const mgk_vector sum = a + b, part = sum - a;
    *error = (a - (sum - part)) + (b - part);
    return sum;
}

static double two_sum_of(double a, double b, double *error)
{
    const double sum = a + b, part = sum - a;
    *error = (a - (sum - part)) + (b - part);
    return sum;
}

/* Rows processed together, which halves the reads of the vectors. */
enum { ROWS = 2 };

typedef struct row {
    size_t width;
    const double *entries;
} row;

/* The entries of a row from j on, padded with zeros. */
__attribute__((noinline)) static mgk_vector load_rest(const row *r, size_t j)
{
    mgk_vector rest = {0};
    for (size_t lane = 0; lane < LANES; lane++)
        rest[lane] = j + lane < r->width ? r->entries[j + lane] : 0;
    return rest;
}

/* The width up to which all rows have whole vectors. */
static size_t whole_width(const row *rows)
{
    size_t width = rows[0].width;
    for (size_t r = 1; r < ROWS; r++)
        width = rows[r].width < width ? rows[r].width : width;
    return width / LANES * LANES;
}

static size_t largest_width(const row *rows)
{
    size_t width = rows[0].width;
    for (size_t r = 1; r < ROWS; r++)
        width = rows[r].width > width ? rows[r].width : width;
    return width;
}

/* Numbers in two parts, for each of the vectors. */
typedef struct parts {
    double high[VECTORS], low[VECTORS];
} parts;

typedef struct sums {
    mgk_vector high[ROWS][VECTORS], low[ROWS][VECTORS];
} sums;

/* sums of a row and a vector += a x, x [VECTORS, pitch]; low NULL: x has no low part. */
__attribute__((always_inline)) static inline void
multiply_vectors(const mgk_vector *a, size_t pitch, const double *high, const double *low, sums *s)
{
#pragma GCC unroll 4
    for (size_t v = 0; v < VECTORS; v++) {
        const mgk_vector x = *(const mgk_vector *)(high + v * pitch);
#pragma GCC unroll 2
        for (size_t r = 0; r < ROWS; r++) {
            accumulate(a[r], x, &s->high[r][v], &s->low[r][v]);
            if (low)
                s->low[r][v] = fuse(a[r], *(const mgk_vector *)(low + v * pitch), s->low[r][v]);
        }
    }
}

/* out [ROWS] = Σ_j row_j x_j of each row */
__attribute__((always_inline)) static inline void multiply_rows(const row *rows, size_t pitch,
                                                                const double *high,
                                                                const double *low, double origin,
                                                                parts *out)
{
    const size_t whole = whole_width(rows), end = largest_width(rows);
    mgk_vector a[ROWS];
    sums s;
#pragma GCC unroll 4
    for (size_t v = 0; v < VECTORS; v++)
#pragma GCC unroll 2
        for (size_t r = 0; r < ROWS; r++) {
            s.high[r][v] = spread(origin);
            s.low[r][v] = spread(0);
        }
    for (size_t j = 0; j < whole; j += LANES) {
#pragma GCC unroll 2
        for (size_t r = 0; r < ROWS; r++)
            a[r] = *(const mgk_loose_vector *)(rows[r].entries + j);
        multiply_vectors(a, pitch, high + j, low ? low + j : NULL, &s);
    }
    for (size_t j = whole; j < end; j += LANES) {
#pragma GCC unroll 2
        for (size_t r = 0; r < ROWS; r++)
            a[r] = load_rest(&rows[r], j);
        multiply_vectors(a, pitch, high + j, low ? low + j : NULL, &s);
    }
#pragma GCC unroll 2
    for (size_t r = 0; r < ROWS; r++)
#pragma GCC unroll 4
        for (size_t v = 0; v < VECTORS; v++)
            out[r].high[v] = two_sum_of(mgk_vector_sum(s.high[r][v] - spread(origin)),
                                        mgk_vector_sum(s.low[r][v]), &out[r].low[v]);
}

/* sums [VECTORS, pitch] += a x of each row */
__attribute__((always_inline)) static inline void
add_vectors(const mgk_vector *a, const sums *x, size_t pitch, double *high, double *low)
{
#pragma GCC unroll 4
    for (size_t v = 0; v < VECTORS; v++) {
        mgk_vector *to = (mgk_vector *)(high + v * pitch), *rest = (mgk_vector *)(low + v * pitch);
        mgk_vector sum = *to, left = *rest;
#pragma GCC unroll 2
        for (size_t r = 0; r < ROWS; r++) {
            left = fuse(a[r], x->low[r][v], left);
            accumulate(a[r], x->high[r][v], &sum, &left);
        }
        *to = sum;
        *rest = left;
    }
}

static void add_rows(const row *rows, const parts *x, size_t pitch, double *high, double *low)
{
    const size_t whole = whole_width(rows), end = largest_width(rows);
    mgk_vector a[ROWS];
    sums s;
#pragma GCC unroll 2
    for (size_t r = 0; r < ROWS; r++)
#pragma GCC unroll 4
        for (size_t v = 0; v < VECTORS; v++) {
            s.high[r][v] = spread(x[r].high[v]);
            s.low[r][v] = spread(x[r].low[v]);
        }
    for (size_t j = 0; j < whole; j += LANES) {
#pragma GCC unroll 2
        for (size_t r = 0; r < ROWS; r++)
            a[r] = *(const mgk_loose_vector *)(rows[r].entries + j);
        add_vectors(a, &s, pitch, high + j, low + j);
    }
    for (size_t j = whole; j < end; j += LANES) {
#pragma GCC unroll 2
        for (size_t r = 0; r < ROWS; r++)
            a[r] = load_rest(&rows[r], j);
        add_vectors(a, &s, pitch, high + j, low + j);
    }
}

/*
 * Rows [first, first + ROWS) of a matrix; rows beyond it are empty. In a triangle row i has
 * i + more entries.
 */
static void take_rows(size_t n, size_t first, const double *a, size_t stride, bool triangle,
                      size_t more, row *rows)
{
    for (size_t r = 0; r < ROWS; r++) {
        const size_t i = first + r, width = triangle ? i + more : n;
        rows[r] = i < n ? (row){width, a + i * stride} : (row){0, a};
    }
}

/* An origin for sums of at most `bound` and a few roundings. */
static double origin_of(double bound)
{
    int exponent;
    frexp(1.01 * bound, &exponent);
    return ldexp(1.5, exponent + 1);
}

/* Arrays in `work`: vectors [VECTORS, pitch] in two parts, and [pitch]. */
typedef struct arrays {
    size_t pitch;
    double *square[2]; /* (CᵀC - factor b bᵀ) w */
    double *middle[2]; /* D Lᵀ w */
    double *pivots, *origins;
} arrays;

static arrays lay_out(size_t n, double *work)
{
    const size_t pitch = mgk_reduction_pitch(n), size = VECTORS * pitch;
    return (arrays){.pitch = pitch,
                    .square = {work, work + size},
                    .middle = {work + 2 * size, work + 3 * size},
                    .pivots = work + 4 * size,
                    .origins = work + 4 * size + pitch};
}

static void begin_sums(size_t count, double *high, double *low, double origin)
{
    memset(low, 0, count * sizeof(*low));
    for (size_t j = 0; j < count; j++)
        high[j] = origin;
}

/* x times `factor`, in two parts. */
static parts scale(parts x, double factor)
{
    parts out;
    for (size_t v = 0; v < VECTORS; v++) {
        const mgk_vector a = spread(x.high[v]), b = spread(factor);
        const double product = x.high[v] * factor;
        const mgk_vector error = product_error(a, b, spread(product));
        out.high[v] = product;
        out.low[v] = error[0] + x.low[v] * factor;
    }
    return out;
}

/* (CᵀC - factor b bᵀ) w; reads each row of C once. */
static void multiply_square(const mgk_residual *r, const arrays *s, const double *w, double origin)
{
    const double root = origin_of(sqrt(r->norm));
    row rows[ROWS];
    parts y[ROWS];
    begin_sums(VECTORS * s->pitch, s->square[0], s->square[1], origin);
    for (size_t i = 0; i < r->n; i += ROWS) {
        take_rows(r->n, i, r->c, r->stride, r->causal, 1, rows);
        multiply_rows(rows, s->pitch, w, NULL, root, y);
        add_rows(rows, y, s->pitch, s->square[0], s->square[1]);
    }
    if (r->b) {
        take_rows(1, 0, r->b, r->n, false, 0, rows);
        rows[0].width = r->n;
        multiply_rows(rows, s->pitch, w, NULL, origin_of(sqrt(r->b_squares)), y);
        y[0] = scale(y[0], -r->factor);
        add_rows(rows, y, s->pitch, s->square[0], s->square[1]);
    }
}

/* Lᵀ w without L's diagonal, and its origins: |d| ‖l‖² is at most the growth. */
static void multiply_upper(const mgk_residual *r, const arrays *s, const double *w)
{
    row rows[ROWS];
    for (size_t j = 0; j < s->pitch; j++) {
        s->pivots[j] = j < r->n ? r->k[j * r->k_stride + j] : 1;
        s->origins[j] = origin_of(sqrt(r->growth / fabs(s->pivots[j])));
    }
    memset(s->middle[1], 0, VECTORS * s->pitch * sizeof(double));
    for (size_t v = 0; v < VECTORS; v++)
        memcpy(s->middle[0] + v * s->pitch, s->origins, s->pitch * sizeof(double));
    for (size_t i = 0; i < r->n; i += ROWS) {
        parts x[ROWS] = {0};
        for (size_t k = 0; k < ROWS && i + k < r->n; k++)
            for (size_t v = 0; v < VECTORS; v++)
                x[k].high[v] = w[v * s->pitch + i + k];
        take_rows(r->n, i, r->k, r->k_stride, true, 0, rows);
        add_rows(rows, x, s->pitch, s->middle[0], s->middle[1]);
    }
}

/* Adds the diagonal's part and multiplies by D. */
static void multiply_pivots(const arrays *s, const double *w)
{
    for (size_t j = 0; j < VECTORS * s->pitch; j += LANES) {
        const size_t k = j % s->pitch;
        const mgk_vector pivot = *(const mgk_vector *)(s->pivots + k);
        mgk_vector *high = (mgk_vector *)(s->middle[0] + j);
        mgk_vector *low = (mgk_vector *)(s->middle[1] + j), error;
        const mgk_vector below = *high - *(const mgk_vector *)(s->origins + k);
        const mgk_vector sum = two_sum(below, *(const mgk_vector *)(w + j), &error);
        const mgk_vector rest = error + *low, product = sum * pivot;
        *high = two_sum(product, product_error(sum, pivot, product) + rest * pivot, low);
    }
}

/*
 * One entry of E w: L D Lᵀ w (`product` without L's diagonal, `diagonal` for it) minus the square.
 */
static double subtract(double product, double low, double diagonal, double diagonal_low,
                       double square, double square_low)
{
    double error, rest = low + diagonal_low - square_low;
    double sum = two_sum_of(product, diagonal, &error);
    rest += error;
    sum = two_sum_of(sum, -square, &error);
    return sum + (error + rest);
}

/* E w of one row, from the row of L D Lᵀ w without L's diagonal. */
static void subtract_row(const mgk_residual *r, const arrays *s, size_t i, const parts *product,
                         double origin, double *w)
{
    for (size_t v = 0; v < VECTORS; v++) {
        const size_t at = v * s->pitch + i;
        const double shifted = r->x * w[at];
        const double shifted_low = product_error(spread(r->x), spread(w[at]), spread(shifted))[0];
        double error;
        const double square = two_sum_of(s->square[0][at] - origin, -shifted, &error);
        w[at] = subtract(product->high[v], product->low[v], s->middle[0][at], s->middle[1][at],
                         square, error + s->square[1][at] - shifted_low);
    }
}

void MGK_CPU(residual)(const mgk_residual *r, double *w, double *work)
{
    const arrays s = lay_out(r->n, work);
    const double origin = origin_of(r->norm + r->factor * r->b_squares);
    const double product_origin = origin_of(r->growth);
    row rows[ROWS];
    parts product[ROWS];
    multiply_square(r, &s, w, origin);
    multiply_upper(r, &s, w);
    multiply_pivots(&s, w);
    for (size_t i = 0; i < r->n; i += ROWS) {
        take_rows(r->n, i, r->k, r->k_stride, true, 0, rows);
        multiply_rows(rows, s.pitch, s.middle[0], s.middle[1], product_origin, product);
        for (size_t k = 0; k < ROWS && i + k < r->n; k++)
            subtract_row(r, &s, i + k, &product[k], origin, w);
    }
}

void MGK_CPU(multiply_exactly)(const mgk_residual *r, double *w, double *work)
{
    const size_t pitch = mgk_reduction_pitch(r->n);
    const double root = origin_of(sqrt(r->norm));
    row rows[ROWS];
    parts y[ROWS];
    memcpy(work, w, VECTORS * pitch * sizeof(*w));
    for (size_t i = 0; i < r->n; i += ROWS) {
        take_rows(r->n, i, r->c, r->stride, r->causal, 1, rows);
        multiply_rows(rows, pitch, work, NULL, root, y);
        for (size_t k = 0; k < ROWS && i + k < r->n; k++)
            for (size_t v = 0; v < VECTORS; v++)
                w[v * pitch + i + k] = y[k].high[v];
    }
}
