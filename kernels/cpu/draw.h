/* SPDX-License-Identifier: MIT */
/* Random words of masks. */
#ifndef MGK_KERNELS_CPU_DRAW_H
#define MGK_KERNELS_CPU_DRAW_H

#include "base/random.h"
#include "kernels/cpu/cpu.h"

/* Words that are drawn at a time: they fit the stack and the L1 cache. */
enum { MGK_DRAWN_WORDS = 1024 };

/* words[i] = word i % 4 of random block first + i / 4, for `blocks` of them. */
static inline void mgk_cpu_draw_words(uint64_t seed, uint64_t stream, uint64_t first, size_t blocks,
                                      uint32_t words[MGK_DRAWN_WORDS])
{
#pragma omp simd
    for (size_t j = 0; j < blocks; j++) {
        mgk_random4 block = mgk_random_block(seed, stream, first + j);
        words[4 * j] = block.word[0];
        words[4 * j + 1] = block.word[1];
        words[4 * j + 2] = block.word[2];
        words[4 * j + 3] = block.word[3];
    }
}

#endif
