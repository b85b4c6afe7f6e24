/* SPDX-License-Identifier: MIT */
/*
 * Reduces a batch of dense matrices to bands, as on the host (kernels/cpu/spectral/band.c): for
 * each block of b columns, with the trailing matrix A,
 *
 *     its columns   = (I - V T Vᵀ) R   (QR; R joins the band)
 *     Y             = Tᵀ Vᵀ A          of the remaining columns
 *     its rows, minus V Y, transposed = (I - V' T' V'ᵀ) R'   (R'ᵀ joins the band)
 *     X             = (A - V Y) V' T'
 *     A            -= [V X] [Y; V'ᵀ].
 *
 * All steps except the two panels are matrix products, of all matrices in one call. A matrix is
 * read as column-major: its transpose has the same singular values.
 *
 * Working copies have entries up to 2 and an order of whole blocks. Their padding is 0 and stays 0:
 * products with zeros are exact, and the reflector of a vector is 0 where the vector is.
 */
#include <math.h>

#include "kernels/cuda/spectral/chunks.h"
#include "kernels/cuda/spectral/panel.h"
#include "kernels/cuda/sums.h"

enum {
    WIDTH = MGK_BAND_WIDTH,
    PARTS = 64 /* blocks per matrix that search its largest entry */
};

/* Matrices that are reduced together; all arrays except `given` and `bands` are scratch memory. */
struct reduction {
    size_t count;
    size_t n;            /* order of the working copies, a multiple of WIDTH */
    size_t pitch;        /* distance of two matrices in `given` */
    const double *given; /* [count, pitch], matrix i packed at its start */
    double *bands;       /* [count, band_entries] */
    size_t band_entries;
    size_t most_blocks; /* blocks per cluster, at most */
    size_t *orders;     /* [count] */
    double *largest;    /* [count, PARTS] magnitudes */
    double *scales; /* [count], power of two that divides entries; NaN: one is not finite, copy 0 */
    mgk_tall matrices; /* [n, n] */
    mgk_tall left;     /* [n, 2 b]: V X */
    mgk_tall right;    /* [n, 2 b]: Yᵀ V' */
    mgk_tall rows;     /* [n, b], the rows of a block, transposed */
    mgk_tall products; /* [n, b] */
    mgk_tall t, small; /* [b, b] */
};

static mgk_tall at(const mgk_tall &a, size_t row, size_t column)
{
    return {a.data + row + column * a.pitch, a.pitch, a.apart};
}

/* C ← alpha op(A) op(B) + beta C of every matrix; C [m, n], inner dimension k. */
static mgk_status multiply(mgk_device *device, const reduction &r, cublasOperation_t op_a,
                           cublasOperation_t op_b, size_t m, size_t n, size_t k, double alpha,
                           const mgk_tall &a, const mgk_tall &b, double beta, const mgk_tall &c)
{
    return mgk_cuda_check_blas(
        cublasDgemmStridedBatched(mgk_cuda_of(device)->blas, op_a, op_b, (int)m, (int)n, (int)k,
                                  &alpha, a.data, (int)a.pitch, (long long)a.apart, b.data,
                                  (int)b.pitch, (long long)b.apart, &beta, c.data, (int)c.pitch,
                                  (long long)c.apart, (int)r.count),
        "cublasDgemmStridedBatched");
}

/* PARTS blocks per matrix; NaN counts as the largest. */
__global__ void find_largest(reduction r)
{
    const size_t matrix = blockIdx.x / PARTS, part = blockIdx.x % PARTS, order = r.orders[matrix];
    const double *given = r.given + matrix * r.pitch;
    double largest = 0;
    for (size_t e = part * MGK_CUDA_BLOCK + threadIdx.x; e < order * order;
         e += PARTS * MGK_CUDA_BLOCK)
        largest = mgk_larger(fabs(given[e]), largest);
    largest = mgk_block_max(largest);
    if (threadIdx.x == 0)
        r.largest[blockIdx.x] = largest;
}

__global__ void choose_scales(reduction r)
{
    for (size_t matrix = mgk_cuda_first(); matrix < r.count; matrix += mgk_cuda_step()) {
        double largest = 0;
        for (size_t part = 0; part < PARTS; part++)
            largest = mgk_larger(r.largest[matrix * PARTS + part], largest);
        const int exponent = largest > 0 && isfinite(largest) ? ilogb(largest) : 0;
        r.scales[matrix] = isfinite(largest) ? scalbn(1.0, exponent) : NAN;
    }
}

