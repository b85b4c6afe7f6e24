/* SPDX-License-Identifier: MIT */
/* exp and Φ under the CPU's names (kernels/cpu/exp.h, normal.h). */
#ifndef MGK_KERNELS_CUDA_ELEMENTARY_H
#define MGK_KERNELS_CUDA_ELEMENTARY_H

#include "kernels/cuda/cuda.h"

template <typename real> __device__ static inline real mgk_exp(real x)
{
    return exp(x);
}

/* Φ(x); *bell receives exp(−x²/2). */
template <typename real> __device__ static inline real mgk_normal_distribution(real x, real *bell)
{
    *bell = exp((real)-0.5 * x * x);
    return normcdf(x);
}

#endif
