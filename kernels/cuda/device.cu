/* SPDX-License-Identifier: MIT */
/* Opens a GPU and converts CUDA's errors to statuses. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern "C" {
#include "kernels/cuda/device.h"
}
#include "kernels/cuda/operations.h"
#include "kernels/cuda/table.h"

mgk_status mgk_cuda_check(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return STATUS_OK;
    bool memory = error == cudaErrorMemoryAllocation;
    if (memory)
        cudaGetLastError(); /* otherwise the next launch would report it again */
    return mgk_fail(memory ? STATUS_MEMORY : STATUS_DEVICE, "%s: %s: %s", what,
                    cudaGetErrorName(error), cudaGetErrorString(error));
}

mgk_status mgk_cuda_check_blas(cublasStatus_t error, const char *what)
{
    if (error == CUBLAS_STATUS_SUCCESS)
        return STATUS_OK;
    return mgk_fail(error == CUBLAS_STATUS_ALLOC_FAILED ? STATUS_MEMORY : STATUS_DEVICE, "%s: %s",
                    what, cublasGetStatusString(error));
}

mgk_status mgk_cuda_enter(const mgk_device *device)
{
    return mgk_cuda_check(cudaSetDevice(mgk_cuda_of(device)->index), "cudaSetDevice");
}

mgk_status mgk_cuda_scratch(mgk_device *device, size_t bytes, void *out)
{
    mgk_cuda *cuda = mgk_cuda_of(device);
    if (bytes > cuda->scratch_bytes) {
        if (cuda->recording)
            return mgk_fail(STATUS_DEVICE,
                            "%s: work wants %zu bytes of scratch memory to be recorded, %zu before",
                            device->name, bytes, cuda->scratch_bytes);
        mgk_cuda_release(device, cuda->scratch);
        cuda->scratch = NULL;
        cuda->scratch_bytes = 0;
        TRY(mgk_cuda_allocate(device, bytes, &cuda->scratch));
        cuda->scratch_bytes = bytes;
    }
    *(void **)out = cuda->scratch;
    return STATUS_OK;
}

/* This variable lets cuBLAS and cuSOLVER emulate float64 products with integers. */
static mgk_status refuse_emulation(void)
{
    const char *name = "CUBLAS_EMULATE_DOUBLE_PRECISION", *value = getenv(name);
    if (!value || !*value || strcmp(value, "0") == 0)
        return STATUS_OK;
    return mgk_fail(STATUS_DEVICE, "%s is set: float64 would not be float64", name);
}

/* No device is visible; the message names the variable that may hide them. */
static mgk_status no_device(void)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    if (visible)
        return mgk_fail(STATUS_DEVICE,
                        "there is no CUDA device (CUDA_VISIBLE_DEVICES is \"%.40s\")", visible);
    return mgk_fail(STATUS_DEVICE, "there is no CUDA device");
}

static mgk_status unusable_driver(void)
{
    int driver = 0, runtime = 0;
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    if (driver == 0)
        return mgk_fail(STATUS_DEVICE, "there is no CUDA driver");
    return mgk_fail(STATUS_DEVICE,
                    "the driver is too old: it is for CUDA %d.%d, this program needs %d.%d",
                    driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
}

/* Replaces the turn of a process by the device that it takes. */
static mgk_status check_device(int *index, cudaDeviceProp *properties)
{
    int count = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error == cudaErrorNoDevice || (error == cudaSuccess && count == 0))
        return no_device();
    if (error == cudaErrorInsufficientDriver)
        return unusable_driver();
    TRY(mgk_cuda_check(error, "cudaGetDeviceCount"));
    if (*index < 0)
        *index = (-1 - *index) % count;
    if (*index >= count && count == 1)
        return mgk_fail(STATUS_DEVICE, "there is one CUDA device, cuda:0");
    if (*index >= count)
        return mgk_fail(STATUS_DEVICE, "there are %d CUDA devices, cuda:0 to cuda:%d", count,
                        count - 1);
    return mgk_cuda_check(cudaGetDeviceProperties(properties, *index), "cudaGetDeviceProperties");
}

__global__ void probe(int *out)
{
    *out = 1;
}

/*
 * A kernel must exist for the device's architecture; only launching one shows whether it does. A
 * device with clusters must not run code compiled for one without: the host launches clusters.
 */
