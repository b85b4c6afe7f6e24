/* SPDX-License-Identifier: MIT */
/*
 * Bidiagonal form by Householder reflections, one cluster of blocks per matrix. The matrix stays in
 * the blocks' shared memory during all steps: of P blocks, block b holds the columns b, b + P,
 * b + 2 P, …. Here column j is row j of the stored matrix; its transpose has the same singular
 * values.
 *
 * Step k applies the reflection I - τ u uᵀ, which clears column k below the diagonal, and then
 * I - τ' v vᵀ, which clears row k right of the superdiagonal:
 *     y = τ Aᵀ u,   x = τ' (A - u yᵀ) v,   A ← A - u yᵀ - x vᵀ.
 * The next step applies the last update while it reads every entry for its own y. So a step reads
 * an entry twice and writes it once. The cluster synchronises three times per step: after u, after
 * the row, and after the parts of x.
 *
 * The order of sums depends only on the sizes, so the same matrix gives the same bits.
 */
#include <math.h>

#include "kernels/cuda/spectral/bidiagonal.h"
#include "kernels/cuda/spectral/part.h"
#include "kernels/cuda/spectral/reflection.h"

enum {
    TOGETHER = 4,    /* columns that a warp updates together, reading the vectors once */
    MOST_GROUPS = 4, /* threads that share a row of x */
    MOST_BLOCKS = 16 /* per cluster; more than 8 need a GPU like H100 */
};

/* For the owner of column k: updates the column, computes its u and τ, and returns d_k. */
__device__ static double begin_column(const mgk_part &p, int k)
{
    const int c = k / p.blocks, step = (int)blockDim.x;
    const double y = p.y[c], v = p.v[c];
    double *a = p.column(c), squares = 0;
    for (int i = k + (int)threadIdx.x; i < p.order; i += step) {
        a[i] -= p.u[i] * y + p.x[i] * v;
        squares += i > k ? a[i] * a[i] : 0;
    }
    const double tail_squares = mgk_part_sum(p, squares); /* then a is up to date for all */
    const mgk_reflection r = mgk_reflect(a[k], tail_squares);
    for (int i = k + (int)threadIdx.x; i < p.order; i += step)
        p.next[i] = i == k ? 1 : a[i] * r.scale;
    if (threadIdx.x == 0)
        p.told->tau = r.tau;
    return r.value;
}

/* Copies u from the owner of column k; returns τ. */
__device__ static double take_column(const mgk_part &p, int k)
{
    const int owner = k % p.blocks;
    const double *u = mgk_cluster_at(p.next, owner);
    for (int i = k + (int)threadIdx.x; p.rank != owner && i < p.order; i += (int)blockDim.x)
        p.next[i] = u[i];
    __syncthreads();
    return mgk_cluster_at(p.told, owner)->tau;
}

/* The block's columns after k: the pending update of the previous step, then y and row k. */
__device__ static void update_columns(const mgk_part &p, int k, double tau)
{
    const int warps = (int)blockDim.x / MGK_WARP, lane = (int)threadIdx.x % MGK_WARP;
    const int warp = (int)threadIdx.x / MGK_WARP;
    for (int first = p.count_before(k + 1) + warp; first < p.columns; first += TOGETHER * warps) {
        double y[TOGETHER], v[TOGETHER], dot[TOGETHER];
#pragma unroll
        for (int q = 0; q < TOGETHER; q++) {
            const bool there = first + q * warps < p.columns;
            y[q] = there ? p.y[first + q * warps] : 0;
            v[q] = there ? p.v[first + q * warps] : 0;
            dot[q] = 0;
        }
        for (int i = k + lane; i < p.order; i += MGK_WARP) {
            const double u = p.u[i], x = p.x[i], next = p.next[i];
#pragma unroll
            for (int q = 0; q < TOGETHER; q++) {
                if (first + q * warps >= p.columns)
                    continue;
                double *a = p.column(first + q * warps) + i;
                const double entry = *a - (u * y[q] + x * v[q]);
                dot[q] += next * entry;
                *a = entry;
            }
        }
#pragma unroll
        for (int q = 0; q < TOGETHER; q++) {
            const int c = first + q * warps;
            const double product = tau * mgk_lanes_sum(dot[q], MGK_WARP);
            if (c < p.columns && lane == 0) {
                p.y[c] = product;
                p.row[c] = p.column(c)[k] - product; /* this lane has updated the entry */
            }
        }
    }
    __syncthreads();
}

/* Publishes the squared length of the block's part of row k, without the superdiagonal. */
__device__ static void tell_row(const mgk_part &p, int k)
{
    double squares = 0;
    for (int c = p.count_before(k + 2) + (int)threadIdx.x; c < p.columns; c += (int)blockDim.x)
        squares += p.row[c] * p.row[c];
    squares = mgk_part_sum(p, squares);
    if (threadIdx.x == 0)
        p.told->squares = squares;
}

/* The reflection of row k, computed by every thread. */
__device__ static mgk_reflection reflect_row(const mgk_part &p, int k)
{
    double squares = 0;
    for (int b = 0; b < p.blocks; b++)
        squares += mgk_cluster_at(p.told, b)->squares;
    return mgk_reflect(*mgk_cluster_at(p.row + (k + 1) / p.blocks, (k + 1) % p.blocks), squares);
}

