/* SPDX-License-Identifier: MIT */
/*
 * Messages between the blocks of a cluster: a block stores a pair of numbers in the shared memory
 * of another, whose mailbox counts the bytes that have arrived. So blocks wait for numbers only,
 * not for each other's caches as a barrier of the cluster makes them.
 *
 * The stores are st.async, the mailbox is an mbarrier. The end of its phase releases the stored
 * values to the cluster; one warp of the receiver acquires them, and a barrier of the block passes
 * them on to the other threads.
 */
#ifndef MGK_KERNELS_CUDA_MESSAGES_H
#define MGK_KERNELS_CUDA_MESSAGES_H

#include "kernels/cuda/spectral/clusters.h"
#include "kernels/cuda/sums.h"

/* The instructions; the emulator has its own. */
#ifndef MGK_CUDA_EMULATED
__device__ static inline unsigned mgk_shared_address(const void *own)
{
    return (unsigned)__cvta_generic_to_shared(own);
}

#if MGK_CLUSTERS
/* To be followed by a barrier of the cluster. */
__device__ static inline void mgk_mbarrier_init(uint64_t *barrier, unsigned arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;\n\t"
                 "fence.mbarrier_init.release.cluster;" ::"r"(mgk_shared_address(barrier)),
                 "r"(arrivals)
                 : "memory");
}

/* One arrival, and `bytes` more that the phase waits for; they may have arrived before. */
__device__ static inline void mgk_mbarrier_arrive_expect(uint64_t *barrier, unsigned bytes)
{
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(mgk_shared_address(barrier)),
        "r"(bytes)
        : "memory");
}

/* Whether the phase of this parity has ended, after waiting for some time. */
__device__ static inline bool mgk_mbarrier_try_wait(uint64_t *barrier, unsigned parity)
{
    unsigned ended;
    asm volatile("{\n\t"
                 ".reg .pred ended;\n\t"
                 "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 ended, [%1], %2;\n\t"
                 "selp.u32 %0, 1, 0, ended;\n\t"
                 "}"
                 : "=r"(ended)
                 : "r"(mgk_shared_address(barrier)), "r"(parity)
                 : "memory");
    return ended;
}

/* Stores value at `place` of block `rank`, whose barrier then counts 16 bytes. */
__device__ static inline void mgk_store_async(double2 *place, double2 value, uint64_t *barrier,
                                              int rank)
{
    asm volatile("{\n\t"
                 ".reg .b32 place, barrier;\n\t"
                 "mapa.shared::cluster.u32 place, %0, %4;\n\t"
                 "mapa.shared::cluster.u32 barrier, %1, %4;\n\t"
                 "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.f64 "
                 "[place], {%2, %3}, [barrier];\n\t"
                 "}" ::"r"(mgk_shared_address(place)),
                 "r"(mgk_shared_address(barrier)), "d"(value.x), "d"(value.y), "r"(rank)
                 : "memory");
}
#endif
#endif

/* Counts what other blocks post; in shared memory, at the same place in every block. */
struct mgk_mailbox {
    uint64_t barrier;
};

/* For one thread of each block; mgk_cluster_sync must follow before the first message. */
__device__ static inline void mgk_open_mailbox(mgk_mailbox *mailbox)
{
#if MGK_CLUSTERS
    mgk_mbarrier_init(&mailbox->barrier, 1);
#else
    mailbox->barrier = 0;
#endif
}

/*
 * Stores a pair at `place` of block `rank`: own for the calling block, otherwise as a message to
 * the mailbox there. The place and the mailbox are given as the caller's own.
 */
__device__ static inline void mgk_post(double2 *place, double2 pair, mgk_mailbox *mailbox, int rank)
{
    if (rank == mgk_cluster_rank())
        *place = pair;
#if MGK_CLUSTERS
    else
        mgk_store_async(place, pair, &mailbox->barrier, rank);
#else
    (void)mailbox;
#endif
}

/*
 * For one whole warp of each block: waits until other blocks have posted `messages` since the last
 * wait. `round` counts the waits for this mailbox, from 0; all blocks post for the same round. The
 * other threads see the pairs after a barrier of the block.
 */
__device__ static inline void mgk_await_messages(mgk_mailbox *mailbox, unsigned messages,
                                                 unsigned round)
{
#if MGK_CLUSTERS
    if (mgk_cluster_blocks() == 1)
        return;
    if (threadIdx.x % MGK_WARP == 0)
        mgk_mbarrier_arrive_expect(&mailbox->barrier, messages * (unsigned)sizeof(double2));
    while (!mgk_mbarrier_try_wait(&mailbox->barrier, round % 2))
        ;
#else
    (void)mailbox, (void)messages, (void)round;
#endif
}

#endif
