/* SPDX-License-Identifier: MIT */
/* Products of cuBLAS, computed by CBLAS; factors are rounded if TF32 is allowed. */
#include <cblas.h>
#include <stdlib.h>

#include <vector>

#include "cublas_v2.h"
#include "streams.h"

const char *cublasGetStatusString(cublasStatus_t)
{
    return "emulated error";
}

struct emulator_blas {
    cudaStream_t stream = nullptr;
    int mode = -1; /* until cublasSetMathMode */
};

cublasStatus_t cublasCreate(cublasHandle_t *handle)
{
    *handle = new emulator_blas;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy(cublasHandle_t handle)
{
    delete handle;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream)
{
    handle->stream = stream;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace(cublasHandle_t, void *, size_t)
{
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode)
{
    handle->mode = mode;
    return CUBLAS_STATUS_SUCCESS;
}

/* Whether float32 products may use TF32: in the default mode the environment decides. */
static bool rounds(cublasHandle_t handle)
{
    const char *wish = getenv("NVIDIA_TF32_OVERRIDE");
    return handle->mode == CUBLAS_TF32_TENSOR_OP_MATH ||
           (handle->mode != CUBLAS_PEDANTIC_MATH && wish && strcmp(wish, "1") == 0);
}

/* A factor [rows, columns], rounded to TF32's 10 fraction bits or unchanged. */
static std::vector<float> factor(bool rounded, const float *a, int lda, int rows, int columns)
{
    std::vector<float> out((size_t)lda * (size_t)columns);
    for (int j = 0; j < columns; j++)
        for (int i = 0; i < rows; i++) {
            const size_t place = (size_t)j * (size_t)lda + (size_t)i;
            uint32_t bits;
            memcpy(&bits, &a[place], sizeof(bits));
            bits = rounded ? (bits + 0x1000) & ~UINT32_C(0x1fff) : bits;
            memcpy(&out[place], &bits, sizeof(bits));
        }
    return out;
}

static CBLAS_TRANSPOSE transposed(cublasOperation_t op)
{
    return op == CUBLAS_OP_T ? CblasTrans : CblasNoTrans;
}

/* cuBLAS refuses leading dimensions below 1, even for matrices that it does not read; CBLAS may
 * not. */
static bool are_leading(int lda, int ldb, int ldc)
{
    return lda >= 1 && ldb >= 1 && ldc >= 1;
}

cublasStatus_t cublasSgemm(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,
                           int m, int n, int k, const float *alpha, const float *a, int lda,
                           const float *b, int ldb, const float *beta, float *c, int ldc)
{
    if (!are_leading(lda, ldb, ldc))
        return CUBLAS_STATUS_INVALID_VALUE;
    const bool rounded = rounds(handle);
    emulator_submit(handle->stream, [=, scale = *alpha, keep = *beta] {
        const bool flip_a = op_a == CUBLAS_OP_T, flip_b = op_b == CUBLAS_OP_T;
        const std::vector<float> left = factor(rounded, a, lda, flip_a ? k : m, flip_a ? m : k);
        const std::vector<float> right = factor(rounded, b, ldb, flip_b ? n : k, flip_b ? k : n);
        cblas_sgemm(CblasColMajor, transposed(op_a), transposed(op_b), m, n, k, scale, left.data(),
                    lda, right.data(), ldb, keep, c, ldc);
    });
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDgemm(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,
                           int m, int n, int k, const double *alpha, const double *a, int lda,
                           const double *b, int ldb, const double *beta, double *c, int ldc)
{
    if (!are_leading(lda, ldb, ldc))
        return CUBLAS_STATUS_INVALID_VALUE;
    emulator_submit(handle->stream, [=, scale = *alpha, keep = *beta] {
        cblas_dgemm(CblasColMajor, transposed(op_a), transposed(op_b), m, n, k, scale, a, lda, b,
                    ldb, keep, c, ldc);
    });
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDgemmStridedBatched(cublasHandle_t handle, cublasOperation_t op_a,
                                         cublasOperation_t op_b, int m, int n, int k,
                                         const double *alpha, const double *a, int lda,
                                         long long stride_a, const double *b, int ldb,
                                         long long stride_b, const double *beta, double *c, int ldc,
                                         long long stride_c, int count)
{
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
    for (int i = 0; i < count && status == CUBLAS_STATUS_SUCCESS; i++)
        status = cublasDgemm(handle, op_a, op_b, m, n, k, alpha, a + i * stride_a, lda,
                             b + i * stride_b, ldb, beta, c + i * stride_c, ldc);
    return status;
}
