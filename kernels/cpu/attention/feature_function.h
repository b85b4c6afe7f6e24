/* SPDX-License-Identifier: MIT */
/* The functions f of MGK_FEATURES_KERNEL, whose features are f(w_r·x') + epsilon. */
#ifndef MGK_KERNELS_CPU_FEATURE_FUNCTION_H
#define MGK_KERNELS_CPU_FEATURE_FUNCTION_H

#include "kernels/backend.h"
#include "kernels/cpu/cpu.h"

/* feature [count] = f(u [count]) + epsilon. */
void MGK_CPU(feature_values)(const mgk_features *features, size_t count, const real *u,
                             real *feature);

/* gradient [count], of the features, becomes that of u [count]. */
void MGK_CPU(feature_slopes)(const mgk_features *features, size_t count, const real *u,
                             real *gradient);

#endif
