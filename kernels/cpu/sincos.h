/* SPDX-License-Identifier: MIT */
/*
 * Sine and cosine without branch or call, for `#pragma omp simd` loops (kernels/cpu/exp.h).
 *
 * x = n π/2 + r with n = round(2 x / π), |r| <= π/4. π/2 is split in three (Cody & Waite 1980) so
 * that n times the first two parts is exact up to MGK_SINCOS_LIMIT. On [−π/4, π/4], with s = r²,
 * sin r = r + r s p(s) and cos r = 1 − s/2 + s² q(s), where p and q are Chebyshev interpolants
 * (absolute error 1e-8 for float, 6e-21 for double). n mod 4 says which of the two is which, and
 * their signs.
 */
#ifndef MGK_KERNELS_CPU_SINCOS_H
#define MGK_KERNELS_CPU_SINCOS_H

#include <tgmath.h>

#include "kernels/cpu/exp.h"

#if MGK_CPU_REAL == 64
#define MGK_SINCOS_LIMIT 1e6
#define MGK_SINCOS_HALF_PI_1 0x1.921fb544p+0
#define MGK_SINCOS_HALF_PI_2 0x1.0b4611a6p-34
#define MGK_SINCOS_HALF_PI_3 0x1.3198a2e037073p-69
static const real mgk_sincos_p[] = {
    -0x1.5555555555555p-3,  0x1.1111111111110p-7,  -0x1.a01a01a019937p-13, 0x1.71de3a54607a5p-19,
    -0x1.ae64541295cdfp-26, 0x1.61217ee5cca1bp-33, -0x1.ab17bdcbd3414p-41};
static const real mgk_sincos_q[] = {
    0x1.5555555555555p-5,  -0x1.6c16c16c16c16p-10, 0x1.a01a01a019d0ap-16, -0x1.27e4fb7712ca2p-22,
    0x1.1eed8deb82809p-29, -0x1.9394b9eb4d56dp-37, 0x1.ab78473be59d7p-45};
#else
#define MGK_SINCOS_LIMIT 8192.0f
#define MGK_SINCOS_HALF_PI_1 0x1.92p+0f
#define MGK_SINCOS_HALF_PI_2 0x1.fb4p-12f
#define MGK_SINCOS_HALF_PI_3 0x1.4442d2p-24f
static const real mgk_sincos_p[] = {-0x1.555552p-3f, 0x1.110c28p-7f, -0x1.9ac98ep-13f};
static const real mgk_sincos_q[] = {0x1.555554p-5f, -0x1.6c12d2p-10f, 0x1.9bd880p-16f};
#endif

/*
 * *sine and *cosine of |x| <= MGK_SINCOS_LIMIT, with absolute errors of at most two units in the
 * last place of 1, and NaN for NaN. Undefined numbers beyond.
 */
__attribute__((always_inline)) static inline void mgk_sincos(real x, real *sine, real *cosine)
{
    const int degree = (int)(sizeof mgk_sincos_p / sizeof *mgk_sincos_p) - 1;
    /* As in mgk_exp: n is rounded, and is in the low bits of `shifted`. */
    const real shifter = (real)1.5 * (real)((mgk_real_bits)1 << MGK_EXP_MANTISSA);
    const real shifted = x * (real)0x1.45f306dc9c883p-1 + shifter;
    const real n = shifted - shifter;
    real r = x - n * MGK_SINCOS_HALF_PI_1;
    r = r - n * MGK_SINCOS_HALF_PI_2;
    r = r - n * MGK_SINCOS_HALF_PI_3;
    const real s = r * r;
    real p = mgk_sincos_p[degree], q = mgk_sincos_q[degree];
#pragma GCC unroll 8
    for (int k = degree - 1; k >= 0; k--) {
        p = p * s + mgk_sincos_p[k];
        q = q * s + mgk_sincos_q[k];
    }
    const real of_sine = r + r * (s * p), of_cosine = 1 - (real)0.5 * s + s * s * q;
    mgk_real_bits quarter;
    memcpy(&quarter, &shifted, sizeof quarter);
    const real first = quarter & 1 ? of_cosine : of_sine;
    const real second = quarter & 1 ? of_sine : of_cosine;
    *sine = quarter & 2 ? -first : first;
    *cosine = (quarter + 1) & 2 ? -second : second;
}

/* sine and cosine [count] of x [count], whatever its size; sine or cosine may be x. */
static inline void mgk_sincos_row(size_t count, const real *x, real *sine, real *cosine)
{
    real largest = 0;
#pragma omp simd reduction(max : largest)
    for (size_t i = 0; i < count; i++) {
        const real size = x[i] < 0 ? -x[i] : x[i];
        largest = size > largest ? size : largest;
    }
    if (largest <= MGK_SINCOS_LIMIT) {
#pragma omp simd
        for (size_t i = 0; i < count; i++) {
            real s, c;
            mgk_sincos(x[i], &s, &c);
            sine[i] = s;
            cosine[i] = c;
        }
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const real angle = x[i];
        sine[i] = sin(angle);
        cosine[i] = cos(angle);
    }
}

#endif