/* The block's parts of v and of yᵀv. */
__device__ static void make_v(const mgk_part &p, int k, double scale)
{
    double product = 0;
    for (int c = p.count_before(k + 1) + (int)threadIdx.x; c < p.columns; c += (int)blockDim.x) {
        p.v[c] = p.rank + c * p.blocks == k + 1 ? 1 : p.row[c] * scale;
        product += p.y[c] * p.v[c];
    }
    product = mgk_part_sum(p, product);
    if (threadIdx.x == 0)
        p.told->product = product;
}

/* The division of the rows below k among threads: `groups` threads per row, `width` apart. */
struct sharing {
    int rows, width, groups;

    __device__ sharing(const mgk_part &p, int k)
    {
        rows = p.order - k - 1;
        width = (rows + MGK_WARP - 1) / MGK_WARP * MGK_WARP;
        groups = min((int)blockDim.x / width, MOST_GROUPS);
    }
};

/* The part of A v from the block's columns. */
__device__ static void multiply_columns(const mgk_part &p, int k)
{
    const sharing s(p, k);
    const int group = (int)threadIdx.x / s.width, i = k + 1 + (int)threadIdx.x % s.width;
    double sum = 0;
    if (group >= s.groups)
        return;
    for (int c = p.count_before(k + 1) + group; i < p.order && c < p.columns; c += s.groups)
        sum += p.column(c)[i] * p.v[c];
    p.partial[threadIdx.x] = sum;
}

/* x, from the parts of all blocks. */
__device__ static void gather_x(const mgk_part &p, int k, double tau)
{
    const sharing s(p, k);
    double product = 0;
    for (int b = 0; b < p.blocks; b++)
        product += mgk_cluster_at(p.told, b)->product;
    for (int t = (int)threadIdx.x; t < s.rows; t += (int)blockDim.x) {
        double sum = 0;
        for (int b = 0; b < p.blocks; b++)
            for (int group = 0; group < s.groups; group++)
                sum += mgk_cluster_at(p.partial, b)[group * s.width + t];
        p.x[k + 1 + t] = tau * (sum - p.next[k + 1 + t] * product);
    }
    __syncthreads();
}

/* A step's shared values are overwritten only after one more synchronisation of the cluster. */
__device__ static void reduce(mgk_part &p, double *band)
{
    const bool first = threadIdx.x == 0;
    for (int k = 0; k < p.order; k++) {
        if (p.rank == k % p.blocks) {
            const double value = begin_column(p, k);
            if (first)
                band[2 * k] = value;
        }
        mgk_cluster_sync();
        if (k == p.order - 1)
            return;
        update_columns(p, k, take_column(p, k));
        tell_row(p, k);
        mgk_cluster_sync();
        const mgk_reflection r = reflect_row(p, k);
        if (first && p.rank == 0)
            band[2 * k + 1] = r.value;
        make_v(p, k, r.scale);
        multiply_columns(p, k);
        mgk_cluster_sync();
        gather_x(p, k, r.tau);
        double *u = p.u;
        p.u = p.next;
        p.next = u;
    }
}

__global__ void __launch_bounds__(MGK_PART_THREADS) bidiagonalise(mgk_bidiagonal batch)
{
    const size_t matrix = blockIdx.x / (unsigned)mgk_cluster_blocks();
    double *band = batch.bands + matrix * 2 * batch.n;
    mgk_part p(batch.n, batch.orders[matrix], (double *)mgk_cuda_shared());
    int exponent;
    if (mgk_part_load(p, batch.matrices + matrix * batch.pitch, &exponent))
        reduce(p, band);
    else
        for (int i = (int)threadIdx.x; i < 2 * p.order; i += (int)blockDim.x)
            band[i] = NAN;
    if (p.rank == 0 && threadIdx.x == 0)
        batch.exponents[matrix] = exponent;
    mgk_cluster_sync(); /* no block may end while others read its memory */
}

/* The smallest cluster, of a power of two blocks, that holds a matrix. */
static mgk_status choose_blocks(mgk_device *device, size_t n, size_t threads, size_t *blocks)
{
    const int index = mgk_cuda_of(device)->index;
    int shared, major;
    TRY(mgk_cuda_check(
        cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, index),
        "cudaDeviceGetAttribute"));
    TRY(mgk_cuda_check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, index),
                       "cudaDeviceGetAttribute"));
    const size_t most = major >= 9 ? MOST_BLOCKS : 1;
    for (*blocks = 1; *blocks <= most; *blocks *= 2)
        if (mgk_part_bytes(n, *blocks, threads) <= (size_t)shared)
            return STATUS_OK;
    return mgk_fail(STATUS_UNSUPPORTED,
                    "%s: a matrix of %zu rows does not fit the shared memory of %zu blocks",
                    device->name, n, most);
}

mgk_status mgk_cuda_bidiagonalise(mgk_device *device, const mgk_bidiagonal *batch)
{
    const size_t most_threads = MGK_PART_THREADS;
    const size_t wanted = 2 * ((batch->n + MGK_WARP - 1) / MGK_WARP) * MGK_WARP;
    const size_t threads = wanted < most_threads ? wanted : most_threads;
    size_t blocks;
    TRY(choose_blocks(device, batch->n, threads, &blocks));
    return mgk_cuda_launch_clusters(device, bidiagonalise, batch->count, blocks, (unsigned)threads,
                                    mgk_part_bytes(batch->n, blocks, threads), *batch);
}
