/* SPDX-License-Identifier: MIT */
/* Matrix products: OpenBLAS on one thread per slice of C. */
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/operations.h"
#include "kernels/product.h"

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
    size_t units = mgk_cpu_slice_units(extent);
    size_t slices = (size_t)device->threads < units ? (size_t)device->threads : units;
    if ((double)m * (double)n * (double)k < parallel_work)
        slices = 1;

#pragma omp parallel for schedule(static) num_threads((int)slices) if (slices > 1)
    for (size_t s = 0; s < slices; s++) {
        const mgk_cpu_slice slice = mgk_cpu_slice_of(extent, slices, s);
        size_t row = by_rows ? slice.first : 0, column = by_rows ? 0 : slice.first;
        MGK_CPU_GEMM(CblasRowMajor, transpose_a ? CblasTrans : CblasNoTrans,
                     transpose_b ? CblasTrans : CblasNoTrans, (int)(by_rows ? slice.count : m),
                     (int)(by_rows ? n : slice.count), (int)k, (real)alpha,
                     left + row * (transpose_a ? 1 : lda), (int)lda,
                     right + column * (transpose_b ? ldb : 1), (int)ldb, (real)beta,
                     product + row * ldc + column, (int)ldc);
    }
    return STATUS_OK;
}
