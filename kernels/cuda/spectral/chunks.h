/* Batches that are larger than the device has room for are solved in chunks. */
#ifndef MGK_KERNELS_CUDA_CHUNKS_H
#define MGK_KERNELS_CUDA_CHUNKS_H

#include "kernels/cuda/cuda.h"

/* Of a chunk, where nothing asks for fewer. */
static const size_t mgk_cuda_most_matrices = 16384;

/*
 * Divides count > 0 matrices into chunks of about equal size, at most `most` in each, whose arrays
 * fit into most of the free memory or hold one matrix alone; *chunk is the size of the first. Their
 * arrays, in the device's scratch memory, are laid out by
 *     mgk_status arrays(size_t chunk, uintptr_t memory, size_t *bytes)
 * from the address `memory` on; *bytes is what they take.
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