/* Fills the working copies. */
__global__ void copy_scaled(reduction r)
{
    for (size_t e = mgk_cuda_first(); e < r.count * r.n * r.n; e += mgk_cuda_step()) {
        const size_t matrix = e / (r.n * r.n), i = e / r.n % r.n, j = e % r.n;
        const size_t order = r.orders[matrix];
        const double scale = r.scales[matrix];
        double entry = 0;
        if (i < order && j < order && isfinite(scale))
            entry = r.given[matrix * r.pitch + i * order + j] / scale;
        r.matrices.data[e] = entry;
    }
}

/* One block per WIDTH columns of each matrix: the first WIDTH rows of `from`, transposed. */
__global__ void transpose_rows(mgk_tall from, mgk_tall to, size_t groups)
{
    __shared__ double tile[WIDTH][WIDTH + 1];
    const size_t matrix = blockIdx.x / groups, first = blockIdx.x % groups * WIDTH;
    const size_t lane = threadIdx.x % WIDTH;
    from.data += matrix * from.apart + first * from.pitch;
    to.data += matrix * to.apart + first;
    for (size_t c = threadIdx.x / WIDTH; c < WIDTH; c += MGK_CUDA_BLOCK / WIDTH)
        tile[c][lane] = from.data[c * from.pitch + lane];
    __syncthreads();
    for (size_t c = threadIdx.x / WIDTH; c < WIDTH; c += MGK_CUDA_BLOCK / WIDTH)
        to.data[c * to.pitch + lane] = tile[lane][c];
}

/* QR of panels [rows, WIDTH]; R is written to offset `band` of every band. */
static mgk_status factor(mgk_device *device, const reduction &r, size_t rows, const mgk_tall &a,
                         const mgk_tall &v, size_t band, size_t down, size_t across)
{
    mgk_panels panels = {};
    panels.count = r.count;
    panels.rows = rows;
    panels.a = a;
    panels.v = v;
    panels.t = r.t.data;
    panels.band = r.bands + band;
    panels.band_apart = r.band_entries;
    panels.down = down;
    panels.across = across;
    panels.scales = r.scales;
    return mgk_cuda_factor_panels(device, &panels, r.most_blocks);
}

/* Yᵀ [order, b] = Aᵀ V T, a [rows, order]. */
static mgk_status make_y(mgk_device *device, const reduction &r, size_t rows, const mgk_tall &a)
{
    const size_t order = rows - WIDTH;
    TRY(multiply(device, r, CUBLAS_OP_T, CUBLAS_OP_N, order, WIDTH, rows, 1, a, r.left, 0,
                 r.products));
    return multiply(device, r, CUBLAS_OP_N, CUBLAS_OP_N, order, WIDTH, WIDTH, 1, r.products, r.t, 0,
                    r.right);
}

/* V' and T' of the rows, a [b, order] minus V Y. */
static mgk_status factor_rows(mgk_device *device, const reduction &r, size_t order,
                              const mgk_tall &a, size_t band)
{
    const size_t groups = order / WIDTH;
    TRY(mgk_cuda_launch(device, transpose_rows, r.count * groups, MGK_CUDA_BLOCK, 0, a, r.rows,
                        groups));
    TRY(multiply(device, r, CUBLAS_OP_N, CUBLAS_OP_T, order, WIDTH, WIDTH, -1, r.right, r.left, 1,
                 r.rows));
    return factor(device, r, order, r.rows, at(r.right, 0, WIDTH), band, 1, WIDTH);
}

/* X [order, b] = (A - V Y) V' T' of the rows below the block, a [order, order]. */
static mgk_status make_x(mgk_device *device, const reduction &r, size_t order, const mgk_tall &a)
{
    const mgk_tall v = at(r.left, WIDTH, 0), x = at(r.left, WIDTH, WIDTH);
    const mgk_tall reflectors = at(r.right, 0, WIDTH);
    TRY(multiply(device, r, CUBLAS_OP_T, CUBLAS_OP_N, WIDTH, WIDTH, order, 1, r.right, reflectors,
                 0, r.small));
    TRY(multiply(device, r, CUBLAS_OP_N, CUBLAS_OP_N, order, WIDTH, order, 1, a, reflectors, 0,
                 r.products));
    TRY(multiply(device, r, CUBLAS_OP_N, CUBLAS_OP_N, order, WIDTH, WIDTH, -1, v, r.small, 1,
                 r.products));
    return multiply(device, r, CUBLAS_OP_N, CUBLAS_OP_N, order, WIDTH, WIDTH, 1, r.products, r.t, 0,
                    x);
}

