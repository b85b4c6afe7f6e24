/* SPDX-License-Identifier: MIT */
/* The vectors of the instruction-set level that a file is compiled for. */
#ifndef MGK_KERNELS_CPU_VECTOR_H
#define MGK_KERNELS_CPU_VECTOR_H

#include <string.h>

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

/* The sum of a vector's lanes, by halves: few of its additions wait for each other. */
static inline real mgk_vector_sum(mgk_vector x)
{
    real lane[MGK_VECTOR_LANES];
    memcpy(lane, &x, sizeof(x));
#pragma GCC unroll 4
    for (int half = MGK_VECTOR_LANES / 2; half > 0; half /= 2)
#pragma GCC unroll 8
        for (int i = 0; i < half; i++)
            lane[i] += lane[i + half];
    return lane[0];
}

#endif
