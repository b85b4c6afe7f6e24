/* SPDX-License-Identifier: MIT */
/* Asynchronous copies to shared memory. The emulator makes them when the thread waits for them, so
 * that a missing wait gives wrong numbers. */
#ifndef MGK_TESTS_EMULATOR_CUDA_PIPELINE_H
#define MGK_TESTS_EMULATOR_CUDA_PIPELINE_H

#include "cuda_runtime.h"

void __pipeline_memcpy_async(void *to, const void *from, size_t bytes);
void __pipeline_commit(void);
void __pipeline_wait_prior(size_t groups); /* 0 */

#endif