static mgk_status reduce(mgk_device *device, const reduction &r)
{
    for (size_t k = 0; k < r.n; k += WIDTH) {
        const size_t rows = r.n - k, order = rows - WIDTH, band = k * (WIDTH + 1);
        TRY(factor(device, r, rows, at(r.matrices, k, k), r.left, band, WIDTH, 1));
        if (order == 0)
            break;
        const mgk_tall beside = at(r.matrices, k, k + WIDTH), below = at(beside, WIDTH, 0);
        TRY(make_y(device, r, rows, beside));
        TRY(factor_rows(device, r, order, beside, band + WIDTH));
        TRY(make_x(device, r, order, below));
        TRY(multiply(device, r, CUBLAS_OP_N, CUBLAS_OP_T, order, order, 2 * WIDTH, -1,
                     at(r.left, WIDTH, 0), r.right, 1, below));
    }
    return STATUS_OK;
}

static mgk_tall take(uintptr_t *end, size_t count, size_t rows, size_t columns)
{
    return {(double *)mgk_cuda_take(end, count * rows * columns * sizeof(double)), rows,
            rows * columns};
}

/* Places the arrays of r->count matrices from the address `memory` on; returns their bytes. */
static size_t place(reduction *r, uintptr_t memory)
{
    uintptr_t end = memory;
    r->orders = (size_t *)mgk_cuda_take(&end, r->count * sizeof(*r->orders));
    r->largest = (double *)mgk_cuda_take(&end, r->count * PARTS * sizeof(*r->largest));
    r->scales = (double *)mgk_cuda_take(&end, r->count * sizeof(*r->scales));
    r->matrices = take(&end, r->count, r->n, r->n);
    r->left = take(&end, r->count, r->n, 2 * WIDTH);
    r->right = take(&end, r->count, r->n, 2 * WIDTH);
    r->rows = take(&end, r->count, r->n, WIDTH);
    r->products = take(&end, r->count, r->n, WIDTH);
    r->t = take(&end, r->count, WIDTH, WIDTH);
    r->small = take(&end, r->count, WIDTH, WIDTH);
    return end - memory;
}

static mgk_status reduce_chunk(mgk_device *device, const reduction &r, const size_t *orders)
{
    TRY(mgk_cuda_upload(device, r.orders, orders, r.count * sizeof(*orders)));
    TRY(mgk_cuda_zero(device, r.bands, r.count * r.band_entries * sizeof(double)));
    TRY(mgk_cuda_launch(device, find_largest, r.count * PARTS, MGK_CUDA_BLOCK, 0, r));
    TRY(mgk_cuda_launch(device, choose_scales, mgk_cuda_blocks(r.count), MGK_CUDA_BLOCK, 0, r));
    TRY(mgk_cuda_launch(device, copy_scaled, mgk_cuda_blocks(r.count * r.n * r.n), MGK_CUDA_BLOCK,
                        0, r));
    return reduce(device, r);
}

/* The blocks per cluster that every device of this architecture can run. */
static mgk_status find_most_blocks(mgk_device *device, size_t *most)
{
    int major;
    TRY(mgk_cuda_check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor,
                                              mgk_cuda_of(device)->index),
                       "cudaDeviceGetAttribute"));
    *most = major >= 9 ? MGK_CLUSTER_PORTABLE : 1;
    return STATUS_OK;
}

mgk_status mgk_cuda_reduce_to_bands(mgk_device *device, size_t count, size_t n,
                                    const size_t *orders, const double *matrices, double *bands)
{
    reduction r = {};
    size_t chunk, largest = 1;
    r.pitch = n * n;
    r.band_entries = mgk_band_entries(n);
    for (size_t i = 0; i < count; i++)
        largest = orders[i] > largest ? orders[i] : largest;
    r.n = (largest + WIDTH - 1) / WIDTH * WIDTH;
    if (count * n == 0)
        return STATUS_OK;
    const auto arrays = [&](size_t matrices_of_it, uintptr_t memory, size_t *bytes) {
        r.count = matrices_of_it;
        *bytes = place(&r, memory);
        return STATUS_OK;
    };
    TRY(find_most_blocks(device, &r.most_blocks));
    TRY(mgk_cuda_fit(device, count, mgk_cuda_most_matrices, arrays, &chunk));
    for (size_t i = 0; i < count; i += chunk) {
        r.count = count - i < chunk ? count - i : chunk;
        r.given = matrices + i * r.pitch;
        r.bands = bands + i * r.band_entries;
        TRY(reduce_chunk(device, r, orders + i));
    }
    return STATUS_OK;
}
