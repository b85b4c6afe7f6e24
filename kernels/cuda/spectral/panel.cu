/* SPDX-License-Identifier: MIT */
/*
 * Householder QR of panels, one cluster of blocks per panel and one thread per row. A thread keeps
 * its row in registers. If a cluster has fewer threads than the panel has rows, they stay in global
 * memory, and each step reads and writes them.
 *
 * Step j needs products of column j, below its diagonal, with itself, with the later columns and
 * with the earlier columns of V. One pass computes all of them from the stored column, because the
 * reflector is a multiple of that column except for its first entry. So the blocks exchange numbers
 * once per step, by messages, and the products with V give T.
 *
 * Registers have no addresses: after each step a row moves left by one position, and the new entry
 * of V takes the place that becomes free at its end. So the first entry is always that of the
 * step's column, and after the last step the row is that of V.
 *
 * The order of sums depends only on the sizes, so the same panel gives the same bits.
 */
#include "kernels/cuda/spectral/messages.h"
#include "kernels/cuda/spectral/panel.h"
#include "kernels/cuda/spectral/reflection.h"

enum {
    WIDTH = MGK_BAND_WIDTH, /* as many as a warp has lanes: a lane sums a column's products */
    ROWS = 128,             /* per block, if a cluster may have more blocks */
    KEPT_THREADS = 512,     /* of a block, at most, with a row in the registers of each */
    STORED_THREADS = 256,   /* of a block, with rows in global memory */
    MOST_WARPS = KEPT_THREADS / MGK_WARP
};
static_assert((int)WIDTH == (int)MGK_WARP, "a lane of a warp for each column");

/* A block's shared memory; positions are those of a row in the current step. */
struct shared_memory {
    double2 inbox[2][MGK_CLUSTER_PORTABLE][WIDTH]; /* of even and odd steps, by sender, position */
    double parts[MOST_WARPS][WIDTH];               /* products of the rows of a warp */
    double head[WIDTH];                            /* row j, in the block that owns it */
    double factors[WIDTH];                         /* of the reflector, by which a row changes */
    double scale;           /* of column j below its diagonal, which makes it the reflector */
    double tau[WIDTH];      /* only in the first block, like z */
    double z[WIDTH][WIDTH]; /* z_cj, the product of columns c and j of V */
    mgk_mailbox mailboxes[2];
};

/* A block's part of a panel: rows [first, last). */
struct slice {
    mgk_panels panels;
    shared_memory *memory;
    size_t panel, first, last;
    double *a, *v;

    __device__ slice(const mgk_panels &p, shared_memory *shared) : panels(p), memory(shared)
    {
        const size_t blocks = (size_t)mgk_cluster_blocks(), rank = (size_t)mgk_cluster_rank();
        const size_t share = (p.rows + blocks - 1) / blocks;
        panel = blockIdx.x / blocks;
        first = rank * share < p.rows ? rank * share : p.rows;
        last = first + share < p.rows ? first + share : p.rows;
        a = p.a.data + panel * p.a.apart;
        v = p.v.data + panel * p.v.apart;
    }
};

/* Row i in step j: entry p is of column (j + p) % WIDTH, of V if that is before j. */
struct panel_row {
    double entries[WIDTH];

    /* Offsets have 32 bits: WIDTH columns of a matrix of the host's limit, 32768 rows. */
    __device__ void load(const mgk_tall &from, const double *matrix, size_t i)
    {
        const unsigned pitch = (unsigned)from.pitch;
        matrix += i;
#pragma unroll
        for (unsigned c = 0; c < WIDTH; c++)
            entries[c] = matrix[c * pitch];
    }
    __device__ void store(const mgk_tall &to, double *matrix, size_t i) const
    {
        const unsigned pitch = (unsigned)to.pitch;
        matrix += i;
#pragma unroll
        for (unsigned c = 0; c < WIDTH; c++)
            matrix[c * pitch] = entries[c];
    }
    /* From step j to the next. */
    __device__ void advance(size_t i, size_t j, const shared_memory *s)
    {
        const double v = i < j ? 0 : i == j ? 1 : s->scale * entries[0];
#pragma unroll
        for (int p = 0; p + 1 < WIDTH; p++)
            entries[p] = entries[p + 1] - s->factors[p + 1] * v;
        entries[WIDTH - 1] = v;
    }
    /* The factor of its products in step j; tells the entries of row j. */
    __device__ double begin(size_t i, size_t j, shared_memory *s) const
    {
        if (i == j)
#pragma unroll
            for (int p = 0; p < WIDTH; p++)
                s->head[p] = entries[p];
        return i > j ? entries[0] : 0;
    }
};

