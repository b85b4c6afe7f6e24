/* SPDX-License-Identifier: MIT */
/* Products of OpenBLAS, which threads compute in slices of C. */
#ifndef MGK_KERNELS_CPU_GEMM_H
#define MGK_KERNELS_CPU_GEMM_H

#include "kernels/blas.h"
#include "kernels/cpu/cpu.h"

#if MGK_CPU_REAL == 64
#define MGK_CPU_GEMM mgk_blas.dgemm
#else
#define MGK_CPU_GEMM mgk_blas.sgemm
#endif

/* Slices are multiples of this many rows or columns, which fill the kernels of OpenBLAS. */
enum { MGK_CPU_SLICE_UNIT = 32 };

/* The most slices of so many rows or columns. */
static inline size_t mgk_cpu_slice_units(size_t extent)
{
    return (extent + MGK_CPU_SLICE_UNIT - 1) / MGK_CPU_SLICE_UNIT;
}

typedef struct mgk_cpu_slice {
    size_t first, count; /* rows or columns */
} mgk_cpu_slice;

/* Slice i of `slices`, at most mgk_cpu_slice_units(extent), of sizes that are nearly equal. */
static inline mgk_cpu_slice mgk_cpu_slice_of(size_t extent, size_t slices, size_t i)
{
    const size_t units = mgk_cpu_slice_units(extent);
    const size_t first = units * i / slices * MGK_CPU_SLICE_UNIT;
    const size_t end = units * (i + 1) / slices * MGK_CPU_SLICE_UNIT;
    return (mgk_cpu_slice){first, (end < extent ? end : extent) - first};
}

#endif
