/* SPDX-License-Identifier: MIT */
/* Opening the CPU. */
#ifndef MGK_KERNELS_CPU_DEVICE_H
#define MGK_KERNELS_CPU_DEVICE_H

#include "kernels/backend.h"

/*
 * Opens the CPU with the variant of kernels/cpu/variant.h. OpenBLAS has one thread: OpenMP runs
 * heads, rows and matrices in parallel. Uses fewer threads than requested if the process cannot
 * have the memory for all (mgk_blas_reserve).
 */
mgk_status mgk_cpu_open(mgk_precision precision, int threads, mgk_device **out);
mgk_close_fn mgk_cpu_close;

#endif
