/* SPDX-License-Identifier: MIT */
/*
 * The feature map of linear attention, φ(x) = elu(x) + 1 = max(x, 0) + exp(min(x, 0)), its slope
 * and the normalizer of a row, defined once for all devices.
 *
 * Features are scaled to at most 1: a query's by its largest element, the keys' by the largest
 * element of the head. The scales cancel in the normalisation (normalizer_epsilon is scaled too).
 * So neither features nor scores overflow, and they do not all underflow together. Where rows are
 * divided by a constant, scales would not cancel: features keep their size, and scores overflow
 * only if they exceed the precision.
 */
#ifndef MGK_KERNELS_FEATURE_H
#define MGK_KERNELS_FEATURE_H

#include <float.h>
#include <math.h>

#include "kernels/backend.h"
#include "kernels/real.h"

/* Features are divided by exp(shift) / inverse, which is at least the largest of them. */
#ifdef __cplusplus
template <typename real> struct mgk_feature_scale {
    real shift, inverse;
};
#define MGK_FEATURE_SCALE mgk_feature_scale<real>
#else
typedef struct mgk_feature_scale {
    real shift, inverse;
} mgk_feature_scale;
#define MGK_FEATURE_SCALE mgk_feature_scale
#endif

/* The scale of vectors whose largest element is `maximum`. */
MGK_REAL_FUNCTION MGK_FEATURE_SCALE mgk_feature_scale_for(const mgk_linear *linear, real maximum)
{
    MGK_FEATURE_SCALE scale = {0, 1};
    if (linear->fixed_normalizer > 0)
        return scale;
    scale.shift = maximum < 0 ? maximum : 0;
    scale.inverse = maximum > 0 ? 1 / (maximum + 1) : 1;
    return scale;
}

/* φ(x), scaled. */
MGK_REAL_FUNCTION real mgk_feature(real x, MGK_FEATURE_SCALE scale)
{
    real positive = x < 0 ? 0 : x, negative = x < 0 ? x : 0; /* keeps NaN */
    return (positive + mgk_exp(negative - scale.shift)) * scale.inverse;
}

/* φ'(x) = min(φ(x), 1), scaled, from the scaled φ(x). */
MGK_REAL_FUNCTION real mgk_feature_slope(real feature, MGK_FEATURE_SCALE scale)
{
    return feature < scale.inverse ? feature : scale.inverse;
}

/* Whether a row with this sum of scaled scores has vanished: underflow has cost it digits. */
MGK_REAL_FUNCTION bool mgk_feature_sum_vanished(real sum)
{
    return sum < (sizeof(real) == sizeof(double) ? (real)(DBL_MIN / DBL_EPSILON)
                                                 : (real)(FLT_MIN / FLT_EPSILON));
}

/* 1 / Z_i of a row from the sum of its scaled scores; 0 if the scores have vanished. */
MGK_REAL_FUNCTION real mgk_feature_normalizer(const mgk_linear *linear, MGK_FEATURE_SCALE query,
                                              MGK_FEATURE_SCALE key, real sum)
{
    const double epsilon = linear->normalizer_epsilon;
    if (linear->fixed_normalizer > 0)
        return (real)(1 / linear->fixed_normalizer);
    if (epsilon > 0)
        sum += (real)(epsilon * exp(-((double)query.shift + (double)key.shift)) *
                      (double)query.inverse * (double)key.inverse);
    return mgk_feature_sum_vanished(sum) ? 0 : 1 / sum;
}

/* π clamped to [0, 1]; NaN becomes 0. */
MGK_REAL_FUNCTION real mgk_feature_prior(real p)
{
    return p >= 1 ? 1 : p > 0 ? p : 0;
}

#endif
