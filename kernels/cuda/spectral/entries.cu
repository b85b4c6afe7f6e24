/* SPDX-License-Identifier: MIT */
/*
 * Statistics of the entries of matrices. A block processes ROWS rows of one matrix and stores its
 * share of the column sums; then one block per matrix adds the shares.
 */
#include <math.h>

#include "kernels/cuda/operations.h"
#include "kernels/cuda/spectral/chunks.h"
#include "kernels/cuda/sums.h"

enum { ROWS = 32 };

/*
 * Matrices that are measured together; all arrays except `given` are the device's scratch memory.
 */
struct entries {
    size_t n;     /* rows of the largest matrix */
    size_t pitch; /* distance of two matrices */
    size_t count;
    size_t parts;        /* blocks for the largest matrix */
    const double *given; /* [count, pitch], matrix i packed at its start */
    size_t *orders;      /* [count] */
    mgk_entries *shares; /* [count, parts]; norm: sum of squares, column_sum_max: unused */
    double *columns;     /* [count, parts, n], sums of the rows of a share */
    mgk_entries *out;    /* [count] */
};

/* A block's share of each column sum, in the order of the rows. */
__device__ static void add_columns(size_t order, size_t first, size_t last, const double *a,
                                   double *columns)
{
    for (size_t j = threadIdx.x; j < order; j += MGK_CUDA_BLOCK) {
        double sum = 0;
        for (size_t i = first; i < last; i++)
            sum += a[i * order + j];
        columns[j] = sum;
    }
}

/* Statistics of the rows, one warp per row. */
__device__ static mgk_entries add_rows(size_t order, size_t first, size_t last, const double *a)
{
    const size_t lane = threadIdx.x % MGK_WARP, warps = MGK_CUDA_BLOCK / MGK_WARP;
    mgk_entries seen = {0, 0, 0, 0, 0};
    for (size_t i = first + threadIdx.x / MGK_WARP; i < last; i += warps) {
        double sum = 0, largest = 0;
        for (size_t j = lane; j < order; j += MGK_WARP) {
            const double entry = a[i * order + j];
            sum += entry;
            largest = mgk_larger(fabs(entry), largest);
            seen.norm += entry * entry;
            uint64_t bits;
            memcpy(&bits, &entry, sizeof(bits));
            seen.bits |= bits;
        }
        sum = mgk_lanes_sum(sum, MGK_WARP);
        if (mgk_lanes_max(largest, MGK_WARP) == 0)
            seen.zero_rows += lane == 0; /* one of those that have it counts it */
        else
            seen.row_sum_error = mgk_larger(fabs(sum - 1), seen.row_sum_error);
    }
    return seen;
}

/* Joins the statistics of all threads of a block. */
__device__ static mgk_entries join(mgk_entries seen)
{
    seen.norm = mgk_block_sum(seen.norm);
    seen.row_sum_error = mgk_block_max(seen.row_sum_error);
    seen.bits = mgk_block_or(seen.bits);
    seen.zero_rows = mgk_block_sum(seen.zero_rows);
    return seen;
}

/* `parts` blocks per matrix. */
__global__ void measure_rows(entries e)
{
    const size_t matrix = blockIdx.x / e.parts, part = blockIdx.x % e.parts;
    const size_t order = e.orders[matrix], first = part * ROWS;
    const size_t last = first + ROWS < order ? first + ROWS : order;
    if (first >= order)
        return;
    const double *a = e.given + matrix * e.pitch;
    add_columns(order, first, last, a, e.columns + (matrix * e.parts + part) * e.n);
    const mgk_entries seen = join(add_rows(order, first, last, a));
    if (threadIdx.x == 0)
        e.shares[matrix * e.parts + part] = seen;
}

/* One block per matrix. */
__global__ void measure_columns(entries e)
{
    const size_t matrix = blockIdx.x, order = e.orders[matrix], parts = (order + ROWS - 1) / ROWS;
    const mgk_entries *shares = e.shares + matrix * e.parts;
    const double *columns = e.columns + matrix * e.parts * e.n;
    mgk_entries seen = {0, 0, 0, 0, 0};
    double largest = -INFINITY;
    for (size_t p = threadIdx.x; p < parts; p += MGK_CUDA_BLOCK) {
        seen.norm += shares[p].norm;
        seen.row_sum_error = mgk_larger(shares[p].row_sum_error, seen.row_sum_error);
        seen.bits |= shares[p].bits;
        seen.zero_rows += shares[p].zero_rows;
    }
    for (size_t j = threadIdx.x; j < order; j += MGK_CUDA_BLOCK) {
        double sum = 0;
        for (size_t p = 0; p < parts; p++)
            sum += columns[p * e.n + j];
        largest = mgk_larger(sum, largest);
    }
    seen = join(seen);
    seen.column_sum_max = mgk_block_max(largest);
    seen.norm = seen.norm > 1e-200 && seen.norm < 1e300 ? sqrt(seen.norm) : NAN;
    if (threadIdx.x == 0)
        e.out[matrix] = seen;
}

/* Places the arrays of e->count matrices from the address `memory` on; returns their bytes. */
static size_t place(entries *e, uintptr_t memory)
{
    uintptr_t end = memory;
    e->orders = (size_t *)mgk_cuda_take(&end, e->count * sizeof(*e->orders));
    e->shares = (mgk_entries *)mgk_cuda_take(&end, e->count * e->parts * sizeof(*e->shares));
    e->columns = (double *)mgk_cuda_take(&end, e->count * e->parts * e->n * sizeof(double));
    e->out = (mgk_entries *)mgk_cuda_take(&end, e->count * sizeof(*e->out));
    return end - memory;
}

static mgk_status measure_chunk(mgk_device *device, const entries *e, const size_t *orders,
                                mgk_entries *out)
{
    TRY(mgk_cuda_upload(device, e->orders, orders, e->count * sizeof(*orders)));
    TRY(mgk_cuda_launch(device, measure_rows, e->count * e->parts, MGK_CUDA_BLOCK, 0, *e));
    TRY(mgk_cuda_launch(device, measure_columns, e->count, MGK_CUDA_BLOCK, 0, *e));
    return mgk_cuda_download(device, out, e->out, e->count * sizeof(*out));
}

mgk_status mgk_cuda_measure_entries(mgk_device *device, size_t count, size_t n,
                                    const size_t *orders, const double *matrices, mgk_entries *out)
{
    entries e = {};
    size_t chunk;
    e.pitch = n * n;
    for (size_t i = 0; i < count; i++)
        e.n = orders[i] > e.n ? orders[i] : e.n;
    e.parts = (e.n + ROWS - 1) / ROWS;
    if (count == 0)
        return STATUS_OK;
    const auto arrays = [&](size_t matrices_of_it, uintptr_t memory, size_t *bytes) {
        e.count = matrices_of_it;
        *bytes = place(&e, memory);
        return STATUS_OK;
    };
    TRY(mgk_cuda_fit(device, count, mgk_cuda_most_matrices, arrays, &chunk));
    for (size_t i = 0; i < count; i += chunk) {
        e.count = count - i < chunk ? count - i : chunk;
        e.given = matrices + i * e.pitch;
        TRY(measure_chunk(device, &e, orders + i, out + i));
    }
    return STATUS_OK;
}
