/* SPDX-License-Identifier: MIT */
/* The factors of an AdamW step, the same on all devices. */
#ifndef MGK_KERNELS_ADAMW_H
#define MGK_KERNELS_ADAMW_H

#include <math.h>

#include "base/random.h"
#include "kernels/backend.h"

/*
 * A step of AdamW with gradient g, weight w and moments m, v is
 *     m = β₁ m + (1 − β₁) scale g,   v = β₂ v + (1 − β₂) (scale g)²,
 *     w = keep w − rate m / (correction √v + ε).
 * These factors change from step to step.
 */
typedef struct mgk_adamw_factors {
    double scale, keep, rate, correction;
} mgk_adamw_factors;

MGK_HOST_DEVICE static inline mgk_adamw_factors mgk_adamw_factors_of(const mgk_adamw *settings,
                                                                     const mgk_adamw_step *step)
{
    const double norm = sqrt(step->squares);
    mgk_adamw_factors factors;
    factors.scale = settings->clip > 0 && norm > settings->clip ? settings->clip / norm : 1;
    factors.keep = 1 - step->rate * settings->decay;
    factors.rate = step->rate / step->correction1;
    factors.correction = 1 / sqrt(step->correction2);
    return factors;
}

#endif
