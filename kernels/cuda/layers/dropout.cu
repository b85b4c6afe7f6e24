/* SPDX-License-Identifier: MIT */
/* Dropout, fused with the residual sum; masks are the same as on the CPU. */
extern "C" {
#include "base/random.h"
}
#include "kernels/cuda/operations.h"
#include "kernels/dropout.h"

/* A thread processes the elements whose words are in one random block, four but at the ends. */
template <typename real>
__global__ void dropout_add(size_t rows, size_t cols, uint32_t threshold, real scale,
                            const mgk_draw *draw, uint64_t site, const real *x,
                            const real *residual, real *y)
{
    const uint64_t seed = draw->seed, stream = draw->stream + site, before = draw->rows * cols;
    const size_t count = rows * cols, skipped = before % 4;
    for (size_t block = mgk_cuda_first(); 4 * block < skipped + count; block += mgk_cuda_step()) {
        mgk_random4 words = mgk_random_block(seed, stream, before / 4 + block);
        for (size_t word = 0; word < 4; word++) {
            const size_t place = 4 * block + word;
            if (place < skipped || place - skipped >= count)
                continue;
            const size_t i = place - skipped;
            real kept = words.word[word] >= threshold ? x[i] * scale : 0;
            y[i] = (residual ? residual[i] : 0) + kept;
        }
    }
}

template <typename real>
mgk_status mgk_cuda_dropout_add(mgk_device *device, size_t rows, size_t cols, double rate,
                                const mgk_draw *draw, uint64_t site, const void *x,
                                const void *residual, void *y)
{
    return mgk_cuda_launch(device, dropout_add<real>, mgk_cuda_blocks(rows * cols / 4 + 2),
                           MGK_CUDA_BLOCK, 0, rows, cols, mgk_drop_threshold(rate),
                           (real)mgk_drop_scale(rate), draw, site, (const real *)x,
                           (const real *)residual, (real *)y);
}

MGK_CUDA_OPERATION(mgk_cuda_dropout_add);
