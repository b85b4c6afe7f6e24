/* SPDX-License-Identifier: MIT */
/* The instruction sets of the processor, which decide the kernels. */
#ifndef MGK_KERNELS_PROCESSOR_H
#define MGK_KERNELS_PROCESSOR_H

#include <stddef.h>

/*
 * The x86-64 level that the processor and its operating system support: 4 (AVX-512 F, BW, CD, DQ,
 * VL), 3 (AVX2, FMA), 2 (SSE4.2) or 1. 0 on other architectures.
 */
int mgk_processor_level(void);

/*
 * Writes the processor's name, "AMD EPYC 9654 (family 25, model 17)", or the architecture's name
 * without CPUID, to name [size].
 */
void mgk_processor_name(char *name, size_t size);

#endif
