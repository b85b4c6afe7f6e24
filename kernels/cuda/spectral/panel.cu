/* SPDX-License-Identifier: MIT */
/*
 * Householder QR of panels, one cluster of blocks per panel. Every block owns some of the rows in
 * global memory; no other block accesses them. So they stay in its first-level cache, and the
 * number of rows is not limited.
 *
 * Step j needs products of column j, below its diagonal, with itself, with the later columns and
 * with the earlier columns of V. One pass computes all of them from the stored column, because the
 * reflector is a multiple of that column except for its first entry. So the cluster synchronises
 * once per step, and the products with V give T.
 *
 * The order of sums depends only on the sizes, so the same panel gives the same bits.
 */
#include "kernels/cuda/spectral/clusters.h"
#include "kernels/cuda/spectral/panel.h"
#include "kernels/cuda/spectral/reflection.h"
#include "kernels/cuda/sums.h"

enum {
    WIDTH = MGK_BAND_WIDTH,
    ROWS = 64, /* per block, if a cluster may have more blocks */
    FEWEST_THREADS = 128,
    MOST_THREADS = 512
};

/* A block's products of column j with column c, and row j of column c. */
struct products {
    double tail[WIDTH], head[WIDTH];
};

/* A block's shared memory. */
struct shared_memory {
    products own[2];        /* of its rows; two, because other blocks may still read the last one */
    products all;           /* of all rows */
    double tau[WIDTH];      /* only in the first block, like z */
    double z[WIDTH][WIDTH]; /* z_cj, the product of columns c and j of V */
};

/* A block's part of a panel: rows [first, last). */
struct slice {
    mgk_panels panels;
    shared_memory *memory;
    size_t first, last;
    double *a, *v;

    __device__ slice(const mgk_panels &p, size_t panel, shared_memory *shared)
        : panels(p), memory(shared)
    {
        const size_t blocks = (size_t)mgk_cluster_blocks(), rank = (size_t)mgk_cluster_rank();
        const size_t share = (p.rows + blocks - 1) / blocks;
        first = rank * share < p.rows ? rank * share : p.rows;
        last = first + share < p.rows ? first + share : p.rows;
        a = p.a.data + panel * p.a.apart;
        v = p.v.data + panel * p.v.apart;
    }
    /* Column c: of V before step j, of the panel afterwards. */
    __device__ const double *column(size_t c, size_t j) const
    {
        return c < j ? v + c * panels.v.pitch : a + c * panels.a.pitch;
    }
};

/* The products of step j over the block's rows, one warp per column. */
__device__ static void multiply_columns(const slice &s, size_t j)
{
    const size_t lane = threadIdx.x % MGK_WARP, warps = blockDim.x / MGK_WARP;
    const size_t below = s.first > j ? s.first : j + 1;
    const double *x = s.column(j, j);
    products *own = &s.memory->own[j % 2];
    for (size_t c = threadIdx.x / MGK_WARP; c < WIDTH; c += warps) {
        const double *y = s.column(c, j);
        double sum = 0;
        for (size_t i = below + lane; i < s.last; i += MGK_WARP)
            sum += x[i] * y[i];
        sum = mgk_lanes_sum(sum, MGK_WARP);
        if (lane == 0) {
            own->tail[c] = sum;
            own->head[c] = s.first <= j && j < s.last ? y[j] : 0;
        }
    }
}

/* The sums of the products over all blocks. */
__device__ static void add_products(const slice &s, size_t j)
{
    products *own = &s.memory->own[j % 2], *all = &s.memory->all;
    for (size_t c = threadIdx.x; c < WIDTH; c += blockDim.x) {
        double tail = 0, head = 0;
        for (int b = 0; b < mgk_cluster_blocks(); b++) {
            const products *part = mgk_cluster_at(own, b);
            tail += part->tail[c];
            head += part->head[c];
        }
        all->tail[c] = tail;
        all->head[c] = head;
    }
    __syncthreads();
}

/* Column c's product with the vector of reflector r. */
__device__ static double product(const slice &s, const mgk_reflection &r, size_t c)
{
    return s.memory->all.head[c] + r.scale * s.memory->all.tail[c];
}

/* The first block keeps row j of R, and the numbers for T. */
__device__ static void keep(const slice &s, size_t panel, size_t j, const mgk_reflection &r)
{
    double *row = s.panels.band + panel * s.panels.band_apart + j * s.panels.down;
    const size_t c = threadIdx.x;
    if (c < j)
        s.memory->z[c][j] = product(s, r, c);
    if (c == j)
        s.memory->tau[j] = r.tau;
    if (j <= c && c < WIDTH) {
        const double entry = c == j ? r.value : s.memory->all.head[c] - r.tau * product(s, r, c);
        row[c * s.panels.across] = entry * s.panels.scales[panel];
    }
}

/* The block's rows of column j of V, and of the later columns, one thread per row. */
__device__ static void update_rows(const slice &s, size_t j, const mgk_reflection &r)
{
    for (size_t i = s.first + threadIdx.x; i < s.last; i += blockDim.x) {
        double *row = s.a + i;
        const double v = i < j ? 0 : i == j ? 1 : r.scale * row[j * s.panels.a.pitch];
        s.v[i + j * s.panels.v.pitch] = v;
        for (size_t c = j + 1; i > j && c < WIDTH; c++)
            row[c * s.panels.a.pitch] -= r.tau * product(s, r, c) * v;
    }
    __syncthreads();
}

/*
 * T of the product of the reflectors: t_jj = τ_j, t_ij = -τ_j Σ_k<j t_ik z_kj. Rows are
 * independent: one lane per row.
 */
__device__ static void make_t(const slice &s, double *t)
{
    const int i = (int)threadIdx.x;
    double row[WIDTH];
#pragma unroll
    for (int j = 0; j < WIDTH; j++) {
        double sum = 0;
#pragma unroll
        for (int k = 0; k < j; k++)
            sum += row[k] * s.memory->z[k][j];
        row[j] = i == j ? s.memory->tau[j] : i < j ? -s.memory->tau[j] * sum : 0;
        t[j * WIDTH + i] = row[j];
    }
}

__global__ void __launch_bounds__(MOST_THREADS) factor_panels(mgk_panels p)
{
    const size_t panel = blockIdx.x / (unsigned)mgk_cluster_blocks();
    const slice s(p, panel, (shared_memory *)mgk_cuda_shared());
    for (size_t j = 0; j < WIDTH; j++) {
        multiply_columns(s, j);
        mgk_cluster_sync();
        add_products(s, j);
        const mgk_reflection r = mgk_reflect(s.memory->all.head[j], s.memory->all.tail[j]);
        if (mgk_cluster_rank() == 0)
            keep(s, panel, j, r);
        update_rows(s, j, r);
    }
    if (mgk_cluster_rank() == 0 && threadIdx.x < WIDTH)
        make_t(s, p.t + panel * WIDTH * WIDTH);
    mgk_cluster_sync(); /* no block may end while others read its memory */
}

mgk_status mgk_cuda_factor_panels(mgk_device *device, const mgk_panels *panels, size_t most_blocks)
{
    size_t blocks = 1, threads = FEWEST_THREADS;
    while (2 * blocks <= most_blocks && blocks * ROWS < panels->rows)
        blocks *= 2;
    while (threads < MOST_THREADS && blocks * threads < panels->rows)
        threads *= 2;
    return mgk_cuda_launch_clusters(device, factor_panels, panels->count, blocks, (unsigned)threads,
                                    sizeof(shared_memory), *panels);
}
