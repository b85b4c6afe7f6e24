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
 * an entry twice and writes it once.
 *
 * v is a multiple of row k, except for its first entry, 1. So the blocks multiply A - u yᵀ with
 * their part of the row before v is known, and exchange these parts of x together with those of the
 * row's length, and column k + 1. The block to which a row belongs adds up its x, and tells it to
 * all, and the updated entry of column k + 1. From these each block makes the next u itself. So the
 * blocks exchange messages twice per step, and there is no barrier of the cluster.
 *
 * The order of sums depends only on the sizes, so the same matrix gives the same bits.
 */
#include <math.h>

#include "kernels/cuda/spectral/bidiagonal.h"
#include "kernels/cuda/spectral/part.h"
#include "kernels/cuda/spectral/reflection.h"

enum {
    TOGETHER = 6,    /* columns that a warp updates together, reading the vectors once */
    SUMMED = 8,      /* the next power of two, for mgk_lanes_sum_each */
    MOST_GROUPS = 4, /* threads that share a row of x */
    MOST_BLOCKS = 16 /* per cluster; more than 8 need a GPU like H100 */
};

/* Step k, and where its columns and rows are; divisions are done once. */
struct reduction_step {
    int k, rows;       /* below k */
    int owner, column; /* the block of column k + 1, and its number there */
    int first, tail;   /* the block's columns, and rows, up to k, and up to k + 1 */
    int home, place;   /* the block of row threadIdx.x, and its number there */

    __device__ explicit reduction_step(const mgk_part &p)
    {
        const int thread = (int)threadIdx.x;
        k = 0;
        rows = p.order - 1;
        owner = 1 % p.blocks;
        column = 1 / p.blocks;
        first = p.count_before(1);
        tail = p.count_before(2);
        home = thread % p.blocks;
        place = thread / p.blocks;
    }
    __device__ void advance(const mgk_part &p)
    {
        k++;
        rows--;
        first = tail;
        owner++;
        if (owner == p.blocks) {
            owner = 0;
            column++;
        }
        tail = first + (owner == p.rank);
    }
};

/* Computes u of column k, and returns the reflection. */
__device__ static mgk_reflection begin_column(const mgk_part &p, int k)
{
    const int step = (int)blockDim.x;
    double squares = 0;
    for (int i = k + 1 + (int)threadIdx.x; i < p.order; i += step)
        squares += p.updates[i].y * p.updates[i].y;
    const mgk_reflection r = mgk_reflect(p.updates[k].y, mgk_part_sum(p, squares));
    for (int i = k + (int)threadIdx.x; i < p.order; i += step)
        p.next[i] = i == k ? 1 : p.updates[i].y * r.scale;
    __syncthreads();
    return r;
}

/*
 * The block's columns after k: the pending update of the previous step, then y and row k. A warp
 * loads entries of all its columns before it stores any, so that loads do not wait for stores.
 */
__device__ static void update_columns(const mgk_part &p, const reduction_step &s, double tau)
{
    const int warps = (int)blockDim.x / MGK_WARP, lane = (int)threadIdx.x % MGK_WARP;
    const int warp = (int)threadIdx.x / MGK_WARP;
    for (int first = s.first + warp; first < p.columns; first += TOGETHER * warps) {
        double y[TOGETHER], v[TOGETHER], dot[TOGETHER];
#pragma unroll
        for (int q = 0; q < TOGETHER; q++) {
            const bool there = first + q * warps < p.columns;
            y[q] = there ? p.y[first + q * warps] : 0;
            v[q] = there ? p.v[first + q * warps] : 0;
            dot[q] = 0;
        }
        for (int i = s.k + lane; i < p.order; i += MGK_WARP) {
            const double u = p.u[i], x = p.updates[i].x, next = p.next[i];
            double entry[TOGETHER];
#pragma unroll
            for (int q = 0; q < TOGETHER; q++)
                entry[q] = first + q * warps < p.columns ? p.column(first + q * warps)[i] : 0;
#pragma unroll
            for (int q = 0; q < TOGETHER; q++) {
                entry[q] -= u * y[q] + x * v[q];
                dot[q] += next * entry[q];
            }
#pragma unroll
            for (int q = 0; q < TOGETHER; q++)
                if (first + q * warps < p.columns)
                    p.column(first + q * warps)[i] = entry[q];
        }
        const double product =
            tau * mgk_lanes_sum_each<SUMMED>([&](int q) { return q < TOGETHER ? dot[q] : 0; });
        const int c = first + lane * warps;
        __syncwarp(); /* the first lane has updated row k */
        if (lane < TOGETHER && c < p.columns) {
            p.y[c] = product;
            p.row[c] = p.column(c)[s.k] - product;
        }
    }
    __syncthreads();
}

