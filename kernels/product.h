/* SPDX-License-Identifier: MIT */
/* Checks a matrix product before a BLAS call, for all devices: a BLAS takes sizes as int. */
#ifndef MGK_KERNELS_PRODUCT_H
#define MGK_KERNELS_PRODUCT_H

#include <limits.h>

#include "kernels/backend.h"

/*
 * STATUS_UNSUPPORTED: a size of op(A) [m, k] op(B) [k, n] exceeds int. For k = 0 nothing is read,
 * but a BLAS checks the leading dimensions: they become values that it accepts.
 */
static inline mgk_status mgk_check_product(bool transpose_a, bool transpose_b, size_t m, size_t n,
                                           size_t k, size_t *lda, size_t *ldb, size_t ldc)
{
    if (m > INT_MAX || n > INT_MAX || k > INT_MAX || *lda > INT_MAX || *ldb > INT_MAX ||
        ldc > INT_MAX)
        return mgk_fail(STATUS_UNSUPPORTED, "product [%zu, %zu] x [%zu, %zu]: too large for BLAS",
                        m, k, k, n);
    if (k == 0) {
        *lda = transpose_a ? m : 1;
        *ldb = transpose_b ? 1 : n;
    }
    return STATUS_OK;
}

#endif
