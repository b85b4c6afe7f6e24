/* SPDX-License-Identifier: MIT */
/*
 * The activations and their gradients, defined once for all devices in terms of exp and the normal
 * distribution function Φ, which each device computes in its own way. Comparisons are written so
 * that NaN stays NaN.
 */
#ifndef MGK_KERNELS_ACTIVATION_H
#define MGK_KERNELS_ACTIVATION_H

#include "kernels/real.h"

/* 1/√(2π) and 2 √(2/π). */
#define MGK_INVERSE_SQRT_2PI 0.39894228040143267794
#define MGK_TWICE_SQRT_2_OVER_PI 1.5957691216057308

MGK_REAL_FUNCTION real mgk_logistic(real x)
{
    return 1 / (1 + mgk_exp(-x));
}

/* 2 u of the tanh form of GELU, u = √(2/π) (x + 0.044715 x³). */
MGK_REAL_FUNCTION real mgk_gelu_twice_u(real x)
{
    return (real)MGK_TWICE_SQRT_2_OVER_PI * (x + (real)0.044715 * (x * x * x));
}

MGK_REAL_FUNCTION real mgk_gelu_twice_u_slope(real x)
{
    return (real)MGK_TWICE_SQRT_2_OVER_PI * (1 + (real)(3 * 0.044715) * (x * x));
}

/* activation(x). */
MGK_REAL_FUNCTION real mgk_activate(mgk_activation activation, real x)
{
    switch (activation) {
    case MGK_ACTIVATION_NONE:
        break;
    case MGK_ACTIVATION_RELU:
        return x < 0 ? 0 : x;
    case MGK_ACTIVATION_GELU: {
        real bell;
        return x * mgk_normal_distribution(x, &bell);
    }
    case MGK_ACTIVATION_GELU_TANH:
        return x * mgk_logistic(mgk_gelu_twice_u(x));
    case MGK_ACTIVATION_SILU:
        return x * mgk_logistic(x);
    }
    return x;
}

/* dy activation'(x). */
MGK_REAL_FUNCTION real mgk_activation_gradient(mgk_activation activation, real x, real dy)
{
    switch (activation) {
    case MGK_ACTIVATION_NONE:
        break;
    case MGK_ACTIVATION_RELU:
        return x <= 0 ? 0 : dy;
    case MGK_ACTIVATION_GELU: {
        real bell, below = mgk_normal_distribution(x, &bell);
        return dy * (below + (real)MGK_INVERSE_SQRT_2PI * x * bell);
    }
    case MGK_ACTIVATION_GELU_TANH: {
        real s = mgk_logistic(mgk_gelu_twice_u(x)), slope = mgk_gelu_twice_u_slope(x);
        return dy * (s + x * s * (1 - s) * slope);
    }
    case MGK_ACTIVATION_SILU: {
        real s = mgk_logistic(x);
        return dy * (s + x * s * (1 - s));
    }
    }
    return dy;
}

#endif
