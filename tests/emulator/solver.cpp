/* SPDX-License-Identifier: MIT */
/* cuSOLVER's batched eigenvalues and Cholesky factors, one matrix after another by LAPACK. */
#include <lapacke.h>

#include "cusolverDn.h"

struct emulator_solver {
    int unused;
};

struct emulator_solver_params {
    int unused;
};

static bool accepted(int64_t n, int64_t lda, int64_t count)
{
    return n > 0 && lda >= n && count > 0 && count < 32768 && n * lda * count <= INT32_MAX;
}

cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t *handle)
{
    *handle = new emulator_solver();
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t handle)
{
    delete handle;
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t handle, cudaStream_t)
{
    return handle ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_NOT_INITIALIZED;
}

cusolverStatus_t cusolverDnCreateParams(cusolverDnParams_t *params)
{
    *params = new emulator_solver_params();
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnDestroyParams(cusolverDnParams_t params)
{
    delete params;
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnXsyevBatched_bufferSize(cusolverDnHandle_t handle,
                                                   cusolverDnParams_t params, cusolverEigMode_t,
                                                   cublasFillMode_t, int64_t n, cudaDataType,
                                                   const void *, int64_t lda, cudaDataType,
                                                   const void *, cudaDataType, size_t *device_bytes,
                                                   size_t *host_bytes, int64_t count)
{
    if (!handle || !params || !accepted(n, lda, count))
        return CUSOLVER_STATUS_INVALID_VALUE;
    *device_bytes = (size_t)(count * n) * sizeof(double);
    *host_bytes = (size_t)count;
    return CUSOLVER_STATUS_SUCCESS;
}

/* Fills work memory with garbage, so that wrong reads show. */
cusolverStatus_t cusolverDnXsyevBatched(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                        cusolverEigMode_t mode, cublasFillMode_t fill, int64_t n,
                                        cudaDataType type_a, void *a, int64_t lda,
                                        cudaDataType type_w, void *w, cudaDataType type,
                                        void *device_work, size_t device_bytes, void *host_work,
                                        size_t host_bytes, int *info, int64_t count)
{
    size_t device_needed, host_needed;
    const cusolverStatus_t status =
        cusolverDnXsyevBatched_bufferSize(handle, params, mode, fill, n, type_a, a, lda, type_w, w,
                                          type, &device_needed, &host_needed, count);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    if (device_bytes < device_needed || host_bytes < host_needed)
        return CUSOLVER_STATUS_INVALID_WORKSPACE;
    memset(device_work, 0xff, device_bytes);
    memset(host_work, 0xff, host_bytes);
    for (int64_t i = 0; i < count; i++)
        info[i] = LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'N', 'L', (lapack_int)n,
                                 (double *)a + i * lda * n, (lapack_int)lda, (double *)w + i * n);
    return CUSOLVER_STATUS_SUCCESS;
}

/* The array of pointers is in device memory, which is host memory here. */
cusolverStatus_t cusolverDnDpotrfBatched(cusolverDnHandle_t handle, cublasFillMode_t, int n,
                                         double **a, int lda, int *info, int count)
{
    if (!handle || !accepted(n, lda, count))
        return CUSOLVER_STATUS_INVALID_VALUE;
    for (int i = 0; i < count; i++)
        info[i] = LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', n, a[i], lda);
    return CUSOLVER_STATUS_SUCCESS;
}
