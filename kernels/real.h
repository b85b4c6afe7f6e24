/* SPDX-License-Identifier: MIT */
/*
 * Lets functions of real numbers have one definition for the CPU and for CUDA: the specifier
 * MGK_REAL_FUNCTION, and exp and Φ under the same names.
 */
#ifndef MGK_KERNELS_REAL_H
#define MGK_KERNELS_REAL_H

#ifdef __cplusplus
#include "kernels/cuda/elementary.h"
#else
#include "kernels/cpu/normal.h"
#endif

/*
 * On the CPU `real` is the type that the file is compiled for, and functions are always inlined, so
 * that a loop over one of them becomes vector code. In CUDA they are templates over the type.
 */
#ifdef __cplusplus
#define MGK_REAL_FUNCTION template <typename real> __device__ static inline
#else
#define MGK_REAL_FUNCTION __attribute__((always_inline)) static inline
#endif

#endif
