/* SPDX-License-Identifier: MIT */
/* Batched functions of cuSOLVER in float64, by LAPACK: symmetric eigenvalues, Cholesky factors. */
#ifndef MGK_TESTS_EMULATOR_CUSOLVERDN_H
#define MGK_TESTS_EMULATOR_CUSOLVERDN_H

#include "cublas_v2.h"
#include "cuda_runtime.h"

enum cusolverStatus_t {
    CUSOLVER_STATUS_SUCCESS,
    CUSOLVER_STATUS_NOT_INITIALIZED,
    CUSOLVER_STATUS_ALLOC_FAILED,
    CUSOLVER_STATUS_INVALID_VALUE,
    CUSOLVER_STATUS_ARCH_MISMATCH,
    CUSOLVER_STATUS_MAPPING_ERROR,
    CUSOLVER_STATUS_EXECUTION_FAILED,
    CUSOLVER_STATUS_INTERNAL_ERROR,
    CUSOLVER_STATUS_NOT_SUPPORTED,
    CUSOLVER_STATUS_INVALID_WORKSPACE
};
enum cusolverEigMode_t { CUSOLVER_EIG_MODE_NOVECTOR };
enum cudaDataType { CUDA_R_64F };
typedef struct emulator_solver *cusolverDnHandle_t;
typedef struct emulator_solver_params *cusolverDnParams_t;

cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t *handle);
cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t handle);
cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t handle, cudaStream_t stream);
cusolverStatus_t cusolverDnCreateParams(cusolverDnParams_t *params);
cusolverStatus_t cusolverDnDestroyParams(cusolverDnParams_t params);
cusolverStatus_t cusolverDnXsyevBatched_bufferSize(cusolverDnHandle_t handle,
                                                   cusolverDnParams_t params,
                                                   cusolverEigMode_t mode, cublasFillMode_t fill,
                                                   int64_t n, cudaDataType type_a, const void *a,
                                                   int64_t lda, cudaDataType type_w, const void *w,
                                                   cudaDataType type, size_t *device_bytes,
                                                   size_t *host_bytes, int64_t count);
cusolverStatus_t cusolverDnXsyevBatched(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                        cusolverEigMode_t mode, cublasFillMode_t fill, int64_t n,
                                        cudaDataType type_a, void *a, int64_t lda,
                                        cudaDataType type_w, void *w, cudaDataType type,
                                        void *device_work, size_t device_bytes, void *host_work,
                                        size_t host_bytes, int *info, int64_t count);
cusolverStatus_t cusolverDnDpotrfBatched(cusolverDnHandle_t handle, cublasFillMode_t fill, int n,
                                         double **a, int lda, int *info, int count);

#endif
