/* SPDX-License-Identifier: MIT */
/* A hash of all bits of a matrix: the sum of random numbers, each drawn from an entry and its
 * place. */
#include <string.h>

#include "base/random.h"
#include "kernels/cuda/operations.h"
#include "kernels/cuda/sums.h"

static const size_t most_blocks = 1024;

__global__ void hash_parts(size_t rows, size_t columns, size_t stride, const double *a,
                           uint64_t *parts)
{
    uint64_t sum = 0, bits;
    for (size_t e = mgk_cuda_first(); e < rows * columns; e += mgk_cuda_step()) {
        memcpy(&bits, a + e / columns * stride + e % columns, sizeof(bits));
        const mgk_random4 block = mgk_random_block(bits, 0, e);
        sum += (uint64_t)block.word[0] << 32 | block.word[1];
    }
    sum = mgk_block_sum(sum);
    if (threadIdx.x == 0)
        parts[blockIdx.x] = sum;
}

/* One block. */
__global__ void add_parts(size_t count, const uint64_t *parts, uint64_t *hash)
{
    uint64_t sum = 0;
    for (size_t i = threadIdx.x; i < count; i += MGK_CUDA_BLOCK)
        sum += parts[i];
    sum = mgk_block_sum(sum);
    if (threadIdx.x == 0)
        *hash = sum;
}

mgk_status mgk_cuda_hash_entries(mgk_device *device, size_t rows, size_t columns, size_t stride,
                                 const double *a, uint64_t *hash)
{
    const size_t wanted = mgk_cuda_blocks(rows * columns);
    const size_t blocks = wanted < most_blocks ? wanted : most_blocks;
    uint64_t *parts;
    TRY(mgk_cuda_scratch(device, (blocks + 1) * sizeof(*parts), &parts));
    TRY(mgk_cuda_launch(device, hash_parts, blocks, MGK_CUDA_BLOCK, 0, rows, columns, stride, a,
                        parts));
    TRY(mgk_cuda_launch(device, add_parts, 1, MGK_CUDA_BLOCK, 0, blocks, parts, parts + blocks));
    return mgk_cuda_download(device, hash, parts + blocks, sizeof(*hash));
}
