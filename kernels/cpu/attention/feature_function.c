/* SPDX-License-Identifier: MIT */
#include "kernels/cpu/attention/feature_function.h"

#include "kernels/activation.h"
#include "kernels/cpu/normal.h"
#include "kernels/cpu/sincos.h"
#include "kernels/cpu/tanh.h"

/* f(u); cos is done apart. */
__attribute__((always_inline)) static inline real value(mgk_feature_function f, real u)
{
    switch (f) {
    case MGK_FEATURE_RELU:
        return mgk_activate(MGK_ACTIVATION_RELU, u);
    case MGK_FEATURE_SIGMOID:
        return mgk_logistic(u);
    case MGK_FEATURE_EXP:
        return mgk_exp(u);
    case MGK_FEATURE_ABS:
        return u < 0 ? -u : u;
    case MGK_FEATURE_GELU:
        return mgk_activate(MGK_ACTIVATION_GELU, u);
    case MGK_FEATURE_TANH:
        return mgk_tanh(u);
    case MGK_FEATURE_COS:
    case MGK_FEATURE_IDENTITY:
        break;
    }
    return u;
}

/* df f'(u); cos is done apart. */
__attribute__((always_inline)) static inline real gradient_of(mgk_feature_function f, real u,
                                                              real df)
{
    real y;
    switch (f) {
    case MGK_FEATURE_RELU:
        return mgk_activation_gradient(MGK_ACTIVATION_RELU, u, df);
    case MGK_FEATURE_SIGMOID:
        y = mgk_logistic(u);
        return df * (y * (1 - y));
    case MGK_FEATURE_EXP:
        return df * mgk_exp(u);
    case MGK_FEATURE_ABS:
        return u > 0 ? df : u < 0 ? -df : 0;
    case MGK_FEATURE_GELU:
        return mgk_activation_gradient(MGK_ACTIVATION_GELU, u, df);
    case MGK_FEATURE_TANH:
        y = mgk_tanh(u);
        return df * (1 - y * y);
    case MGK_FEATURE_COS:
    case MGK_FEATURE_IDENTITY:
        break;
    }
    return df;
}

/* Callers pass a constant f, so that the loop becomes vector code. */
__attribute__((always_inline)) static inline void
add_values(mgk_feature_function f, size_t count, real epsilon, const real *u, real *feature)
{
#pragma omp simd
    for (size_t k = 0; k < count; k++)
        feature[k] = value(f, u[k]) + epsilon;
}

__attribute__((always_inline)) static inline void take_slopes(mgk_feature_function f, size_t count,
                                                              const real *u, real *gradient)
{
#pragma omp simd
    for (size_t k = 0; k < count; k++)
        gradient[k] = gradient_of(f, u[k], gradient[k]);
}

/* Numbers whose sine and cosine are computed at once. */
enum { PART = 32 };

static size_t part_at(size_t k, size_t count)
{
    return count - k < PART ? count - k : PART;
}

void MGK_CPU(feature_values)(const mgk_features *features, size_t count, const real *u,
                             real *feature)
{
    const real epsilon = (real)features->epsilon;
    real sine[PART];
    switch (features->function) {
    case MGK_FEATURE_RELU:
        add_values(MGK_FEATURE_RELU, count, epsilon, u, feature);
        break;
    case MGK_FEATURE_SIGMOID:
        add_values(MGK_FEATURE_SIGMOID, count, epsilon, u, feature);
        break;
    case MGK_FEATURE_EXP:
        add_values(MGK_FEATURE_EXP, count, epsilon, u, feature);
        break;
    case MGK_FEATURE_ABS:
        add_values(MGK_FEATURE_ABS, count, epsilon, u, feature);
        break;
    case MGK_FEATURE_GELU:
        add_values(MGK_FEATURE_GELU, count, epsilon, u, feature);
        break;
    case MGK_FEATURE_TANH:
        add_values(MGK_FEATURE_TANH, count, epsilon, u, feature);
        break;
    case MGK_FEATURE_IDENTITY:
        add_values(MGK_FEATURE_IDENTITY, count, epsilon, u, feature);
        break;
    case MGK_FEATURE_COS:
        for (size_t k = 0; k < count; k += PART)
            mgk_sincos_row(part_at(k, count), u + k, sine, feature + k);
        add_values(MGK_FEATURE_IDENTITY, count, epsilon, feature, feature);
        break;
    }
}

void MGK_CPU(feature_slopes)(const mgk_features *features, size_t count, const real *u,
                             real *gradient)
{
    real sine[PART], cosine[PART];
    switch (features->function) {
    case MGK_FEATURE_RELU:
        take_slopes(MGK_FEATURE_RELU, count, u, gradient);
        break;
    case MGK_FEATURE_SIGMOID:
        take_slopes(MGK_FEATURE_SIGMOID, count, u, gradient);
        break;
    case MGK_FEATURE_EXP:
        take_slopes(MGK_FEATURE_EXP, count, u, gradient);
        break;
    case MGK_FEATURE_ABS:
        take_slopes(MGK_FEATURE_ABS, count, u, gradient);
        break;
    case MGK_FEATURE_GELU:
        take_slopes(MGK_FEATURE_GELU, count, u, gradient);
        break;
    case MGK_FEATURE_TANH:
        take_slopes(MGK_FEATURE_TANH, count, u, gradient);
        break;
    case MGK_FEATURE_IDENTITY:
        break;
    case MGK_FEATURE_COS:
        for (size_t k = 0; k < count; k += PART) {
            mgk_sincos_row(part_at(k, count), u + k, sine, cosine);
            for (size_t i = 0; i < part_at(k, count); i++)
                gradient[k + i] *= -sine[i];
        }
        break;
    }
}
