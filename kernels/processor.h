/* The instruction sets of the processor, by which kernels are chosen. */
#ifndef MGK_KERNELS_PROCESSOR_H
#define MGK_KERNELS_PROCESSOR_H

#include <stddef.h>

/*
 * The x86-64 level of the processor and its operating system: 4 (AVX-512 F, BW, CD, DQ, VL), 3
 * (AVX2, FMA), 2 (SSE4.2) or 1. 0 where the processor is of another architecture.
 */
int mgk_processor_level(void);

/* Its name, "AMD EPYC 9654 (family 25, model 17)"; the architecture's name where CPUID is not
 * there. */
void mgk_processor_name(char *name, size_t size);

#endif
