/* SPDX-License-Identifier: MIT */
/* Singular values on the CPU, for all variants; see kernels/spectral/operations.h. */
#ifndef MGK_KERNELS_CPU_SINGULAR_VALUES_H
#define MGK_KERNELS_CPU_SINGULAR_VALUES_H

#include "kernels/backend.h"

mgk_singular_values_fn mgk_cpu_singular_values;

#endif
