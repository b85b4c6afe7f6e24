/* SPDX-License-Identifier: MIT */
/* What sorts rows of one precision side by side. */
#ifndef MGK_KERNELS_CPU_ORDER_H
#define MGK_KERNELS_CPU_ORDER_H

#include "kernels/cpu/vector.h"
#include "kernels/rows.h"

#ifdef __SSE2__
#include <immintrin.h>
#endif

#if MGK_CPU_REAL == 64
#define MGK_ORDER_NAME(name) name##_pd
#else
#define MGK_ORDER_NAME(name) name##_ps
#endif

static inline mgk_vector mgk_row_load(const real *x)
{
    return *(const mgk_loose_vector *)x;
}

/* Moves the smaller entry of each lane to *x, the larger one to *y. */
static inline void mgk_row_order(mgk_vector *x, mgk_vector *y)
{
    const mgk_vector a = *x, b = *y;
#if defined(__AVX512F__)
    *x = (mgk_vector)MGK_ORDER_NAME(_mm512_min)(a, b);
    *y = (mgk_vector)MGK_ORDER_NAME(_mm512_max)(a, b);
#elif defined(__AVX__)
    *x = (mgk_vector)MGK_ORDER_NAME(_mm256_min)(a, b);
    *y = (mgk_vector)MGK_ORDER_NAME(_mm256_max)(a, b);
#elif defined(__SSE2__)
    *x = (mgk_vector)MGK_ORDER_NAME(_mm_min)(a, b);
    *y = (mgk_vector)MGK_ORDER_NAME(_mm_max)(a, b);
#else
    for (int lane = 0; lane < MGK_VECTOR_LANES; lane++) {
        (*x)[lane] = a[lane] < b[lane] ? a[lane] : b[lane];
        (*y)[lane] = a[lane] < b[lane] ? b[lane] : a[lane];
    }
#endif
}

/* Row r of n entries becomes column r of columns [n, MGK_SORT_ROWS]. */
void MGK_CPU(row_transpose)(size_t n, const real *const *rows, real *columns);

/* Sorts each column of columns [n, MGK_SORT_ROWS] in ascending order. */
void MGK_CPU(row_sort_columns)(size_t n, real *columns);

#endif
