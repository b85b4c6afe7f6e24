/* SPDX-License-Identifier: MIT */
/* The vectors of the instruction-set level that a file is compiled for. */
#ifndef MGK_KERNELS_CPU_VECTOR_H
#define MGK_KERNELS_CPU_VECTOR_H

#include "kernels/cpu/cpu.h"

#if defined(__AVX512F__)
enum { MGK_VECTOR_BYTES = 64 };
#elif defined(__AVX__)
enum { MGK_VECTOR_BYTES = 32 };
#else
enum { MGK_VECTOR_BYTES = 16 };
#endif
typedef real mgk_vector __attribute__((vector_size(MGK_VECTOR_BYTES), may_alias));
/* The same for memory that is not aligned to whole vectors. */
typedef real mgk_loose_vector
    __attribute__((vector_size(MGK_VECTOR_BYTES), may_alias, aligned(sizeof(real))));
enum { MGK_VECTOR_LANES = MGK_VECTOR_BYTES / (int)sizeof(real) };

/* The sum of a vector's lanes. */
static inline real mgk_vector_sum(mgk_vector x)
{
    real sum = 0;
    for (int lane = 0; lane < MGK_VECTOR_LANES; lane++)
        sum += x[lane];
    return sum;
}

#endif
