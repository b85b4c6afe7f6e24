/* SPDX-License-Identifier: MIT */
/* Shared by the kernels of rows: their declarations, and sums over one or two rows. */
#ifndef MGK_KERNELS_CPU_ROW_H
#define MGK_KERNELS_CPU_ROW_H

#include "kernels/cpu/rows/order.h"

double MGK_CPU(row_sum)(size_t n, const double *x);
mgk_row_facts MGK_CPU(row_facts)(size_t n, const double *x, double *columns);
bool MGK_CPU(row_any)(size_t n, const double *x);
mgk_row_range MGK_CPU(row_range)(size_t n, const double *x);
double MGK_CPU(row_dot)(size_t n, const double *x, const double *y);
void MGK_CPU(row_squares)(size_t count, size_t n, const double *x, double *out);
void MGK_CPU(row_normalise)(size_t count, size_t n, double *x, double *lengths);
void MGK_CPU(row_centre)(size_t count, size_t n, const double *x, double *means, double *out,
                         size_t pitch, double *largest);
void MGK_CPU(row_weigh)(size_t rows, size_t keys, size_t dim, const double *a, size_t pitch,
                        const double *values, double *out);
double MGK_CPU(row_energy)(size_t count, size_t n, const double *x, const double *y,
                           double *product);
double MGK_CPU(row_distance)(size_t n, const double *x, const double *y);
double MGK_CPU(row_entropy)(size_t n, const double *p);
void MGK_CPU(row_roots)(size_t n, const double *x, double *out);
void MGK_CPU(row_narrow)(size_t n, const double *x, float *out);
void MGK_CPU(row_widen)(size_t n, const float *x, double *out);
void MGK_CPU(row_sort)(size_t n, const double *const *rows, double *sorted);
void MGK_CPU(row_sort_floats)(size_t n, const float *const *rows, double *sorted);
void MGK_CPU(row_spreads)(size_t n, const double *columns, double *out);
void MGK_CPU(row_products)(size_t heads, size_t n, const double *rows, size_t pitch, double *out);
void MGK_CPU(row_differences)(size_t heads, size_t n, const double *rows, size_t pitch,
                              double *out);
void MGK_CPU(row_divergences)(size_t heads, size_t n, const double *rows, size_t pitch,
                              const double *entropies, double *roots, double *out);

/* Adds the term of the entries x and y to a sum. Entries 0 and 0 add 0. */
typedef mgk_vector mgk_row_term(mgk_vector sum, mgk_vector x, mgk_vector y);

static inline mgk_vector mgk_row_add_product(mgk_vector sum, mgk_vector x, mgk_vector y)
{
    return sum + x * y;
}

static inline mgk_vector mgk_row_add_square(mgk_vector sum, mgk_vector x, mgk_vector y)
{
    const mgk_vector difference = x - y;
    return sum + difference * difference;
}

/* The first `count` < MGK_VECTOR_LANES entries, then zeros. */
static inline mgk_vector mgk_row_load_part(const double *x, size_t count)
{
#ifdef __AVX512F__
    return (mgk_vector)_mm512_maskz_loadu_pd((__mmask8)((1u << count) - 1), x);
#elif defined(__AVX2__)
    static const int64_t lanes[] = {-1, -1, -1, -1, 0, 0, 0, 0};
    const __m256i first = _mm256_loadu_si256((const __m256i *)(lanes + MGK_VECTOR_LANES - count));
    return (mgk_vector)_mm256_maskload_pd(x, first);
#else
    mgk_vector part = {0};
    for (size_t lane = 0; lane < count; lane++)
        part[lane] = x[lane];
    return part;
#endif
}

/* Sums that are computed side by side: one alone would wait for its own last addition. */
enum { MGK_ROW_ABREAST = 4 };

/* Adds the terms of both rows to the sums. The term is a constant, so that it is inlined. */
__attribute__((always_inline)) static inline void
mgk_row_accumulate(mgk_row_term *term, size_t n, const double *x, const double *y,
                   mgk_vector sum[MGK_ROW_ABREAST])
{
    enum { ABREAST = MGK_ROW_ABREAST, LANES = MGK_VECTOR_LANES };
    size_t j = 0;
    for (; j + ABREAST * LANES <= n; j += ABREAST * LANES)
#pragma GCC unroll 4
        for (size_t v = 0; v < ABREAST; v++)
            sum[v] = term(sum[v], mgk_row_load(x + j + v * LANES), mgk_row_load(y + j + v * LANES));
    for (; j + LANES <= n; j += LANES)
        sum[0] = term(sum[0], mgk_row_load(x + j), mgk_row_load(y + j));
    if (j < n)
        sum[1] = term(sum[1], mgk_row_load_part(x + j, n - j), mgk_row_load_part(y + j, n - j));
}

/* The sum over both rows of a term. */
__attribute__((always_inline)) static inline double mgk_row_reduce(mgk_row_term *term, size_t n,
                                                                   const double *x, const double *y)
{
    mgk_vector sum[MGK_ROW_ABREAST] = {{0}};
    mgk_row_accumulate(term, n, x, y, sum);
    return mgk_vector_sum((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

/*
 * Columns of a block in which rows are compared in pairs: the block of all rows stays in the
 * second-level cache.
 */
static inline size_t mgk_row_block(size_t heads)
{
    enum { LEAST = 256, ENTRIES = 1 << 15 };
    const size_t columns = ENTRIES / heads / LEAST * LEAST;
    return columns > LEAST ? columns : LEAST;
}

#endif
