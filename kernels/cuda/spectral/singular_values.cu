/* SPDX-License-Identifier: MIT */
/*
 * Singular values from eigenvalues. The eigenvalues of the augmented matrix
 *     H = [[0, Aᵀ], [A, 0]]  [2n, 2n]
 * are ±σ_i, without squaring σ as AᵀA would. cuSOLVER solves many H in one call. Its solver is
 * backward stable, so the error of an eigenvalue is about the order of H, 2n, times 2^-53
 * ‖H‖ = 2^-53 σ_1. Smaller matrices are padded with zeros, which add zero singular values;
 * reflections fill the padding, so the order of H determines their error too.
 */
#include <math.h>
#include <stdlib.h>

#include "kernels/cuda/operations.h"
#include "kernels/cuda/spectral/chunks.h"
#include "kernels/cuda/spectral/solver.h"

/*
 * Matrices that are solved together; all arrays except `matrices` are the device's scratch memory.
 * A last chunk that is not full ends with matrices of order 0.
 */
struct eigenproblem {
    size_t n;               /* rows of the largest matrix */
    size_t chunk;           /* matrices of a chunk */
    size_t columns;         /* of sigma */
    size_t *orders;         /* [chunk] */
    const double *matrices; /* [chunk, columns, columns], smaller ones packed at the start */
    double *augmented;      /* [chunk, 2n, 2n] */
    double *eigenvalues;    /* [chunk, 2n], ascending */
    double *sigma;          /* [chunk, columns] */
    int *broken;            /* [chunk], 1: an entry is not finite */
    int *info;              /* [chunk], cuSOLVER's status: 0 is success */
    void *work, *host_work;
    size_t work_bytes, host_bytes;
};

static mgk_status query_work(mgk_cuda *cuda, cusolverDnParams_t params, eigenproblem *p)
{
    const int64_t width = 2 * (int64_t)p->n;
    return mgk_cuda_check_solver(
        cusolverDnXsyevBatched_bufferSize(cuda->solver, params, CUSOLVER_EIG_MODE_NOVECTOR,
                                          CUBLAS_FILL_MODE_LOWER, width, CUDA_R_64F, NULL, width,
                                          CUDA_R_64F, NULL, CUDA_R_64F, &p->work_bytes,
                                          &p->host_bytes, (int64_t)p->chunk),
        "cusolverDnXsyevBatched_bufferSize");
}

/* Places the arrays from the address `memory` on; returns their bytes. */
static size_t place(eigenproblem *p, uintptr_t memory)
{
    uintptr_t end = memory;
    p->orders = (size_t *)mgk_cuda_take(&end, p->chunk * sizeof(*p->orders));
    p->augmented = (double *)mgk_cuda_take(&end, p->chunk * 4 * p->n * p->n * sizeof(double));
    p->eigenvalues = (double *)mgk_cuda_take(&end, p->chunk * 2 * p->n * sizeof(double));
    p->sigma = (double *)mgk_cuda_take(&end, p->chunk * p->columns * sizeof(double));
    p->broken = (int *)mgk_cuda_take(&end, p->chunk * sizeof(*p->broken));
    p->info = (int *)mgk_cuda_take(&end, p->chunk * sizeof(*p->info));
    p->work = mgk_cuda_take(&end, p->work_bytes);
    return end - memory;
}

/*
 * The most matrices per cuSOLVER call: it counts the entries of all H in 32 bits, and reportedly
 * refuses any number from about 32768 on.
 */
static size_t most_at_once(size_t n)
{
    const size_t countable = INT32_MAX / (4 * n * n);
    return countable < mgk_cuda_most_matrices ? countable : mgk_cuda_most_matrices;
}

/* Both triangles of H. Entries that are not finite become 0: with them the solver might not end. */
__global__ void augment(eigenproblem p)
{
    const size_t width = 2 * p.n;
    for (size_t i = mgk_cuda_first(); i < p.chunk * width * width; i += mgk_cuda_step()) {
        const size_t matrix = i / (width * width), order = p.orders[matrix];
        const size_t x = i / width % width, y = i % width;
        const size_t column = x < y ? x : y, below = x < y ? y : x;
        double entry = 0;
        if (column < order && below >= p.n && below - p.n < order)
            entry = p.matrices[matrix * p.columns * p.columns + (below - p.n) * order + column];
        if (!isfinite(entry)) {
            p.broken[matrix] = 1;
            entry = 0;
        }
        p.augmented[i] = entry;
    }
}