/* For one warp: sums over the block's part of row k, without the superdiagonal. */
__device__ static void measure_row(const mgk_part &p, const reduction_step &s)
{
    double squares = 0, product = 0;
    for (int c = s.tail + (int)threadIdx.x; c < p.columns; c += MGK_WARP) {
        squares += p.row[c] * p.row[c];
        product += p.row[c] * p.y[c];
    }
    squares = mgk_lanes_sum(squares, MGK_WARP);
    product = mgk_lanes_sum(product, MGK_WARP);
    if (threadIdx.x == 0) {
        p.tail->squares = squares;
        p.tail->product = product;
    }
}

/* The division of the rows below k among threads: `groups` threads per row, `width` apart. */
struct sharing {
    int width, groups;

    __device__ explicit sharing(int rows)
    {
        width = (rows + MGK_WARP - 1) / MGK_WARP * MGK_WARP;
        for (groups = 1; groups < MOST_GROUPS && (groups + 1) * width <= (int)blockDim.x;)
            groups++;
    }
};

/* The block's part of the product of A and row k, without the superdiagonal. */
__device__ static void multiply_columns(const mgk_part &p, const reduction_step &s)
{
    const sharing threads(s.rows);
    int group = 0, t = (int)threadIdx.x;
    double sum = 0;
    for (; t >= threads.width; t -= threads.width)
        group++;
    if (group >= threads.groups)
        return;
    for (int c = s.tail + group; t < s.rows && c < p.columns; c += threads.groups)
        sum += p.column(c)[s.k + 1 + t] * p.row[c];
    p.partial[threadIdx.x] = sum;
}

/*
 * Sends each row's product with A - u yᵀ and, from the block that owns it, column k + 1 to the
 * row's block; the length and the head of row k to all. One thread per row.
 */
__device__ static void send_parts(const mgk_part &p, const reduction_step &s)
{
    const bool owner = s.owner == p.rank;
    const int i = (int)threadIdx.x, t = i - s.k - 1;
    mgk_mailbox *mailbox = &p.for_parts[s.k % 2];
    if (t >= 0 && t < s.rows) {
        const sharing threads(s.rows);
        double2 part = make_double2(-p.next[i] * p.tail->product, 0);
        for (int group = 0; group < threads.groups; group++)
            part.x += p.partial[group * threads.width + t];
        if (owner)
            part.y = p.column(s.column)[i] - p.next[i] * p.y[s.column];
        mgk_post(&p.parts[p.rank * p.most + s.place], part, mailbox, s.home);
    }
    const double2 length = make_double2(p.tail->squares, owner ? p.row[s.column] : 0);
    if (i < p.blocks)
        mgk_post(&p.lengths[s.k % 2 * p.blocks + p.rank], length, mailbox, i);
}

/* The reflection of row k, computed by every thread. */
__device__ static mgk_reflection reflect_row(const mgk_part &p, int k)
{
    double squares = 0, head = 0;
    for (int b = 0; b < p.blocks; b++) {
        squares += p.lengths[k % 2 * p.blocks + b].x;
        head += p.lengths[k % 2 * p.blocks + b].y;
    }
    return mgk_reflect(head, squares);
}

/* Of the block's rows: x, and column k + 1 after the step, for all blocks. */
__device__ static void send_updates(const mgk_part &p, const reduction_step &s,
                                    const mgk_reflection &r)
{
    for (int m = s.first + (int)threadIdx.x; m < p.columns; m += (int)blockDim.x) {
        double product = 0, column = 0;
        for (int b = 0; b < p.blocks; b++) {
            product += p.parts[b * p.most + m].x;
            column += p.parts[b * p.most + m].y;
        }
        const double x = r.tau * (column + r.scale * product);
        for (int b = 0; b < p.blocks; b++)
            mgk_post(&p.updates[p.rank + m * p.blocks], make_double2(x, column - x), p.for_updates,
                     b);
    }
}

/* The block's part of v. */
__device__ static void make_v(const mgk_part &p, const reduction_step &s, double scale)
{
    for (int c = s.first + (int)threadIdx.x; c < p.columns; c += (int)blockDim.x)
        p.v[c] = c < s.tail ? 1 : p.row[c] * scale;
}

/* Waits for messages of other blocks; then all threads see them. */
__device__ static void await(mgk_mailbox *mailbox, int messages, int round)
{
    if (threadIdx.x < MGK_WARP)
        mgk_await_messages(mailbox, (unsigned)messages, (unsigned)round);
    __syncthreads();
}