static mgk_status check_architecture(mgk_device *device, const cudaDeviceProp *properties)
{
    int *flag = NULL;
    TRY(mgk_cuda_scratch(device, sizeof(*flag), &flag));
    cudaLaunchConfig_t config = {};
    config.gridDim = config.blockDim = dim3(1);
    config.stream = mgk_cuda_of(device)->stream;
    cudaError_t error = cudaLaunchKernelEx(&config, probe, flag);
    cudaFuncAttributes code = {};
    if (error == cudaSuccess)
        error = cudaFuncGetAttributes(&code, (const void *)probe);
    if (error == cudaErrorNoKernelImageForDevice || error == cudaErrorInvalidDeviceFunction ||
        error == cudaErrorUnsupportedPtxVersion || (properties->major >= 9 && code.ptxVersion < 90))
        return mgk_fail(STATUS_DEVICE,
                        "%s has compute capability %d.%d, this program was not compiled for it",
                        properties->name, properties->major, properties->minor);
    TRY(mgk_cuda_check(error, "cudaLaunchKernelEx"));
    return mgk_cuda_synchronize(device);
}

/*
 * Without this, cuBLAS would allocate a workspace for every graph that records it. The size is the
 * recommendation of its documentation, less if memory is short.
 */
static mgk_status give_workspace(mgk_device *device, const cudaDeviceProp *properties)
{
    mgk_cuda *cuda = mgk_cuda_of(device);
    size_t left, total, bytes = (size_t)(properties->major >= 9 ? 32 : 4) << 20;
    TRY(mgk_cuda_check(cudaMemGetInfo(&left, &total), "cudaMemGetInfo"));
    bytes = bytes < left / 64 ? bytes : left / 64;
    TRY(mgk_cuda_allocate(device, bytes, &cuda->blas_workspace));
    return mgk_cuda_check_blas(cublasSetWorkspace(cuda->blas, cuda->blas_workspace, bytes),
                               "cublasSetWorkspace");
}

static mgk_status open_context(mgk_device *device, int index)
{
    mgk_cuda *cuda = mgk_cuda_of(device);
    cudaDeviceProp properties;
    TRY(refuse_emulation());
    TRY(check_device(&index, &properties));
    cuda->index = index;
    snprintf(device->name, sizeof(device->name), "cuda:%d (%.100s)", index, properties.name);
    TRY(mgk_cuda_enter(device));
    TRY(mgk_cuda_check(cudaStreamCreateWithFlags(&cuda->stream, cudaStreamNonBlocking),
                       "cudaStreamCreateWithFlags"));
    TRY(mgk_cuda_check(cudaStreamCreateWithFlags(&cuda->copies, cudaStreamNonBlocking),
                       "cudaStreamCreateWithFlags"));
    TRY(check_architecture(device, &properties));
    TRY(mgk_cuda_check_blas(cublasCreate(&cuda->blas), "cublasCreate"));
    TRY(mgk_cuda_check_blas(cublasSetStream(cuda->blas, cuda->stream), "cublasSetStream"));
    TRY(mgk_cuda_set_math(device));
    return give_workspace(device, &properties);
}

mgk_status mgk_cuda_open(int index, mgk_precision precision, int threads, mgk_device **out)
{
    *out = NULL;
    mgk_device *device = (mgk_device *)calloc(1, sizeof(*device));
    mgk_cuda *cuda = (mgk_cuda *)calloc(1, sizeof(*cuda));
    if (!device || !cuda) {
        free(device);
        free(cuda);
        return mgk_fail(STATUS_MEMORY, "no memory for a device");
    }
    device->op = mgk_cuda_table(precision);
    device->precision = precision;
    device->real_size = precision == MGK_DOUBLE ? sizeof(double) : sizeof(float);
    device->threads = threads > 0 ? threads : (int)sysconf(_SC_NPROCESSORS_ONLN);
    device->accelerator = true;
    device->batch_tokens = 1 << 16; /* 1024 tiles of 64 rows: several for each multiprocessor */
    device->context = cuda;
    mgk_status status = open_context(device, index);
    if (status != STATUS_OK) {
        mgk_cuda_close(device);
        return status;
    }
    *out = device;
    return STATUS_OK;
}

mgk_status mgk_cuda_open_again(mgk_device *device, mgk_device **out)
{
    TRY(mgk_cuda_open(mgk_cuda_of(device)->index, device->precision, device->threads, out));
    return device->tf32 ? mgk_cuda_allow_tf32(*out) : STATUS_OK;
}

void mgk_cuda_close(mgk_device *device)
{
    mgk_cuda *cuda = mgk_cuda_of(device);
    cudaSetDevice(cuda->index); /* without a message, which is that of a failed open */
    if (cuda->blas)
        cublasDestroy(cuda->blas);
    if (cuda->solver)
        cusolverDnDestroy(cuda->solver);
    if (cuda->scratch)
        mgk_cuda_release(device, cuda->scratch);
    if (cuda->blas_workspace)
        mgk_cuda_release(device, cuda->blas_workspace);
    if (cuda->copies)
        cudaStreamDestroy(cuda->copies);
    if (cuda->stream)
        cudaStreamDestroy(cuda->stream);
    free(cuda);
    free(device);
}
