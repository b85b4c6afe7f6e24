/* SPDX-License-Identifier: MIT */
/* Matrix products with cuBLAS, which is column-major: computes Cᵀ = op(B)ᵀ op(A)ᵀ. */
#include <stdio.h>
#include <string.h>

#include "kernels/cuda/operations.h"
extern "C" {
#include "kernels/product.h"
}

/*
 * Only the pedantic mode uses float32 arithmetic alone for float32 products. The default mode
 * follows the environment, which may request TF32 (NVIDIA_TF32_OVERRIDE=1) or emulation by bfloat16
 * (CUBLAS_EMULATE_SINGLE_PRECISION). float64 keeps the default mode, whose tensor cores compute in
 * float64; a device does not open if the environment requests less.
 */
mgk_status mgk_cuda_set_math(mgk_device *device)
{
    const cublasMath_t single = device->tf32 ? CUBLAS_TF32_TENSOR_OP_MATH : CUBLAS_PEDANTIC_MATH;
    return mgk_cuda_check_blas(
        cublasSetMathMode(mgk_cuda_of(device)->blas,
                          device->precision == MGK_DOUBLE ? CUBLAS_DEFAULT_MATH : single),
        "cublasSetMathMode");
}

mgk_status mgk_cuda_allow_tf32(mgk_device *device)
{
    if (device->precision == MGK_DOUBLE)
        return mgk_fail(STATUS_USAGE, "TF32 is for single precision, not for double");
    if (device->tf32)
        return STATUS_OK;
    device->tf32 = true;
    TRY(mgk_cuda_set_math(device));
    size_t length = strlen(device->name);
    snprintf(device->name + length, sizeof(device->name) - length, " with TF32");
    return STATUS_OK;
}

static cublasStatus_t gemm(cublasHandle_t blas, cublasOperation_t op_b, cublasOperation_t op_a,
                           int n, int m, int k, const float *alpha, const float *b, int ldb,
                           const float *a, int lda, const float *beta, float *c, int ldc)
{
    return cublasSgemm(blas, op_b, op_a, n, m, k, alpha, b, ldb, a, lda, beta, c, ldc);
}

static cublasStatus_t gemm(cublasHandle_t blas, cublasOperation_t op_b, cublasOperation_t op_a,
                           int n, int m, int k, const double *alpha, const double *b, int ldb,
                           const double *a, int lda, const double *beta, double *c, int ldc)
{
    return cublasDgemm(blas, op_b, op_a, n, m, k, alpha, b, ldb, a, lda, beta, c, ldc);
}

template <typename real>
mgk_status mgk_cuda_multiply(mgk_device *device, bool transpose_a, bool transpose_b, size_t m,
                             size_t n, size_t k, double alpha, const void *a, size_t lda,
                             const void *b, size_t ldb, double beta, void *c, size_t ldc)
{
    if (m == 0 || n == 0)
        return STATUS_OK;
    TRY(mgk_check_product(transpose_a, transpose_b, m, n, k, &lda, &ldb, ldc));
    const real factor = (real)alpha, keep = (real)beta;
    TRY(mgk_cuda_enter(device));
    return mgk_cuda_check_blas(
        gemm(mgk_cuda_of(device)->blas, transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N,
             transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N, (int)n, (int)m, (int)k, &factor,
             (const real *)b, (int)ldb, (const real *)a, (int)lda, &keep, (real *)c, (int)ldc),
        "cuBLAS product");
}

MGK_CUDA_OPERATION(mgk_cuda_multiply);
