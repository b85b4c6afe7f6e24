/* SPDX-License-Identifier: MIT */
/*
 * The logarithm of half a vector of doubles, without branch or call: x / 2 = 2^e m with m around 1,
 * and ln(x / 2) = e ln 2 + ln m. So the mean of two numbers needs their sum alone. With AVX-512 a
 * table of 16 numbers is two registers, and tables shorten the series for ln m. Other vectors would
 * load an entry for each lane, so they divide instead.
 *
 * The table: 0.703125 <= m < 1.40625. This range is split into 16 intervals, each with a number g
 * near the inverse of its centre, and r = g m - 1, |r| <= 1/32, so that
 *     ln m = -ln g + ln(1 + r) = -ln g + r (1 + r q(r)),
 * where q has degree 6 and makes the largest error of r² q(r), 2^-56, least. Each g has 21 bits and
 * is chosen among those near the inverse so that -ln g is a double to within 2^-63; g = 1 around m
 * = 1, so that ln 1 = 0 exactly. (Tang, "Table-driven implementation of the logarithm function",
 * ACM TOMS 1990, has such a reduction.) What the code has is 2 m and g / 2.
 *
 * The quotient: 0.70703125 <= m < 1.4140625, and s = (m - 1) / (m + 1), so that
 *     ln m = 2 artanh s = 2 s + s³ p(s²),
 * where p has degree 6 and makes the largest error relative to 2 s, 2^-58, least.
 */
#ifndef MGK_KERNELS_CPU_LOG_H
#define MGK_KERNELS_CPU_LOG_H

#include "kernels/cpu/vector.h"

#ifdef __AVX512F__
#include <immintrin.h>
#endif

typedef uint64_t mgk_vector_bits __attribute__((vector_size(MGK_VECTOR_BYTES), may_alias));

#define MGK_LOG_EXPONENTS UINT64_C(0xfff0000000000000)

enum { MGK_LOG_MOST = 8 };

/*
 * mgk_log_halves: out [count] = ln(x / 2) for x >= 0 and finite, count a constant of at most
 * MGK_LOG_MOST. A logarithm is a chain of operations that wait for each other; those of several
 * vectors do not. The error is at most 2^-55 + 3 · 2^-53 |ln|. Zero and numbers below 2^-1022 give
 * some number between -747 and -708, with which (x / 2) ln(x / 2) is in error by less than 2^-1015.
 */
#ifdef __AVX512F__

/* The bits of 2 · 0.703125. */
#define MGK_LOG_LOWEST UINT64_C(0x3ff6800000000000)
#define MGK_LOG_LN2 0x1.62e42fefa39efp-53 /* times 2^-52 */

/* g / 2 of each interval, and -ln g. */
static const _Alignas(64) double mgk_log_inverse[16] = {
    0x1.642cdp-1, 0x1.55752p-1, 0x1.47afbp-1, 0x1.3af57p-1, 0x1.2f592p-1, 0x1.24b15p-1,
    0x1.1a9d5p-1, 0x1.1128bp-1, 0x1.082b2p-1, 0x1p-1,       0x1.e1e6ep-2, 0x1.c71bcp-2,
    0x1.af656p-2, 0x1.99b9p-2,  0x1.864a2p-2, 0x1.7450ep-2};
static const _Alignas(64) double mgk_log_centre[16] = {-0x1.522bb67373e10p-2, -0x1.26f57ca287ce9p-2,
                                                       -0x1.f99bd2c4ec33ep-3, -0x1.a87a2256f7f38p-3,
                                                       -0x1.5b8d9c25bd5cep-3, -0x1.12520c9f2815ap-3,
                                                       -0x1.951ed0a66abb5p-4, -0x1.09bbcc07bb05bp-4,
                                                       -0x1.014e99bf1fd05p-5, 0x0p+0,
                                                       0x1.f04e2c71a4736p-5,  0x1.e276b6e3e7aebp-4,
                                                       0x1.5ed1937fd12a8p-3,  0x1.c862827deaeafp-3,
                                                       0x1.15f33f0d59f40p-2,  0x1.463a54aeda4a1p-2};
