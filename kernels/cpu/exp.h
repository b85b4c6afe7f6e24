/* SPDX-License-Identifier: MIT */
/*
 * The exponential without branch, table or call, so that a `#pragma omp simd` loop over it becomes
 * vector code at every level.
 *
 * exp(x) = 2^n exp(r) with n = round(x / ln 2) and r = x - n ln 2, |r| <= ln 2 / 2. ln 2 is split
 * in two (Cody & Waite 1980) so that n times the high part is exact. exp(r) = 1 + r + r² q(r),
 * where q is the Chebyshev interpolant of (exp(r) - 1 - r) / r², of degree 4 for float (relative
 * error of exp 8e-9) and 9 for double (1.3e-17).
 */
#ifndef MGK_KERNELS_CPU_EXP_H
#define MGK_KERNELS_CPU_EXP_H

#include <math.h>
#include <string.h>

#include "kernels/cpu/cpu.h"

#if MGK_CPU_REAL == 64
typedef uint64_t mgk_real_bits;
enum { MGK_EXP_MANTISSA = 52 };
#define MGK_EXP_LOWEST -0x1.6232bdd7abcd2p+9 /* ln of the least normal number */
#define MGK_EXP_HIGHEST 0x1.62e42fefa39efp+9 /* ln of the greatest number */
#define MGK_EXP_LN2_HIGH 0x1.62e42fefp-1
#define MGK_EXP_LN2_LOW 0x1.473de6af278edp-34
static const real mgk_exp_q[] = {
    0x1.0000000000001p-1,  0x1.5555555555556p-3,  0x1.5555555553d63p-5,  0x1.11111111109b3p-7,
    0x1.6c16c1788bd90p-10, 0x1.a01a01a7c41d5p-13, 0x1.a019b90d2ae7ap-16, 0x1.71de0dae63bb3p-19,
    0x1.289185613a3d6p-22, 0x1.af38a9b0ec855p-26};
#else
typedef uint32_t mgk_real_bits;
enum { MGK_EXP_MANTISSA = 23 };
#define MGK_EXP_LOWEST -0x1.5d589ep+6f
#define MGK_EXP_HIGHEST 0x1.62e42ep+6f
#define MGK_EXP_LN2_HIGH 0x1.628p-1f
#define MGK_EXP_LN2_LOW 0x1.90bfbep-11f
static const real mgk_exp_q[] = {0x1p-1f, 0x1.5554dcp-3f, 0x1.55551ap-5f, 0x1.120b6ep-7f,
                                 0x1.6d110ap-10f};
#endif

/*
 * exp(x) within 2 units in the last place. Results below the normal range are
 * exactly 0, results above it are infinite, NaN gives NaN.
 */
static inline real mgk_exp(real x)
{
    const int degree = (int)(sizeof mgk_exp_q / sizeof *mgk_exp_q) - 1;
    /* Adding 1.5 2^mantissa rounds to an integer and leaves it in the low bits. */
    const real shifter = (real)1.5 * (real)((mgk_real_bits)1 << MGK_EXP_MANTISSA);
    real shifted = x * (real)0x1.71547652b82fep+0 + shifter;
    real n = shifted - shifter;
    real r = x - n * MGK_EXP_LN2_HIGH - n * MGK_EXP_LN2_LOW;
    real q = mgk_exp_q[degree];
#pragma GCC unroll 16
    for (int k = degree - 1; k >= 0; k--)
        q = q * r + mgk_exp_q[k];
    real power = 1 + (r + r * r * q);

    /* Adds n to the exponent; on overflow the result is not used. */
    mgk_real_bits bits, scale;
    memcpy(&bits, &power, sizeof bits);
    memcpy(&scale, &shifted, sizeof scale);
    bits += scale << MGK_EXP_MANTISSA;
    memcpy(&power, &bits, sizeof power);
    power = x <= MGK_EXP_HIGHEST ? power : x + (real)INFINITY;
    return x < MGK_EXP_LOWEST ? 0 : power;
}

#endif