/*
 * Why no message comes too early: no block ends step k without the lengths of step k of all blocks,
 * and a block sends them after it has read everything of step k - 1. So a block receives messages
 * of at most the next step while it waits or reads. Those are parts and lengths. Parts of a row
 * come only after x of the row, which the block sends after reading the last parts. Lengths, and
 * the bytes counted with parts, have places of their own in even and odd steps.
 */
__device__ static void reduce(mgk_part &p, double *band)
{
    const bool first = p.rank == 0 && threadIdx.x == 0;
    for (reduction_step s(p); s.k < p.order; s.advance(p)) {
        const int own_rows = p.columns - s.first;
        const mgk_reflection left = begin_column(p, s.k);
        if (first)
            band[2 * s.k] = left.value;
        if (s.rows == 0)
            return;
        update_columns(p, s, left.tau);
        multiply_columns(p, s);
        if (threadIdx.x < MGK_WARP)
            measure_row(p, s);
        __syncthreads();
        send_parts(p, s);
        await(&p.for_parts[s.k % 2], (p.blocks - 1) * (own_rows + 1), s.k / 2);
        const mgk_reflection right = reflect_row(p, s.k);
        if (first)
            band[2 * s.k + 1] = right.value;
        send_updates(p, s, right);
        make_v(p, s, right.scale);
        await(p.for_updates, s.rows - own_rows, s.k);
        double *u = p.u;
        p.u = p.next;
        p.next = u;
    }
}

__global__ void __launch_bounds__(MGK_PART_THREADS, 1) bidiagonalise(mgk_bidiagonal batch)
{
    const size_t matrix = blockIdx.x / (unsigned)mgk_cluster_blocks();
    double *band = batch.bands + matrix * 2 * batch.n;
    mgk_part p(batch.n, batch.orders[matrix], mgk_cuda_shared());
    int exponent;
    if (threadIdx.x < MGK_MAILBOXES) /* loading has a barrier of the cluster */
        mgk_open_mailbox(&p.for_parts[threadIdx.x]);
    if (mgk_part_load(p, batch.matrices + matrix * batch.pitch, &exponent))
        reduce(p, band);
    else
        for (int i = (int)threadIdx.x; i < 2 * p.order; i += (int)blockDim.x)
            band[i] = NAN;
    if (p.rank == 0 && threadIdx.x == 0)
        batch.exponents[matrix] = exponent;
    mgk_cluster_sync(); /* no block may end while others read its memory */
}

static size_t threads_for(size_t n)
{
    return (n + MGK_WARP - 1) / MGK_WARP * MGK_WARP;
}

/*
 * The cluster with which most matrices are reduced at a time, of these the one of most blocks;
 * *blocks is 0 if a matrix does not fit the shared memory of any.
 */
static mgk_status choose_blocks(mgk_device *device, size_t n, size_t *blocks)
{
    const int index = mgk_cuda_of(device)->index;
    size_t most = 0, at_once;
    int shared, major;
    TRY(mgk_cuda_check(
        cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, index),
        "cudaDeviceGetAttribute"));
    TRY(mgk_cuda_check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, index),
                       "cudaDeviceGetAttribute"));
    *blocks = major < 9 && mgk_part_bytes(n, 1, threads_for(n)) <= (size_t)shared ? 1 : 0;
    for (size_t size = 1; major >= 9 && size <= MOST_BLOCKS; size++) {
        const size_t bytes = mgk_part_bytes(n, size, threads_for(n));
        if (bytes > (size_t)shared)
            continue;
        TRY(mgk_cuda_clusters_at_once(device, bidiagonalise, size, (unsigned)threads_for(n), bytes,
                                      &at_once));
        if (at_once > 0 && at_once >= most) {
            most = at_once;
            *blocks = size;
        }
    }
    return STATUS_OK;
}

mgk_status mgk_cuda_bisection_order(mgk_device *device, size_t *order)
{
    size_t blocks = 0;
    for (*order = MGK_BISECTION_ORDER; *order > 1; --*order) {
        TRY(choose_blocks(device, *order, &blocks));
        if (blocks > 0)
            break;
    }
    return STATUS_OK;
}

mgk_status mgk_cuda_bidiagonalise(mgk_device *device, const mgk_bidiagonal *batch)
{
    const size_t threads = threads_for(batch->n);
    size_t blocks;
    TRY(choose_blocks(device, batch->n, &blocks));
    if (blocks == 0)
        return mgk_fail(STATUS_UNSUPPORTED,
                        "%s: a matrix of %zu rows does not fit the shared memory of a cluster",
                        device->name, batch->n);
    return mgk_cuda_launch_clusters(device, bidiagonalise, batch->count, blocks, (unsigned)threads,
                                    mgk_part_bytes(batch->n, blocks, threads), *batch);
}
