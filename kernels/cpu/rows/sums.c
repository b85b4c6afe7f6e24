/* SPDX-License-Identifier: MIT */
/* Sums over one or two rows and down columns, the largest and the smallest entry, whether any is
 * not 0, and square roots. */
#include <math.h>
#include <string.h>

#include "kernels/cpu/rows/row.h"

typedef uint64_t mgk_row_bits __attribute__((vector_size(MGK_VECTOR_BYTES), may_alias));

static inline mgk_vector add(mgk_vector sum, mgk_vector x, mgk_vector y)
{
    (void)y;
    return sum + x;
}

double MGK_CPU(row_sum)(size_t n, const double *x)
{
    return mgk_row_reduce(add, n, x, x);
}

double MGK_CPU(row_dot)(size_t n, const double *x, const double *y)
{
    return mgk_row_reduce(mgk_row_add_product, n, x, y);
}

double MGK_CPU(row_distance)(size_t n, const double *x, const double *y)
{
    return mgk_row_reduce(mgk_row_add_square, n, x, y);
}

/* A vector of a row and of the sums of columns, for row_facts. */
static inline void take(const double *x, double *columns, mgk_vector *sum, mgk_vector *squares,
                        mgk_row_bits *bits)
{
    const mgk_vector entries = mgk_row_load(x);
    *sum += entries;
    *squares += entries * entries;
    *bits |= (mgk_row_bits)entries;
    *(mgk_loose_vector *)columns += entries;
}

mgk_row_facts MGK_CPU(row_facts)(size_t n, const double *x, double *columns)
{
    enum { ABREAST = MGK_ROW_ABREAST, LANES = MGK_VECTOR_LANES };
    mgk_vector sum[ABREAST] = {{0}}, squares[ABREAST] = {{0}};
    mgk_row_bits bits = {0};
    size_t j = 0;
    for (; j + ABREAST * LANES <= n; j += ABREAST * LANES)
#pragma GCC unroll 4
        for (size_t v = 0; v < ABREAST; v++)
            take(x + j + v * LANES, columns + j + v * LANES, &sum[v], &squares[v], &bits);
    for (; j + LANES <= n; j += LANES)
        take(x + j, columns + j, &sum[0], &squares[0], &bits);
    mgk_row_facts facts = {mgk_vector_sum((sum[0] + sum[1]) + (sum[2] + sum[3])),
                           mgk_vector_sum((squares[0] + squares[1]) + (squares[2] + squares[3])),
                           0};
    for (int lane = 0; lane < LANES; lane++)
        facts.bits |= bits[lane];
    for (; j < n; j++) {
        uint64_t entry;
        memcpy(&entry, &x[j], sizeof(entry));
        facts.sum += x[j];
        facts.squares += x[j] * x[j];
        facts.bits |= entry;
        columns[j] += x[j];
    }
    return facts;
}

/* All bits but the sign, which 0 may have. */
bool MGK_CPU(row_any)(size_t n, const double *x)
{
    mgk_row_bits bits = {0};
    size_t j = 0;
    for (; j + MGK_VECTOR_LANES <= n; j += MGK_VECTOR_LANES)
        bits |= (mgk_row_bits)mgk_row_load(x + j);
    if (j < n)
        bits |= (mgk_row_bits)mgk_row_load_part(x + j, n - j);
    uint64_t any = 0;
    for (int lane = 0; lane < MGK_VECTOR_LANES; lane++)
        any |= bits[lane];
    return any << 1 != 0;
}

/* Takes an entry into the range of each lane. */
static inline void widen_range(mgk_vector x, mgk_vector *smallest, mgk_vector *largest)
{
    mgk_vector other = x;
    mgk_row_order(smallest, &other);
    mgk_row_order(&x, largest);
}

/* The largest lane, by halves: a chain of comparisons as short as can be. */
static inline double largest_lane(mgk_vector x)
{
    double lanes[MGK_VECTOR_LANES];
    *(mgk_loose_vector *)lanes = x;
#pragma GCC unroll 4
    for (int half = MGK_VECTOR_LANES / 2; half > 0; half /= 2)
#pragma GCC unroll 4
        for (int lane = 0; lane < half; lane++)
            lanes[lane] = lanes[lane] < lanes[lane + half] ? lanes[lane + half] : lanes[lane];
    return lanes[0];
}

mgk_row_range MGK_CPU(row_range)(size_t n, const double *x)
{
    enum { LANES = MGK_VECTOR_LANES };
    mgk_vector smallest[2] = {{0}}, largest[2] = {{0}};
    size_t j = 0;
    for (; j + 2 * LANES <= n; j += 2 * LANES) {
        widen_range(mgk_row_load(x + j), &smallest[0], &largest[0]);
        widen_range(mgk_row_load(x + j + LANES), &smallest[1], &largest[1]);
    }
    for (; j < n; j += LANES)
        widen_range(n - j < LANES ? mgk_row_load_part(x + j, n - j) : mgk_row_load(x + j),
                    &smallest[0], &largest[0]);
    widen_range(smallest[1], &smallest[0], &largest[0]);
    widen_range(largest[1], &smallest[0], &largest[0]);
    return (mgk_row_range){-largest_lane(-smallest[0]), largest_lane(largest[0])};
}

void MGK_CPU(row_spreads)(size_t n, const double *columns, double *out)
{
    double sum[MGK_SORT_ROWS] = {0};
    for (size_t k = 0; k < n; k++) {
        const double weight = 2 * (double)k + 1 - (double)n;
        for (size_t c = 0; c < MGK_SORT_ROWS; c++)
            sum[c] += weight * columns[k * MGK_SORT_ROWS + c];
    }
    memcpy(out, sum, sizeof sum);
}

void MGK_CPU(row_roots)(size_t n, const double *x, double *out)
{
#pragma omp simd
    for (size_t j = 0; j < n; j++)
        out[j] = sqrt(x[j]);
}
