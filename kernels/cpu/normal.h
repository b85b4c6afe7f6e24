/* SPDX-License-Identifier: MIT */
/*
 * The normal distribution function Φ, written so that a `#pragma omp simd` loop over it becomes
 * vector code (kernels/cpu/exp.h). The tail Φ(−t), t >= 0, is
 *     Φ(−t) = exp(−t²/2) P(u) / (t + 4),  u = (t − 4)/(t + 4),
 * where P is the Chebyshev interpolant in u of the smooth function exp(t²/2) Φ(−t) (t + 4) (after
 * Shepherd & Laframboise 1981 for erfc), of degree 9 on [0, 14] for float (relative error 5e-9) and
 * 20 on [0, 39] for double (2e-16). Beyond these intervals the exponential is 0.
 */
#ifndef MGK_KERNELS_CPU_NORMAL_H
#define MGK_KERNELS_CPU_NORMAL_H

#include <tgmath.h>

#include "kernels/cpu/exp.h"

/* P's coefficients, constant term first, and the end of its interval. */
#if MGK_CPU_REAL == 64
static const real mgk_normal_end = 39;
static const real mgk_normal_p[] = {
    0x1.82b4bb8c94dccp-1,  -0x1.373e3a893c269p-1,  0x1.8c6dbf2cfc6fap-2,   -0x1.7dff2bff6b427p-3,
    0x1.eec4cc3dee3fbp-5,  -0x1.ee2760fa39b21p-8,  -0x1.c817196c99aabp-9,  0x1.ab825dccdcf9dp-10,
    0x1.17a471f4b13fdp-13, -0x1.e4a3bf1a4ba00p-13, -0x1.ff9872383333dp-20, 0x1.26ca7b37e8fa9p-15,
    0x1.7c4862bf83687p-21, -0x1.8cdabbb6ec346p-18, -0x1.48125dcc40014p-21, 0x1.0fde7a2e2bfe6p-20,
    0x1.07110481728e8p-22, -0x1.408cd918b0403p-23, -0x1.0821c56418a0ep-24, 0x1.c4a0fb641a236p-27,
    0x1.0804e1b828afbp-27};
#else
static const real mgk_normal_end = 14;
static const real mgk_normal_p[] = {
    0x1.82b4bcp-1f,  -0x1.373e3ap-1f, 0x1.8c6d90p-2f,  -0x1.7dff9ap-3f, 0x1.eeda02p-5f,
    -0x1.ed6fdep-8f, -0x1.ce2f18p-9f, 0x1.9c2c78p-10f, 0x1.a61392p-13f, -0x1.f81704p-14f};
#endif

/* Φ(x); *bell receives exp(−x²/2). */
static inline real mgk_normal_distribution(real x, real *bell)
{
    const int degree = (int)(sizeof mgk_normal_p / sizeof *mgk_normal_p) - 1;
    const real distance = fabs(x);
    const real t = distance < mgk_normal_end ? distance : mgk_normal_end;
    const real inverse = 1 / (t + 4);
    const real u = (t - 4) * inverse;
    real p = mgk_normal_p[degree];
#pragma GCC unroll 32
    for (int k = degree - 1; k >= 0; k--)
        p = p * u + mgk_normal_p[k];
    *bell = mgk_exp((real)-0.5 * x * x);
    const real tail = *bell * (inverse * p);
    return x < 0 ? tail : 1 - tail;
}

#endif