/* The upper half of the eigenvalues. Those of a singular matrix may be slightly below 0. */
__global__ void gather(eigenproblem p)
{
    for (size_t i = mgk_cuda_first(); i < p.chunk * p.columns; i += mgk_cuda_step()) {
        const size_t matrix = i / p.columns, k = i % p.columns;
        double value = 0;
        if (k < p.orders[matrix]) {
            value = p.eigenvalues[(matrix + 1) * 2 * p.n - 1 - k];
            if (value < 0)
                value = 0;
            if (p.broken[matrix] != 0 || p.info[matrix] != 0)
                value = NAN;
        }
        p.sigma[i] = value;
    }
}

static mgk_status solve(mgk_device *device, cusolverDnParams_t params, const eigenproblem *p)
{
    const size_t width = 2 * p->n;
    TRY(mgk_cuda_launch(device, augment, mgk_cuda_blocks(p->chunk * width * width), MGK_CUDA_BLOCK,
                        0, *p));
    TRY(mgk_cuda_check_solver(
        cusolverDnXsyevBatched(mgk_cuda_of(device)->solver, params, CUSOLVER_EIG_MODE_NOVECTOR,
                               CUBLAS_FILL_MODE_LOWER, (int64_t)width, CUDA_R_64F, p->augmented,
                               (int64_t)width, CUDA_R_64F, p->eigenvalues, CUDA_R_64F, p->work,
                               p->work_bytes, p->host_work, p->host_bytes, p->info,
                               (int64_t)p->chunk),
        "cusolverDnXsyevBatched"));
    return mgk_cuda_launch(device, gather, mgk_cuda_blocks(p->chunk * p->columns), MGK_CUDA_BLOCK,
                           0, *p);
}

/* Solves the first `count` matrices, at most a chunk. */
static mgk_status solve_chunk(mgk_device *device, cusolverDnParams_t params, const eigenproblem *p,
                              size_t count, const size_t *orders, double *sigma)
{
    TRY(mgk_cuda_zero(device, p->broken, p->chunk * sizeof(*p->broken)));
    TRY(mgk_cuda_zero(device, p->orders, p->chunk * sizeof(*p->orders)));
    TRY(mgk_cuda_upload(device, p->orders, orders, count * sizeof(*orders)));
    TRY(solve(device, params, p));
    return mgk_cuda_download(device, sigma, p->sigma, count * p->columns * sizeof(double));
}

static mgk_status fit(mgk_device *device, cusolverDnParams_t params, size_t count, eigenproblem *p)
{
    const size_t most = most_at_once(p->n);
    if (most == 0)
        return mgk_fail(STATUS_UNSUPPORTED, "%s: a matrix of %zu rows is too large for cuSOLVER",
                        device->name, p->n);
    const auto arrays = [&](size_t chunk, uintptr_t memory, size_t *bytes) {
        p->chunk = chunk;
        TRY(query_work(mgk_cuda_of(device), params, p));
        *bytes = place(p, memory);
        return STATUS_OK;
    };
    return mgk_cuda_fit(device, count, most, arrays, &p->chunk);
}

static mgk_status solve_all(mgk_device *device, cusolverDnParams_t params, eigenproblem *p,
                            size_t count, const size_t *orders, double *sigma)
{
    TRY(fit(device, params, count, p));
    p->host_work = malloc(p->host_bytes ? p->host_bytes : 1);
    if (!p->host_work)
        return mgk_fail(STATUS_MEMORY, "no memory for cuSOLVER");
    mgk_status status = STATUS_OK;
    for (size_t i = 0; i < count && status == STATUS_OK; i += p->chunk) {
        status = solve_chunk(device, params, p, count - i < p->chunk ? count - i : p->chunk,
                             orders + i, sigma + i * p->columns);
        p->matrices += p->chunk * p->columns * p->columns;
    }
    free(p->host_work);
    return status;
}

mgk_status mgk_cuda_singular_values(mgk_device *device, size_t count, size_t n,
                                    const size_t *orders, double *matrices, double *sigma)
{
    eigenproblem p = {};
    p.columns = n;
    p.matrices = matrices;
    for (size_t i = 0; i < count; i++)
        p.n = orders[i] > p.n ? orders[i] : p.n;
    if (p.n == 0) {
        for (size_t i = 0; i < count * n; i++)
            sigma[i] = 0;
        return STATUS_OK;
    }
    cusolverDnParams_t params;
    TRY(mgk_cuda_enter(device));
    TRY(mgk_cuda_open_solver(device));
    TRY(mgk_cuda_check_solver(cusolverDnCreateParams(&params), "cusolverDnCreateParams"));
    mgk_status status = solve_all(device, params, &p, count, orders, sigma);
    cusolverDnDestroyParams(params);
    return status;
}
