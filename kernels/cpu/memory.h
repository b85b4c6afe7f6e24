/* SPDX-License-Identifier: MIT */
/*
 * Memory operations of the CPU, and operations that do nothing or fail there, for all variants.
 * kernels/backend.h describes them.
 */
#ifndef MGK_KERNELS_CPU_MEMORY_H
#define MGK_KERNELS_CPU_MEMORY_H

#include "kernels/backend.h"

mgk_allocate_fn mgk_cpu_allocate;
mgk_release_fn mgk_cpu_release;
/* Host and device memory are the same: this is upload, download and copy. */
mgk_copy_fn mgk_cpu_copy;
mgk_zero_fn mgk_cpu_zero;
mgk_synchronize_fn mgk_cpu_synchronize;
mgk_memory_fn mgk_cpu_memory;

/* A mirror's host copy is the array itself: nothing to send or wait for. */
mgk_mirror_open_fn mgk_cpu_mirror_open;
mgk_mirror_send_fn mgk_cpu_mirror_send;
mgk_mirror_close_fn mgk_cpu_mirror_close;

mgk_allow_tf32_fn mgk_cpu_allow_tf32;

#endif
