/* SPDX-License-Identifier: MIT */
/* Solves batches that exceed the device's memory in chunks. */
#ifndef MGK_KERNELS_CUDA_CHUNKS_H
#define MGK_KERNELS_CUDA_CHUNKS_H

#include "kernels/cuda/cuda.h"

/* Matrices of a chunk, unless a solver takes fewer. */
static const size_t mgk_cuda_most_matrices = 16384;

/*
 * Divides count > 0 matrices into chunks of about equal size, at most `most` each, whose arrays fit
 * into 7/8 of the free memory (or hold a single matrix); *chunk is the size of the first. A
 * function
 *     mgk_status arrays(size_t chunk, uintptr_t memory, size_t *bytes)
 * places a chunk's arrays in the device's scratch memory, from the address `memory` on; *bytes is
 * their size.
 */
template <typename Arrays>
mgk_status mgk_cuda_fit(mgk_device *device, size_t count, size_t most, Arrays arrays, size_t *chunk)
{
    size_t left, total, bytes, parts = (count + most - 1) / most;
    void *memory;
    TRY(mgk_cuda_enter(device));
    TRY(mgk_cuda_check(cudaMemGetInfo(&left, &total), "cudaMemGetInfo"));
    const size_t budget = (left + mgk_cuda_of(device)->scratch_bytes) / 8 * 7;
    do {
        *chunk = (count + parts - 1) / parts;
        parts *= 2;
        TRY(arrays(*chunk, 0, &bytes));
    } while (*chunk > 1 && bytes > budget);
    TRY(mgk_cuda_scratch(device, bytes, &memory));
    return arrays(*chunk, (uintptr_t)memory, &bytes);
}

#endif