/* The rows of a thread, if it has one at most, which stays in registers. */
struct kept_rows {
    panel_row row;
    size_t i;

    __device__ kept_rows(const slice &s) : row(), i(s.first + threadIdx.x)
    {
        if (i < s.last)
            row.load(s.panels.a, s.a, i);
    }
    /* A lane's sum of the products of step j, over the rows of the warp. */
    __device__ double multiply(const slice &s, size_t j)
    {
        if (j > 0)
            row.advance(i, j - 1, s.memory);
        const double x = row.begin(i, j, s.memory);
        return mgk_lanes_sum_each<WIDTH>([&](int p) { return x * row.entries[p]; });
    }
    __device__ void finish(const slice &s)
    {
        row.advance(i, WIDTH - 1, s.memory);
        if (i < s.last)
            row.store(s.panels.v, s.v, i);
    }
};

/* The same with any number of rows, in the place of the panel. */
struct stored_rows {
    __device__ stored_rows(const slice &)
    {
    }
    /* The rows of step j become those of the next, in another place. */
    __device__ void advance(const slice &s, size_t j, const mgk_tall &to, double *matrix)
    {
        for (size_t i = s.first + threadIdx.x; i < s.last; i += blockDim.x) {
            panel_row row;
            row.load(s.panels.a, s.a, i);
            row.advance(i, j, s.memory);
            row.store(to, matrix, i);
        }
    }
    /* Reads rows again, because a thread has no registers for a row, its sums and the factors. */
    __device__ double multiply(const slice &s, size_t j)
    {
        double sums[WIDTH] = {};
        if (j > 0)
            advance(s, j - 1, s.panels.a, s.a);
        for (size_t i = s.first + threadIdx.x; i < s.last; i += blockDim.x) {
            panel_row row;
            row.load(s.panels.a, s.a, i);
            const double x = row.begin(i, j, s.memory);
#pragma unroll
            for (int p = 0; p < WIDTH; p++)
                sums[p] += x * row.entries[p];
        }
        return mgk_lanes_sum_each<WIDTH>([&](int p) { return sums[p]; });
    }
    __device__ void finish(const slice &s)
    {
        advance(s, WIDTH - 1, s.panels.v, s.v);
    }
};

/* A position's product of column j over all rows below row j, x, and its entry of row j, y. */
__device__ static double2 exchange_products(const slice &s, size_t j)
{
    const size_t position = threadIdx.x, warps = blockDim.x / MGK_WARP;
    const int blocks = mgk_cluster_blocks();
    double2(*inbox)[WIDTH] = s.memory->inbox[j % 2];
    mgk_mailbox *mailbox = &s.memory->mailboxes[j % 2];
    double2 own = make_double2(0, s.first <= j && j < s.last ? s.memory->head[position] : 0);
    for (size_t w = 0; w < warps; w++)
        own.x += s.memory->parts[w][position];
    for (int b = 0; b < blocks; b++)
        mgk_post(&inbox[mgk_cluster_rank()][position], own, mailbox, b);
    mgk_await_messages(mailbox, (unsigned)(blocks - 1) * WIDTH, (unsigned)j / 2);
    double2 all = make_double2(0, 0);
    for (int b = 0; b < blocks; b++) {
        all.x += inbox[b][position].x;
        all.y += inbox[b][position].y;
    }
    return all;
}

