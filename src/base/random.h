/* SPDX-License-Identifier: MIT */
/*
 * Counter-based random numbers: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as
 * 1, 2, 3", SC 2011). A number is a pure function of (seed, stream, counter), so any thread or
 * device can compute any part of a sequence, and resuming needs no saved state.
 */
#ifndef MGK_BASE_RANDOM_H
#define MGK_BASE_RANDOM_H

#include <stdint.h>

#ifdef __CUDACC__
#define MGK_HOST_DEVICE __host__ __device__
#else
#define MGK_HOST_DEVICE
#endif

typedef struct mgk_random4 {
    uint32_t word[4];
} mgk_random4;

/* The four words of block `counter` of the given stream. */
MGK_HOST_DEVICE static inline mgk_random4 mgk_random_block(uint64_t seed, uint64_t stream,
                                                           uint64_t counter)
{
    uint32_t x0 = (uint32_t)counter, x1 = (uint32_t)(counter >> 32);
    uint32_t x2 = (uint32_t)stream, x3 = (uint32_t)(stream >> 32);
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)0xD2511F53u * x0;
        uint64_t b = (uint64_t)0xCD9E8D57u * x2;
        x0 = (uint32_t)(b >> 32) ^ x1 ^ k0;
        x1 = (uint32_t)b;
        x2 = (uint32_t)(a >> 32) ^ x3 ^ k1;
        x3 = (uint32_t)a;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    mgk_random4 block = {{x0, x1, x2, x3}};
    return block;
}

/* Word number `index` of the stream. */
MGK_HOST_DEVICE static inline uint32_t mgk_random_u32(uint64_t seed, uint64_t stream,
                                                      uint64_t index)
{
    return mgk_random_block(seed, stream, index / 4).word[index % 4];
}

/* 64-bit number `index` of the stream. */
static inline uint64_t mgk_random_u64(uint64_t seed, uint64_t stream, uint64_t index)
{
    mgk_random4 block = mgk_random_block(seed, stream, index / 2);
    unsigned first = (unsigned)(index % 2) * 2;
    return (uint64_t)block.word[first] << 32 | block.word[first + 1];
}

/* A number in [0, 1), uniform, 53 bits. */
static inline double mgk_random_uniform(uint64_t seed, uint64_t stream, uint64_t index)
{
    return (double)(mgk_random_u64(seed, stream, index) >> 11) * 0x1p-53;
}

/* An integer in [0, bound), bound > 0. The bias of the multiply-shift map is below bound / 2^64. */
static inline uint64_t mgk_random_below(uint64_t seed, uint64_t stream, uint64_t index,
                                        uint64_t bound)
{
    __extension__ typedef unsigned __int128 wide;
    return (uint64_t)(((wide)mgk_random_u64(seed, stream, index) * bound) >> 64);
}

/* A standard normal number (Box-Muller; uses only block `index`). */
double mgk_random_normal(uint64_t seed, uint64_t stream, uint64_t index);

/*
 * A sequential reader of one stream, for algorithms that draw an unknown number of values (trees,
 * shuffles). Its only state is the index.
 */
typedef struct mgk_random {
    uint64_t seed, stream, index;
} mgk_random;

static inline uint64_t mgk_random_next_below(mgk_random *random, uint64_t bound)
{
    return mgk_random_below(random->seed, random->stream, random->index++, bound);
}

static inline double mgk_random_next_uniform(mgk_random *random)
{
    return mgk_random_uniform(random->seed, random->stream, random->index++);
}

#endif
