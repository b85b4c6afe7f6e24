/* SPDX-License-Identifier: MIT */
/*
 * A matrix in the shared memory of a cluster of blocks, for all steps of its reduction: of P
 * blocks, block b has the columns b, b + P, b + 2 P, ….
 */
#ifndef MGK_KERNELS_CUDA_PART_H
#define MGK_KERNELS_CUDA_PART_H

#include <math.h>

#include "kernels/cuda/spectral/messages.h"

enum {
    MGK_PART_THREADS = 512, /* per block, at most */
    MGK_MAILBOXES = 3       /* of a block */
};

/* What one warp finds: for the other threads of its block; `largest` for the other blocks, too. */
struct mgk_tail {
    double largest; /* of its entries' magnitudes */
    double squares; /* of its part of the row */
    double product; /* of its parts of the row and y */
};

/*
 * A block's part of a matrix, in shared memory. All blocks have u and x of all rows. Row i belongs
 * to block i mod P, as column i does; it adds up x_i from the parts of all blocks.
 */
struct mgk_part {
    int order, rank, blocks;
    int columns;      /* of the block, and its rows */
    int most;         /* columns of a block, at most */
    double2 *updates; /* [order]: x of the previous step, and the next column before reflection */
    double2 *parts;   /* [blocks, most]: of the block's rows: parts of A v, and of the column */
    double2 *lengths; /* [2, blocks]: of even and odd steps: squares of the row, and its head */
    double *slab;     /* [columns, order] */
    double *u, *next; /* [order]: of the previous step, and of this step */
    double *y, *v, *row; /* [columns] */
    double *partial;     /* [threads], parts of A v */
    double *sums;        /* [warps] */
    mgk_tail *tail;
    mgk_mailbox *for_parts;   /* [2]: of even and odd steps; for_updates follows */
    mgk_mailbox *for_updates; /* one */

    __device__ mgk_part(size_t n, size_t matrix_order, void *memory)
    {
        blocks = mgk_cluster_blocks();
        rank = mgk_cluster_rank();
        order = (int)matrix_order;
        columns = count_before(order);
        most = ((int)n + blocks - 1) / blocks;
        updates = (double2 *)memory;
        parts = updates + n;
        lengths = parts + blocks * most;
        slab = (double *)(lengths + 2 * blocks);
        u = slab + most * (int)n;
        next = u + n;
        y = next + n;
        v = y + most;
        row = v + most;
        partial = row + most;
        sums = partial + blockDim.x;
        tail = (mgk_tail *)(sums + MGK_PART_THREADS / MGK_WARP);
        for_parts = (mgk_mailbox *)(tail + 1);
        for_updates = for_parts + 2;
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
    const size_t most = (n + blocks - 1) / blocks;
    const size_t pairs = n + blocks * most + 2 * blocks;
    const size_t numbers = most * n + 2 * n + 3 * most + threads + MGK_PART_THREADS / MGK_WARP;
    return pairs * sizeof(double2) + numbers * sizeof(double) + sizeof(mgk_tail) +
           MGK_MAILBOXES * sizeof(mgk_mailbox);
}

/* The sum over the block, for every thread. Between two calls there is a barrier of the block. */
__device__ static double mgk_part_sum(const mgk_part &p, double x)
{
    double sum = 0;
    x = mgk_lanes_sum(x, MGK_WARP);
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
        p.tail->largest = largest;
    mgk_cluster_sync();
    for (int b = 0; b < p.blocks; b++)
        largest = mgk_larger(largest, mgk_cluster_at(p.tail, b)->largest);
    return largest;
}

/*
 * Fills the part with A / 2^*exponent, whose largest entry is near 1, and prepares the first step;
 * false if an entry is not finite.
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
    for (int i = (int)threadIdx.x; i < p.order; i += step) {
        p.u[i] = 0;
        p.updates[i] = make_double2(0, scalbn(matrix[i], -*exponent));
    }
    for (int c = (int)threadIdx.x; c < p.columns; c += step)
        p.y[c] = p.v[c] = 0;
    __syncthreads();
    return isfinite(largest);
}

#endif
