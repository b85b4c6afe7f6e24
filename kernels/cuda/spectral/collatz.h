/* SPDX-License-Identifier: MIT */
/*
 * Collatz' bound (kernels/spectral/rounding.h) of FᵀF, for F [n, n] without negative entries;
 * x = FᵀF 1 is already close to the dominant direction.
 */
#ifndef MGK_KERNELS_CUDA_COLLATZ_H
#define MGK_KERNELS_CUDA_COLLATZ_H

#include "kernels/cuda/operations.h"
#include "kernels/cuda/sums.h"
#include "kernels/spectral/rounding.h"

/* Arrays of the device. */
struct mgk_collatz {
    size_t n;
    double *x, *y, *next; /* [n] */
    double *partial;      /* [n / MGK_COLUMN_ROWS, rounded up, n] */
    double *bound;        /* [1]; not finite if an entry of F is not */
};

static inline mgk_collatz mgk_collatz_place(size_t n, uintptr_t *end)
{
    const size_t parts = (n + MGK_COLUMN_ROWS - 1) / MGK_COLUMN_ROWS;
    mgk_collatz c = {};
    c.n = n;
    c.x = (double *)mgk_cuda_take(end, n * sizeof(double));
    c.y = (double *)mgk_cuda_take(end, n * sizeof(double));
    c.next = (double *)mgk_cuda_take(end, n * sizeof(double));
    c.partial = (double *)mgk_cuda_take(end, parts * n * sizeof(double));
    c.bound = (double *)mgk_cuda_take(end, sizeof(double));
    return c;
}

__global__ static void mgk_collatz_begin(mgk_collatz c)
{
    for (size_t j = mgk_cuda_first(); j < c.n; j += mgk_cuda_step())
        c.x[j] = 1;
}

/* y = F x, one block per row. */
template <typename Entry> __global__ void mgk_collatz_rows(mgk_collatz c, Entry entry)
{
    const size_t i = blockIdx.x;
    double sum = 0;
    for (size_t j = threadIdx.x; j < c.n; j += MGK_CUDA_BLOCK)
        sum += entry(i, j) * c.x[j];
    sum = mgk_block_sum(sum);
    if (threadIdx.x == 0)
        c.y[i] = sum;
}

/* The terms of an entry of Fᵀ y. */
template <typename Entry> struct mgk_collatz_term {
    Entry entry;
    const double *y;

    __device__ double operator()(size_t i, size_t j) const
    {
        return entry(i, j) * y[i];
    }
};

/*
 * One block: the bound, then x ← next. Where an entry of x is 0 after the first step, its column of
 * F is 0. NaN is kept.
 */
__global__ static void mgk_collatz_compare(mgk_collatz c)
{
    double largest = 0;
    for (size_t j = threadIdx.x; j < c.n; j += MGK_CUDA_BLOCK) {
        largest = mgk_larger(c.x[j] == 0 ? c.next[j] : c.next[j] / c.x[j], largest);
        c.x[j] = c.next[j];
    }
    largest = mgk_block_max(largest);
    if (threadIdx.x == 0)
        *c.bound = mgk_collatz_bound(largest, c.n);
}

/* Computes *c.bound; entry(i, j) is f_ij >= 0, a function object that runs on the device. */
template <typename Entry>
mgk_status mgk_collatz_find(mgk_device *device, const mgk_collatz &c, Entry entry)
{
    const size_t n = c.n, parts = (n + MGK_COLUMN_ROWS - 1) / MGK_COLUMN_ROWS;
    const mgk_collatz_term<Entry> term = {entry, c.y};
    TRY(mgk_cuda_launch(device, mgk_collatz_begin, mgk_cuda_blocks(n), MGK_CUDA_BLOCK, 0, c));
    for (int step = 0; step < 2; step++) {
        TRY(mgk_cuda_launch(device, mgk_collatz_rows<Entry>, n, MGK_CUDA_BLOCK, 0, c, entry));
        TRY(mgk_cuda_launch(device, mgk_sum_column_parts<double, mgk_collatz_term<Entry>>,
                            mgk_cuda_blocks(parts * n), MGK_CUDA_BLOCK, 0, n, n, term, c.partial));
        TRY(mgk_cuda_zero(device, c.next, n * sizeof(double)));
        TRY(mgk_cuda_launch(device, mgk_add_column_parts<double>, n, MGK_CUDA_BLOCK, 0, parts, n,
                            c.partial, c.next));
        TRY(mgk_cuda_launch(device, mgk_collatz_compare, 1, MGK_CUDA_BLOCK, 0, c));
    }
    return STATUS_OK;
}

#endif
