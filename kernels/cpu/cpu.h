/* SPDX-License-Identifier: MIT */
/*
 * Shared by the CPU operations. Every file of this folder but device.c, memory.c, recording.c,
 * singular_values.c and variant.c is compiled once for each precision and instruction-set level,
 * or for float64 only; the build defines
 *     MGK_CPU_REAL   32 or 64
 *     MGK_CPU_LEVEL  v2, v3 or v4 (x86-64 levels), or base elsewhere
 * and the names that leave a file carry both: MGK_CPU(embed) is mgk_cpu_embed_32_v4.
 * The table of a variant is made in table.c; variant.c picks one at run time.
 */
#ifndef MGK_KERNELS_CPU_CPU_H
#define MGK_KERNELS_CPU_CPU_H

#include "kernels/backend.h"

#define MGK_CPU_JOIN_(name, real, level) mgk_cpu_##name##_##real##_##level
#define MGK_CPU_JOIN(name, real, level) MGK_CPU_JOIN_(name, real, level)
#define MGK_CPU(name) MGK_CPU_JOIN(name, MGK_CPU_REAL, MGK_CPU_LEVEL)

#if MGK_CPU_REAL == 64
typedef double real;
typedef int64_t real_int; /* an integer as wide as a real, for bit work */
#else
typedef float real;
typedef int32_t real_int;
#endif

/* Lanes of the kernels' vectors: 64 bytes on every level. */
enum { MGK_LANES = (int)(64 / sizeof(real)) };

/* count rounded up to whole vectors. */
static inline size_t mgk_cpu_padded(size_t count)
{
    return (count + MGK_LANES - 1) / MGK_LANES * MGK_LANES;
}

/*
 * The same for the length of rows that are read together. The number of vectors is odd: rows at
 * distances of a power of two would evict each other from the cache.
 */
static inline size_t mgk_cpu_pitch(size_t count)
{
    return mgk_cpu_padded(count) | MGK_LANES;
}

/*
 * Scratch memory of one thread inside a parallel region: at least `bytes_per_thread`, 64-byte
 * aligned, contents undefined, valid until the thread's next call. Reserve it before the region,
 * where failing is still possible.
 */
mgk_status mgk_cpu_reserve_scratch(mgk_device *device, size_t bytes_per_thread);
void *mgk_cpu_scratch(mgk_device *device, int thread);

/* Elementwise operations on fewer elements are faster without a parallel region. */
enum { MGK_CPU_PARALLEL_ELEMENTS = 1 << 14 };

#endif
