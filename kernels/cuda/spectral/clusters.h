/* SPDX-License-Identifier: MIT */
/*
 * A thread-block cluster: blocks that run together and read each other's shared memory. GPUs have
 * clusters from compute capability 9.0 on; on older ones each block is a cluster.
 */
#ifndef MGK_KERNELS_CUDA_CLUSTERS_H
#define MGK_KERNELS_CUDA_CLUSTERS_H

#include <cooperative_groups.h>

#include "kernels/cuda/cuda.h"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define MGK_CLUSTERS 0
#else
#define MGK_CLUSTERS 1
#endif

/* The calling block's number in its cluster. */
__device__ static inline int mgk_cluster_rank(void)
{
#if MGK_CLUSTERS
    return (int)cooperative_groups::this_cluster().block_rank();
#else
    return 0;
#endif
}

/* Blocks of the cluster. */
__device__ static inline int mgk_cluster_blocks(void)
{
#if MGK_CLUSTERS
    return (int)cooperative_groups::this_cluster().num_blocks();
#else
    return 1;
#endif
}

/*
 * Waits for all threads of all blocks; their earlier writes to shared memory are visible
 * afterwards.
 */
__device__ static inline void mgk_cluster_sync(void)
{
#if MGK_CLUSTERS
    cooperative_groups::this_cluster().sync();
#else
    __syncthreads();
#endif
}

/*
 * The address in the shared memory of block `rank` that corresponds to `own` in the calling
 * block's.
 */
template <typename T> __device__ T *mgk_cluster_at(T *own, int rank)
{
#if MGK_CLUSTERS
    return cooperative_groups::this_cluster().map_shared_rank(own, (unsigned)rank);
#else
    return rank == 0 ? own : NULL;
#endif
}

#endif
