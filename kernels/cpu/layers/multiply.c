/* SPDX-License-Identifier: MIT */
/* Matrix products: OpenBLAS on one thread per slice of C. */

#include "kernels/blas.h"
#include "kernels/cpu/operations.h"
#include "kernels/product.h"

#if MGK_CPU_REAL == 64
#define GEMM mgk_blas.dgemm
#else
#define GEMM mgk_blas.sgemm
#endif

/* Slices of C are multiples of this many rows or columns, which fill the BLAS kernels. */
enum { SLICE_UNIT = 32 };

/* Multiplications below which a parallel region does not pay. */
static const double parallel_work = 1 << 19;

mgk_status MGK_CPU(multiply)(mgk_device *device, bool transpose_a, bool transpose_b, size_t m,
                             size_t n, size_t k, double alpha, const void *a, size_t lda,
                             const void *b, size_t ldb, double beta, void *c, size_t ldc)
{
    if (m == 0 || n == 0)
        return STATUS_OK;
    TRY(mgk_check_product(transpose_a, transpose_b, m, n, k, &lda, &ldb, ldc));
    const real *left = a, *right = b;
    real *product = c;
    bool by_rows = m >= n;
    size_t extent = by_rows ? m : n;
    size_t units = (extent + SLICE_UNIT - 1) / SLICE_UNIT;
    size_t slices = (size_t)device->threads < units ? (size_t)device->threads : units;
    if ((double)m * (double)n * (double)k < parallel_work)
        slices = 1;

#pragma omp parallel for schedule(static) num_threads((int)slices) if (slices > 1)
    for (size_t s = 0; s < slices; s++) {
        size_t begin = units * s / slices * SLICE_UNIT;
        size_t end = units * (s + 1) / slices * SLICE_UNIT;
        size_t count = (end < extent ? end : extent) - begin;
        size_t row = by_rows ? begin : 0, column = by_rows ? 0 : begin;
        GEMM(CblasRowMajor, transpose_a ? CblasTrans : CblasNoTrans,
             transpose_b ? CblasTrans : CblasNoTrans, (int)(by_rows ? count : m),
             (int)(by_rows ? n : count), (int)k, (real)alpha, left + row * (transpose_a ? 1 : lda),
             (int)lda, right + column * (transpose_b ? ldb : 1), (int)ldb, (real)beta,
             product + row * ldc + column, (int)ldc);
    }
    return STATUS_OK;
}
