/* SPDX-License-Identifier: MIT */
/*
 * Sturm counts. The symmetric tridiagonal matrix with zero diagonal and off-diagonal b = d_1, e_1,
 * d_2, …, d_n has the eigenvalues ±σ. With
 *     r_0 = 1, r_1 = x, r_k = x r_(k−1) − b_(k−1)² r_(k−2)
 * the number of σ >= x is the number of sign changes among r_0 … r_2n, and r_2n is the
 * characteristic polynomial. A count is exact for a matrix whose entries differ by a few roundings
 * of the largest entry. Without a division a step takes two operations, and each lane has its own
 * x. Zeros need no care: r_k = 0 is followed by the opposite sign of r_(k−1).
 */
#include "kernels/cpu/spectral/reduction.h"
#include "kernels/cpu/vector.h"

/* Vectors of independent recurrences: a single one would wait for its own last result. */
enum { ABREAST = 4, LANES = MGK_VECTOR_LANES };

typedef uint64_t bits __attribute__((vector_size(MGK_VECTOR_BYTES), may_alias));
typedef int64_t signed_bits __attribute__((vector_size(MGK_VECTOR_BYTES)));

static const uint64_t exponent_mask = UINT64_C(0x7ff) << 52, inverse_bias = UINT64_C(0x7fe) << 52;

/* Scales the larger of a and b into [1, 2) and returns the removed exponent. */
static bits normalise(mgk_vector *a, mgk_vector *b)
{
    const bits p = (bits)*a & exponent_mask, q = (bits)*b & exponent_mask;
    const bits first = (bits)((signed_bits)p > (signed_bits)q),
               largest = (p & first) | (q & ~first);
    const mgk_vector scale = (mgk_vector)(inverse_bias - largest);
    *a *= scale;
    *b *= scale;
    return (largest >> 52) - 1023;
}

void MGK_CPU(sturm)(size_t steps, const double *squares, mgk_sturm_points *points)
{
    for (size_t first = 0; first < MGK_STURM_POINTS; first += ABREAST * LANES) {
        mgk_vector x[ABREAST], r[ABREAST], before[ABREAST] = {{0}};
        bits changes[ABREAST] = {{0}}, exponent[ABREAST] = {{0}};
        for (size_t v = 0; v < ABREAST; v++) {
            x[v] = *(const mgk_vector *)(points->x + first + v * LANES);
            r[v] = 1 - (mgk_vector){0};
        }
        for (size_t k = 0; k < steps; k += MGK_STURM_BLOCK) {
#pragma GCC unroll 16
            for (size_t j = 0; j < MGK_STURM_BLOCK; j++) {
                const double square = squares[k + j];
#pragma GCC unroll 4
                for (size_t v = 0; v < ABREAST; v++) {
                    const mgk_vector next = x[v] * r[v] - square * before[v];
                    changes[v] += ((bits)next ^ (bits)r[v]) >> 63;
                    before[v] = r[v];
                    r[v] = next;
                }
            }
#pragma GCC unroll 4
            for (size_t v = 0; v < ABREAST; v++)
                exponent[v] += normalise(&before[v], &r[v]);
        }
        for (size_t v = 0; v < ABREAST; v++) {
            *(mgk_vector *)(points->value + first + v * LANES) = r[v];
            *(bits *)(points->exponent + first + v * LANES) = exponent[v];
            *(bits *)(points->above + first + v * LANES) = changes[v];
        }
    }
}
