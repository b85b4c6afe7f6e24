/* Checks of matrix products before a BLAS is called, whose sizes are int; for all devices. */
#ifndef MGK_KERNELS_PRODUCT_H
#define MGK_KERNELS_PRODUCT_H

#include <limits.h>

#include "kernels/backend.h"

/*
 * STATUS_UNSUPPORTED where a size of op(A) [m, k] op(B) [k, n] is no int. Where nothing is read,
 * for k = 0, the leading dimensions become such as a BLAS, which checks them even so, accepts.
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
