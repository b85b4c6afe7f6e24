/* SPDX-License-Identifier: MIT */
/*
 * A matrix in the shared memory of a cluster of blocks, for all steps of its reduction: of P
 * blocks, block b has the columns b, b + P, b + 2 P, ….
 */
#ifndef MGK_KERNELS_CUDA_PART_H
#define MGK_KERNELS_CUDA_PART_H

#include <math.h>

#include "kernels/cuda/spectral/clusters.h"
#include "kernels/cuda/sums.h"

enum { MGK_PART_THREADS = 512 }; /* per block, at most */

/* Values that a block publishes to the others. */
struct mgk_message {
    double largest; /* of its entries' magnitudes */
    double tau;     /* of the column that it owns */
    double squares; /* of its part of the row */
    double product; /* of its parts of y and v */
};

/* A block's part of a matrix, in shared memory; all blocks have the arrays of step k. */
struct mgk_part {
    int order, rank, blocks;
    int columns;         /* of the block */
    double *slab;        /* [columns, order] */
    double *u, *x;       /* [order], of the previous step */
    double *next;        /* [order], u of this step */
    double *y, *v, *row; /* [columns] */
    double *partial;     /* [threads], parts of x */
    double *sums;        /* [warps] */
    mgk_message *told;

    __device__ mgk_part(size_t n, size_t matrix_order, double *memory)
    {
        const size_t most = (n + (size_t)mgk_cluster_blocks() - 1) / (size_t)mgk_cluster_blocks();
        order = (int)matrix_order;
        rank = mgk_cluster_rank();
        blocks = mgk_cluster_blocks();
        columns = count_before(order);
        slab = memory;
        u = slab + most * n;
        x = u + n;
        next = x + n;
        y = next + n;
        v = y + most;
        row = v + most;
        partial = row + most;
        sums = partial + blockDim.x;
        told = (mgk_message *)(sums + MGK_PART_THREADS / MGK_WARP);
    }
    /* The block's columns among the first j of the matrix. */
    __device__ int count_before(int j) const
    {
        return j > rank ? (j - rank + blocks - 1) / blocks : 0;
    }
    __device__ double *column(int c) const
    {
        return slab + c * order;
    }
};

/* Bytes of shared memory of a block, in the constructor's layout. */
static size_t mgk_part_bytes(size_t n, size_t blocks, size_t threads)
{
    const size_t columns = (n + blocks - 1) / blocks;
    return (columns * n + 3 * n + 3 * columns + threads + MGK_PART_THREADS / MGK_WARP) *
               sizeof(double) +
           sizeof(mgk_message);
}

/* The sum over the block, for every thread. */
__device__ static double mgk_part_sum(const mgk_part &p, double x)
{
    double sum = 0;
    x = mgk_lanes_sum(x, MGK_WARP);
    __syncthreads(); /* earlier sums may still be read */
    if (threadIdx.x % MGK_WARP == 0)
        p.sums[threadIdx.x / MGK_WARP] = x;
    __syncthreads();
    for (unsigned warp = 0; warp < blockDim.x / MGK_WARP; warp++)
        sum += p.sums[warp];
    return sum;
}

/* The largest magnitude of the matrix; NaN if an entry is. */
__device__ static double mgk_part_largest(const mgk_part &p, double largest)
{
    largest = mgk_lanes_max(largest, MGK_WARP);
    if (threadIdx.x % MGK_WARP == 0)
        p.sums[threadIdx.x / MGK_WARP] = largest;
    __syncthreads();
    for (unsigned warp = 0; threadIdx.x == 0 && warp < blockDim.x / MGK_WARP; warp++)
        largest = mgk_larger(largest, p.sums[warp]);
    if (threadIdx.x == 0)
        p.told->largest = largest;
    mgk_cluster_sync();
    for (int b = 0; b < p.blocks; b++)
        largest = mgk_larger(largest, mgk_cluster_at(p.told, b)->largest);
    return largest;
}

/*
 * Fills the part with A / 2^*exponent, whose largest entry is near 1; false if an entry is not
 * finite.
 */
__device__ static bool mgk_part_load(const mgk_part &p, const double *matrix, int *exponent)
{
    const int entries = p.columns * p.order, step = (int)blockDim.x;
    double largest = 0;
    for (int e = (int)threadIdx.x; e < entries; e += step) {
        const int c = e / p.order, i = e % p.order;
        p.slab[e] = matrix[(size_t)(p.rank + c * p.blocks) * (size_t)p.order + (size_t)i];
        largest = mgk_larger(largest, fabs(p.slab[e]));
    }
    largest = mgk_part_largest(p, largest);
    *exponent = largest > 0 && isfinite(largest) ? ilogb(largest) : 0;
    for (int e = (int)threadIdx.x; e < entries; e += step)
        p.slab[e] = scalbn(p.slab[e], -*exponent);
    for (int i = (int)threadIdx.x; i < p.order; i += step)
        p.u[i] = p.x[i] = 0;
    for (int c = (int)threadIdx.x; c < p.columns; c += step)
        p.y[c] = p.v[c] = 0;
    __syncthreads();
    return isfinite(largest);
}

#endif