/* Keeps row j of R, and the numbers for T. */
__device__ static void keep(const slice &s, size_t j, const mgk_reflection &r, double head,
                            double product)
{
    const mgk_panels &p = s.panels;
    double *row = p.band + s.panel * p.band_apart + j * p.down;
    const size_t position = threadIdx.x, c = (j + position) % WIDTH;
    if (c < j)
        s.memory->z[c][j] = product;
    else
        row[c * p.across] = (c == j ? r.value : head - r.tau * product) * p.scales[s.panel];
    if (c == j)
        s.memory->tau[j] = r.tau;
}

/* The reflection of step j, by the first warp. */
__device__ static void reflect(const slice &s, size_t j)
{
    const double2 all = exchange_products(s, j);
    const mgk_reflection r =
        mgk_reflect(__shfl_sync(MGK_ALL_LANES, all.y, 0), __shfl_sync(MGK_ALL_LANES, all.x, 0));
    const double product = all.y + r.scale * all.x; /* of the column and the reflector */
    s.memory->factors[threadIdx.x] = threadIdx.x < WIDTH - j ? r.tau * product : 0;
    s.memory->scale = r.scale;
    if (mgk_cluster_rank() == 0)
        keep(s, j, r, all.y, product);
}

/*
 * T of the product of the reflectors: t_jj = τ_j, t_ij = -τ_j Σ_k<j t_ik z_kj. Rows are
 * independent: one lane per row.
 */
__device__ static void make_t(const slice &s)
{
    double *t = s.panels.t + s.panel * WIDTH * WIDTH;
    const int i = (int)threadIdx.x;
    double row[WIDTH];
#pragma unroll
    for (int j = 0; j < WIDTH; j++) {
        double sum = 0;
#pragma unroll
        for (int k = 0; k < j; k++)
            sum += row[k] * s.memory->z[k][j];
        row[j] = i == j ? s.memory->tau[j] : -s.memory->tau[j] * sum; /* 0 for i > j */
        t[j * WIDTH + i] = row[j];
    }
}

/*
 * No block ends while messages to it are on their way, because it waits for those of every step.
 * A message of step j + 2 finds the inbox of step j read, because its sender has those of step
 * j + 1, which each block sent after reading.
 */
template <typename Rows> __device__ static void factor(const mgk_panels &p)
{
    const slice s(p, (shared_memory *)mgk_cuda_shared());
    const size_t warp = threadIdx.x / MGK_WARP, lane = threadIdx.x % MGK_WARP;
    if (threadIdx.x < 2)
        mgk_open_mailbox(&s.memory->mailboxes[threadIdx.x]);
    mgk_cluster_sync();
    Rows rows(s);
    for (size_t j = 0; j < WIDTH; j++) {
        s.memory->parts[warp][lane] = rows.multiply(s, j);
        __syncthreads();
        if (warp == 0)
            reflect(s, j);
        __syncthreads();
    }
    rows.finish(s);
    if (mgk_cluster_rank() == 0 && warp == 0)
        make_t(s);
}

__global__ void __launch_bounds__(KEPT_THREADS) factor_kept(mgk_panels p)
{
    factor<kept_rows>(p);
}

__global__ void __launch_bounds__(STORED_THREADS) factor_stored(mgk_panels p)
{
    factor<stored_rows>(p);
}

mgk_status mgk_cuda_factor_panels(mgk_device *device, const mgk_panels *panels, size_t most_blocks)
{
    size_t blocks = 1;
    while (2 * blocks <= most_blocks && blocks * ROWS < panels->rows)
        blocks *= 2;
    const size_t share = (panels->rows + blocks - 1) / blocks;
    const bool kept = share <= KEPT_THREADS;
    const size_t rows_at_once = kept ? share : (size_t)STORED_THREADS;
    const size_t threads = (rows_at_once + MGK_WARP - 1) / MGK_WARP * MGK_WARP;
    return mgk_cuda_launch_clusters(device, kept ? factor_kept : factor_stored, panels->count,
                                    blocks, (unsigned)threads, sizeof(shared_memory), *panels);
}