static const double mgk_log_q[] = {
    -0x1.00000000001d9p-1, 0x1.55555555b2631p-2, -0x1.ffffffef3b771p-3, 0x1.9999896e4b830p-3,
    -0x1.5555ebb2d5395p-3, 0x1.24feeb986e39cp-3, -0x1.fd4ada78170d7p-4};

/* The entry of each lane's interval. */
static inline mgk_vector mgk_log_entry(const double *table, mgk_vector_bits interval)
{
    return (mgk_vector)_mm512_permutex2var_pd(_mm512_load_pd(table), (__m512i)interval,
                                              _mm512_load_pd(table + 8));
}

__attribute__((always_inline)) static inline void mgk_log_halves(int count, const mgk_vector *x,
                                                                 mgk_vector *out)
{
    const int degree = (int)(sizeof mgk_log_q / sizeof *mgk_log_q) - 1;
    mgk_vector r[MGK_LOG_MOST], high[MGK_LOG_MOST], q[MGK_LOG_MOST];
#pragma GCC unroll 8
    for (int k = 0; k < count; k++) {
        const mgk_vector_bits distance = (mgk_vector_bits)x[k] - MGK_LOG_LOWEST;
        const mgk_vector_bits exponent = distance & MGK_LOG_EXPONENTS, interval = distance >> 48;
        const mgk_vector m = (mgk_vector)((mgk_vector_bits)x[k] - exponent);
        const mgk_vector g = mgk_log_entry(mgk_log_inverse, interval);
        /* With one rounding: no compiler may choose to round twice. */
        r[k] = (mgk_vector)_mm512_fmsub_pd((__m512d)g, (__m512d)m, _mm512_set1_pd(1));
        high[k] = (mgk_vector)_mm512_cvtepi64_pd((__m512i)exponent) * MGK_LOG_LN2 +
                  mgk_log_entry(mgk_log_centre, interval);
        q[k] = mgk_log_q[degree] - (mgk_vector){0};
    }
#pragma GCC unroll 8
    for (int d = degree - 1; d >= 0; d--)
#pragma GCC unroll 8
        for (int k = 0; k < count; k++)
            q[k] = q[k] * r[k] + mgk_log_q[d];
#pragma GCC unroll 8
    for (int k = 0; k < count; k++)
        q[k] = q[k] * r[k] + 1;
#pragma GCC unroll 8
    for (int k = 0; k < count; k++)
        out[k] = q[k] * r[k] + high[k];
}

#else

/* The bits of 0.70703125. */
#define MGK_LOG_LOWEST UINT64_C(0x3fe6a00000000000)
#define MGK_LOG_LN2 0x1.62e42fefa39efp-1

__attribute__((always_inline)) static inline void mgk_log_halves(int count, const mgk_vector *x,
                                                                 mgk_vector *out)
{
    mgk_vector e[MGK_LOG_MOST], s[MGK_LOG_MOST];
#pragma GCC unroll 8
    for (int k = 0; k < count; k++) {
        /* The exponent field of `scaled` is e + 1024. In a double between 2^52 and 2^53 the last
         * bits count 1 each. */
        const mgk_vector_bits scaled =
            (mgk_vector_bits)x[k] + (UINT64_C(1023) << 52) - MGK_LOG_LOWEST;
        const mgk_vector m = (mgk_vector)((scaled & ~MGK_LOG_EXPONENTS) + MGK_LOG_LOWEST);
        e[k] = (mgk_vector)(scaled >> 52 | (UINT64_C(1023) + 52) << 52) - (0x1p52 + 1024);
        s[k] = (m - 1) / (m + 1);
    }
#pragma GCC unroll 8
    for (int k = 0; k < count; k++) {
        const mgk_vector z = s[k] * s[k], w = z * z;
        const mgk_vector even =
            0x1.5555555555593p-1 +
            w * (0x1.24924942088c1p-2 + w * (0x1.746643522fad7p-3 + w * 0x1.2f0a58813c3a8p-3));
        const mgk_vector odd =
            0x1.999999997fc2ep-2 + w * (0x1.c71c51f5115fap-3 + w * 0x1.39a142b183380p-3);
        out[k] = e[k] * MGK_LOG_LN2 + (s[k] + s[k] + s[k] * z * (even + z * odd));
    }
}

#endif

#endif
